#include <algorithm>
#include <string>
#include <vector>

#include "hugging_face.hpp"

// Families whose names or layers differ from those of Llama and DeepSeek.
namespace stepcast::hugging_face {
namespace {

using QkNorm = ModelSpec::QkNorm;

/// The first MoE layer, and every layer behind it.
void place_behind(JsonConfig& config, ModelSpec& model, std::int64_t dense) {
  std::vector<bool> marked;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) marked.push_back(layer >= dense);
  place_moe_layers(config, "first_k_dense_replace", marked, model);
}

/// DeepSeek's experts behind grouped attention: GLM-4.5, dots, Ling.
void read_grouped_fine(JsonConfig& config, ModelSpec& model, bool normed) {
  read_dense(config, model);
  if (config.flag_or(normed, {"use_qk_norm"})) model.qk_norm = QkNorm::head;
  read_fine_experts(config, model);
  if (model.moe) model.moe->correction_bias = true;
}

}  // namespace

void read_glm4_moe(JsonConfig& config, ModelSpec& model) {
  read_grouped_fine(config, model, false);
}

void read_normed_fine(JsonConfig& config, ModelSpec& model) {
  read_grouped_fine(config, model, true);
}

/// Every layer has experts as wide as intermediate_size.
void read_all_experts(JsonConfig& config, ModelSpec& model) {
  model.moe = ExpertSpec{.experts = config.count({"num_local_experts", "num_experts"}),
                         .top_k = config.count({"num_experts_per_tok"}),
                         .expert_hidden = model.ffn.hidden};
}

void read_minimax_m2(JsonConfig& config, ModelSpec& model) {
  read_all_experts(config, model);
  model.moe->correction_bias = config.flag_or(false, {"use_routing_bias"});
  model.mtp_layers = config.count_or(0, {"num_mtp_modules"}, 0);
}

void read_granite_moe(JsonConfig& config, ModelSpec& model) {
  read_all_experts(config, model);
  const std::int64_t shared = config.count_or(0, {"shared_intermediate_size"}, 0);
  if (shared > 0) {
    model.moe->shared_experts = 1;
    model.moe->shared_hidden = shared;
  }
}

/// One shared expert of its own width: Qwen2-MoE, Pangu Pro.
void read_one_shared(JsonConfig& config, ModelSpec& model) {
  model.moe = ExpertSpec{.experts = config.count({"num_experts"}),
                         .top_k = config.count({"num_experts_per_tok"}),
                         .expert_hidden = config.count({"moe_intermediate_size"}),
                         .shared_experts = 1,
                         .shared_hidden = config.count({"shared_expert_intermediate_size"})};
  if (config.count_or(1, {"decoder_sparse_step"}) != 1 ||
      !config.counts({"mlp_only_layers"}).empty())
    config.fail("decoder_sparse_step",
                "leaves layers without experts, allowed: 1, and no mlp_only_layers");
}

void read_ernie(JsonConfig& config, ModelSpec& model) {
  model.moe = ExpertSpec{.experts = config.count({"moe_num_experts"}),
                         .top_k = config.count({"moe_k"}),
                         .expert_hidden = config.count({"moe_intermediate_size"}),
                         .shared_experts = config.count_or(0, {"moe_num_shared_experts"}, 0),
                         .correction_bias = true};
  if (model.moe->shared_experts > 0) model.moe->shared_hidden = model.moe->expert_hidden;
  // Both ends count, and within them the same rule of the interval as elsewhere.
  const std::int64_t first = config.count_or(0, {"moe_layer_start_index"}, 0);
  const std::int64_t last = config.count_or(model.layers - 1, {"moe_layer_end_index"}, 0);
  const std::int64_t step = config.count_or(1, {"moe_layer_interval"});
  std::vector<bool> marked;
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    marked.push_back(layer >= first && layer <= last && (layer + 1) % step == 0);
  place_moe_layers(config, "moe_layer_interval", marked, model);
}

namespace {

/// A number for all layers, or a list that says it of each.
std::int64_t uniform(JsonConfig& config, std::string_view key) {
  if (!config.is_list(key)) return config.count_or(0, {key}, 0);
  const std::vector<std::int64_t> all = config.counts({key});
  if (all.empty()) return 0;
  if (std::ranges::any_of(all, [&](std::int64_t value) { return value != all.front(); }))
    config.fail(key, "differs by layer, allowed: one value");
  return all.front();
}

}  // namespace

