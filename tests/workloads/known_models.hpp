#pragma once
#include "stepcast/workloads/model_spec.hpp"

/// Public models as values, for tests; dimensions as in scenarios/models/.
namespace stepcast::known_models {

inline ModelSpec gpt3_175b() {
  ModelSpec model;
  model.name = "gpt3-175b";
  model.layers = 96;
  model.hidden = 12288;
  model.attention = GroupedQueryAttention{96, 96, 128};
  model.ffn = {FeedForwardSpec::Kind::gelu, 49152};
  model.vocabulary = 50257;
  model.tied_embeddings = true;
  model.norm = ModelSpec::Norm::layer;
  model.position = ModelSpec::Position::learned;
  model.positions = 2048;
  model.bias = ModelSpec::Bias::all;
  return model;
}

inline ModelSpec grouped(std::int64_t layers, std::int64_t hidden, GroupedQueryAttention attention,
                         std::int64_t ffn, std::int64_t vocabulary) {
  ModelSpec model;
  model.name = "grouped";
  model.layers = layers;
  model.hidden = hidden;
  model.attention = attention;
  model.ffn.hidden = ffn;
  model.vocabulary = vocabulary;
  return model;
}

inline ModelSpec llama3_70b() { return grouped(80, 8192, {64, 8, 128}, 28672, 128256); }
inline ModelSpec telechat3_36b() { return grouped(64, 6144, {48, 8, 128}, 24576, 131072); }

inline ModelSpec mixtral_8x7b() {
  ModelSpec model = grouped(32, 4096, {32, 8, 128}, 14336, 32000);
  model.moe = ExpertSpec{.experts = 8, .top_k = 2, .expert_hidden = 14336};
  return model;
}

inline ModelSpec mixtral_8x22b() {
  ModelSpec model = grouped(56, 6144, {48, 8, 128}, 16384, 32000);
  model.moe = ExpertSpec{.experts = 8, .top_k = 2, .expert_hidden = 16384};
  return model;
}

inline ModelSpec qwen3_235b_a22b() {
  ModelSpec model = grouped(94, 4096, {64, 4, 128}, 12288, 151936);
  model.moe = ExpertSpec{.experts = 128, .top_k = 8, .expert_hidden = 1536};
  return model;
}

inline ModelSpec qwen2_57b_a14b() {
  ModelSpec model = grouped(28, 3584, {28, 4, 128}, 18944, 151936);
  model.bias = ModelSpec::Bias::qkv;
  model.moe = ExpertSpec{.experts = 64,
                         .top_k = 8,
                         .expert_hidden = 2560,
                         .shared_experts = 1,
                         .shared_hidden = 20480};
  return model;
}

inline ModelSpec deepseek_v2() {
  ModelSpec model = grouped(60, 5120, {}, 12288, 102400);
  model.attention = LatentAttention{128, 1536, 512, 128, 64, 128};
  model.moe = ExpertSpec{.first_dense = 1,
                         .experts = 160,
                         .top_k = 6,
                         .expert_hidden = 1536,
                         .shared_experts = 2,
                         .shared_hidden = 1536,
                         .groups = 8,
                         .top_groups = 3};
  return model;
}

inline ModelSpec deepseek_v3() {
  ModelSpec model = grouped(61, 7168, {}, 18432, 129280);
  model.attention = LatentAttention{128, 1536, 512, 128, 64, 128};
  model.moe = ExpertSpec{.first_dense = 3,
                         .experts = 256,
                         .top_k = 8,
                         .expert_hidden = 2048,
                         .shared_experts = 1,
                         .shared_hidden = 2048,
                         .groups = 8,
                         .top_groups = 4,
                         .correction_bias = true};
  model.mtp_layers = 1;
  return model;
}

inline ModelSpec pangu_ultra_moe() {
  ModelSpec model = deepseek_v3();
  model.hidden = 7680;
  model.vocabulary = 153600;
  model.norm = ModelSpec::Norm::sandwich;
  model.moe->groups = model.moe->top_groups = 1;
  model.moe->correction_bias = false;
  return model;
}

inline ModelSpec telechat3_105b() {
  ModelSpec model = grouped(45, 2560, {}, 7680, 131072);
  model.attention = LatentAttention{32, 1536, 512, 128, 64, 128};
  model.moe = ExpertSpec{.first_dense = 1,
                         .experts = 192,
                         .top_k = 4,
                         .expert_hidden = 1536,
                         .shared_experts = 1,
                         .shared_hidden = 1536,
                         .correction_bias = true};
  model.mtp_layers = 1;
  return model;
}

}  // namespace stepcast::known_models
