#pragma once
#include <compare>
#include <cstdint>
#include <functional>

namespace stepcast {

/// An id is an index into one table, as a type of its own, so that a Rank cannot be passed where a
/// Stage is meant.
template <class Tag>
struct Id {
  std::uint32_t value{};
  friend constexpr auto operator<=>(Id, Id) = default;
};

using Rank = Id<struct RankTag>;              ///< logical worker, 0..world-1
using DeviceId = Id<struct DeviceTag>;        ///< accelerator, counted over the whole cluster
using NodeId = Id<struct NodeTag>;            ///< host with its devices
using LinkId = Id<struct LinkTag>;            ///< one direction of one link of a Fabric
using Stage = Id<struct StageTag>;            ///< pipeline position, 0..pp-1
using Chunk = Id<struct ChunkTag>;            ///< model slice on a stage, 0..vpp-1
using MicroBatch = Id<struct MicroBatchTag>;  ///< 0..m-1
using SequenceSlice =
    Id<struct SequenceSliceTag>;  ///< part of a micro-batch's sequence, 0..slices-1

}  // namespace stepcast

template <class Tag>
struct std::hash<stepcast::Id<Tag>> {
  std::size_t operator()(stepcast::Id<Tag> id) const noexcept { return id.value; }
};
