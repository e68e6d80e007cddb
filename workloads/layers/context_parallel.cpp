#include "attention_cores.hpp"
#include "rows.hpp"
#include "statements.hpp"

namespace stepcast::rows {

namespace {

/// Sizes of the matrices of scores. The mask is applied, so that nothing of them is left out; the
/// keys are those of the slice and of all slices before it.
struct Scores {
  Scores(const Shape& shape, const Core& core)
      : batch{shape.sequences * core.heads},
        rows{shape.length},
        keys{shape.before + shape.length},
        count{batch * rows * keys} {}
  double batch, rows, keys, count;
};

/// Bytes on average: half of the scores lie above the diagonal.
double read_of_a_score(KernelSpec::Softmax softmax) {
  return softmax == KernelSpec::Softmax::causal ? element / 2 : element;
}

/// Into the order of the next product.
Operator copy(const char* name, double count) { return vector_row(name, 0, 2 * element * count); }

/// The core as kernels of its own: products, softmax and dropout over all scores.
/// Megatron-LM's causal softmax reads no score above the diagonal and writes all.
LayerItems unfused_forward(const Shape& shape, const Core& core, KernelSpec::Softmax softmax) {
  const Scores s{shape, core};
  const double read = read_of_a_score(softmax);
  // FLOPs of a softmax: maximum, difference, exponential, sum and division of each score.
  return {batched_product("attention scores", s.batch, s.rows, s.keys, core.qk_dim),
          vector_row("attention softmax", 5 * s.count, (read + element) * s.count),
          vector_row("attention dropout", 2 * s.count, (2 * element + mask) * s.count),
          batched_product("attention context", s.batch, s.rows, core.v_dim, s.keys),
          copy("attention context copy", shape.tokens * core.out)};
}

LayerItems unfused_backward(const Shape& shape, const Core& core, KernelSpec::Softmax softmax) {
  const Scores s{shape, core};
  const double read = read_of_a_score(softmax);
  // In the order of autograd: through the second product first, then dropout and softmax, then the
  // first product's two gradients.
  return {copy("attention context gradient copy", shape.tokens * core.out),
          batched_product("attention probabilities gradient", s.batch, s.rows, s.keys, core.v_dim),
          batched_product("attention value gradient", s.batch, s.keys, core.v_dim, s.rows),
          vector_row("attention dropout backward", 2 * s.count, (2 * element + mask) * s.count),
          vector_row("attention softmax backward", 5 * s.count, (2 * read + element) * s.count),
          batched_product("attention query gradient", s.batch, s.rows, core.qk_dim, s.keys),
          batched_product("attention key gradient", s.batch, s.keys, core.qk_dim, s.rows),
          copy("attention gradients joined", shape.tokens * (core.q + core.k + core.v))};
}

/// How the context group is split: `ulysses` ranks exchange heads, `blocks` blocks of K and V go
/// round.
struct Split {
  explicit Split(const LayerContext& context) : cp{static_cast<double>(context.plan.cp)} {
    using Algorithm = ParallelPlan::ContextAlgorithm;
    const Algorithm algorithm = context.plan.context_algorithm;
    gather = cp > 1 && algorithm == Algorithm::allgather;
    if (algorithm == Algorithm::ulysses) ulysses = cp;
    if (algorithm == Algorithm::hybrid) ulysses = static_cast<double>(context.plan.ulysses_degree);
    blocks = gather ? 1 : cp / ulysses;
  }
  /// What a call over the whole group must hold so that each rank sends `sent` bytes.
  double call_bytes(double sent) const { return sent * cp / (cp - 1); }

