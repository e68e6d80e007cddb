#include <string>

#include "hugging_face.hpp"

// Families with names of their own, most of them of the first years.
namespace stepcast::hugging_face {
namespace {

void bias_all(ModelSpec& model) { model.bias = ModelSpec::Bias::all; }

void learn_positions(JsonConfig& config, ModelSpec& model, std::int64_t more) {
  model.position = ModelSpec::Position::learned;
  model.positions = more + config.count({"n_positions", "max_position_embeddings"});
}

GroupedQueryAttention& heads_of(ModelSpec& model) {
  return std::get<GroupedQueryAttention>(model.attention);
}

}  // namespace

void read_biased(JsonConfig&, ModelSpec& model) { bias_all(model); }

void read_gpt2(JsonConfig& config, ModelSpec& model) {
  bias_all(model);
  learn_positions(config, model, 0);
}

/// As GPT-2, with keys and values of one head unless said.
void read_gpt_bigcode(JsonConfig& config, ModelSpec& model) {
  read_gpt2(config, model);
  if (config.flag_or(true, {"multi_query"})) heads_of(model).kv_heads = 1;
}

/// Its table of positions has two rows that no token uses.
void read_opt(JsonConfig& config, ModelSpec& model) {
  learn_positions(config, model, 2);
  const std::int64_t embedding = config.count_or(model.hidden, {"word_embed_proj_dim"});
  if (embedding != model.hidden && config.good({"hidden_size"}))
    config.fail("word_embed_proj_dim", "is " + std::to_string(embedding) +
                                           ", and a model lacks embeddings narrower than itself, "
                                           "allowed: hidden_size (" +
                                           std::to_string(model.hidden) + ")");
}

void read_bloom(JsonConfig&, ModelSpec& model) {
  bias_all(model);
  model.position = ModelSpec::Position::none;
}

void read_mpt(JsonConfig& config, ModelSpec& model) {
  model.position = ModelSpec::Position::none;
  model.ffn.hidden = model.hidden * config.count_or(4, {"expansion_ratio"});
  if (!config.flag_or(true, {"no_bias"})) bias_all(model);
}

/// ChatGLM's names of heads; each query has its own keys unless there are groups.
void read_chatglm(JsonConfig& config, ModelSpec& model) {
  auto& attention = heads_of(model);
  if (config.flag_or(false, {"multi_query_attention"}))
    attention.kv_heads = config.count({"multi_query_group_num"});
  attention.head_dim = config.count_or(attention.head_dim, {"kv_channels"});
  if (attention.heads % attention.kv_heads != 0 &&
      config.good({"num_attention_heads", "multi_query_group_num"}))
    config.fail("multi_query_group_num", "is " + std::to_string(attention.kv_heads) +
                                             ", must divide num_attention_heads (" +
                                             std::to_string(attention.heads) + ")");
  if (!config.flag_or(true, {"rmsnorm"})) model.norm = ModelSpec::Norm::layer;
}

/// Its width is that of gate and values together.
void read_qwen(JsonConfig& config, ModelSpec& model) {
  if (model.ffn.hidden % 2 != 0 && config.good({"intermediate_size"}))
    config.fail("intermediate_size", "is " + std::to_string(model.ffn.hidden) +
                                         ", allowed: an even number, for gate and values");
  model.ffn.hidden /= 2;
  model.ffn.hidden += model.ffn.hidden == 0 ? 1 : 0;
  model.bias = ModelSpec::Bias::qkv;
}

/// The 13B models have no rotation, and say no longest position either.
void read_baichuan(JsonConfig& config, ModelSpec& model) {
  if (!config.has({"max_position_embeddings"}) && config.has({"model_max_length"}))
    model.position = ModelSpec::Position::none;
}

void read_mtp(JsonConfig& config, ModelSpec& model) {
  model.mtp_layers = config.count_or(0, {"num_nextn_predict_layers"}, 0);
}

}  // namespace stepcast::hugging_face
