#pragma once
#include "stepcast/scheduler/packing.hpp"

/// Packing by attention work. Private to scheduler/. docs/models/packing.md.
namespace stepcast {

/// The same tokens with the documents spread over the sequences and the sequences over the slots so
/// that attention costs alike. The costliest slot is never costlier than in `batch`, whose
/// sequences are full.
PackedBatch balance_attention(const PackedBatch& batch);

}  // namespace stepcast