void read_hunyuan(JsonConfig& config, ModelSpec& model) {
  if (config.flag_or(false, {"use_cla"}))
    config.fail("use_cla", "is true, and a model lacks keys that layers share, allowed: false");
  model.moe = ExpertSpec{.experts = std::max<std::int64_t>(uniform(config, "num_experts"), 1),
                         .top_k = std::max<std::int64_t>(uniform(config, "moe_topk"), 1),
                         .expert_hidden = uniform(config, "moe_intermediate_size"),
                         .shared_experts = uniform(config, "num_shared_expert")};
  if (model.moe->expert_hidden == 0) model.moe->expert_hidden = model.ffn.hidden;
  if (model.moe->shared_experts > 0) model.moe->shared_hidden = model.moe->expert_hidden;
  place_behind(config, model, 0);
}

/// The sink of each head is left out.
void read_gpt_oss(JsonConfig& config, ModelSpec& model) {
  read_all_experts(config, model);
  model.bias = ModelSpec::Bias::all;
}

namespace {

/// The layers that are `full` in a list of all of them are every n-th.
void place_full(JsonConfig& config, ModelSpec& model, std::string_view key,
                const std::vector<bool>& full) {
  if (full.empty()) return;
  const auto first = std::ranges::find(full, true);
  model.linear->full_every = first == full.end() ? 0 : first - full.begin() + 1;
  bool regular = static_cast<std::int64_t>(full.size()) == model.layers &&
                 !std::ranges::all_of(full, [](bool all) { return all; });
  for (std::size_t layer = 0; regular && layer < full.size(); ++layer)
    regular = full[layer] != model.is_linear(static_cast<std::int64_t>(layer));
  if (!regular && config.good({"num_hidden_layers"}))
    config.fail(key,
                "places linear attention irregularly, allowed: full attention in every n-th layer, "
                "linear in the others");
}

}  // namespace

/// A gated delta net in three of four layers; the output of the others has a gate.
void read_qwen3_next(JsonConfig& config, ModelSpec& model) {
  read_qwen3_moe(config, model);
  std::get<GroupedQueryAttention>(model.attention).output_gate = true;
  if (model.moe) {
    model.moe->shared_hidden = config.count_or(0, {"shared_expert_intermediate_size"}, 0);
    model.moe->shared_experts = model.moe->shared_hidden > 0 ? 1 : 0;
    model.moe->shared_gate = model.moe->shared_experts > 0;
  }
  model.mtp_layers = config.count_or(0, {"num_nextn_predict_layers", "mtp_num_hidden_layers"}, 0);
  model.linear = LinearAttention{.key_heads = config.count({"linear_num_key_heads"}),
                                 .value_heads = config.count({"linear_num_value_heads"}),
                                 .key_dim = config.count({"linear_key_head_dim"}),
                                 .value_dim = config.count({"linear_value_head_dim"}),
                                 .convolution = config.count({"linear_conv_kernel_dim"}),
                                 .full_every = config.count_or(4, {"full_attention_interval"})};
  if (model.linear->value_heads % model.linear->key_heads != 0 &&
      config.good({"linear_num_key_heads", "linear_num_value_heads"}))
    config.fail("linear_num_value_heads", "is no multiple of linear_num_key_heads (" +
                                              std::to_string(model.linear->key_heads) + ")");
  std::vector<bool> full;
  for (const std::string& type : config.texts({"layer_types"})) {
    full.push_back(type == "full_attention");
    if (type != "full_attention" && type != "linear_attention")
      return config.fail("layer_types",
                         "has '" + type + "', allowed: full_attention, linear_attention");
  }
  // A file without experts has 0 or 1 of them; sizes per layer must agree, since a model has one
  // kind of MoE layer.
  place_full(config, model, "layer_types", full);
}

/// Lightning attention; `attn_type_list` has a 1 where a layer has softmax attention.
void read_minimax_m1(JsonConfig& config, ModelSpec& model) {
  read_all_experts(config, model);
  const auto& attention = std::get<GroupedQueryAttention>(model.attention);
  model.linear = LinearAttention{.kind = LinearAttention::Kind::lightning,
                                 .key_heads = attention.heads,
                                 .value_heads = attention.heads,
                                 .key_dim = attention.head_dim,
                                 .value_dim = attention.head_dim,
                                 .convolution = 0,
                                 .chunk = config.count_or(256, {"block_size"})};
  std::vector<bool> full;
  for (const std::int64_t type : config.counts({"attn_type_list"})) full.push_back(type == 1);
  for (const std::string& type : config.texts({"layer_types"}))
    full.push_back(type == "full_attention");
  if (full.empty() && config.good({"attn_type_list"}))
    config.fail("attn_type_list", "is missing, allowed: 0 (linear) or 1 (softmax) for each layer");
  place_full(config, model, "attn_type_list", full);
}

}  // namespace stepcast::hugging_face
