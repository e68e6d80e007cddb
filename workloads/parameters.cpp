#include "linear_attention.hpp"
#include "parameter_groups.hpp"
#include "stepcast/workloads/model_spec.hpp"

namespace stepcast {
namespace {

std::int64_t moe_layers(const ModelSpec& model) {
  std::int64_t count = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    count += model.is_moe_layer(layer) ? 1 : 0;
  return count;
}

std::int64_t linear_layers(const ModelSpec& model) {
  std::int64_t count = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    count += model.is_linear(layer) ? 1 : 0;
  return count;
}

/// Weights of matrix products that one token passes in a layer whose attention is not linear: no
/// biases, no norms, chosen experts only.
double matmul_weights(const ModelSpec& model, bool moe_layer) {
  ModelSpec plain = model;
  plain.bias = ModelSpec::Bias::none;
  const double weights = mixer_products(model, false).sum();
  if (!moe_layer) return weights + dense_ffn_parameters(plain).sum();
  plain.moe->correction_bias = false;
  const ParameterGroups groups = moe_ffn_parameters(plain);
  // Of the routed experts a token passes those that it chooses.
  const double chosen =
      static_cast<double>(plain.moe->top_k) / static_cast<double>(plain.moe->experts);
  return weights + groups.dense() + chosen * groups.experts;
}

/// FLOPs of the attention core per token, forward, causal: on average half of `sequence` keys are
/// seen, of a window W less than the sequence s W - W^2 / 2s.
double core_flops(const ModelSpec& model, std::int64_t sequence, std::int64_t window) {
  auto keys = static_cast<double>(sequence);
  if (window > 0 && window < sequence) {
    const auto seen = static_cast<double>(window);
    keys = 2 * seen - seen * seen / keys;
  }
  if (const auto* grouped = std::get_if<GroupedQueryAttention>(&model.attention)) {
    return 2 * keys * static_cast<double>(grouped->heads * grouped->head_dim);
  }
  const auto& latent = std::get<LatentAttention>(model.attention);
  return keys *
         static_cast<double>(latent.heads * (latent.nope_dim + latent.rope_dim + latent.v_dim));
}

/// Twice the keys that a query sees on average, of `window` at most; 0: of all.
double twice_keys(std::int64_t sequence, std::int64_t window) {
  const auto all = static_cast<double>(sequence), seen = static_cast<double>(window);
  return window <= 0 || window >= sequence ? all : 2 * seen - seen * seen / all;
}

/// What the indexer of one layer does otherwise than 3 x forward, per token: it learns from its own
/// loss, so that nothing goes back into its inputs, and from chosen tokens alone.
double indexer_saves(const LatentAttention& a, const ModelSpec& model, std::int64_t sequence) {
  if (!a.sparse()) return 0;
  const double pairs = twice_keys(sequence, 0) - twice_keys(sequence, a.index_top_k);
  return 2 * indexer_products(model) + 2 * pairs * static_cast<double>(a.index_heads * a.index_dim);
}

/// FLOPs of training one token in one layer, without its feed-forward part.
double mixer_flops(const ModelSpec& model, std::int64_t sequence, std::int64_t window,
                   bool linear) {
  // Training is three times the forward: each product has two in the backward pass.
  if (linear) return 3 * (2 * mixer_products(model, true).sum() + recurrence_flops(*model.linear));
  const double products = 3 * 2 * mixer_products(model, false).sum();
  const auto* latent = std::get_if<LatentAttention>(&model.attention);
  if (latent == nullptr || !latent->sparse())
    return products + 3 * core_flops(model, sequence, window);
  // The indexer scores all tokens before a query, which then sees `index_top_k` of them.
  const double scores =
      twice_keys(sequence, 0) * static_cast<double>(latent->index_heads * latent->index_dim);
  return products + 3 * (core_flops(model, sequence, latent->index_top_k) + scores) -
         indexer_saves(*latent, model, sequence);
}

/// What layers of a model that has several kinds of attention do otherwise than `attention` over
/// all tokens.
double other_mixers(const ModelSpec& model, std::int64_t sequence, bool with_mtp) {
  const double plain =
      3 * (2 * mixer_products(model, false).sum() + core_flops(model, sequence, 0));
  double sum = 0;
  for (std::int64_t i = 0; i < model.layers; ++i)
    sum += mixer_flops(model, sequence, model.window_of(i), model.is_linear(i)) - plain;
  if (with_mtp)
    sum += static_cast<double>(model.mtp_layers) * (mixer_flops(model, sequence, 0, false) - plain);
  return sum;
}

}  // namespace

ParameterCount count_parameters(const ModelSpec& model) {
  const auto hidden = static_cast<double>(model.hidden);
  ParameterCount count;
  count.embedding = static_cast<double>(model.vocabulary) * hidden;
  // A tied head uses the embedding's matrix, which counts once.
  count.head = model.tied_embeddings ? 0 : count.embedding;
  count.positions = static_cast<double>(model.positions) * hidden;
  count.final_norm = norm_width(model);
  count.attention_per_layer = attention_parameters(model).sum();
  count.dense_ffn_per_layer = dense_ffn_parameters(model).sum();
  count.norms_per_layer = norm_parameters(model).sum();
  if (model.linear) count.linear_attention_per_layer = linear_attention_parameters(model).sum();

  const auto moe_count = static_cast<double>(moe_layers(model));
  const auto layers = static_cast<double>(model.layers);
  const auto linear = static_cast<double>(linear_layers(model));
  double idle_experts = 0;  // of one MoE layer: what a token does not choose
  if (model.moe) {
    const ParameterGroups moe = moe_ffn_parameters(model);
    // Active parameters are those that a token meets: top-k of the routed experts, all of the rest.
    count.moe_ffn_per_layer = moe.sum();
    idle_experts = moe.experts * static_cast<double>(model.moe->experts - model.moe->top_k) /
                   static_cast<double>(model.moe->experts);
  }
  if (model.mtp_layers > 0) {
    count.mtp = static_cast<double>(model.mtp_layers) * mtp_parameters(model).sum();
  }
  count.total_without_mtp =
      count.embedding + count.head + count.positions + count.final_norm +
      (layers - linear) * count.attention_per_layer + linear * count.linear_attention_per_layer +
      layers * count.norms_per_layer + (layers - moe_count) * count.dense_ffn_per_layer +
      moe_count * count.moe_ffn_per_layer;
  // Published totals leave the prediction modules out, since inference may drop them.
  count.total = count.total_without_mtp + count.mtp;
  count.active = count.total_without_mtp - moe_count * idle_experts;
  return count;
}

double training_flops_per_token(const ModelSpec& model, std::int64_t sequence, bool with_mtp) {
  const auto hidden = static_cast<double>(model.hidden);
  const auto moe_count = static_cast<double>(moe_layers(model));
  const auto layers = static_cast<double>(model.layers);
  const auto layer = [&](bool moe) {
    return 2 * matmul_weights(model, moe) + core_flops(model, sequence, 0);
  };
  const double head = 2 * hidden * static_cast<double>(model.vocabulary);

  double forward = (layers - moe_count) * layer(false) + head;
  if (moe_count > 0) forward += moe_count * layer(true);
  if (with_mtp) {
    // Both inputs of the module are projected to one.
    const double projection = 2 * 2 * hidden * hidden;
    forward +=
        static_cast<double>(model.mtp_layers) * (layer(mtp_is_moe(model)) + projection + head);
  }
  // Models with several kinds of attention have their windows in other_mixers().
  if (model.has_windows() && !model.linear) {
    for (std::int64_t i = 0; i < model.layers; ++i)
      forward -= core_flops(model, sequence, 0) - core_flops(model, sequence, model.window_of(i));
  }
  const bool mixed = model.linear || model.has_indexer();
  return 3 * forward + (mixed ? other_mixers(model, sequence, with_mtp) : 0);
}

}  // namespace stepcast
