#pragma once
#include <span>

#include "json_config.hpp"
#include "stepcast/workloads/model_spec.hpp"

/// Families of Hugging Face configurations. Private to workloads/.
namespace stepcast::hugging_face {

/// A model_type and what reads it, beside the names that all have.
struct Family {
  std::string_view model_type;
  void (*read)(JsonConfig&, ModelSpec&);
  bool four_times = false;  ///< the feed-forward is four times as wide as the model unless said
};
/// A model_type that has what a model lacks.
struct RefusedFamily {
  std::string_view model_type, reason;
};
/// hugging_face_families.cpp
std::span<const Family> more_families();
std::span<const RefusedFamily> refused_families();

void read_grouped_attention(JsonConfig& config, ModelSpec& model);
void read_latent_attention(JsonConfig& config, ModelSpec& model);
void read_bias(JsonConfig& config, ModelSpec& model, bool attention_default);
/// Grouped attention, in all layers with the window that the file may have.
void read_dense(JsonConfig& config, ModelSpec& model);
void read_qwen3_moe(JsonConfig& config, ModelSpec& model);
/// Experts as DeepSeek names them.
void read_fine_experts(JsonConfig& config, ModelSpec& model);
/// Sets first_dense and period so that exactly the marked layers are MoE layers; `key` is at fault.
void place_moe_layers(JsonConfig& config, std::string_view key, const std::vector<bool>& marked,
                      ModelSpec& model);
/// A window shorter than the longest sequence, where it is used. Without `layer_types`, which names
/// every layer, each layer `full_every` (0: none) has none.
void read_window(JsonConfig& config, ModelSpec& model, bool used, std::int64_t full_every);

}  // namespace stepcast::hugging_face
