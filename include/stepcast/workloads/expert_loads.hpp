#pragma once
#include <cstdint>
#include <vector>

#include "stepcast/workloads/program.hpp"

/// This says how many tokens each expert, and each rank of an expert group, gets. Formulas and
/// sources: docs/models/expert_parallel.md.
namespace stepcast {

/// Loads are over that of a balanced rank or expert without dropping, so that 1 is the mean unless
/// tokens are dropped.
struct ExpertLoads {
  std::vector<double> of_expert;  ///< empty without experts
  std::vector<double> of_rank;    ///< by expert rank (Coordinates::ep)
  /// These are the distinct loads of ranks, ascending, and by expert rank which one it has: the
  /// variants of a program. There is one of 1 where all are alike or there are no experts.
  std::vector<double> distinct{1};
  std::vector<std::uint32_t> variant_of;
  double dropped = 0;  ///< part of all (token, expert) pairs

  bool even() const { return distinct.size() == 1; }
  double largest() const { return distinct.back(); }
  /// This is largest over mean, and 1 without experts.
  double expert_imbalance() const;
  double rank_imbalance() const;
};

/// This draws or reads the popularity of the experts (`moe.routing`), drops what exceeds the
/// capacity (`moe.capacity_factor`), and spreads the experts over the ranks (`moe.placement`).
ExpertLoads expert_loads(const WorkloadSpec& spec);

/// This is the part of the experts that work in a step (`training.offload.active_experts`): as
/// given, or the expected part that `moe.routing` gives a token of the step to, 1 without experts.
/// docs/models/offload.md.
double active_experts(const ModelSpec& model, const TrainingSpec& training, const MoeSpec& moe);

/// This is the capacity of an expert over its mean: ceil(factor x mean) pairs of `pairs` over
/// `experts`; 1 and what the ceiling adds without a factor.
double capacity_over_mean(const MoeSpec& moe, double pairs, double experts);

/// This is the device time of the matrix products of the routed experts of one MoE layer and
/// micro-batch on a rank of that load, forward and backward (and forward again with full
/// recomputation). The model has experts.
Seconds expert_matmul_time(const WorkloadSpec& spec, const DeviceSpec& device, double load);

/// [expert] This gives the expert rank: contiguous, or `balanced`: heaviest expert first to the
/// rank that has least so far, experts/ranks each (LPT, Graham 1969, with equal counts). `ranks`
/// divides the number of experts.
std::vector<std::uint32_t> place_experts(const std::vector<double>& loads, std::uint32_t ranks,
                                         MoeSpec::Placement placement);

/// This is the expected number of distinct parts (nodes) among which `top_k` different experts of
/// one token lie, where `experts` are spread evenly over `parts` and all sets are alike: parts (1 -
/// C(E - E/parts, k) / C(E, k)). It is at most `most`.
double expected_parts(double parts, double experts, double top_k, double most);

/// This is the expected number of distinct ranks, of `ranks` of an expert group, that hold the
/// experts of a token; node-limited routing draws them among its groups alone.
double expected_ranks(const ExpertSpec& spec, double ranks);

/// A token of the model can reach this many parts: node-limited routing confines it to `top_groups`
/// of `groups` contiguous groups of experts.
double most_parts(const ExpertSpec& spec, double parts);

}  // namespace stepcast
