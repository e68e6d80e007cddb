#include <algorithm>
#include <array>

#include "hugging_face.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/workloads/hugging_face.hpp"

// What a file has that a reader would pass over in silence: keys of another type (--as), and the
// parts of a multimodal model beside its text.
namespace stepcast {
namespace hugging_face {
namespace {

using Bias = ModelSpec::Bias;
using QkNorm = ModelSpec::QkNorm;

class Guard {
 public:
  Guard(JsonConfig& config, const ModelSpec& model, const Family& family)
      : config_{config}, model_{model}, family_{family} {}

  void check() {
    check_activation();
    check_head();
    check_biases();
    check_norms();
    check_layers();
    check_parts();
  }

 private:
  bool unread(std::string_view key) const { return config_.said(key) && !config_.asked(key); }
  void refuse(std::string_view key, const std::string& what, const std::string& allowed) {
    config_.fail(key, what + ", and --as " + std::string(family_.model_type) + " reads " + allowed);
  }

  /// A plain feed-forward has two matrices, a gated one three, and only the activation tells.
  void check_activation() {
    constexpr std::array<std::string_view, 4> names{"hidden_act", "hidden_activation",
                                                    "activation_function", "activation"};
    constexpr std::array<std::string_view, 2> silu{"silu", "swish"};
    for (const std::string_view key : names) {
      if (!config_.said(key)) continue;
      const std::string found = config_.text_or("", {key});
      const bool plain = model_.ffn.kind == FeedForwardSpec::Kind::gelu;
      const bool gated = std::ranges::find(silu, found) != silu.end();
      const bool gelu = found.starts_with("gelu");
      if (plain ? !gated : gated || (family_.gelu_gate && gelu)) continue;
      refuse(key, "is '" + found + "'",
             plain               ? "a feed-forward of two matrices, allowed: any but silu"
             : family_.gelu_gate ? "a gated feed-forward, allowed: gelu, gelu_pytorch_tanh, silu"
                                 : "a gated feed-forward, allowed: silu");
      return;
    }
  }

  void check_head() {
    if (!config_.said("tie_word_embeddings"))
      config_.fail("tie_word_embeddings",
                   "is missing, and what its type means by that is not known, allowed: true or "
                   "false in the file");
  }

  void check_biases() {
    for (const std::string_view key :
         {"use_bias", "bias", "attention_bias", "qkv_bias", "use_qkv_bias", "add_qkv_bias",
          "attention_qkv_bias", "add_bias_linear", "mlp_bias", "enable_bias"})
      if (unread(key) && config_.flag_or(false, {key}) && model_.bias != Bias::all)
        refuse(key, "is true", "no such biases, allowed: false");
  }

  void check_norms() {
    for (const std::string_view key : {"use_qk_norm", "qk_norm", "qk_layernorm"}) {
      if (!unread(key)) continue;
      const bool has = model_.qk_norm != QkNorm::none;
      if (config_.flag_or(has, {key}) != has)
        refuse(key, std::string("is ") + (has ? "false" : "true"),
               std::string(has ? "" : "no ") + "norms on queries and keys");
    }
    for (const std::string_view key : {"sandwich_norm", "use_post_norm"})
      if (unread(key) && config_.flag_or(false, {key}) && model_.norm != ModelSpec::Norm::sandwich)
        refuse(key, "is true", "two norms in a layer, allowed: false");
    for (const std::string_view key : {"layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"})
      if (unread(key) && !config_.said("rms_norm_eps") && model_.norm != ModelSpec::Norm::layer)
        refuse(key, "is the key of layer norms", "RMS norms");
  }

