#pragma once
#include <functional>

#include "stepcast/workloads/caching_allocator.hpp"
#include "stepcast/workloads/program.hpp"

/// The tensors of a layer of Megatron-LM in the order in which they come and go
/// (docs/models/memory.md, "What an allocator keeps").
namespace stepcast {

/// Bytes on one rank, in half precision. Tensors below one MiB (biases, statistics of norms) are
/// left out; they live in a pool of their own.
struct LayerBytes {
  std::int64_t residual = 0;  ///< a tensor of the residual stream
  std::int64_t heads = 0;     ///< what the heads of the rank put out
  std::int64_t mixed = 0;     ///< fused query, key and value
  std::int64_t inner = 0;     ///< of the feed-forward part
  std::int64_t scores = 0;    ///< of an unfused core
  /// Weights: query, key and value; dense projection; both of the feed-forward part.
  std::int64_t qkv = 0, dense = 0, widening = 0, narrowing = 0;
};
LayerBytes layer_bytes(const WorkloadSpec& spec);

/// What a forward leaves for its backward.
struct KeptBlocks {
  using Handle = CachingAllocator::Handle;
  Handle norm_out{}, mixed{}, softmax{}, core_mask{}, dropped{}, heads{}, mask{}, sum{};
  Handle second_norm_out{}, widened{}, activated{}, second_mask{};
};

enum class ForwardBlocks {
  output,  ///< nothing is kept but what it puts out, as within a checkpoint
  all
};
/// Returns the output. `kept` is written with `all`.
CachingAllocator::Handle layer_forward(CachingAllocator& memory, const LayerBytes& bytes,
                                       ForwardBlocks what, KeptBlocks& kept);

/// Where the gradient of a weight of so many bytes goes, when its product has run.
using WeightGradient = std::function<void(std::int64_t bytes)>;
/// Frees what was kept. The gradient of the output stays with the caller. Returns that of the
/// input.
CachingAllocator::Handle layer_backward(CachingAllocator& memory, const LayerBytes& bytes,
                                        const KeptBlocks& kept, const WeightGradient& gradient);

}  // namespace stepcast
