#include "hugging_face.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "stepcast/base/suggest.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace hugging_face {

/// Query, key/value and head widths under their Hugging Face names; the names behind them are
/// openPangu's.
void read_grouped_attention(JsonConfig& config, ModelSpec& model) {
  GroupedQueryAttention attention;
  attention.heads = config.count({"num_attention_heads", "n_head", "n_heads"});
  // Without the key each query head has keys of its own.
  attention.kv_heads = config.count_or(attention.heads, {"num_key_value_heads"});
  if (attention.heads % attention.kv_heads != 0 &&
      config.good({"num_attention_heads", "num_key_value_heads"})) {
    config.fail("num_key_value_heads", "is " + std::to_string(attention.kv_heads) +
                                           ", must divide num_attention_heads (" +
                                           std::to_string(attention.heads) + ")");
  }
  if (config.has({"head_dim"})) {
    attention.head_dim = config.count({"head_dim"});
  } else if (model.hidden % attention.heads == 0) {
    attention.head_dim = model.hidden / attention.heads;
  } else if (config.good({"hidden_size", "num_attention_heads"})) {
    config.fail("head_dim", "is missing, and hidden_size (" + std::to_string(model.hidden) +
                                ") is no multiple of num_attention_heads (" +
                                std::to_string(attention.heads) + ")");
  }
  model.attention = attention;
}

namespace {

/// Second names are openPangu's; `values` is the width of values unless said, 0: it is said.
void read_latents(JsonConfig& config, ModelSpec& model, std::int64_t values) {
  LatentAttention attention;
  attention.heads = config.count({"num_attention_heads"});
  attention.q_lora_rank = config.count_or(0, {"q_lora_rank", "attention_q_lora_dim"}, 0);
  attention.kv_lora_rank = config.count({"kv_lora_rank", "attention_kv_lora_dim"});
  attention.nope_dim = config.count({"qk_nope_head_dim", "attention_qk_dim"});
  attention.rope_dim = config.count({"qk_rope_head_dim", "attention_qk_rope_dim"});
  attention.v_dim = values > 0 ? config.count_or(values, {"v_head_dim"})
                               : config.count({"v_head_dim", "attention_v_dim"});
  model.attention = attention;
}

}  // namespace

void read_latent_attention(JsonConfig& config, ModelSpec& model) { read_latents(config, model, 0); }

void read_minicpm3(JsonConfig& config, ModelSpec& model) {
  const std::int64_t heads = std::max<std::int64_t>(config.count({"num_attention_heads"}), 1);
  read_latents(config, model, std::max<std::int64_t>(model.hidden / heads, 1));
}

void read_bias(JsonConfig& config, ModelSpec& model, const Family& family) {
  if (!family.all_bias.empty() && config.flag_or(false, {family.all_bias})) {
    model.bias = ModelSpec::Bias::all;
    return;
  }
  // Models name the flag differently, and without one their code has no bias; a bias of the
  // feed-forward alone is none of the choices of a model (none, qkv, all).
  const bool attention = config.flag_or(false, {"attention_bias", family.bias});
  const bool mlp = config.flag_or(false, {"mlp_bias", family.rest_bias});
  if (mlp && !attention && config.good({"attention_bias"}))
    config.fail("mlp_bias", "is true, allowed only together with attention_bias");
  if (attention) model.bias = mlp ? ModelSpec::Bias::all : ModelSpec::Bias::qkv;
}

