#include "stepcast/workloads/allocator_replay.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <vector>

#include "layer_blocks.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/caching_allocator.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

struct StageWeights {
  std::vector<std::int64_t> bytes;  ///< in half precision, in the order of the model
  std::vector<std::size_t> order;   ///< of `bytes`, as a backward pass makes their gradients
  std::int64_t all = 0;             ///< sum of `bytes`
};

/// A part of a weight.
struct WeightPart {
  std::size_t weight = 0;     ///< of StageWeights::bytes
  std::int64_t elements = 0;  ///< at its beginning
};

/// Of one chunk. Biases, norms and positions are left out.
StageWeights stage_weights(const WorkloadSpec& spec, const LayerTable::Slice& slice) {
  const LayerBytes layer = layer_bytes(spec);
  const std::int64_t table =
      std::llround(half_bytes * static_cast<double>(spec.model.vocabulary) *
                   static_cast<double>(spec.model.hidden) / static_cast<double>(spec.plan.tp));
  StageWeights weights;
  if (slice.embedding) weights.bytes.push_back(table);
  const std::size_t first = weights.bytes.size();
  for (std::int64_t i = 0; i < slice.count; ++i)
    for (const std::int64_t bytes : {layer.qkv, layer.dense, layer.widening, layer.narrowing})
      weights.bytes.push_back(bytes);
  const std::size_t behind = weights.bytes.size();
  // A tied head beside the embedding has no table of its own.
  const bool shared = slice.embedding && spec.model.tied_embeddings;
  if (slice.head && !shared) weights.bytes.push_back(table);
  // A backward pass makes the head's gradient first, then those of the layers from the last one on.
  if (slice.head) weights.order.push_back(shared ? 0 : behind);
  for (std::size_t weight = behind; weight > first; --weight) weights.order.push_back(weight - 1);
  // A shared table has its place already, with the head.
  if (slice.embedding && !(slice.head && shared)) weights.order.push_back(0);
  for (const std::int64_t bytes : weights.bytes) weights.all += bytes;
  return weights;
}

/// What the first of `replicas` updates when each updates an equal share of all weights in a row.
std::vector<WeightPart> first_share(const StageWeights& weights, std::int64_t replicas) {
  const auto element = static_cast<std::int64_t>(half_bytes);
  std::int64_t left = weights.all / element / replicas;
  std::vector<WeightPart> parts;
  for (std::size_t weight = 0; weight < weights.bytes.size() && left > 0; ++weight) {
    // The last one may be cut.
    parts.push_back({weight, std::min(left, weights.bytes[weight] / element)});
    left -= parts.back().elements;
  }
  return parts;
}

inline std::int64_t single_weight(std::int64_t half) { return 2 * half; }  ///< bytes in FP32

constexpr auto half = static_cast<std::int64_t>(half_bytes);
constexpr std::int64_t single = 2 * half, twice = 4 * half;  // FP32, FP64

/// The tensors that DeepSpeed's optimizers make, in their order (docs/models/memory.md, "What an
/// allocator keeps"). Of `training.update_memory: flat` the optimizers with FP16, of
/// `communication.gradient.kept: both` that with BF16; of others none, as main gradients and states
/// stay.
class ReplayedUpdate {
 public:
  using Handle = CachingAllocator::Handle;

  ReplayedUpdate(const WorkloadSpec& spec, const StageWeights& weights)
      : weights_{weights},
        both_{spec.communication.gradients_kept == CommunicationSpec::Kept::both},
        flat_{spec.training.update_memory == TrainingSpec::UpdateMemory::flat},
        sharded_{spec.plan.zero > 0},
        checks_{spec.runtime.passes(UpdatePass::check)},
        half_copy_{spec.communication.reduce_copy == CommunicationSpec::ReduceCopy::bf16},
        replicas_{spec.plan.zero > 0 ? spec.plan.dense_shards() : 1},
        bucket_{spec.communication.bucket.value_or(0)} {}

  /// What is made and given back before the first step.
  // bf16_optimizer.py makes one flat tensor of all weights, and frees those that the model was made
  // of; fused_optimizer.py does so by way of copies; stage_1_and_2.py brings them to the host
  // before. FP32 weights come from a copy, and moments from an update with gradients of zeros.
  void prepare(CachingAllocator& memory) const {
    if (!both_ && !flat_) return;
    std::vector<Handle> made;
    for (int copies = both_ ? 1 : sharded_ ? 0 : 2; copies > 0; --copies)
      for (const std::int64_t weight : weights_.bytes) made.push_back(memory.allocate(weight));
    memory.release(made);
    memory.touch(share());
    if (flat_) memory.touch(single_weight(share()));
  }

