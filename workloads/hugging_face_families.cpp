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

/// GLM-4 has norms behind both parts of a layer, too.
void read_glm4(JsonConfig& config, ModelSpec& model) {
  read_dense(config, model);
  model.norm = ModelSpec::Norm::sandwich;
}

/// DeepSeek's experts behind grouped attention: GLM-4.5, dots, Ling.
void read_grouped_fine(JsonConfig& config, ModelSpec& model, bool normed) {
  read_dense(config, model);
  if (config.flag_or(normed, {"use_qk_norm"})) model.qk_norm = QkNorm::head;
  read_fine_experts(config, model);
  if (model.moe) model.moe->correction_bias = true;
}

/// Norms of queries and keys where the file says so.
void read_glm4_moe(JsonConfig& config, ModelSpec& model) {
  read_grouped_fine(config, model, false);
}

/// Norms of queries and keys unless the file denies it.
void read_normed_fine(JsonConfig& config, ModelSpec& model) {
  read_grouped_fine(config, model, true);
}

/// Norms over all queries and over all keys of a token, not head by head.
void read_full_norm(JsonConfig& config, ModelSpec& model) {
  read_dense(config, model);
  model.qk_norm = QkNorm::full;
}

/// Every layer has experts as wide as intermediate_size.
void read_all_experts(JsonConfig& config, ModelSpec& model) {
  model.moe = ExpertSpec{.experts = config.count({"num_local_experts", "num_experts"}),
                         .top_k = config.count({"num_experts_per_tok"}),
                         .expert_hidden = model.ffn.hidden};
}

void read_olmoe(JsonConfig& config, ModelSpec& model) {
  read_full_norm(config, model);
  read_all_experts(config, model);
}

/// Layers of OLMoE, with a routing bias and MTP modules where the file says so.
void read_minimax_m2(JsonConfig& config, ModelSpec& model) {
  read_olmoe(config, model);
  model.moe->correction_bias = config.flag_or(false, {"use_routing_bias"});
  model.mtp_layers = config.count_or(0, {"num_mtp_modules"}, 0);
}

/// Layer norms in place of RMS norms.
void read_phimoe(JsonConfig& config, ModelSpec& model) {
  read_dense(config, model);
  read_all_experts(config, model);
  model.norm = ModelSpec::Norm::layer;
}

/// Granite's shared experts are one, of a width that the file gives.
void read_granite(JsonConfig& config, ModelSpec& model) {
  read_dense(config, model);
  read_all_experts(config, model);
  const std::int64_t shared = config.count_or(0, {"shared_intermediate_size"}, 0);
  if (shared > 0) {
    model.moe->shared_experts = 1;
    model.moe->shared_hidden = shared;
  }
}

