#pragma once
#include "stepcast/workloads/program.hpp"

/// What a caching allocator holds when a stage has run two steps (docs/models/memory.md, "What an
/// allocator keeps").
namespace stepcast {

/// What PyTorch's caching allocator keeps of one device, by replaying a step on it [bytes]. Method:
/// docs/models/memory.md.
struct KeptByAllocator {
  Bytes reserved{0};   ///< of segments, without weights, optimizer and gradients that never go
  Bytes gradients{0};  ///< of these, of gradients that come and go
  Bytes allocated{0};  ///< of tensors, at their worst moment
};

/// Whether the order of tensors is known: that of Megatron-LM's dense layers with an unfused core,
/// dropout and full recomputation, one chunk to a stage.
bool replays_allocator(const WorkloadSpec& spec);

/// Of the first replica, which updates the first part of the weights where they are shared out.
/// `in_flight`: micro-batches whose inputs of layers are kept at once, at least 1. Needs
/// replays_allocator().
KeptByAllocator replay_allocator(const WorkloadSpec& spec, const LayerTable::Slice& slice,
                                 std::int64_t in_flight);

}  // namespace stepcast
