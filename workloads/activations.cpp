#include "activations.hpp"

#include <algorithm>
#include <functional>

#include "adapters.hpp"
#include "linear_attention.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

constexpr double mask = 1;  // byte of a dropout mask per element

/// Bytes per token of a layer: what every tensor rank holds, and what is split over the tensor
/// group.
struct PerToken {
  double whole = 0;  ///< split over it with sequence parallelism only
  double split = 0;
  double every = 0;  ///< what each of them holds
};

/// Of one micro-batch on a rank: context ranks share the sequence out.
double tokens(const WorkloadSpec& spec) {
  return static_cast<double>(spec.training.micro_batch * spec.training.sequence) /
         static_cast<double>(spec.plan.cp);
}

double tensor(const WorkloadSpec& spec) { return static_cast<double>(spec.plan.tp); }
/// By what tensors outside the products are divided: sequence parallelism alone shares them out.
double sequence_split(const WorkloadSpec& spec) {
  return spec.plan.sequence_parallel ? tensor(spec) : 1;
}

/// Bytes of what a matrix product reads and keeps: FP8 training keeps the cast input.
double input_bytes(const WorkloadSpec& spec) {
  // The core of attention reads its output in BF16, where no product keeps a cast of it.
  if (spec.training.adapters.any()) return half_bytes;
  return spec.training.precision == TrainingSpec::Precision::fp8_mixed ? 1 : half_bytes;
}

/// Ascend's FlashAttentionScore keeps maximum and sum as FP32 [.., 8], GPUs one number per row.
double softmax_bytes(SoftmaxState state) {
  return state == SoftmaxState::wide ? 2 * 8 * single_bytes : single_bytes;
}

/// What the backward of the core reads, per token and head: statistics of the fused kernel, or the
/// row of softmax, dropout mask and dropout output (5 a s^2 b of Korthikanti et al. 2022).
double core_state_bytes(const WorkloadSpec& spec, SoftmaxState state) {
  if (spec.training.attention != TrainingSpec::Attention::unfused) return softmax_bytes(state);
  // per key: probabilities and dropout output in half precision, one byte of mask
  return (2 * half_bytes + 1) * static_cast<double>(spec.training.sequence);
}

/// Query, key, value and output of the core, and its softmax.
PerToken core(const GroupedQueryAttention& a, const WorkloadSpec& spec, double softmax, bool) {
  const auto heads = static_cast<double>(a.heads);
  const auto head_dim = static_cast<double>(a.head_dim);
  // fewer key/value heads than tensor ranks are replicated
  const auto kv_heads = static_cast<double>(std::max(a.kv_heads, spec.plan.tp));
  // the norms of queries and keys keep what they read
  const double normed =
      spec.model.qk_norm == ModelSpec::QkNorm::none ? 0 : half_bytes * (heads + kv_heads);
  // a gate, and the output that it has not met
  const double gated = a.output_gate ? 2 * half_bytes * heads : 0;
  return {.split = head_dim * (half_bytes * (heads + 2 * kv_heads) + input_bytes(spec) * heads +
                               normed + gated) +
                   softmax * heads};
}

/// Attention to chosen tokens: latents with positions are the keys, queries and outputs are as wide
/// as these, and of the indexer its queries, key, weights, chosen tokens and their target remain.
PerToken sparse_core(const LatentAttention& a, const WorkloadSpec& spec, double softmax) {
  const auto heads = static_cast<double>(a.heads);
  const auto latent = static_cast<double>(a.kv_lora_rank), rope = static_cast<double>(a.rope_dim);
  const auto ranks = static_cast<double>(a.q_lora_rank) + latent;
  // a short sequence has fewer keys than the indexer may choose
  const auto chosen = static_cast<double>(std::min(a.index_top_k, spec.training.sequence));
  const auto index_heads = static_cast<double>(a.index_heads);
  const auto width = static_cast<double>(a.index_dim);
  // every tensor rank runs the indexer whole
  return {
      .whole = (half_bytes + input_bytes(spec)) * ranks + half_bytes * rope,
      .split = heads * (half_bytes * (static_cast<double>(a.nope_dim) + 2 * latent + rope) +
                        input_bytes(spec) * static_cast<double>(a.v_dim) + softmax),
      .every = half_bytes * (index_heads * (width + 1) + 2 * width) + 2 * single_bytes * chosen};
}

