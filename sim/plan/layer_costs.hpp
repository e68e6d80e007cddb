#pragma once
#include <array>

#include "stepcast/sim/network/collective_times.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

/// Times of the pieces of a model on one rank: what an estimate adds up.
namespace stepcast {

/// Kinds of pieces, in the order in which they stand in a model.
enum class PlanPiece : std::uint8_t { embedding, dense_layer, moe_layer, mtp_module, head };
inline constexpr std::size_t plan_pieces = 5;

struct PieceCost {
  double forward = 0, backward = 0;  ///< of the device with its waits, recomputation included [s]
  double host_forward = 0, host_backward = 0;    ///< of the busier host thread [s]
  double compute = 0;                            ///< of both passes, the compute stream alone [s]
  double input = 0, weight = 0;                  ///< of the device, a backward in two parts [s]
  double entry_forward = 0, entry_backward = 0;  ///< of the device, the first slice alone [s]
  double pair = 0;               ///< of the device, a forward and a backward as one; 0: none [s]
  double fetched = 0;            ///< over the host link in each direction, hidden or not [s]
  double near = 0, wide = 0;     ///< collectives that gradients meet, inside a node and beyond [s]
  double dense = 0, expert = 0;  ///< parameters of one rank that work in a step
};

/// How many pieces of each kind.
using PieceCounts = std::array<double, plan_pieces>;
PieceCounts model_pieces(const ModelSpec& model);

struct LayerCosts {
  std::array<PieceCost, plan_pieces> pieces;
  std::array<PieceCost, plan_pieces> computing;  ///< of times of the device, what it computes [s]
  double boundary = 0;                           ///< bytes of one pipeline transfer
  double host_unit = 0;                          ///< host time of posting a send and a receive [s]

  /// The costs on devices that are slower by the factor `pace`. Their times are at least these:
  /// along the same way through the instructions, computing takes longer.
  LayerCosts at(double pace) const;
  double forward(const PieceCounts& counts) const;   ///< the longer of device and host [s]
  double backward(const PieceCounts& counts) const;  ///< likewise [s]
  /// Of a forward and a backward, the device alone: what no schedule can go below [s].
  double device(const PieceCounts& counts) const;
  double compute(const PieceCounts& counts) const;  ///< without waits for collectives [s]
  double part(const PieceCounts& counts, double PieceCost::*part) const;
  double near(const PieceCounts& counts) const;
  double wide(const PieceCounts& counts) const;
  double dense(const PieceCounts& counts) const;
  double expert(const PieceCounts& counts) const;
};

/// Lowers each kind of piece once under the scenario's sizes and runs its instructions on one rank
/// with nothing else on the network.
LayerCosts layer_costs(const Scenario& scenario, CollectiveTimes& times);

/// Parameters of one rank by kind of piece, with experts that do not work in a step.
std::array<PieceCost, plan_pieces> piece_parameters(const Scenario& scenario);

}  // namespace stepcast