  /// Windows, and layers of other kinds.
  void check_layers() {
    if (unread("layer_types") && config_.is_list("layer_types")) {
      const std::vector<std::string> types = config_.texts({"layer_types"});
      const auto other = std::ranges::find_if(
          types, [](const std::string& type) { return type != "full_attention"; });
      if (other != types.end())
        refuse("layer_types", "has '" + *other + "'", "full_attention in all layers");
    }
    const bool off =
        config_.said("use_sliding_window") && !config_.flag_or(true, {"use_sliding_window"});
    if (unread("sliding_window") && !off) {
      const std::int64_t reach = config_.count_or(0, {"sliding_window"}, 0);
      const std::int64_t longest = config_.count_or(0, {"max_position_embeddings"}, 0);
      if (reach > 0 && (longest == 0 || reach < longest))
        refuse("sliding_window", "is " + std::to_string(reach),
               "no windows of a file of another type, allowed: null, or use_sliding_window: false");
    }
    for (const std::string_view key :
         {"hybrid_override_pattern", "layers_block_type", "attn_type_list", "block_configs",
          "attn_layer_period", "full_attention_interval", "mamba_num_heads", "mamba_d_state",
          "ssm_state_size", "linear_num_key_heads", "attention_chunk_size", "index_topk",
          "hidden_size_per_layer_input", "conv_L_cache"})
      if (unread(key)) refuse(key, "says layers of another kind", "none of these");
  }

  /// Experts, latents and modules that would be left out.
  void check_parts() {
    for (const std::string_view key : {"num_experts", "num_local_experts", "n_routed_experts",
                                       "num_routed_experts", "moe_num_experts"})
      if (unread(key) && (config_.is_list(key) || config_.count_or(0, {key}, 0) > 1))
        refuse(key, "says experts", "none of this name");
    for (const std::string_view key :
         {"kv_lora_rank", "num_nextn_predict_layers", "num_mtp_modules", "num_mtp_layers",
          "mtp_num_hidden_layers", "num_kv_shared_layers", "n_shared_experts",
          "shared_expert_intermediate_size"})
      if (unread(key) && config_.count_or(0, {key}, 0) > 0)
        refuse(key, "is " + std::to_string(config_.count_or(0, {key}, 0)),
               "nothing of the kind, allowed: 0");
    if (unread("use_cla") && config_.flag_or(false, {"use_cla"}))
      refuse("use_cla", "is true", "keys of each layer, allowed: false");
  }

  JsonConfig& config_;
  const ModelSpec& model_;
  const Family& family_;
};

constexpr std::array<std::string_view, 4> text_parts{"text_config", "llm_config", "language_config",
                                                     "thinker_config"};

bool has_layers(const JsonConfig& config) {
  return config.has({"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
}

/// The object of a file that holds its text model; empty: there is none.
std::string text_part(JsonConfig& config) {
  const std::vector<std::string> objects = config.objects();
  const auto found = std::ranges::find_first_of(text_parts, objects);
  if (found == text_parts.end()) return {};
  const std::string type = config.text_or("", {"model_type"});
  const auto known = [&](const Family& family) { return family.model_type == type; };
  // A type that is known by itself has its layers beside the object.
  if (has_layers(config) && std::ranges::any_of(families(), known)) return {};
  return std::string(*found);
}

}  // namespace

void check_read_as(JsonConfig& config, const ModelSpec& model, const Family& family) {
  Guard{config, model, family}.check();
}

std::string enter_text_part(JsonConfig& config) {
  std::string entered;
  for (std::string part = text_part(config); !part.empty(); part = text_part(config)) {
    config.enter(part, {"tie_word_embeddings"});
    entered += (entered.empty() ? "" : ".") + part;
  }
  return entered;
}

}  // namespace hugging_face

std::string left_out_of_hugging_face(const std::filesystem::path& path) {
  JsonConfig config{path};
  // Objects of that name that say how the text model is made or stored, and are no model of their
  // own.
  constexpr std::array<std::string_view, 6> settings{"quantization_config", "compression_config",
                                                     "attn_config",         "ffn_config",
                                                     "init_config",         "initializer_config"};
  std::vector<std::string> parts;
  for (const std::string& name : config.objects()) {
    const bool text =
        std::ranges::find(hugging_face::text_parts, name) != hugging_face::text_parts.end();
    if (name.ends_with("_config") && !text && std::ranges::find(settings, name) == settings.end())
      parts.push_back(name);
  }
  const std::string entered = hugging_face::enter_text_part(config);
  if (parts.empty() && entered.empty()) return {};
  std::string said = entered.empty() ? "the text model" : entered;
  said += " alone is read";
  if (!parts.empty()) said += ", left out: " + joined(parts);
  return said;
}

}  // namespace stepcast
