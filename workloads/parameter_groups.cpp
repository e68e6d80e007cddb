#include "parameter_groups.hpp"

#include <algorithm>

#include "linear_attention.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

/// Of a feed-forward part: its matrices, biases between them, and the bias of its output.
struct FeedForwardSize {
  double weights, inner_biases, outer_biases;
};

FeedForwardSize feed_forward(const ModelSpec& model, double inner) {
  const auto hidden = static_cast<double>(model.hidden);
  const bool gated = model.ffn.kind == FeedForwardSpec::Kind::swiglu;
  const bool biased = model.bias == ModelSpec::Bias::all;
  return {(gated ? 3 : 2) * hidden * inner, biased ? (gated ? 2 : 1) * inner : 0,
          biased ? hidden : 0};
}

ParameterGroups parameters(const GroupedQueryAttention& attention, const ModelSpec& model) {
  const auto hidden = static_cast<double>(model.hidden);
  const auto query = static_cast<double>(attention.heads * attention.head_dim);
  const auto key_value = static_cast<double>(2 * attention.kv_heads * attention.head_dim);
  const double matrices = attention.output_gate ? 3 : 2;  // of queries, output and gate
  ParameterGroups groups{.tensor = matrices * hidden * query, .key_value = hidden * key_value};
  if (model.bias != ModelSpec::Bias::none) {
    groups.tensor += query;
    groups.key_value += key_value;
  }
  // The bias of the output is added where all ranks hold the sum.
  if (model.bias == ModelSpec::Bias::all) groups.replicated += hidden;
  switch (model.qk_norm) {
    case ModelSpec::QkNorm::none:
      break;
    case ModelSpec::QkNorm::head:
      groups.replicated += 2 * static_cast<double>(attention.head_dim);
      break;
    case ModelSpec::QkNorm::full:
      // of `key_value` keys are one half
      groups.replicated += query + key_value / 2;
      break;
  }
  return groups;
}

/// Every tensor rank holds the indexer whole (Megatron-LM, `parallel_mode="duplicated"`): queries
/// from their latents, one key and a weight per head from the hidden state, a layer norm on keys.
double indexer_weights(const LatentAttention& attention, const ModelSpec& model) {
  const auto heads = static_cast<double>(attention.index_heads);
  const auto width = static_cast<double>(attention.index_dim);
  return static_cast<double>(attention.q_lora_rank) * heads * width +
         static_cast<double>(model.hidden) * (width + heads);
}

double indexer_norm(const LatentAttention& attention) {
  return 2 * static_cast<double>(attention.index_dim);
}

ParameterGroups parameters(const LatentAttention& attention, const ModelSpec& model) {
  const auto hidden = static_cast<double>(model.hidden);
  const auto heads = static_cast<double>(attention.heads);
  const auto query = heads * static_cast<double>(attention.nope_dim + attention.rope_dim);
  const auto key_value = heads * static_cast<double>(attention.nope_dim + attention.v_dim);
  const auto query_rank = static_cast<double>(attention.q_lora_rank);
  const auto kv_rank = static_cast<double>(attention.kv_lora_rank);
  const double latent = kv_rank + static_cast<double>(attention.rope_dim);
  const double output = heads * static_cast<double>(attention.v_dim);

  // Latents and their norms are on every tensor rank; what is projected up from them is split.
  ParameterGroups groups{.tensor = kv_rank * key_value + output * hidden,
                         .replicated = hidden * latent + kv_rank};
  if (attention.q_lora_rank > 0) {
    groups.tensor += query_rank * query;
    groups.replicated += hidden * query_rank + query_rank;
  } else {
    groups.tensor += hidden * query;
  }
  if (model.bias != ModelSpec::Bias::none) {
    groups.replicated += latent + query_rank;
    if (attention.q_lora_rank == 0) groups.tensor += query;
  }
  if (model.bias == ModelSpec::Bias::all) groups.replicated += hidden;
  if (attention.sparse())
    groups.replicated += indexer_weights(attention, model) + indexer_norm(attention);
  return groups;
}

}  // namespace

ParameterGroups& ParameterGroups::operator+=(const ParameterGroups& other) {
  tensor += other.tensor;
  key_value += other.key_value;
  replicated += other.replicated;
  experts += other.experts;
  return *this;
}

ParameterGroups operator*(double factor, ParameterGroups groups) {
  groups.tensor *= factor;
  groups.key_value *= factor;
  groups.replicated *= factor;
  groups.experts *= factor;
  return groups;
}

RankParameters& RankParameters::operator+=(RankParameters other) {
  dense += other.dense;
  experts += other.experts;
  return *this;
}

ParameterGroups attention_parameters(const ModelSpec& model) {
  return std::visit([&](const auto& attention) { return parameters(attention, model); },
                    model.attention);
}

ParameterGroups linear_attention_parameters(const ModelSpec& model) {
  expects(model.linear.has_value(), "its parameters need a model with linear attention");
  const LinearAttentionSizes sizes = linear_attention_sizes(*model.linear);
  const auto hidden = static_cast<double>(model.hidden);
  // each head has a rate and an offset of its decay, as many numbers as it has gates
  return {.tensor = hidden * (sizes.projected + sizes.values) + sizes.gates +
                    sizes.convolved * static_cast<double>(model.linear->convolution),
          .replicated = sizes.norm};
}