/// Sets first_dense and period so that exactly the marked layers are MoE layers.
void place_moe_layers(JsonConfig& config, std::string_view key, const std::vector<bool>& marked,
                      ModelSpec& model) {
  if (!config.good({"num_hidden_layers", "mlp_only_layers", "decoder_sparse_step",
                    "first_k_dense_replace", "moe_layer_freq"})) {
    return;  // the marks are not what the file says
  }
  const auto next = [&](std::size_t from) {
    while (from < marked.size() && !marked[from]) ++from;
    return from;
  };
  const std::size_t first = next(0);
  if (first == marked.size()) {
    model.moe.reset();
    return;
  }
  model.moe->first_dense = static_cast<std::int64_t>(first);
  // The first layer with experts and the next one say all, if the others follow.
  model.moe->period = static_cast<std::int64_t>(next(first + 1) - first);
  for (std::size_t layer = 0; layer < marked.size(); ++layer) {
    if (model.is_moe_layer(static_cast<std::int64_t>(layer)) != marked[layer]) {
      config.fail(
          key, "places MoE layers irregularly, allowed: one dense prefix, then every n-th layer");
      return;
    }
  }
}

/// Experts as DeepSeek names them: shared ones, a dense prefix, groups, MTP modules.
void read_fine_experts(JsonConfig& config, ModelSpec& model) {
  model.mtp_layers = config.count_or(0, {"num_nextn_predict_layers", "num_mtp_layers"}, 0);
  if (!config.has({"n_routed_experts", "num_routed_experts", "num_experts"})) return;

  ExpertSpec moe;
  moe.experts = config.count({"n_routed_experts", "num_routed_experts", "num_experts"});
  moe.top_k = config.count({"num_experts_per_tok"});
  moe.expert_hidden = config.count({"moe_intermediate_size"});
  moe.shared_experts = config.count_or(0, {"n_shared_experts", "num_shared_experts"}, 0);
  // DeepSeek's shared experts are as wide as routed ones.
  if (moe.shared_experts > 0) moe.shared_hidden = moe.expert_hidden;
  moe.groups = config.count_or(1, {"n_group"});
  moe.top_groups = config.count_or(1, {"topk_group"});
  model.moe = moe;

  const std::int64_t dense = config.count_or(0, {"first_k_dense_replace", "num_dense_layers"}, 0);
  if (dense > model.layers && config.good({"num_hidden_layers", "first_k_dense_replace"})) {
    config.fail("first_k_dense_replace", "is " + std::to_string(dense) + ", allowed: up to " +
                                             std::to_string(model.layers) + " layers");
  }
  const std::int64_t step = config.count_or(1, {"moe_layer_freq"});
  std::vector<bool> marked;
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    // DeepSeek counts from layer 0, Qwen (below) from 1.
    marked.push_back(layer >= dense && layer % step == 0);
  place_moe_layers(config, "moe_layer_freq", marked, model);
}

namespace {

/// Layers that are listed one by one, of which every n-th sees all tokens.
void place_windows(JsonConfig& config, ModelSpec& model, const std::vector<std::string>& types) {
  auto& attention = std::get<GroupedQueryAttention>(model.attention);
  const auto full = std::ranges::find(types, "full_attention");
  const auto first = static_cast<std::int64_t>(full - types.begin());
  attention.full_every = full == types.end() ? 0 : first + 1;
  if (std::ranges::all_of(types, [](const auto& type) { return type == "full_attention"; })) {
    attention.window.reset();
    attention.full_every = 0;
    return;
  }
  bool regular = static_cast<std::int64_t>(types.size()) == model.layers;
  for (std::size_t layer = 0; regular && layer < types.size(); ++layer) {
    const bool all = model.window_of(static_cast<std::int64_t>(layer)) == 0;
    regular = types[layer] == (all ? "full_attention" : "sliding_attention");
  }
  if (!regular && config.good({"num_hidden_layers"}))
    config.fail("layer_types",
                "places windows irregularly, allowed: full_attention in every n-th layer, "
                "sliding_attention in the others");
}

}  // namespace

void read_window(JsonConfig& config, ModelSpec& model, bool used, std::int64_t full_every) {
  const std::int64_t reach = config.count_or(0, {"sliding_window"}, 0);
  const std::int64_t longest = config.count_or(0, {"max_position_embeddings"}, 0);
  // A window that no position exceeds hides nothing.
  if (!used || reach == 0 || (longest > 0 && reach >= longest)) return;
  auto& attention = std::get<GroupedQueryAttention>(model.attention);
  attention.window = reach;
  attention.full_every = full_every;
  const std::vector<std::string> types = config.texts({"layer_types"});
  if (!types.empty()) place_windows(config, model, types);
}