  /// `gradients`: in the order in which they were made; those that the update joins are given back.
  void run(CachingAllocator& memory, std::vector<Handle>& gradients) const {
    // The BF16 copy of all gradients, which is reduced before weights are gathered.
    if (both_ && half_copy_) memory.touch(weights_.all);
    if (flat_) {
      reduce(memory);
      if (sharded_)
        join_share(memory, gradients);
      else
        join_all(memory, gradients);
    }
    if (both_ || (flat_ && sharded_)) gather(memory);
  }

  /// Whether it does.
  bool joins() const { return flat_; }

 private:
  /// Gradients are copied into a bucket unless one fills it. ZeRO closes a bucket before it is too
  /// full, `allreduce_no_retain` of engine.py behind that.
  void reduce(CachingAllocator& memory) const {
    std::int64_t held = 0, tensors = 0;
    const auto close = [&] {
      if (tensors > 1) memory.touch(held);
      held = tensors = 0;
    };
    for (const std::int64_t weight : weights_.bytes) {
      if (sharded_ && tensors > 0 && held + weight > half * bucket_) close();
      held += weight;
      ++tensors;
      if (!sharded_ && held > half * bucket_) close();
    }
    close();
  }

  // stage_1_and_2.py: gradients that others update with go first; the rank's own are cast to FP32
  // one by one (`_has_inf_or_nan`), to FP64 (`get_grad_norm_direct`), joined, and cast as a whole.
  void join_share(CachingAllocator& memory, std::vector<Handle>& gradients) const {
    const std::vector<WeightPart> own = first_share(weights_, replicas_);
    std::vector<Handle> kept;
    for (std::size_t made = 0; made < gradients.size(); ++made) {
      const bool owned = weights_.order[made] < own.size();
      if (owned)
        kept.push_back(gradients[made]);
      else
        memory.release(gradients[made]);
    }
    gradients.clear();
    if (checks_)
      for (const WeightPart& part : own) memory.touch(single * part.elements);
    for (const WeightPart& part : own) memory.touch(twice * part.elements);
    std::vector<Handle> joined;
    if (own.size() > 1) joined.push_back(memory.allocate(share()));
    const Handle cast = memory.allocate(single_weight(share()));
    memory.release(joined);
    memory.release(kept);
    memory.release(cast);
  }

  // fused_optimizer.py: each gradient is checked as FP32; all are cast, then joined.
  void join_all(CachingAllocator& memory, std::vector<Handle>& gradients) const {
    if (checks_)
      for (const std::int64_t weight : weights_.bytes) memory.touch(single_weight(weight));
    std::vector<Handle> casts;
    for (const std::int64_t weight : weights_.bytes)
      casts.push_back(memory.allocate(single_weight(weight)));
    const Handle joined = memory.allocate(single_weight(weights_.all));
    memory.release(casts);
    memory.release(gradients);
    memory.release(joined);
  }

  /// `all_gather_dp_groups` gathers by way of a flat tensor.
  void gather(CachingAllocator& memory) const {
    if (bucket_ > 0)
      memory.touch(weights_.all / std::max<std::int64_t>(1, weights_.all / half / bucket_));
  }

  std::int64_t share() const { return weights_.all / replicas_; }

  const StageWeights& weights_;
  bool both_, flat_, sharded_, checks_, half_copy_;
  std::int64_t replicas_;  ///< that share the update out
  std::int64_t bucket_;    ///< elements
};

using Handle = CachingAllocator::Handle;

/// A forward pass that waits for its backward.
struct InFlight {
  std::vector<Handle> received;  ///< parts that were gathered
  std::vector<Handle> inputs;    ///< of layers
  std::vector<Handle> masks;     ///< of the embedding's dropout
  std::vector<Handle> outputs;   ///< the part that the rank sends, or what the head keeps
};