ParameterGroups dense_ffn_parameters(const ModelSpec& model) {
  const FeedForwardSize size = feed_forward(model, static_cast<double>(model.ffn.hidden));
  return {.tensor = size.weights + size.inner_biases, .replicated = size.outer_biases};
}

ParameterGroups moe_ffn_parameters(const ModelSpec& model) {
  expects(model.moe.has_value(), "the parameters of an MoE layer need a model with experts");
  const ExpertSpec& moe = *model.moe;
  const auto experts = static_cast<double>(moe.experts);
  const auto shared_experts = static_cast<double>(moe.shared_experts);
  const FeedForwardSize expert = feed_forward(model, static_cast<double>(moe.expert_hidden));
  const FeedForwardSize shared = feed_forward(model, static_cast<double>(moe.shared_hidden));
  ParameterGroups groups;
  groups.experts = experts * (expert.weights + expert.inner_biases + expert.outer_biases);
  groups.tensor = shared_experts * (shared.weights + shared.inner_biases);
  // Every tensor rank has the whole router.
  groups.replicated =
      shared_experts * shared.outer_biases + static_cast<double>(model.hidden) * experts;
  if (moe.correction_bias) groups.replicated += experts;
  if (moe.shared_gate) groups.replicated += static_cast<double>(model.hidden);
  return groups;
}

double norm_width(const ModelSpec& model) {
  return (model.norm == ModelSpec::Norm::layer ? 2 : 1) * static_cast<double>(model.hidden);
}

ParameterGroups norm_parameters(const ModelSpec& model) {
  const int norms = model.norm == ModelSpec::Norm::sandwich ? 4 : model.norms_before();
  return {.replicated = norms * norm_width(model)};
}

LayerParts parts_of(const ModelSpec& model, std::int64_t layer) {
  return {model.is_moe_layer(layer), model.is_linear(layer)};
}

ParameterGroups layer_parameters(const ModelSpec& model, LayerParts parts) {
  ParameterGroups groups =
      parts.linear ? linear_attention_parameters(model) : attention_parameters(model);
  groups += parts.moe ? moe_ffn_parameters(model) : dense_ffn_parameters(model);
  groups += norm_parameters(model);
  return groups;
}

ParameterGroups mixer_products(const ModelSpec& model, bool linear) {
  if (linear) {
    const LinearAttentionSizes sizes = linear_attention_sizes(*model.linear);
    return {.tensor = static_cast<double>(model.hidden) * (sizes.projected + sizes.values)};
  }
  // Matrices alone.
  ModelSpec plain = model;
  plain.bias = ModelSpec::Bias::none;
  plain.qk_norm = ModelSpec::QkNorm::none;
  ParameterGroups groups = attention_parameters(plain);
  if (const auto* latent = std::get_if<LatentAttention>(&model.attention)) {
    // Scales of the norms on latents.
    groups.replicated -= static_cast<double>(latent->q_lora_rank + latent->kv_lora_rank);
    if (latent->sparse()) groups.replicated -= indexer_norm(*latent);
  }
  return groups;
}

double indexer_products(const ModelSpec& model) {
  if (!model.has_indexer()) return 0;
  return indexer_weights(std::get<LatentAttention>(model.attention), model);
}

ParameterGroups product_parameters(const ModelSpec& model, LayerParts parts) {
  ModelSpec plain = model;
  plain.bias = ModelSpec::Bias::none;
  ParameterGroups groups = mixer_products(model, parts.linear);
  if (!parts.moe) return groups += dense_ffn_parameters(plain);
  plain.moe->correction_bias = false;
  plain.moe->shared_gate = false;
  groups += moe_ffn_parameters(plain);
  // moe_ffn_parameters() counts the router.
  groups.replicated -= static_cast<double>(model.hidden * plain.moe->experts);
  return groups;
}

bool mtp_is_moe(const ModelSpec& model) { return model.is_moe_layer(model.layers - 1); }

ParameterGroups mtp_parameters(const ModelSpec& model) {
  const auto hidden = static_cast<double>(model.hidden);
  ParameterGroups groups = layer_parameters(model, {mtp_is_moe(model)});
  // A projection of both inputs to one width, norms on both, and one behind the layer.
  groups.tensor += 2 * hidden * hidden;
  groups.replicated += 3 * norm_width(model);
  return groups;
}

ParameterGroups mtp_product_parameters(const ModelSpec& model) {
  const auto hidden = static_cast<double>(model.hidden);
  ParameterGroups groups = product_parameters(model, {mtp_is_moe(model)});
  groups.tensor += 2 * hidden * hidden;
  return groups;
}

RankParameters on_rank(const ModelSpec& model, const ParallelPlan& plan,
                       const ParameterGroups& groups) {
  // Tensor ranks beyond the number of key/value heads hold copies.
  std::int64_t key_value_split = plan.tp;
  if (const auto* attention = std::get_if<GroupedQueryAttention>(&model.attention)) {
    key_value_split = std::min(plan.tp, attention->kv_heads);
  }
  return {groups.tensor / static_cast<double>(plan.tp) +
              groups.key_value / static_cast<double>(key_value_split) + groups.replicated,
          groups.experts / static_cast<double>(plan.ep * plan.etp)};
}

}  // namespace stepcast
