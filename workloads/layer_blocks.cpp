#include "layer_blocks.hpp"

#include <cmath>

#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

using Handle = CachingAllocator::Handle;

std::int64_t halves(double elements) { return std::llround(half_bytes * elements); }

}  // namespace

LayerBytes layer_bytes(const WorkloadSpec& spec) {
  const auto& a = std::get<GroupedQueryAttention>(spec.model.attention);
  const auto tokens = static_cast<double>(spec.training.micro_batch * spec.training.sequence);
  const auto tp = static_cast<double>(spec.plan.tp);
  const auto hidden = static_cast<double>(spec.model.hidden);
  const double width = static_cast<double>(a.heads * a.head_dim) / tp;
  const double mixed = static_cast<double>((a.heads + 2 * a.kv_heads) * a.head_dim) / tp;
  const double inner = static_cast<double>(spec.model.ffn.hidden) / tp;
  // Tensor ranks hold the residual stream whole, and a part of what lies between two products.
  return {.residual = halves(tokens * hidden),
          .heads = halves(tokens * width),
          .mixed = halves(tokens * mixed),
          .inner = halves(tokens * inner),
          .scores = halves(tokens * static_cast<double>(spec.training.sequence) *
                           static_cast<double>(a.heads) / tp),
          .qkv = halves(hidden * mixed),
          .dense = halves(hidden * width),
          .widening = halves(hidden * inner),
          .narrowing = halves(hidden * inner)};
}

// Names of Python live until their function returns: raw scores and heads as the product puts them
// out until the core has, outputs of both blocks until the layer has.
Handle layer_forward(CachingAllocator& memory, const LayerBytes& bytes, ForwardBlocks what,
                     KeptBlocks& kept) {
  const auto take = [&](std::int64_t size) { return memory.allocate(size); };
  const auto unless_kept = [&](std::initializer_list<Handle> blocks) {
    // Within a checkpoint the output alone outlives the forward.
    if (what == ForwardBlocks::output)
      for (const Handle block : blocks) memory.release(block);
  };
  kept.norm_out = take(bytes.residual);
  kept.mixed = take(bytes.mixed);
  const Handle addend = take(bytes.scores);  // baddbmm reads one of the size of what it puts out
  const Handle scores = take(bytes.scores);
  memory.release(addend);
  kept.softmax = take(bytes.scores);
  kept.dropped = take(bytes.scores);
  // a mask has one byte for each element of two
  kept.core_mask = take(bytes.scores / 2);
  unless_kept({kept.core_mask, kept.softmax});
  const Handle product = take(bytes.heads);
  kept.heads = take(bytes.heads);  // in the order of tokens
  memory.release(scores);
  memory.release(product);
  unless_kept({kept.dropped, kept.mixed});
  const Handle attention = take(bytes.residual);
  unless_kept({kept.heads});
  kept.sum = take(bytes.residual);
  kept.mask = take(bytes.residual / 2);
  unless_kept({kept.mask});
  kept.second_norm_out = take(bytes.residual);
  unless_kept({kept.norm_out});
  kept.widened = take(bytes.inner);
  kept.activated = take(bytes.inner);
  unless_kept({kept.widened});
  const Handle narrowed = take(bytes.residual);
  unless_kept({kept.activated});
  const Handle output = take(bytes.residual);
  kept.second_mask = take(bytes.residual / 2);
  unless_kept({kept.second_mask, kept.sum});
  memory.release(attention);
  memory.release(narrowed);
  unless_kept({kept.second_norm_out});
  return output;
}

namespace {

/// Of what the core reads, from the gradient of what it puts out. The backward of its softmax works
/// in place.
Handle core_backward(CachingAllocator& memory, const LayerBytes& bytes, const KeptBlocks& kept,
                     Handle output) {
  const auto take = [&](std::int64_t size) { return memory.allocate(size); };
  const std::int64_t part = (bytes.mixed - bytes.heads) / 2;  // of keys, and of values
  const Handle ordered = take(bytes.heads);
  memory.release(output);
  const Handle dropped = take(bytes.scores), values = take(part);
  memory.release(ordered);
  memory.release(kept.dropped);
  const Handle scores = take(bytes.scores);
  memory.release(dropped);
  memory.release(kept.core_mask);
  memory.release(kept.softmax);
  const auto scaled = [&](std::int64_t size) {  // by the factor of the scores, out of place
    const Handle product = take(size), result = take(size);
    memory.release(product);
    return result;
  };
  const Handle queries = scaled(bytes.heads), keys = scaled(part);
  memory.release(scores);
  const Handle mixed = take(bytes.mixed);
  for (const Handle block : {queries, keys, values, kept.mixed}) memory.release(block);
  return mixed;
}

/// The gradient of what a norm reads, which two paths lead to.
Handle joined(CachingAllocator& memory, const LayerBytes& bytes, Handle behind_norm) {
  const Handle through_norm = memory.allocate(bytes.residual);
  memory.release(behind_norm);
  const Handle sum = memory.allocate(bytes.residual);
  memory.release(through_norm);
  return sum;
}

}  // namespace

Handle layer_backward(CachingAllocator& memory, const LayerBytes& bytes, const KeptBlocks& kept,
                      const WeightGradient& gradient) {
  const auto take = [&](std::int64_t size) { return memory.allocate(size); };
  const auto drop = [&](std::initializer_list<Handle> blocks) {
    for (const Handle block : blocks) memory.release(block);
  };
  // Each product gives the gradient of its input, then that of its weight; what both read goes.
  const Handle narrowed = take(bytes.residual);
  drop({kept.second_mask});
  const Handle activated = take(bytes.inner);
  gradient(bytes.narrowing);
  drop({kept.activated, narrowed});
  const Handle widened = take(bytes.inner);
  drop({activated, kept.widened});
  const Handle second_norm_out = take(bytes.residual);
  gradient(bytes.widening);
  drop({kept.second_norm_out, widened});
  const Handle sum = joined(memory, bytes, second_norm_out);
  drop({kept.sum});
  const Handle attention = take(bytes.residual);
  drop({kept.mask});
  const Handle heads = take(bytes.heads);
  gradient(bytes.dense);
  drop({kept.heads, attention});
  const Handle mixed = core_backward(memory, bytes, kept, heads);
  const Handle norm_out = take(bytes.residual);
  gradient(bytes.qkv);
  drop({mixed, kept.norm_out});
  const Handle input = joined(memory, bytes, norm_out);
  drop({sum});
  return input;
}

}  // namespace stepcast