/// What a linear layer keeps between its projections: docs/models/memory.md.
PerToken linear_core(const LinearAttention& a, const WorkloadSpec& spec) {
  const LinearAttentionSizes sizes = linear_attention_sizes(a);
  const auto heads = static_cast<double>(a.value_heads);
  const double output = (2 * half_bytes + input_bytes(spec)) * sizes.values;  // with its gate
  if (a.kind == LinearAttention::Kind::lightning)
    return {.split = 2 * half_bytes * (2 * sizes.keys + sizes.values) + output};
  const double read = heads * 2 * static_cast<double>(a.key_dim) + sizes.values;
  // a matrix of chunk x chunk for each head: per token one row of it
  const double inverse = heads * static_cast<double>(a.chunk);
  return {.split = half_bytes * (sizes.convolved + 2 * sizes.keys + read + inverse) +
                   single_bytes * sizes.gates + output};
}

/// `again`: latents are projected up once more, and neither their norms nor the heads stay, but
/// what of a query that no latent leads to.
PerToken core(const LatentAttention& a, const WorkloadSpec& spec, double softmax, bool again) {
  if (a.sparse()) return sparse_core(a, spec, softmax);
  const auto heads = static_cast<double>(a.heads);
  const auto qk = static_cast<double>(a.nope_dim + a.rope_dim);
  const auto v = static_cast<double>(a.v_dim);
  const auto latent =
      static_cast<double>(a.q_lora_rank + a.kv_lora_rank);  // before and after its norm
  const double out = heads * input_bytes(spec) * v + softmax * heads;
  if (again)
    return {.whole = half_bytes * (latent + static_cast<double>(a.rope_dim)),
            .split = out + (a.q_lora_rank > 0 ? 0 : half_bytes * heads * qk)};
  return {.whole = (half_bytes + input_bytes(spec)) * latent +
                   half_bytes * static_cast<double>(a.rope_dim),
          .split = heads * half_bytes * (2 * qk + v) + out};
}

/// Inner widths that one token leaves in a feed-forward part: gate, up and product, or before and
/// after GELU. `again`: what the activation gives is made once more.
double inner_bytes(const WorkloadSpec& spec, double inner, bool again = false) {
  const bool gated = spec.model.ffn.kind == FeedForwardSpec::Kind::swiglu;
  const bool kept = !again && !spec.training.adapters.any();
  return (half_bytes * (gated ? 2 : 1) + (kept ? input_bytes(spec) : 0)) * inner;
}

/// What adapters beside a product keep: of their inputs, which every tensor rank has all tokens of
/// where the product's columns are split, and between both matrices. `there`: their input is kept
/// for something else, unless dropout makes another of it.
PerToken adapters_keep(const WorkloadSpec& spec, AdapterPlace place, double in, std::size_t parts,
                       bool there) {
  const AdapterSpec& adapters = spec.training.adapters;
  const double count = adapter_count(adapters, place, parts);
  if (count == 0) return {};
  const double input =
      adapters.dropout ? count * (half_bytes + mask) * in : (there ? 0 : half_bytes * in);
  const bool columns = place == AdapterPlace::qkv || place == AdapterPlace::up;
  PerToken keeps{.every = count * half_bytes * static_cast<double>(adapters.rank)};
  (columns ? keeps.every : keeps.split) += input;
  return keeps;
}

/// Whether a layer of this mode runs the module again.
using Again = std::function<bool(TrainingSpec::Module)>;

/// The tokens of a tensor group are shared out before dispatch, so that all of it is split.
/// `load`: of the rank with the most popular experts, which is the fullest.
double moe_bytes(const WorkloadSpec& spec, double load, const Again& again) {
  using Module = TrainingSpec::Module;
  if (again(Module::moe)) return 0;
  expects(spec.model.moe.has_value(), "the activations of an MoE layer need a model with experts");
  const ExpertSpec& moe = *spec.model.moe;
  const auto hidden = static_cast<double>(spec.model.hidden);
  const auto top_k = static_cast<double>(moe.top_k);
  // all ranks of a tensor group keep what they exchange of all its tokens
  const double kept = spec.moe.group_wise_a2a ? 1 : static_cast<double>(spec.plan.etp);
  const double router = kept * 2 * single_bytes * static_cast<double>(moe.experts);
  // an expert's tensor group gathers the tokens of its members
  // which the gradients of their weights read alone
  const double dispatched =
      spec.training.adapters.any()
          ? 0
          : load * input_bytes(spec) * top_k * hidden * static_cast<double>(spec.plan.etp);
  const double inside =
      load * top_k *
      inner_bytes(spec, static_cast<double>(moe.expert_hidden), again(Module::moe_act));
  const double combined = kept * half_bytes * top_k * hidden;
  const double shared = again(Module::shared_experts)
                            ? 0
                            : static_cast<double>(moe.shared_experts) *
                                  inner_bytes(spec, static_cast<double>(moe.shared_hidden));
  return router + dispatched + inside + combined + shared;
}

