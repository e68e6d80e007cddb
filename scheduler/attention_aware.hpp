#pragma once
#include "stepcast/scheduler/packing.hpp"

/// Packing by attention work. Private to scheduler/. docs/models/packing.md.
namespace stepcast {

/// The same tokens with the documents spread over the sequences and the sequences over the slots so
/// that attention costs alike. The costliest slot is never costlier than in `batch`, whose
/// sequences are full.
PackedBatch balance_attention(const PackedBatch& batch);

/// The same sequences, moved whole between the replicas of their micro-batch by the attention of
/// their documents: the slots of an index get like sums, and so do the replicas over the step. No
/// slot is costlier than the costliest of its index was (docs/models/packing.md).
PackedBatch balance_micro_batches(const PackedBatch& batch);

}  // namespace stepcast
