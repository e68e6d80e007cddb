#pragma once
#include <cstdint>
#include <vector>

#include "stepcast/workloads/program.hpp"

/// How many tokens each expert, and each rank of an expert group, gets. Formulas and sources:
/// docs/models/expert_parallel.md.
namespace stepcast {

/// Loads over that of a balanced rank or expert without dropping, so that 1 is the mean unless
/// tokens are dropped.
struct ExpertLoads {
  std::vector<double> of_expert;  ///< empty without experts
  std::vector<double> of_rank;    ///< by expert rank (Coordinates::ep)
  /// Distinct loads of ranks, ascending, and by expert rank which one it has: the variants of a
  /// program. One of 1 where all are alike or there are no experts.
  std::vector<double> distinct{1};
  std::vector<std::uint32_t> variant_of;
  double dropped = 0;  ///< part of all (token, expert) pairs

  bool even() const { return distinct.size() == 1; }
  double largest() const { return distinct.back(); }
  /// Largest over mean; 1 without experts.
  double expert_imbalance() const;
  double rank_imbalance() const;
};

/// Draws or reads the popularity of the experts (`moe.routing`), drops what exceeds the capacity
/// (`moe.capacity_factor`), and spreads the experts over the ranks (`moe.placement`).
ExpertLoads expert_loads(const WorkloadSpec& spec);

/// Device time of the matrix products of the routed experts of one MoE layer and micro-batch on a
/// rank of that load, forward and backward (and forward again with full recompute). The model has
/// experts.
Seconds expert_matmul_time(const WorkloadSpec& spec, const DeviceSpec& device, double load);

/// [expert] expert rank: contiguous, or `balanced`: heaviest expert first to the rank that has
/// least so far, experts/ranks each (LPT, Graham 1969, with equal counts). `ranks` divides the
/// number of experts.
std::vector<std::uint32_t> place_experts(const std::vector<double>& loads, std::uint32_t ranks,
                                         MoeSpec::Placement placement);

/// Expected number of distinct parts (nodes) among which `top_k` different experts of one token
/// lie, `experts` spread evenly over `parts`, all sets alike: parts (1 - C(E - E/parts, k) / C(E,
/// k)). At most `most`.
double expected_parts(double parts, double experts, double top_k, double most);

/// Parts that a token of the model can reach: node-limited routing confines it to `top_groups` of
/// `groups` contiguous groups of experts.
double most_parts(const ExpertSpec& spec, double parts);

}  // namespace stepcast