/// One shared expert of its own width: Qwen2-MoE, Pangu Pro.
void read_one_shared(JsonConfig& config, ModelSpec& model, bool bias) {
  read_grouped_attention(config, model);
  read_bias(config, model, bias);
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

void read_qwen2_moe(JsonConfig& config, ModelSpec& model) { read_one_shared(config, model, true); }
void read_pangu_pro(JsonConfig& config, ModelSpec& model) { read_one_shared(config, model, true); }

/// Query, key and value have biases unless the file denies it.
void read_biased(JsonConfig& config, ModelSpec& model) {
  read_grouped_attention(config, model);
  read_bias(config, model, config.flag_or(true, {"bias"}));
}

void read_ernie(JsonConfig& config, ModelSpec& model) {
  read_dense(config, model);
  model.moe = ExpertSpec{.experts = config.count({"moe_num_experts"}),
                         .top_k = config.count({"moe_k"}),
                         .expert_hidden = config.count({"moe_intermediate_size"}),
                         .shared_experts = config.count_or(0, {"moe_num_shared_experts"}, 0),
                         .correction_bias = true};
  // Shared experts are as wide as routed ones.
  if (model.moe->shared_experts > 0) model.moe->shared_hidden = model.moe->expert_hidden;
  const std::int64_t first = config.count_or(0, {"moe_layer_start_index"}, 0);
  // The interval counts layers from 1, its ends count from 0.
  const std::int64_t last = config.count_or(model.layers - 1, {"moe_layer_end_index"}, 0);
  const std::int64_t step = config.count_or(1, {"moe_layer_interval"});
  std::vector<bool> marked;
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    marked.push_back(layer >= first && layer <= last && (layer + 1) % step == 0);
  place_moe_layers(config, "moe_layer_interval", marked, model);
}

/// A number for all layers, or a list that says it of each.
std::int64_t uniform(JsonConfig& config, std::string_view key) {
  if (!config.is_list(key)) return config.count_or(0, {key}, 0);
  const std::vector<std::int64_t> all = config.counts({key});
  if (all.empty()) return 0;
  if (std::ranges::any_of(all, [&](std::int64_t value) { return value != all.front(); }))
    config.fail(key, "differs by layer, allowed: one value");
  return all.front();
}

void read_hunyuan(JsonConfig& config, ModelSpec& model) {
  read_dense(config, model);
  if (config.flag_or(false, {"use_cla"}))
    config.fail("use_cla", "is true, and a model lacks keys that layers share, allowed: false");
  if (config.flag_or(true, {"use_qk_norm"})) model.qk_norm = QkNorm::head;
  model.moe = ExpertSpec{.experts = std::max<std::int64_t>(uniform(config, "num_experts"), 1),
                         .top_k = std::max<std::int64_t>(uniform(config, "moe_topk"), 1),
                         .expert_hidden = uniform(config, "moe_intermediate_size"),
                         .shared_experts = uniform(config, "num_shared_expert")};
  if (model.moe->expert_hidden == 0) model.moe->expert_hidden = model.ffn.hidden;
  if (model.moe->shared_experts > 0) model.moe->shared_hidden = model.moe->expert_hidden;
  place_behind(config, model, 0);
}

/// Sandwich norms, and windows in all but every n-th layer. The head shares the embedding.
void read_gemma(JsonConfig& config, ModelSpec& model, std::int64_t full_every) {
  read_grouped_attention(config, model);
  read_bias(config, model, false);
  read_window(config, model, true, full_every);
  model.norm = ModelSpec::Norm::sandwich;
  model.tied_embeddings = config.flag_or(true, {"tie_word_embeddings"});
}

/// Every second layer sees all tokens.
void read_gemma2(JsonConfig& config, ModelSpec& model) { read_gemma(config, model, 2); }

/// Every sixth layer sees all tokens unless the file says otherwise.
void read_gemma3(JsonConfig& config, ModelSpec& model) {
  read_gemma(config, model, config.count_or(6, {"sliding_window_pattern"}));
  model.qk_norm = QkNorm::head;
}

/// Windows in every second layer, the first among them. The sink of each head is left out.
void read_gpt_oss(JsonConfig& config, ModelSpec& model) {
  read_grouped_attention(config, model);
  read_window(config, model, true, 2);
  read_all_experts(config, model);
  model.bias = ModelSpec::Bias::all;
}

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
  place_full(config, model, "layer_types", full);
}

