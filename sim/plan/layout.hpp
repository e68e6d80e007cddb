#pragma once
#include <memory>
#include <vector>

#include "layer_costs.hpp"
#include "schedule_form.hpp"

/// A model on the stages of one pipeline: times and bytes of each stage.
namespace stepcast {

/// In-flight counts of a schedule: for each stage the moments that no other moment covers.
/// [stage][moment][chunk]
using HeldMoments = std::vector<std::vector<std::vector<int>>>;

class MomentTable {
 public:
  /// `paired`: with the pairs of `moe.overlap: fb_pair`.
  const HeldMoments& of(const PipelineSchedule& schedule, const PipelineShape& shape,
                        bool paired = false);

 private:
  using Key = std::tuple<std::string_view, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, bool>;
  std::map<Key, HeldMoments> known_;
};

struct StageLayout {
  std::vector<double> forward, backward;  ///< [chunk] [s]
  std::vector<double> activation;         ///< [chunk] of one micro-batch [B]
  double unit = 0;                  ///< device time of a forward and a backward of every chunk [s]
  double split_unit = 0;            ///< the same with each backward in two parts [s]
  double pair = 0;                  ///< the same, forwards and backwards in pairs; 0: none are
  double entry_forward = 0;         ///< of it, a slice through the first chunk [s]
  double entry_backward = 0;        ///< likewise [s]
  double entry = 0;                 ///< of it, a slice through all chunks, both ways [s]
  double fetched = 0;               ///< over the host link, in each direction [s]
  double first_fetches = 0;         ///< of it, the layers that a backward begins with [s]
  double compute = 0;               ///< of it, the compute stream alone [s]
  double near = 0, wide = 0;        ///< of it, collectives that gradients meet [s]
  double dense = 0, expert = 0;     ///< parameters of one rank
  std::vector<PieceCounts> pieces;  ///< [chunk]
  std::array<double, 4> fixed{};    ///< by zero: bytes that do not depend on what is in flight
};

struct PlanLayout {
  std::vector<StageLayout> stages;
  LayerTable layers;
};

/// Spreads the layers as a forecast does. `zeros` are the values of zero that are asked for.
PlanLayout lay_out(const Scenario& scenario, const LayerCosts& costs,
                   const std::vector<std::int64_t>& zeros);

/// Bytes of the fullest stage.
double peak_memory(const PlanLayout& layout, const HeldMoments& moments, std::int64_t zero);

}  // namespace stepcast
