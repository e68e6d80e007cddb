#pragma once
#include <cstdint>
#include <vector>

#include "stepcast/workloads/program.hpp"

/// Says how many tokens each expert, and each rank of an expert group, gets. Formulas and
/// sources: docs/models/expert_parallel.md.
namespace stepcast {

/// [expert] The ranks of an expert group that hold it, the one that updates it first.
using ExpertHolders = std::vector<std::vector<std::uint32_t>>;

/// The last step whose loads can be asked for (`moe.routing.step`): the counters of draws have room
/// for it, and for the steps of a run that begins there, beside the layers.
inline constexpr std::int64_t last_routing_step = 1'000'000;

/// Loads of one layer. They are over that of a balanced rank or expert without dropping, so that 1
/// is the mean unless tokens are dropped.
struct ExpertLoads {
  std::vector<double> of_expert;  ///< empty without experts
  std::vector<double> of_rank;    ///< by expert rank (Coordinates::ep)
  /// The distinct loads of ranks, ascending, and by expert rank which one it has: the
  /// variants of a program. There is one of 1 where all are alike or there are no experts.
  std::vector<double> distinct{1};
  std::vector<std::uint32_t> variant_of;
  double dropped = 0;  ///< part of all (token, expert) pairs
  ExpertHolders holders;

  bool even() const { return distinct.size() == 1; }
  double largest() const { return distinct.back(); }
  /// Largest over mean, and 1 without experts.
  double expert_imbalance() const;
  double rank_imbalance() const;
};

/// Draws or reads the popularity of the experts of a layer at `moe.routing.step`
/// (`moe.routing`), drops what exceeds the capacity (`moe.capacity_factor`), and spreads the
/// experts and their copies over the ranks (`moe.placement`, `moe.spare_experts`) by the loads of
/// the last relocation. Layers are counted over those with experts, MTP modules last.
ExpertLoads expert_loads(const WorkloadSpec& spec, std::size_t layer = 0);

/// Layers of the model that have experts, MTP modules included.
std::size_t count_moe_layers(const ModelSpec& model);

/// The loads of all layers of a step.
struct LayerLoads {
  std::vector<ExpertLoads> layers;  ///< one where all layers are alike (`moe.routing.layers`)
  /// By expert rank which variant of a program it has, and by variant a rank that has it: ranks
  /// whose loads are equal in every layer share one. Variants ascend by the loads.
  std::vector<std::uint32_t> variant_of;
  std::vector<std::uint32_t> rank_of{0};

  const ExpertLoads& of(std::size_t layer) const {
    return layers.size() == 1 ? layers.front() : layers.at(layer);
  }
  bool even() const { return rank_of.size() == 1; }
  /// The load of that variant in the layer; that of all ranks where they are alike.
  double load(std::size_t layer, std::size_t variant) const;
  double part_of_ranks(std::size_t variant) const;  ///< that have the variant
  double fullest() const;  ///< mean over the layers, of the rank for which it is largest
  // means over the layers
  double dropped() const;
  double expert_imbalance() const;
  double rank_imbalance() const;
};
LayerLoads layer_loads(const WorkloadSpec& spec);

/// By expert rank, the experts of a layer that change their places before `moe.routing.step`, as
/// moved_experts() has them; none where no relocation is due (`moe.relocation`).
std::vector<double> relocated_experts(const WorkloadSpec& spec, std::size_t layer);

/// The same routing with all experts loaded alike in every layer and step; what of them a step uses
/// (`domains`) stays.
RoutingSpec with_even_loads(RoutingSpec routing);

/// The part of the experts that work in a step (`training.offload.active_experts`): as
/// given, or the expected part that `moe.routing` gives a token of the step to, 1 without experts.
/// docs/models/offload.md.
double active_experts(const ModelSpec& model, const TrainingSpec& training, const MoeSpec& moe);

/// The capacity of an expert over its mean: ceil(factor x mean) pairs of `pairs` over
/// `experts`; 1 and what the ceiling adds without a factor.
double capacity_over_mean(const MoeSpec& moe, double pairs, double experts);

/// The device time of the matrix products of the routed experts of one MoE layer and
/// micro-batch on a rank of that load, forward and backward (and forward again with full
/// recomputation). The model has experts.
Seconds expert_matmul_time(const WorkloadSpec& spec, const DeviceSpec& device, double load);

/// [expert] This gives the expert rank: contiguous, or `balanced`: heaviest expert first to the
/// rank that has least so far, experts/ranks each (LPT, Graham 1969, with equal counts). `ranks`
/// divides the number of experts.
std::vector<std::uint32_t> place_experts(const std::vector<double>& loads, std::uint32_t ranks,
                                         MoeSpec::Placement placement);

/// Every rank has `spare` places more. Each goes to a copy of the expert that has most load per
/// copy by then, of those that a rank with a place has not; copies share the load evenly. With
/// `contiguous` experts stay where they are and their copies go, heaviest first, to the rank that
/// has least so far and none of the expert; with `balanced` experts and copies do (as EPLB,
/// github.com/deepseek-ai/EPLB), and the copy updates whose rank updates least.
ExpertHolders place_copies(const std::vector<double>& loads, std::uint32_t ranks,
                           MoeSpec::Placement placement, std::int64_t spare);

/// By rank, how many experts pass it, in the direction in which more do.
/// Those that a step copies from who updates them to who holds a copy, or back.
std::vector<double> copied_experts(const ExpertHolders& holders, std::uint32_t ranks);
/// Those that change from who updated them to who will: places are taken over by the ranks that
/// have most of their experts already.
std::vector<double> moved_experts(const ExpertHolders& before, const ExpertHolders& after,
                                  std::uint32_t ranks);

/// The expected number of distinct parts (nodes) among which `top_k` different experts of
/// one token lie, where `experts` are spread evenly over `parts` and all sets are alike: parts (1 -
/// C(E - E/parts, k) / C(E, k)). It is at most `most`.
double expected_parts(double parts, double experts, double top_k, double most);

/// The expected number of distinct ranks, of `ranks` of an expert group, that hold the
/// experts of a token; node-limited routing draws them among its groups alone.
double expected_ranks(const ExpertSpec& spec, double ranks);

/// A token of the model can reach this many parts: node-limited routing confines it to `top_groups`
/// of `groups` contiguous groups of experts.
double most_parts(const ExpertSpec& spec, double parts);

}  // namespace stepcast