/// Bytes of one micro-batch, each item divided by the ranks that share it out.
double on_rank(const WorkloadSpec& spec, PerToken bytes) {
  const double divided = bytes.whole / sequence_split(spec) + bytes.split / tensor(spec);
  return tokens(spec) * (bytes.every > 0 ? divided + bytes.every : divided);
}

PerToken& operator+=(PerToken& sum, const PerToken& more) {
  sum.whole += more.whole;
  sum.split += more.split;
  sum.every += more.every;
  return sum;
}

/// Of a layer whose attention is not linear. Norms hand their adapters what they read.
PerToken adapters_of_layer(const WorkloadSpec& spec, bool moe_layer, bool norms, bool inner) {
  const auto& a = std::get<GroupedQueryAttention>(spec.model.attention);
  const auto hidden = static_cast<double>(spec.model.hidden);
  const auto wide = static_cast<double>(spec.model.ffn.hidden);
  const bool gated = spec.model.ffn.kind == FeedForwardSpec::Kind::swiglu;
  PerToken sum = adapters_keep(spec, AdapterPlace::qkv, hidden, 3, norms);
  const auto heads = static_cast<double>(a.heads * a.head_dim);
  sum += adapters_keep(spec, AdapterPlace::attention_out, heads, 1, true);
  if (moe_layer || inner) return sum;
  // A block whose parts read one norm keeps its output once.
  const bool shared = spec.model.norms_before() == 1 &&
                      adapter_count(spec.training.adapters, AdapterPlace::qkv, 3) > 0;
  sum += adapters_keep(spec, AdapterPlace::up, hidden, gated ? 2 : 1, norms || shared);
  return sum += adapters_keep(spec, AdapterPlace::down, wide, 1, false);
}

/// Keys and values of a token in every layer: later slices read them, whatever is recomputed.
double cache_bytes(const WorkloadSpec& spec) {
  if (spec.plan.slices == 1) return 0;
  if (const auto* a = std::get_if<GroupedQueryAttention>(&spec.model.attention))
    return half_bytes * 2 * static_cast<double>(std::max(a->kv_heads, spec.plan.tp) * a->head_dim);
  const auto& a = std::get<LatentAttention>(spec.model.attention);
  return half_bytes * static_cast<double>(a.heads * (a.nope_dim + a.rope_dim + a.v_dim));
}

/// Of layers of a mode, which may differ from the workload's own: a table recomputes some layers of
/// a chunk only.
Again rebuilds(const WorkloadSpec& spec, TrainingSpec::Recompute mode) {
  TrainingSpec training = spec.training;
  training.recompute = mode;
  return [training](TrainingSpec::Module module) { return training.recomputes(module); };
}

/// Between the projections of the attention, and what the last of them reads.
PerToken attention_bytes(const WorkloadSpec& spec, const Again& again, SoftmaxState state,
                         bool linear) {
  using Module = TrainingSpec::Module;
  if (linear) return linear_core(*spec.model.linear, spec);
  // the core runs again from query, key and value, its output stays for the projection
  const double softmax = again(Module::core_attn) ? 0 : core_state_bytes(spec, state);
  const bool up = again(Module::mla_up_proj);
  return std::visit([&](const auto& a) { return core(a, spec, softmax, up); },
                    spec.model.attention);
}

}  // namespace

Bytes away_activations(const WorkloadSpec& spec, double fullest, bool moe_layer,
                       TrainingSpec::Recompute mode, SoftmaxState state, bool linear) {
  if (const auto& part = spec.training.offload_activations)
    return *part * layer_activations(spec, fullest, moe_layer, mode, state, linear);
  // A layer that runs again whole keeps nothing of its attention.
  if (mode == TrainingSpec::Recompute::full) return Bytes{0};
  const Again again = rebuilds(spec, mode);
  PerToken sum = attention_bytes(spec, again, state, linear);
  if (!again(TrainingSpec::Module::layernorm))
    sum.whole += input_bytes(spec) * static_cast<double>(spec.model.hidden);
  return Bytes{on_rank(spec, sum)};
}

