#include "hugging_face.hpp"

// Families whose attention and feed-forward read the same.
namespace stepcast::hugging_face {
namespace {

using Block = ModelSpec::Block;

/// Layer norms and a plain GELU.
void read_plain(JsonConfig& config, ModelSpec& model) {
  read_grouped_attention(config, model);
  model.norm = ModelSpec::Norm::layer;
  model.ffn.kind = FeedForwardSpec::Kind::gelu;
}

}  // namespace

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
  read_bias(config, model);
  model.norm = ModelSpec::Norm::layer;
  model.block = Block::parallel;
  if (config.flag_or(false, {"use_qk_norm"})) model.qk_norm = ModelSpec::QkNorm::head;
  model.tied_embeddings = config.flag_or(true, {"tie_word_embeddings"});
}

void read_cohere2(JsonConfig& config, ModelSpec& model) {
  read_cohere(config, model);
  read_window(config, model, true, config.count_or(4, {"sliding_window_pattern"}));
}

void read_stablelm(JsonConfig& config, ModelSpec& model) {
  read_grouped_attention(config, model);
  if (config.flag_or(false, {"use_qkv_bias"})) model.bias = ModelSpec::Bias::qkv;
  model.norm = ModelSpec::Norm::layer;
  if (config.flag_or(false, {"qk_layernorm"})) model.qk_norm = ModelSpec::QkNorm::head;
  if (config.flag_or(false, {"use_parallel_residual"})) model.block = Block::parallel;
}

}  // namespace stepcast::hugging_face
