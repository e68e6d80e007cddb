#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/topology/chunk_placement.hpp"
#include "stepcast/topology/group_kind.hpp"

namespace stepcast {

/// The plan says how the model and the batch are spread over the ranks. Once it is checked against
/// the devices, tp*cp*pp*dp = world and etp*ep*edp = tp*cp*dp.
struct ParallelPlan {
  enum class ContextAlgorithm { ring, ulysses, allgather, hybrid };
  /// `automatic` balances by time, `even` takes equal numbers of layers, `table` takes
  /// `layers_per_chunk`.
  enum class Layers { automatic, even, table };
  std::int64_t tp = 1, pp = 1, vpp = 1, cp = 1, ep = 1, etp = 1;
  std::optional<std::int64_t> dp_given;  ///< nothing for `auto`
  std::int64_t dp = 1;                   ///< resolved by the scenario reader
  ContextAlgorithm context_algorithm = ContextAlgorithm::ring;
  std::int64_t ulysses_degree = 1;                               ///< of hybrid(u)
  std::vector<std::string> order{"tp", "cp", "ep", "dp", "pp"};  ///< rank order, fastest first
  bool sequence_parallel = false;
  std::int64_t zero = 1;          ///< 0..3
  std::int64_t dp_replicate = 1;  ///< groups of data ranks that share out each what zero shards
  std::int64_t hpz = 1;           ///< ranks that share out a second copy of the weights; 1: none
  Layers layers = Layers::automatic;
  Table layers_per_chunk;  ///< [chunk][stage], of `table`
  /// An expert group is cut into parts (nodes or super-nodes) of this many devices, resolved by the
  /// scenario reader; 0 means that it is not cut. Every expert group has equally many ranks in each
  /// part.
  std::int64_t expert_part = 0;
  /// The schedule says this, and the scenario reader sets it: how chunks are placed, and into how
  /// many slices the sequence of a micro-batch is cut.
  ChunkPlacement chunk_placement = ChunkPlacement::loop;
  std::int64_t slices = 1;
  std::vector<std::int64_t> slice_tokens;  ///< [slice] tokens of a sequence; empty: equal slices

  /// Counts the tokens of slice `slice` of a sequence of `sequence` tokens.
  double slice_length(std::int64_t sequence, std::int64_t slice) const;
  /// Counts the tokens of the slices before it.
  double slice_start(std::int64_t sequence, std::int64_t slice) const;
  /// Its tokens over those of an equal slice.
  double slice_weight(std::int64_t sequence, std::int64_t slice) const;

  std::int64_t world() const { return tp * cp * pp * dp; }
  std::int64_t stage_ranks() const { return tp * cp * dp; }  ///< ranks of one pipeline stage
  std::int64_t edp() const { return stage_ranks() / (etp * ep); }
  /// Parts into which replicas are cut for what is sharded, or for second copies of the weights.
  std::int64_t shard_groups() const {
    return hpz > 1 ? std::max<std::int64_t>(1, dp * cp / hpz) : dp_replicate;
  }
  /// Ranks that share out what zero shards, of dense parameters and of routed experts.
  std::int64_t dense_shards() const { return dp * cp / dp_replicate; }
  std::int64_t expert_shards() const { return edp() / dp_replicate; }
  ChunkMap chunk_map() const { return {chunk_placement, pp, vpp}; }
};

/// The keys of `parallel:`.
void describe(Visitor& visitor, ParallelPlan& plan);

}  // namespace stepcast