void read_dense(JsonConfig& config, ModelSpec& model) {
  read_grouped_attention(config, model);
  read_bias(config, model);
  read_window(config, model, config.flag_or(true, {"use_sliding_window"}), 0);
}

void read_late_window(JsonConfig& config, ModelSpec& model) {
  if (!config.flag_or(false, {"use_sliding_window"})) return;
  // Qwen's files name the first layer with a window; the usual value is the number of layers: none.
  const std::int64_t first = config.count_or(model.layers, {"max_window_layers"}, 0);
  if (first >= model.layers) return;
  read_window(config, model, true, 0);
  if (first > 0 && model.has_windows() && !config.has({"layer_types"}))
    config.fail("max_window_layers", "is " + std::to_string(first) +
                                         ", allowed: 0, or the number of layers: a model has "
                                         "windows in all layers, or all but every n-th");
}

namespace {

/// The layers without windows: every n-th by a number, or by letters such as LLLG.
std::int64_t read_pattern(JsonConfig& config, std::int64_t missing) {
  constexpr std::string_view key = "sliding_window_pattern";
  if (missing == 0 || !config.is_text(key))
    return missing == 0 ? 0 : config.count_or(missing, {key});
  const std::string letters = config.text_or("", {key});
  if (letters.find_first_not_of('L') != letters.size() - 1 || !letters.ends_with('G'))
    config.fail(key, "is '" + letters + "', allowed: L for each layer with a window, then one G");
  return static_cast<std::int64_t>(letters.size());
}

/// What the line of a family says.
void read_plain(JsonConfig& config, ModelSpec& model, const Family& family) {
  read_grouped_attention(config, model);
  read_bias(config, model, family);
  model.norm = family.norm;
  model.ffn.kind = family.ffn;
  const bool normed = family.qk_key.empty() || config.flag_or(false, {family.qk_key});
  if (normed) model.qk_norm = family.qk_norm;
  if (family.windows == Windows::late)
    read_late_window(config, model);
  else
    read_window(config, model, config.flag_or(true, {"use_sliding_window"}),
                read_pattern(config, family.full_every));
}

}  // namespace

void read_qwen3_moe(JsonConfig& config, ModelSpec& model) {
  model.moe = ExpertSpec{.experts = config.count({"num_experts"}),
                         .top_k = config.count({"num_experts_per_tok"}),
                         .expert_hidden = config.count({"moe_intermediate_size"})};
  // As Hugging Face's code places them: layer i has experts when i + 1 is a multiple of the step
  // and it is not listed as dense.
  const std::int64_t step = config.count_or(1, {"decoder_sparse_step"});
  std::vector<bool> marked;
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    marked.push_back((layer + 1) % step == 0);
  for (const std::int64_t dense : config.counts({"mlp_only_layers"})) {
    if (dense < model.layers) marked[static_cast<std::size_t>(dense)] = false;
  }
  place_moe_layers(config, "mlp_only_layers", marked, model);
}

/// DeepSeek's layout: latent attention, shared experts, a dense prefix, MTP modules.
void read_latent_moe(JsonConfig& config, ModelSpec& model) {
  read_latent_attention(config, model);
  read_bias(config, model);
  read_fine_experts(config, model);
}

void read_deepseek_v3(JsonConfig& config, ModelSpec& model) {
  read_latent_moe(config, model);
  if (model.moe)
    model.moe->correction_bias = config.text_or("noaux_tc", {"topk_method"}) == "noaux_tc";
}

