#pragma once
#include <span>

#include "json_config.hpp"
#include "stepcast/workloads/model_spec.hpp"

/// Families of Hugging Face configurations. Private to workloads/.
namespace stepcast::hugging_face {

using Reader = void (*)(JsonConfig&, ModelSpec&);

/// Which layers have the window that a file names: all, unless `use_sliding_window` is false; or,
/// if that is true, those from `max_window_layers` on.
enum class Windows { all, late };

/// A model_type as a line of the table, beside the names that all have. What is left out is
/// Llama's: RMS norms, grouped queries, a gated feed-forward of silu.
struct Family {
  std::string_view model_type;
  Reader read = nullptr;  ///< instead of what the members below say
  Reader more = nullptr;  ///< behind them: experts, names of its own
  ModelSpec::Norm norm = ModelSpec::Norm::rms;
  FeedForwardSpec::Kind ffn = FeedForwardSpec::Kind::swiglu;
  ModelSpec::QkNorm qk_norm = ModelSpec::QkNorm::none;
  std::string_view qk_key = {};     ///< a flag without which queries and keys have no norms
  std::string_view bias = {};       ///< a second name of attention_bias
  std::string_view rest_bias = {};  ///< a second name of mlp_bias
  std::string_view all_bias = {};   ///< a flag that gives every product a bias
  Windows windows = Windows::all;
  std::int64_t full_every = 0;     ///< of the layers with windows, every n-th has none
  std::string_view defaults = {};  ///< JSON: what the class has for keys that a file leaves out
  bool four_times = false;  ///< the feed-forward is four times as wide as the model unless said
  bool gelu_gate = false;   ///< its gate is a GELU
};
/// Types of models that have what a model lacks.
struct RefusedFamilies {
  std::string_view reason, model_types;
};
/// hugging_face_types.cpp
std::span<const Family> families();
std::span<const RefusedFamilies> refused_families();

/// What a file of another type has that the family would pass over in silence:
/// hugging_face_guard.cpp.
void check_read_as(JsonConfig& config, const ModelSpec& model, const Family& family);
/// Goes into the part of a multimodal file that holds the text model; returns its name, empty: the
/// file is one of a text model.
std::string enter_text_part(JsonConfig& config);

void read_grouped_attention(JsonConfig& config, ModelSpec& model);
void read_latent_attention(JsonConfig& config, ModelSpec& model);
/// By attention_bias and mlp_bias, or what the family calls them.
void read_bias(JsonConfig& config, ModelSpec& model, const Family& family = {});
/// Grouped attention, in all layers with the window that the file may have.
void read_dense(JsonConfig& config, ModelSpec& model);
/// Experts as DeepSeek names them.
void read_fine_experts(JsonConfig& config, ModelSpec& model);
/// Sets first_dense and period so that exactly the marked layers are MoE layers; `key` is at fault.
void place_moe_layers(JsonConfig& config, std::string_view key, const std::vector<bool>& marked,
                      ModelSpec& model);
/// A window shorter than the longest sequence, where it is used. Without `layer_types`, which names
/// every layer, each layer `full_every` (0: none) has none.
void read_window(JsonConfig& config, ModelSpec& model, bool used, std::int64_t full_every);
/// The same, of layers from `max_window_layers` on.
void read_late_window(JsonConfig& config, ModelSpec& model);

// What stands behind the lines of families: hugging_face.cpp, _families, _parallel, _older.
void read_all_experts(JsonConfig& config, ModelSpec& model);
void read_baichuan(JsonConfig& config, ModelSpec& model);
void read_biased(JsonConfig& config, ModelSpec& model);
void read_bloom(JsonConfig& config, ModelSpec& model);
void read_chatglm(JsonConfig& config, ModelSpec& model);
void read_cohere(JsonConfig& config, ModelSpec& model);
void read_cohere2(JsonConfig& config, ModelSpec& model);
void read_deepseek_v3(JsonConfig& config, ModelSpec& model);
void read_ernie(JsonConfig& config, ModelSpec& model);
void read_falcon(JsonConfig& config, ModelSpec& model);
void read_glm4_moe(JsonConfig& config, ModelSpec& model);
void read_gpt2(JsonConfig& config, ModelSpec& model);
void read_gpt_bigcode(JsonConfig& config, ModelSpec& model);
void read_gpt_neox(JsonConfig& config, ModelSpec& model);
void read_gpt_oss(JsonConfig& config, ModelSpec& model);
void read_gptj(JsonConfig& config, ModelSpec& model);
void read_granite_moe(JsonConfig& config, ModelSpec& model);
void read_hunyuan(JsonConfig& config, ModelSpec& model);
void read_latent_moe(JsonConfig& config, ModelSpec& model);
void read_minicpm3(JsonConfig& config, ModelSpec& model);
void read_minimax_m1(JsonConfig& config, ModelSpec& model);
void read_minimax_m2(JsonConfig& config, ModelSpec& model);
void read_mpt(JsonConfig& config, ModelSpec& model);
void read_mtp(JsonConfig& config, ModelSpec& model);
void read_normed_fine(JsonConfig& config, ModelSpec& model);
void read_one_shared(JsonConfig& config, ModelSpec& model);
void read_opt(JsonConfig& config, ModelSpec& model);
void read_pangu(JsonConfig& config, ModelSpec& model);
void read_phi(JsonConfig& config, ModelSpec& model);
void read_qwen(JsonConfig& config, ModelSpec& model);
void read_qwen3_moe(JsonConfig& config, ModelSpec& model);
void read_qwen3_next(JsonConfig& config, ModelSpec& model);
void read_sparse_moe(JsonConfig& config, ModelSpec& model);
void read_stablelm(JsonConfig& config, ModelSpec& model);

}  // namespace stepcast::hugging_face
