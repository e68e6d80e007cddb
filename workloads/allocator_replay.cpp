#include "allocator_replay.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "layer_blocks.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

using Handle = CachingAllocator::Handle;
using Update = TrainingSpec::UpdateMemory;

/// A forward of the first stage, or of another, before its layers.
struct InFlight {
  std::vector<Handle> inputs;   ///< of layers
  std::vector<Handle> masks;    ///< of the embedding's dropout
  std::vector<Handle> outputs;  ///< the part that the rank sends, or what the head keeps
};

class Replay {
 public:
  Replay(const WorkloadSpec& spec, const LayerTable::Slice& slice)
      : spec_{spec}, slice_{slice}, bytes_{layer_bytes(spec)} {
    const double vocabulary = static_cast<double>(spec.model.vocabulary);
    const double table = half_bytes * vocabulary * static_cast<double>(spec.model.hidden) /
                         static_cast<double>(spec.plan.tp);
    const std::int64_t table_bytes = std::llround(table);
    if (slice.embedding) weights_.push_back(table_bytes);
    for (std::int64_t layer = 0; layer < slice.count; ++layer)
      for (const std::int64_t weight : {bytes_.qkv, bytes_.dense, bytes_.widening, bytes_.narrowing})
        weights_.push_back(weight);
    const bool shared = slice.embedding && spec.model.tied_embeddings;
    if (slice.head && !shared) weights_.push_back(table_bytes);
    for (const std::int64_t weight : weights_) all_ += weight;
    // bf16_optimizer.py makes one flat tensor of them, and frees those that the model was made of
    if (!both()) return;
    std::vector<Handle> made;
    for (const std::int64_t weight : weights_) made.push_back(memory_.allocate(weight));
    drop(made);
  }

  void step(std::int64_t in_flight) {
    // with more micro-batches nothing new is asked for
    const std::int64_t count = std::min(micro_batches(), 2 * in_flight + 4);
    std::deque<InFlight> waiting;
    for (std::int64_t done = 0, begun = 0; done < count; ++done) {
      while (begun < std::min(count, done + in_flight)) {
        waiting.push_back(forward());
        ++begun;
      }
      backward(waiting.front());
      waiting.pop_front();
    }
    update();
  }

  KeptByAllocator kept() const {
    return {Bytes{static_cast<double>(memory_.reserved())},
            Bytes{flat() || both() ? static_cast<double>(all_) : 0}};
  }

 private:
  bool both() const {
    return spec_.communication.gradients_kept == CommunicationSpec::Kept::both;
  }
  bool flat() const { return spec_.training.update_memory == Update::flat; }
  std::int64_t micro_batches() const {
    return spec_.training.global_batch / (spec_.training.micro_batch * spec_.plan.dp);
  }
  void drop(std::vector<Handle>& blocks) {
    for (const Handle block : blocks) memory_.release(block);
    blocks.clear();
  }
  void touch(double bytes) { memory_.release(memory_.allocate(std::llround(bytes))); }

  InFlight forward() {
    InFlight result;
    Handle input = 0;
    if (slice_.embedding) {
      std::vector<Handle> sums{memory_.allocate(bytes_.residual),
                               memory_.allocate(bytes_.residual)};
      Handle sum = memory_.allocate(bytes_.residual);
      drop(sums);
      result.masks.push_back(memory_.allocate(bytes_.residual / 2));
      const Handle dropped = memory_.allocate(bytes_.residual);
      memory_.release(sum);
      input = memory_.allocate(bytes_.residual);  // tokens first
      memory_.release(dropped);
    } else {
      input = memory_.allocate(bytes_.residual);
    }
    KeptBlocks nothing;
    for (std::int64_t layer = 0; layer < slice_.count; ++layer) {
      result.inputs.push_back(input);
      input = layer_forward(memory_, bytes_, ForwardBlocks::output, nothing);
    }
    if (slice_.head) {
      result.outputs = {input, memory_.allocate(bytes_.residual),  // what the final norm reads
                        memory_.allocate(logits(half_bytes)), memory_.allocate(logits(single_bytes))};
      return result;
    }
    result.outputs.push_back(memory_.allocate(bytes_.residual / spec_.plan.tp));
    memory_.release(input);
    return result;
  }

  std::int64_t logits(double bytes) const {
    return std::llround(bytes * static_cast<double>(bytes_.residual) / half_bytes *
                        static_cast<double>(spec_.model.vocabulary) /
                        static_cast<double>(spec_.model.hidden * spec_.plan.tp));
  }

  /// The gradient of what the last layer puts out.
  Handle head_backward(InFlight& of) {
    const Handle logit_gradient = memory_.allocate(logits(half_bytes));
    for (int tensor = 0; tensor < 2; ++tensor) {
      memory_.release(of.outputs.back());
      of.outputs.pop_back();
    }
    const Handle norm_out = memory_.allocate(bytes_.residual);
    weight_gradient(weights_.back());
    memory_.release(logit_gradient);
    const Handle gradient = memory_.allocate(bytes_.residual);
    memory_.release(norm_out);
    return gradient;
  }