/// Makes and frees the tensors of a stage in the order in which Megatron-LM does.
class Replay {
 public:
  Replay(const WorkloadSpec& spec, const LayerTable::Slice& slice)
      : spec_{spec},
        slice_{slice},
        bytes_{layer_bytes(spec)},
        weights_{stage_weights(spec, slice)},
        update_{spec, weights_} {
    update_.prepare(memory_);
  }

  void step(std::int64_t in_flight) {
    // with more micro-batches nothing new is asked for
    const std::int64_t count = std::min(micro_batches(), 2 * in_flight + 4);
    std::deque<InFlight> waiting;
    // 1F1B: forwards run ahead of their backward by as many micro-batches as are in flight.
    for (std::int64_t done = 0, begun = 0; done < count; ++done) {
      while (begun < std::min(count, done + in_flight)) {
        waiting.push_back(forward());
        ++begun;
      }
      backward(waiting.front());
      waiting.pop_front();
    }
    update_.run(memory_, gradients_);
  }

  KeptByAllocator kept() const {
    // What comes and goes lies in the segments, and must not be counted with the states again.
    const bool come_and_go = update_.joins() || both();
    return {.reserved = Bytes{static_cast<double>(memory_.reserved())},
            .gradients = Bytes{come_and_go ? static_cast<double>(weights_.all) : 0},
            .allocated = Bytes{static_cast<double>(memory_.most_allocated())}};
  }

 private:
  /// DeepSpeed's BF16 optimizer: gradients of a micro-batch beside the FP32 sums.
  bool both() const { return spec_.communication.gradients_kept == CommunicationSpec::Kept::both; }
  /// Stages hand each other a part per tensor rank, which the receivers gather.
  bool in_parts() const { return spec_.communication.scatter_gather && spec_.plan.tp > 1; }
  std::int64_t micro_batches() const {
    return spec_.training.global_batch / (spec_.training.micro_batch * spec_.plan.dp);
  }

  Handle take(std::int64_t bytes) { return memory_.allocate(bytes); }
  void drop(std::initializer_list<Handle> blocks) {
    for (const Handle block : blocks) memory_.release(block);
  }

  /// What stages hand over: whole, or gathered by way of another tensor from parts.
  Handle received() {
    const Handle whole = take(bytes_.residual);
    if (in_parts()) memory_.touch(bytes_.residual);
    return whole;
  }

  /// Words and positions are added, some dropped, and tokens brought first.
  Handle embedded(InFlight& pass) {
    const Handle words = take(bytes_.residual), positions = take(bytes_.residual);
    const Handle sum = take(bytes_.residual);
    drop({words, positions});
    pass.masks.push_back(take(bytes_.residual / 2));
    const Handle dropped = take(bytes_.residual);
    drop({sum});
    const Handle input = take(bytes_.residual);
    drop({dropped});
    return input;
  }

  InFlight forward() {
    InFlight pass;
    if (!slice_.embedding && in_parts())
      pass.received.push_back(take(bytes_.residual / spec_.plan.tp));
    Handle input = slice_.embedding ? embedded(pass) : received();
    KeptBlocks nothing;
    for (std::int64_t layer = 0; layer < slice_.count; ++layer) {
      pass.inputs.push_back(input);
      input = layer_forward(memory_, bytes_, ForwardBlocks::output, nothing);
    }
    if (slice_.head) {
      pass.outputs = {input, take(bytes_.residual),  // what the final norm reads, and puts out
                      take(logits(half_bytes)), take(logits(single_bytes))};
    } else if (in_parts()) {
      pass.outputs.push_back(take(bytes_.residual / spec_.plan.tp));
      drop({input});
    } else {
      pass.outputs.push_back(input);
    }
    return pass;
  }

  /// Of the rank's part of the vocabulary; a residual tensor has `hidden` elements per token.
  std::int64_t logits(double bytes) const {
    return std::llround(bytes * static_cast<double>(bytes_.residual) / half_bytes *
                        static_cast<double>(spec_.model.vocabulary) /
                        static_cast<double>(spec_.model.hidden * spec_.plan.tp));
  }

  /// The gradient of what the last layer puts out.
  Handle head_backward(InFlight& pass) {
    const Handle logit_gradient = take(logits(half_bytes));
    // The logits in FP32, then those in half precision: they were made last.
    for (int tensor = 0; tensor < 2; ++tensor) {
      memory_.release(pass.outputs.back());
      pass.outputs.pop_back();
    }
    const Handle norm_out = take(bytes_.residual);
    weight_gradient(weights_.bytes[weights_.order.front()]);
    drop({logit_gradient});
    const Handle gradient = take(bytes_.residual);
    drop({norm_out});
    return gradient;
  }