/// Lightning attention; `attn_type_list` has a 1 where a layer has softmax attention.
void read_minimax_m1(JsonConfig& config, ModelSpec& model) {
  read_dense(config, model);
  model.moe = ExpertSpec{.experts = config.count({"num_local_experts"}),
                         .top_k = config.count({"num_experts_per_tok"}),
                         .expert_hidden = model.ffn.hidden};
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

using Block = ModelSpec::Block;

// Families whose attention and feed-forward read the same.

/// Layer norms and a plain GELU.
void read_plain(JsonConfig& config, ModelSpec& model) {
  read_grouped_attention(config, model);
  model.norm = ModelSpec::Norm::layer;
  model.ffn.kind = FeedForwardSpec::Kind::gelu;
}

/// Its two norms have weights of their own, though they read the same.
void read_gpt_neox(JsonConfig& config, ModelSpec& model) {
  read_plain(config, model);
  model.bias = ModelSpec::Bias::all;
  if (!config.flag_or(true, {"attention_bias"}))
    config.fail("attention_bias",
                "is false beside biases of the feed-forward, which a model lacks, allowed: true");
  if (config.flag_or(true, {"use_parallel_residual"})) model.block = Block::parallel_norms;
}

/// Biases of the feed-forward and the head are left out.
void read_gptj(JsonConfig& config, ModelSpec& model) {
  read_plain(config, model);
  model.block = Block::parallel;
}

/// Blocks of GPT-J, with biases everywhere.
void read_phi(JsonConfig& config, ModelSpec& model) {
  read_gptj(config, model);
  model.bias = ModelSpec::Bias::all;
  if (config.flag_or(false, {"qk_layernorm"})) model.qk_norm = ModelSpec::QkNorm::head;
}

/// Of the first layout one norm and, unless said, keys and values of one head; of the second two
/// norms unless said, and so many heads.
void read_falcon(JsonConfig& config, ModelSpec& model) {
  read_plain(config, model);
  auto& attention = std::get<GroupedQueryAttention>(model.attention);
  const bool second = config.flag_or(false, {"new_decoder_architecture"});
  if (second)
    attention.kv_heads = config.count_or(attention.heads, {"num_kv_heads"});
  else if (config.flag_or(true, {"multi_query"}))
    attention.kv_heads = 1;
  if (config.flag_or(false, {"bias"})) model.bias = ModelSpec::Bias::all;
  if (config.flag_or(false, {"alibi"})) model.position = ModelSpec::Position::none;
  model.tied_embeddings = config.flag_or(true, {"tie_word_embeddings"});
  const bool two = second && config.count_or(2, {"num_ln_in_parallel_attn"}) == 2;
  if (second || config.flag_or(true, {"parallel_attn"}))
    model.block = two ? Block::parallel_norms : Block::parallel;
}

/// Gated; biases of its norms, which it has none of, are counted all the same.
void read_cohere(JsonConfig& config, ModelSpec& model) {
  read_grouped_attention(config, model);
  read_bias(config, model, false);
  model.norm = ModelSpec::Norm::layer;
  model.block = Block::parallel;
  if (config.flag_or(false, {"use_qk_norm"})) model.qk_norm = ModelSpec::QkNorm::head;
  model.tied_embeddings = config.flag_or(true, {"tie_word_embeddings"});
}

/// Every fourth layer sees all tokens unless the file says otherwise.
void read_cohere2(JsonConfig& config, ModelSpec& model) {
  read_cohere(config, model);
  read_window(config, model, true, config.count_or(4, {"sliding_window_pattern"}));
}

/// Layer norms, and parallel parts where the file says so.
void read_stablelm(JsonConfig& config, ModelSpec& model) {
  read_grouped_attention(config, model);
  if (config.flag_or(false, {"use_qkv_bias"})) model.bias = ModelSpec::Bias::qkv;
  model.norm = ModelSpec::Norm::layer;
  if (config.flag_or(false, {"qk_layernorm"})) model.qk_norm = ModelSpec::QkNorm::head;
  if (config.flag_or(false, {"use_parallel_residual"})) model.block = Block::parallel;
}

constexpr Family families[] = {{"gpt_neox", read_gpt_neox},
                               {"gptj", read_gptj, true},
                               {"codegen", read_gptj, true},
                               {"phi", read_phi},
                               {"falcon", read_falcon, true},
                               {"cohere", read_cohere},
                               {"cohere2", read_cohere2},
                               {"stablelm", read_stablelm},
                               {"qwen3_next", read_qwen3_next},
                               {"minimax_m1", read_minimax_m1},
                               {"phi3", read_dense},
                               {"gemma2", read_gemma2},
                               {"gemma3_text", read_gemma3},
                               {"gpt_oss", read_gpt_oss},
                               {"telechat2", read_dense},
                               {"seed_oss", read_biased},
                               {"PanguEmbedded", read_biased},
                               {"glm4", read_glm4},
                               {"glm4_moe", read_glm4_moe},
                               {"olmo2", read_full_norm},
                               {"olmoe", read_olmoe},
                               {"minimax_m2", read_minimax_m2},
                               {"phimoe", read_phimoe},
                               {"granitemoe", read_granite},
                               {"granitemoeshared", read_granite},
                               {"qwen2_moe", read_qwen2_moe},
                               {"PanguProMoE", read_pangu_pro},
                               {"ernie4_5_moe", read_ernie},
                               {"hunyuan_v1_moe", read_hunyuan},
                               {"dots1", read_normed_fine},
                               {"bailing_moe_v2", read_normed_fine}};

constexpr std::string_view heads = "other heads in layers without a window than in those with one";
constexpr std::string_view sparse = "an indexer and attention to chosen keys";

constexpr RefusedFamily refused[] = {{"gemma3", "a vision part beside its text_config"},
                                     {"gemma3n", "embeddings of each layer and shared keys"},
                                     {"gemma4", heads},
                                     {"llama4", "attention in chunks"},
                                     {"llama4_text", "attention in chunks"},
                                     {"qwen3_5", "a vision part beside its text_config"},
                                     {"minimax_m3", sparse},
                                     {"deepseek_v4", "compressed attention and hyper-connections"},
                                     {"hunyuan", "keys and values that layers share"},
                                     {"hy_v3", "layers that are not published"},
                                     {"nemotron_h", "Mamba layers"},
                                     {"granitemoehybrid", "Mamba layers"},
                                     {"longcat_flash", "experts that compute nothing"},
                                     {"mimo_v2_flash", heads},
                                     {"step3p5", heads}};

}  // namespace

std::span<const Family> more_families() { return families; }
std::span<const RefusedFamily> refused_families() { return refused; }

}  // namespace stepcast::hugging_face