Bytes layer_activations(const WorkloadSpec& spec, bool moe_layer, TrainingSpec::Recompute mode,
                        SoftmaxState state, bool linear) {
  // With full recomputation nothing of the experts stays, so that their loads need not be drawn.
  const bool loaded = moe_layer && mode != TrainingSpec::Recompute::full;
  const double fullest = loaded ? layer_loads(spec).fullest() : 1;
  return layer_activations(spec, fullest, moe_layer, mode, state, linear);
}

Bytes layer_activations(const WorkloadSpec& spec, double fullest, bool moe_layer,
                        TrainingSpec::Recompute mode, SoftmaxState state, bool linear) {
  const auto hidden = static_cast<double>(spec.model.hidden);
  // the input of the layer alone, and what later slices of the sequence read
  if (mode == TrainingSpec::Recompute::full)
    return Bytes{on_rank(spec, {.whole = half_bytes * hidden, .split = cache_bytes(spec)})};

  using Module = TrainingSpec::Module;
  const Again again = rebuilds(spec, mode);
  PerToken sum = attention_bytes(spec, again, state, linear);
  const bool serial = spec.model.block == ModelSpec::Block::serial;
  const int sums = serial ? 2 : 1;  // to the residual stream, and before each what norms read
  // sandwich norms stand before and behind both blocks
  const int inputs = spec.model.norm == ModelSpec::Norm::sandwich ? 4 : sums;
  sum.whole += inputs * half_bytes * hidden;
  const bool frozen = spec.training.adapters.any();
  if (!again(Module::layernorm) && !frozen)  // the outputs that projections read
    sum.whole += spec.model.norms_before() * input_bytes(spec) * hidden;
  if (spec.training.dropout) sum.whole += sums * mask * hidden;
  if (moe_layer)
    sum.split += moe_bytes(spec, fullest, again);
  else if (!again(Module::mlp))
    sum.split +=
        inner_bytes(spec, static_cast<double>(spec.model.ffn.hidden), again(Module::mlp_act));
  if (frozen)
    sum += adapters_of_layer(spec, moe_layer, again(Module::layernorm), again(Module::mlp));
  return Bytes{on_rank(spec, sum)};
}

Bytes head_activations(const WorkloadSpec& spec) {
  using CrossEntropy = TrainingSpec::CrossEntropy;
  const CrossEntropy loss = spec.training.cross_entropy;
  // A metric is PyTorch's own cross entropy, and has logits in FP32 as an unfused loss has.
  const bool half = loss == CrossEntropy::fused && spec.training.logit_metrics == 0;
  // Logarithms and labels, or what the head wrote beside its cast. Of Transformers the most is the
  // same both ways: forward logits, shifted copy, cast and logarithms, backward logarithms and two
  // gradients; what the model returns is gone by then.
  const double cast = loss == CrossEntropy::one_hot        ? 2 * single_bytes
                      : loss == CrossEntropy::transformers ? 3 * single_bytes
                                                           : half_bytes + single_bytes;
  const double logit = half ? half_bytes : cast;
  // What the last norm reads, and what it hands to the head for the gradient of its weights.
  const double norm = (spec.training.adapters.any() ? 1 : 2) * half_bytes;
  return Bytes{on_rank(spec, {.whole = norm * static_cast<double>(spec.model.hidden),
                              .split = logit * static_cast<double>(spec.model.vocabulary)})};
}

Bytes mtp_activations(const WorkloadSpec& spec) {
  // inputs of both norms, and their joined outputs
  return Bytes{on_rank(spec, {.whole = 4 * half_bytes * static_cast<double>(spec.model.hidden)})};
}

Bytes input_activations(const WorkloadSpec& spec) {
  // of four bytes each
  const Bytes numbers{2 * single_bytes * tokens(spec)};
  if (!spec.training.dropout) return numbers;
  return numbers + Bytes{on_rank(spec, {.whole = mask * static_cast<double>(spec.model.hidden)})};
}

}  // namespace stepcast
