#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "stepcast/scheduler/packing.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/program.hpp"

/// The attention of every rank and micro-batch, as the packed documents give it
/// (docs/models/packing.md).
namespace stepcast {

/// The replay scales attention by these loads.
struct AttentionLoads {
  std::vector<std::vector<AttentionLoad>> sequences;  ///< distinct ones: [sequence][micro_batch]
  std::vector<std::uint32_t> of_rank;                 ///< [rank] index into `sequences`

  /// Says whether every rank's micro-batches are alike, so that they may repeat each other.
  bool repeats() const;
  /// Says whether all ranks and micro-batches are alike.
  bool even() const { return sequences.size() == 1 && repeats(); }
  /// The share of the pairs of whole sequences, over all ranks and micro-batches.
  double mean_pairs() const;
  double mean_tokens() const;
  /// Loads that are the same work in all slots.
  AttentionLoads evened() const;
};

/// Documents of one step as packed, and the attention that they give each rank and micro-batch.
struct DataPlan {
  PackedBatch batch;
  AttentionLoads loads;
  double context_imbalance = 1;  ///< max over mean of the context ranks of a slot, the worst slot
};

/// Packs the documents of one step and spreads them over the ranks; it is nothing without
/// documents. The specs are checked.
std::optional<DataPlan> plan_data(const DataSpec& spec, const WorkloadSpec& workload,
                                  std::int64_t micro_batches, const Placement& placement);

/// [rank] These are the keys, told further apart by another number of each rank; `keys` may be
/// empty (all alike).
std::vector<std::uint64_t> told_apart(const std::vector<std::uint64_t>& keys,
                                      const std::vector<std::uint32_t>& by);

}  // namespace stepcast