  /// All of a tensor of which tensor ranks were sent a part each, gathered by way of another.
  Handle gathered() {
    const Handle whole = memory_.allocate(bytes_.residual);
    touch(static_cast<double>(bytes_.residual));
    return whole;
  }

  void backward(InFlight& of) {
    if (both()) drop(gradients_);  // of the micro-batch before
    next_ = 0;
    if (!slice_.head) of.outputs.push_back(gathered());
    Handle gradient = slice_.head ? head_backward(of) : gathered();
    for (; !of.inputs.empty(); of.inputs.pop_back()) {
      KeptBlocks kept;
      const Handle again = layer_forward(memory_, bytes_, ForwardBlocks::all, kept);
      const Handle before = layer_backward(memory_, bytes_, kept,
                                           [&](std::int64_t weight) { weight_gradient(weight); });
      for (const Handle block : {again, of.inputs.back(), gradient}) memory_.release(block);
      gradient = before;
    }
    if (slice_.embedding) {
      const Handle batches = memory_.allocate(bytes_.residual);
      memory_.release(gradient);
      gradient = memory_.allocate(bytes_.residual);
      memory_.release(batches);
      drop(of.masks);
      weight_gradient(weights_.front());
    }
    memory_.release(gradient);
    drop(of.outputs);
    if (both())
      for (const std::int64_t weight : weights_)
        touch(single_bytes / half_bytes * static_cast<double>(weight));  // the cast that is added
  }

  /// The first one of a step stays, later ones are added to it; main gradients take them all.
  void weight_gradient(std::int64_t bytes) {
    if (!both() && !flat()) {
      if (spec_.communication.accumulation == CommunicationSpec::Accumulation::separate)
        touch(static_cast<double>(bytes));
      return;
    }
    if (next_++ < gradients_.size())
      touch(static_cast<double>(bytes));
    else
      gradients_.push_back(memory_.allocate(bytes));
  }

  void update() {
    const auto bucket = static_cast<double>(spec_.communication.bucket.value_or(0));
    const auto parameters = static_cast<double>(all_) / half_bytes;
    const double sharded = shards(spec_.plan.zero, Shards::optimizer,
                                  static_cast<double>(spec_.plan.dense_shards()));
    if (both() && bucket > 0)
      touch(half_bytes * parameters / std::max(1.0, std::floor(parameters / bucket)));
    if (!flat()) return;
    touch(half_bytes * bucket);
    // shares of the gradients, or all of them in FP32; joined; with zero 1 cast
    const double copied = sharded > 1 ? half_bytes : single_bytes;
    std::vector<Handle> copies, joined;
    for (const std::int64_t weight : weights_)
      copies.push_back(memory_.allocate(
          std::llround(copied / half_bytes * static_cast<double>(weight) / sharded)));
    drop(gradients_);
    joined.push_back(memory_.allocate(std::llround(copied * parameters / sharded)));
    if (sharded > 1)
      joined.push_back(memory_.allocate(std::llround(single_bytes * parameters / sharded)));
    drop(copies);
    touch(half_bytes * bucket);
    drop(joined);
  }

  const WorkloadSpec& spec_;
  const LayerTable::Slice& slice_;
  LayerBytes bytes_;
  CachingAllocator memory_;
  std::vector<std::int64_t> weights_;  ///< bytes, in the order of the model
  std::int64_t all_ = 0;
  std::vector<Handle> gradients_;
  std::size_t next_ = 0;  ///< of this backward
};

}  // namespace

bool replays_allocator(const WorkloadSpec& spec) {
  const TrainingSpec& training = spec.training;
  const ParallelPlan& plan = spec.plan;
  const auto* attention = std::get_if<GroupedQueryAttention>(&spec.model.attention);
  const bool plain = attention != nullptr && !attention->output_gate && !spec.model.moe &&
                     !spec.model.linear && spec.model.mtp_layers == 0 &&
                     spec.model.block == ModelSpec::Block::serial &&
                     spec.model.norm != ModelSpec::Norm::sandwich &&
                     spec.model.ffn.kind == FeedForwardSpec::Kind::gelu;
  const bool recomputed = training.recompute == TrainingSpec::Recompute::full &&
                          training.attention == TrainingSpec::Attention::unfused &&
                          training.dropout && training.offload_activations == 0;
  return plain && recomputed && plan.vpp == 1 && plan.slices == 1 && plan.cp == 1 &&
         !plan.sequence_parallel && plan.zero <= 1;
}

KeptByAllocator replay_allocator(const WorkloadSpec& spec, const LayerTable::Slice& slice,
                                 std::int64_t in_flight) {
  expects(replays_allocator(spec), "the order of tensors is known");
  Replay replay(spec, slice);
  replay.step(std::max<std::int64_t>(1, in_flight));
  replay.step(std::max<std::int64_t>(1, in_flight));
  return replay.kept();
}

}  // namespace stepcast