/// DeepSeek-V3.2: an indexer in every layer.
void read_sparse_moe(JsonConfig& config, ModelSpec& model) {
  read_deepseek_v3(config, model);
  auto& attention = std::get<LatentAttention>(model.attention);
  attention.index_heads = config.count({"index_n_heads"});
  attention.index_dim = config.count({"index_head_dim"});
  attention.index_top_k = config.count({"index_topk"});
}

void read_pangu(JsonConfig& config, ModelSpec& model) {
  read_latent_moe(config, model);
  if (config.flag_or(false, {"sandwich_norm"})) model.norm = ModelSpec::Norm::sandwich;
}

}  // namespace hugging_face

namespace {

using namespace hugging_face;

void check_choice(JsonConfig& config, const ModelSpec& model) {
  // Only where both numbers were read: a missing one has its own message.
  if (model.moe && model.moe->top_k > model.moe->experts &&
      config.good(
          {"num_experts_per_tok", "num_experts", "num_local_experts", "n_routed_experts"})) {
    config.fail("num_experts_per_tok", "is " + std::to_string(model.moe->top_k) +
                                           ", allowed: up to " +
                                           std::to_string(model.moe->experts) + " experts");
  }
}

/// A file that a family without parallel parts would read as if it had none.
void check_block(JsonConfig& config, const ModelSpec& model) {
  if (model.block != ModelSpec::Block::serial) return;
  for (const std::string_view key : {"use_parallel_residual", "parallel_attn"})
    if (config.flag_or(false, {key}))
      config.fail(key, "is true, but '" + model.name +
                           "' is read as a type whose feed-forward reads what attention has added, "
                           "allowed: false");
}

const Family* find_family(JsonConfig& config, const std::string& model_type) {
  std::vector<std::string> names;
  for (const Family& family : families()) {
    if (family.model_type == model_type) return &family;
    names.emplace_back(family.model_type);
  }
  // Without a type that was read nothing can be said of it.
  if (config.failed()) return nullptr;
  for (const RefusedFamilies& refused : refused_families()) {
    if (!is_among(model_type, refused.model_types)) continue;
    config.fail("model_type", "is '" + model_type + "', which has " + std::string(refused.reason) +
                                  ", and a model lacks that");
    return nullptr;
  }
  config.fail("model_type", "is '" + model_type + "', allowed: " + joined(names) +
                                "; stepcast model --as TYPE reads a file of another type by the "
                                "names of one of these");
  return nullptr;
}

}  // namespace

ModelSpec read_hugging_face(const std::filesystem::path& path, const std::string& as) {
  JsonConfig config{path};
  ModelSpec model;
  // Models of several modes keep the language model in a part of the file.
  (void)enter_text_part(config);
  model.name = as.empty() ? config.text({"model_type"}) : config.text_or(as, {"model_type"});
  const Family* family = find_family(config, as.empty() ? model.name : as);
  if (family == nullptr) {
    // Without a family nothing below could be named: the error that find_family() noted is all
    // there is to say.
    config.finish();
    return model;
  }
  // Defaults of the family's code fill in what a file leaves out, before anything is read.
  config.fill(family->defaults);
  model.layers = config.count({"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
  model.hidden = config.count({"hidden_size", "n_embed", "n_embd", "d_model"});
  model.ffn.hidden =
      family->four_times
          ? config.count_or(4 * model.hidden,
                            {"intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim"})
          : config.count({"intermediate_size", "ffn_hidden_size", "ffn_dim"});
  model.vocabulary = config.count({"vocab_size", "padded_vocab_size"});
  model.tied_embeddings = config.flag_or(false, {"tie_word_embeddings"});
  if (family->read != nullptr)
    family->read(config, model);
  else
    read_plain(config, model, *family);
  if (family->more != nullptr) family->more(config, model);
  check_choice(config, model);
  check_block(config, model);
  if (!as.empty() && as != model.name) check_read_as(config, model, *family);
  // Throws all that is wrong with the file at once.
  config.finish();
  return model;
}

}  // namespace stepcast