  /// Returns the gradient of what the first layer read. That of the last one's output stays with
  /// the caller.
  Handle layers_backward(InFlight& pass, Handle gradient) {
    const Handle caller = gradient;
    for (; !pass.inputs.empty(); pass.inputs.pop_back()) {
      KeptBlocks kept;
      const Handle again = layer_forward(memory_, bytes_, ForwardBlocks::all, kept);
      const Handle before = layer_backward(memory_, bytes_, kept,
                                           [&](std::int64_t weight) { weight_gradient(weight); });
      drop({again, pass.inputs.back()});
      // What the caller gave lives until the function that calls it returns.
      if (gradient != caller) drop({gradient});
      gradient = before;
    }
    return gradient;
  }

  /// The steps of embedded() in reverse.
  void embedding_backward(InFlight& pass, Handle gradient) {
    const Handle batches_first = take(bytes_.residual);
    drop({gradient});
    const Handle masked = take(bytes_.residual);
    drop({batches_first});
    memory_.release(pass.masks);
    weight_gradient(weights_.bytes.front());
    drop({masked});
  }

  void backward(InFlight& pass) {
    if (both()) memory_.release(gradients_);  // of the micro-batch before
    made_ = 0;
    if (!slice_.head && in_parts()) pass.outputs.push_back(received());
    const Handle from = slice_.head ? head_backward(pass) : received();
    const Handle gradient = layers_backward(pass, from);
    if (slice_.embedding)
      embedding_backward(pass, gradient);
    else
      drop({gradient});
    drop({from});
    memory_.release(pass.outputs);
    memory_.release(pass.received);
    if (both())
      for (const std::int64_t weight : weights_.bytes)
        memory_.touch(single_weight(weight));  // the cast that is added
  }

  /// The first one of a step stays, later ones are added to it; main gradients take them all.
  void weight_gradient(std::int64_t bytes) {
    const bool stays = both() || update_.joins();
    if (stays && made_ == gradients_.size() && made_ < weights_.order.size()) {
      gradients_.push_back(take(bytes));
    } else if (stays ||
               spec_.communication.accumulation == CommunicationSpec::Accumulation::separate) {
      memory_.touch(bytes);
    }
    ++made_;
  }

  const WorkloadSpec& spec_;
  const LayerTable::Slice& slice_;
  LayerBytes bytes_;
  StageWeights weights_;
  ReplayedUpdate update_;
  CachingAllocator memory_;
  std::vector<Handle> gradients_;  ///< in the order in which they are made
  std::size_t made_ = 0;           ///< of this backward
};

}  // namespace

bool replays_allocator(const WorkloadSpec& spec) {
  if (spec.training.adapters.any()) return false;
  const TrainingSpec& training = spec.training;
  const ParallelPlan& plan = spec.plan;
  // Other layers make other tensors, in an order that was not looked up.
  const auto* attention = std::get_if<GroupedQueryAttention>(&spec.model.attention);
  const bool plain = attention != nullptr && !attention->output_gate && !spec.model.moe &&
                     !spec.model.linear && spec.model.mtp_layers == 0 &&
                     spec.model.block == ModelSpec::Block::serial &&
                     spec.model.norm != ModelSpec::Norm::sandwich &&
                     spec.model.ffn.kind == FeedForwardSpec::Kind::gelu;
  const bool recomputed = training.recompute == TrainingSpec::Recompute::full &&
                          training.attention == TrainingSpec::Attention::unfused &&
                          training.dropout && !training.offloads_activations();
  return plain && recomputed && plan.vpp == 1 && plan.slices == 1 && plan.cp == 1 &&
         !plan.sequence_parallel && plan.zero <= 1;
}

KeptByAllocator replay_allocator(const WorkloadSpec& spec, const LayerTable::Slice& slice,
                                 std::int64_t in_flight) {
  expects(replays_allocator(spec) && in_flight > 0, "the order of tensors is known");
  Replay replay(spec, slice);
  replay.step(in_flight);
  // Later steps find what the first one leaves free.
  replay.step(in_flight);
  return replay.kept();
}

}  // namespace stepcast