  double cp, ulysses = 1, blocks = 1;
  bool gather = false;
};

/// Twice the keys that a query of `length` tokens sees on average, `before` earlier ones and half
/// of its own, or those of its window: W - W^2 / 2L of L, the first queries see fewer.
double twice_keys(double before, double length, double window) {
  if (window <= 0 || window >= length) return 2 * before + length;
  return 2 * window - window * window / length;
}

/// The backward kernel in MXFP8 computes the whole causal half, whatever the window: with windows
/// of 128 its time grows with the square of the length (cudnn-frontend 3929da2, gpt_oss).
double window_of(const LayerContext& context, bool backward) {
  const bool whole = backward && context.training.attention == TrainingSpec::Attention::cudnn_mxfp8;
  return whole ? 0 : static_cast<double>(context.window);
}

/// One block of queries against one block of keys: half of it is visible (zigzag order keeps ranks
/// equal). Keys of earlier slices are visible as a whole.
Operator block(const Shape& shape, const Core& core, const Split& split,
               const LayerContext& context, bool backward) {
  const double window = window_of(context, backward);
  const double rows = split.gather ? shape.length / shape.cp : shape.length / split.blocks;
  const double own = split.gather ? shape.length : rows;
  const double keys = shape.before + own;
  const double heads = core.heads / split.ulysses;
  const double forward_flops = shape.sequences * rows * twice_keys(shape.before, own, window) *
                               heads * (core.qk_dim + core.v_dim);
  const double q_side = shape.sequences * rows / split.ulysses;
  const double k_side = shape.sequences * keys / split.ulysses;
  const double in_out = q_side * (core.q + core.out) + k_side * (core.k + core.v);
  const double statistics = fp32 * shape.sequences * rows * heads;
  return {.name = backward ? "attention backward" : "attention",
          .work = AttentionWork{.sequences = shape.sequences,
                                .query_length = rows,
                                .key_length = keys,
                                .heads = heads,
                                .qk_dim = core.qk_dim,
                                .v_dim = core.v_dim,
                                .causal = true,
                                .backward = backward,
                                .generation = generation_of(context.training.attention),
                                .window = window < own ? window : 0},
          .flops = Flops{forward_flops * (backward ? attention_backward : 1)},
          .bytes = Bytes{(backward ? 2 : 1) * (element * in_out + statistics)},
          .launch = LaunchClass::matmul};
}

Operator merge(const Shape& shape, const Core& core, bool backward) {
  const double count = shape.tokens * (backward ? core.q + core.k + core.v : core.out);
  return vector_row(backward ? "accumulate block gradients" : "merge block outputs", 4 * count,
                    3 * element * count);
}

/// What MindSpeed's forward_update and causal_grad_update run (docs/models/context_parallel.md).
void merge_statements(LayerItems& items, const Shape& shape, const Core& core, bool backward) {
  if (backward)
    return put(items, {"accumulate block gradients",
                       {.kernels = 3},
                       3 * element * shape.tokens * (core.q + core.k + core.v)});
  const double statistics = 8 * fp32 * shape.tokens * core.heads;  // each of them eight times
  const double out = shape.tokens * core.out;
  put(items, {"merge block statistics", {.kernels = 10}, 28 * statistics});
  put(items, {"merge block scales", {.kernels = 4}, 6 * fp32 * out});
  put(items, {"merge block outputs", {.kernels = 4}, (8 * fp32 + 3 * element) * out});
}

void exchange_heads(LayerItems& items, const Shape& shape, const Split& split,
                    const std::string& name, double width) {
  if (split.ulysses <= 1) return;
  const double sent = element * shape.tokens * width * (split.ulysses - 1) / split.ulysses;
  communicate(items, "all_to_all " + name, GroupKind::context, shape.cp, CollectiveKind::all_to_all,
              split.call_bytes(sent));
}

/// Exchanges of queries, keys and values meet first in the core, and values none of what stands
/// between the projection and it.
void exchange_inputs(LayerItems& items, const Shape& shape, const Split& split, const Core& core,
                     const char* ending, bool backward) {
  const std::string end = ending;
  exchange_heads(items, shape, split, "q" + end, core.q);
  exchange_heads(items, shape, split, "k" + end, core.k);
  exchange_heads(items, shape, split, "v" + end, core.v);
  if (split.ulysses <= 1) return;
  const auto slack = [&](std::size_t from_end) -> Slack& {
    return std::get<LayerCommunication>(items[items.size() - from_end]).slack;
  };
  slack(2).ahead = 1;
  slack(1).ahead = 2 + (backward ? 0 : core.beside_values);
  if (backward) slack(1).behind = core.beside_values;
}

/// FlashAttention 3 sums up outputs times gradients in front of its backward kernel and casts the
/// gradients of queries behind it: launches of the same call, whose time is in that of the kernel.
void put_ends(LayerItems& items) {
  for (const char* name : {"attention backward sums", "attention backward cast"})
    items.push_back(Operator{
        .name = name, .work = MemoryBoundWork{}, .launch = LaunchClass::matmul, .in_call = true});
}

/// Queries, keys and values, or gradients of outputs, are cast to MXFP8 in both orders; scales of
/// 32 numbers are put in order by a kernel of their own. Transformer Engine does a call for all
/// (mxfp8_quantize_fast_path of dot_product_attention/utils.py, d0067d0d).
void put_casts(LayerItems& items, const LayerContext& context, const Core& core, bool backward) {
  if (context.training.attention != TrainingSpec::Attention::cudnn_mxfp8) return;
  const double tokens = Shape{context}.tokens;
  const double scales = 2.0 / 32;  // bytes of an element, of both orders
  const auto cast = [&](const char* tensor, double width, bool in_call) {
    const std::string name = std::string("attention ") + tensor;
    Operator copy = vector_row(name + " to fp8", 0, (element + 2 + scales) * tokens * width);
    Operator order = vector_row(name + " scales order", 0, 2 * scales * tokens * width);
    copy.in_call = in_call;
    order.in_call = true;
    items.push_back(std::move(copy));
    items.push_back(std::move(order));
  };
  if (backward) return cast("gradient", core.out, false);
  cast("q", core.q, false);
  cast("k", core.k, true);
  cast("v", core.v, true);
}

/// The blocks go round behind all steps but the last: (blocks - 1) max(step, transfer) + step, as
/// in the ring.
void blocks(LayerItems& items, const LayerContext& context, const Core& core, const Split& split,
            bool backward) {
  const Shape shape{context};
  const double block_bytes = element * shape.tokens * (core.k + core.v);
  const std::string name = backward ? "ring keys, values and gradients" : "ring keys and values";
  const CommunicationId ring{CommunicationRole::ring};
  const auto steps = static_cast<int>(split.blocks);
  put_casts(items, context, core, backward);
  if (steps > 1)
    items.push_back(overlapped(
        name, ring, GroupKind::context, CollectiveKind::all_gather,
        split.call_bytes((backward ? 2 : 1) * (split.blocks - 1) * block_bytes), "ring"));
  for (int step = 0; step < steps; ++step) {
    if (steps > 1 && step + 1 == steps) items.push_back(WaitFor{ring});
    items.push_back(block(shape, core, split, context, backward));
    if (backward && context.training.attention == TrainingSpec::Attention::flash_3) put_ends(items);
    if (step == 0) continue;
    if (context.ring == KernelSpec::Ring::statements)
      merge_statements(items, shape, core, backward);
    else
      items.push_back(merge(shape, core, backward));
  }
}

/// Gradients of the keys and values of earlier slices are added to those of slices before.
void accumulate_slices(LayerItems& items, const Shape& shape, const Core& core) {
  if (shape.before <= 0) return;
  const double count = shape.sequences * shape.before * (core.k + core.v);
  items.push_back(vector_row("accumulate slice gradients", count, 3 * element * count));
}

void gather_keys(LayerItems& items, const Shape& shape, const Core& core, const Split& split) {
  if (split.gather)
    communicate(items, "all_gather keys and values", GroupKind::context, shape.cp,
                CollectiveKind::all_gather, element * shape.cp * shape.tokens * (core.k + core.v));
}

bool unfused(const LayerContext& context) {
  return context.training.attention == TrainingSpec::Attention::unfused;
}

}  // namespace

void core_forward(LayerItems& items, const LayerContext& context, const Core& core) {
  const Shape shape{context};
  // The unfused core holds all scores, which only ranks with whole sequences can.
  if (unfused(context)) {
    const LayerItems rows = unfused_forward(shape, core, context.softmax);
    items.insert(items.end(), rows.begin(), rows.end());
    return;
  }
  const Split split{context};
  gather_keys(items, shape, core, split);
  exchange_inputs(items, shape, split, core, "", false);
  blocks(items, context, core, split, false);
  exchange_heads(items, shape, split, "attention out", core.out);
}

void core_backward(Backward& backward, const LayerContext& context, const Core& core) {
  const Shape shape{context};
  const Split split{context};
  LayerItems items;
  // Recomputation repeats the exchanges of the forward, too: their results were not kept either.
  if (context.training.recomputes(TrainingSpec::Module::core_attn)) {
    core_forward(items, context, core);
    add_again(backward, items);
    items.clear();
  }
  if (unfused(context)) {
    backward.add_input(items);
    backward.add_input(unfused_backward(shape, core, context.softmax));
    LayerItems sums;
    accumulate_slices(sums, shape, core);
    backward.add_input(sums);
    return;
  }
  // Gathered keys and values are dropped after the forward, so that the backward gathers them
  // again.
  gather_keys(items, shape, core, split);
  exchange_heads(items, shape, split, "attention out gradient", core.out);
  blocks(items, context, core, split, true);
  accumulate_slices(items, shape, core);
  // Each rank has a part of the gradients of all keys: what was gathered is reduced and scattered.
  if (split.gather)
    communicate(items, "reduce_scatter keys and values gradient", GroupKind::context, shape.cp,
                CollectiveKind::reduce_scatter,
                element * shape.cp * shape.tokens * (core.k + core.v));
  exchange_inputs(items, shape, split, core, " gradient", true);
  backward.add_input(items);
}

}  // namespace stepcast::rows
