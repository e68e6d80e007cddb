#include <gtest/gtest.h>

#include <set>

#include "hugging_face_more_models.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/hugging_face.hpp"
#include "stepcast/workloads/model_spec.hpp"
#include "temporary_files.hpp"

// The table of types: what each line makes of a file, and what --as refuses.
namespace stepcast {
namespace {

std::string typed(const std::string& text) {
  static const test::TemporaryFiles files;  // of this process, as others run beside it
  return files.write("typed.json", text);
}

constexpr const char* dimensions =
    R"("num_hidden_layers": 8, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100)";

ModelSpec typed_model(const std::string& type, const std::string& more = "",
                      const std::string& as = {}) {
  return read_hugging_face(typed(R"({"model_type": ")" + type + R"(", )" + dimensions + more + "}"),
                           as);
}

std::string refusal(const std::string& more, const std::string& as = {},
                    const std::string& type = "never_heard") {
  try {
    (void)typed_model(type, more, as);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::vector<std::int64_t> windows_of(const std::string& type, const std::string& more) {
  const ModelSpec model = typed_model(type, more);
  std::vector<std::int64_t> all;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) all.push_back(model.window_of(layer));
  return all;
}

using Reach = std::vector<std::int64_t>;
constexpr const char* untied = R"(, "tie_word_embeddings": false)";

TEST(HuggingFaceTypes, ParametersAreThePublishedOnes) {
  std::set<std::string> types;
  for (const auto& model : hugging_face_models::published) types.insert(model.family);
  for (const auto& model : hugging_face_models::more_published) {
    SCOPED_TRACE(model.name);
    const ParameterCount count = count_parameters(read_hugging_face(typed(model.config)));
    EXPECT_NEAR(count.total_without_mtp, model.total, 1e-3 * model.total);
    if (model.active > 0) {
      EXPECT_NEAR(count.active, model.active, 1e-3 * model.active);
    }
    types.insert(model.family);
  }
  EXPECT_GE(types.size(), 60U);
}

TEST(HuggingFaceTypes, ModulesOfMiMoAndGlmFlashCount) {
  const auto mtp = [](const char* text) {
    return count_parameters(read_hugging_face(typed(text)));
  };
  EXPECT_NEAR(mtp(R"({"model_type": "mimo", "hidden_size": 4096, "intermediate_size": 11008,
      "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
      "vocab_size": 151680, "num_nextn_predict_layers": 1, "tie_word_embeddings": false})")
                  .total,
              7833409536.0, 1e6);
  // The checkpoint holds copies of embedding and head for its module, which share them.
  EXPECT_NEAR(
      mtp(R"({"model_type": "glm4_moe_lite", "hidden_size": 2048, "intermediate_size": 10240,
      "num_hidden_layers": 47, "num_attention_heads": 20, "num_key_value_heads": 20,
      "q_lora_rank": 768, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64,
      "v_head_dim": 256, "vocab_size": 154880, "n_routed_experts": 64, "n_shared_experts": 1,
      "num_experts_per_tok": 4, "moe_intermediate_size": 1536, "first_k_dense_replace": 1,
      "num_nextn_predict_layers": 1, "tie_word_embeddings": false})")
          .total,
      31221488576.0 - 2 * 154880.0 * 2048.0, 1e-3 * 31e9);
}

TEST(HuggingFaceTypes, DefaultsOfAClassCountWhereAFileIsSilent) {
  for (const char* type : {"gemma", "gemma2", "gemma3_text", "smollm3", "ernie4_5", "minicpm"})
    EXPECT_TRUE(typed_model(type).tied_embeddings) << type;
  EXPECT_FALSE(typed_model("gemma", untied).tied_embeddings);
  EXPECT_FALSE(typed_model("granite").tied_embeddings);
  EXPECT_EQ(typed_model("starcoder2").bias, ModelSpec::Bias::all);
  EXPECT_EQ(typed_model("starcoder2", R"(, "use_bias": false)").bias, ModelSpec::Bias::none);
  EXPECT_EQ(typed_model("internlm2").bias, ModelSpec::Bias::none);
  EXPECT_EQ(typed_model("internlm3", R"(, "qkv_bias": true)").bias, ModelSpec::Bias::qkv);
  EXPECT_EQ(typed_model("internlm3", R"(, "qkv_bias": true, "bias": true)").bias,
            ModelSpec::Bias::all);
  EXPECT_EQ(typed_model("PanguEmbedded", R"(, "bias": false)").bias, ModelSpec::Bias::none);
}

TEST(HuggingFaceTypes, WhatIsNoDecoderIsRefusedByName) {
  for (const auto& [type, reason] :
       std::vector<std::array<const char*, 2>>{{"bert", "tokens that see those behind them"},
                                               {"xlm-roberta", "tokens that see those behind them"},
                                               {"t5", "an encoder and a decoder"},
                                               {"rwkv7", "recurrent layers"}})
    EXPECT_NE(refusal("", {}, type).find(reason), std::string::npos) << refusal("", {}, type);
}

TEST(HuggingFaceTypes, PlainFeedForwardsHaveTwoMatrices) {
  for (const char* type : {"arcee", "apertus", "jais2", "nemotron", "starcoder2", "persimmon"})
    EXPECT_EQ(typed_model(type).ffn.kind, FeedForwardSpec::Kind::gelu) << type;
}

TEST(HuggingFaceTypes, WindowsFollowLettersNumbersAndLists) {
  const Reach fourth{16, 16, 16, 0, 16, 16, 16, 0};
  const std::string reach = R"(, "sliding_window": 16)";
  EXPECT_EQ(windows_of("exaone4", reach + R"(, "sliding_window_pattern": "LLLG")"), fourth);
  EXPECT_EQ(windows_of("exaone4", reach + R"(, "sliding_window_pattern": 4)"), fourth);
  EXPECT_EQ(windows_of("exaone4", R"(, "sliding_window": null)"), Reach(8, 0));
  EXPECT_EQ(windows_of("exaone4", reach + R"(, "sliding_window_pattern": "LG")"),
            (Reach{16, 0, 16, 0, 16, 0, 16, 0}));
  EXPECT_NE(refusal(reach + R"(, "sliding_window_pattern": "LGL")", {}, "exaone4")
                .find("sliding_window_pattern: is 'LGL', allowed: L for each layer with a window"),
            std::string::npos);
  EXPECT_EQ(windows_of("olmo3", reach), fourth);
  EXPECT_EQ(windows_of("ministral", reach), Reach(8, 16));
  EXPECT_EQ(windows_of("vaultgemma", reach), (Reach{16, 0, 16, 0, 16, 0, 16, 0}));
  EXPECT_EQ(windows_of("olmo3", reach + R"(, "layer_types": ["sliding_attention", "full_attention",
                          "sliding_attention", "full_attention", "sliding_attention",
                          "full_attention", "sliding_attention", "full_attention"])"),
            (Reach{16, 0, 16, 0, 16, 0, 16, 0}));
  EXPECT_EQ(windows_of("smollm3", reach), Reach(8, 0));
  EXPECT_EQ(windows_of("starcoder2", reach), Reach(8, 16));
}

TEST(HuggingFaceTypes, OlderTypesKeepTheirPositionsAndHeads) {
  EXPECT_EQ(typed_model("bloom").position, ModelSpec::Position::none);
  EXPECT_EQ(typed_model("mpt").position, ModelSpec::Position::none);
  EXPECT_EQ(typed_model("gpt2", R"(, "n_positions": 32)").positions, 32);
  EXPECT_EQ(typed_model("opt", R"(, "max_position_embeddings": 32)").positions, 34);
  const auto kv = [](const ModelSpec& model) {
    return std::get<GroupedQueryAttention>(model.attention).kv_heads;
  };
  EXPECT_EQ(kv(typed_model("gpt_bigcode", R"(, "n_positions": 32)")), 1);
  EXPECT_EQ(kv(typed_model("gpt_bigcode", R"(, "n_positions": 32, "multi_query": false)")), 4);
  EXPECT_EQ(kv(typed_model("chatglm", R"(, "multi_query_group_num": 2)")), 4);
  EXPECT_EQ(
      kv(typed_model("chatglm", R"(, "multi_query_attention": true, "multi_query_group_num": 2)")),
      2);
  EXPECT_EQ(typed_model("qwen").ffn.hidden, 64);
  EXPECT_EQ(typed_model("baichuan", R"(, "model_max_length": 64)").position,
            ModelSpec::Position::none);
  EXPECT_EQ(typed_model("baichuan", R"(, "max_position_embeddings": 64)").position,
            ModelSpec::Position::rope);
  for (const auto& [type, more, said] : std::vector<std::array<std::string, 3>>{
           {"opt", R"(, "max_position_embeddings": 32, "word_embed_proj_dim": 32)",
            "word_embed_proj_dim: is 32"},
           {"chatglm", R"(, "multi_query_attention": true, "multi_query_group_num": 3)",
            "multi_query_group_num: is 3, must divide num_attention_heads (4)"}}) {
    EXPECT_NE(refusal(more, {}, type).find(said), std::string::npos) << refusal(more, {}, type);
  }
}

TEST(HuggingFaceTypes, ATextPartIsReadAndTheRestIsSaid) {
  const std::string inner = std::string(R"({"model_type": "mistral", )") + dimensions + "}";
  const std::string file = typed(R"({"model_type": "mistral3", "vision_config": {"depth": 2},
      "tie_word_embeddings": true, "text_config": )" +
                                 inner + "}");
  const ModelSpec model = read_hugging_face(file);
  EXPECT_EQ(model.name, "mistral");
  EXPECT_EQ(model.layers, 8);
  EXPECT_TRUE(model.tied_embeddings);
  EXPECT_EQ(left_out_of_hugging_face(file), "text_config alone is read, left out: vision_config");
  EXPECT_EQ(left_out_of_hugging_face(typed(inner)), "");
  // A type of the table that has its layers at hand keeps them.
  const std::string flat = typed(R"({"model_type": "qwen2_5_vl", "vision_config": {}, )" +
                                 std::string(dimensions) + "}");
  EXPECT_EQ(read_hugging_face(flat).layers, 8);
  EXPECT_EQ(left_out_of_hugging_face(flat),
            "the text model alone is read, left out: vision_config");
  const std::string deep =
      typed(R"({"model_type": "x", "thinker_config": {"audio_config": {}, "text_config": )" +
            inner + "}}");
  EXPECT_EQ(read_hugging_face(deep).layers, 8);
  try {
    (void)read_hugging_face(
        typed(R"({"model_type": "x", "text_config": {"model_type": "llama"}})"));
    FAIL() << "was read";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("text_config.num_hidden_layers: is missing"),
              std::string::npos)
        << error.what();
  }
}

TEST(HuggingFaceTypes, AsRefusesWhatItWouldPassOver) {
  const std::string llama = untied;
  EXPECT_EQ(refusal(llama + R"(, "hidden_act": "silu", "sliding_window": null)", "llama"), "");
  struct Case {
    const char *as, *more, *said;
  };
  for (const Case& c : std::vector<Case>{
           {"llama", R"("hidden_act": "relu2")", "hidden_act: is 'relu2'"},
           {"llama", R"("hidden_act": "xielu")", "hidden_act: is 'xielu'"},
           {"llama", R"("hidden_act": "gelu_pytorch_tanh")", "hidden_act"},
           {"llama", R"("activation_function": "gelu")", "activation_function"},
           {"starcoder2", R"("hidden_act": "silu")", "hidden_act: is 'silu'"},
           {"llama", R"("use_bias": true)", "use_bias: is true"},
           {"llama", R"("qkv_bias": true)", "qkv_bias: is true"},
           {"llama", R"("qk_norm": true)", "qk_norm: is true"},
           {"qwen3", R"("use_qk_norm": false)", "use_qk_norm: is false"},
           {"llama", R"("sandwich_norm": true)", "sandwich_norm: is true"},
           {"llama", R"("layer_norm_eps": 1e-5)", "layer_norm_eps"},
           {"qwen3", R"("sliding_window": 16)", "sliding_window: is 16"},
           {"qwen2", R"("layer_types": ["sliding_attention"])", "layer_types: has"},
           {"llama", R"("layer_types": ["mamba"])", "layer_types: has"},
           {"llama", R"("num_experts": 8)", "num_experts: says experts"},
           {"llama", R"("kv_lora_rank": 8)", "kv_lora_rank: is 8"},
           {"llama", R"("num_nextn_predict_layers": 1)", "num_nextn_predict_layers: is 1"},
           {"llama", R"("hybrid_override_pattern": "M*")", "hybrid_override_pattern"},
           {"llama", R"("use_cla": true)", "use_cla: is true"},
           {"llama", R"("parallel_attn": true)", "parallel_attn: is true"}}) {
    const std::string said = refusal(std::string(", ") + c.more + untied, c.as);
    EXPECT_NE(said.find(c.said), std::string::npos) << c.as << " " << c.more << ": " << said;
  }
  EXPECT_NE(refusal("", "llama").find("tie_word_embeddings: is missing"), std::string::npos);
  EXPECT_EQ(refusal(llama + R"(, "hidden_act": "gelu", "use_sliding_window": false,
                              "sliding_window": 16)",
                    "gemma"),
            "");
  // A file of the type itself says what that type means.
  EXPECT_EQ(refusal(R"(, "hidden_act": "gelu")", "llama", "llama"), "");
}

/// Every line, on a file that has whatever any of them asks for.
TEST(HuggingFaceTypes, EveryLineReads) {
  const std::string said = refusal("");
  const std::string before = "is 'never_heard', allowed: ";
  const std::size_t start = said.find(before);
  ASSERT_NE(start, std::string::npos) << said;
  std::string names = said.substr(start + before.size());
  names.resize(names.find(';'));
  std::size_t count = 0;
  const std::string all =
      R"(, "n_positions": 64, "max_position_embeddings": 64, "num_local_experts": 4,
         "num_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_topk": 2,
         "moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 32,
         "shared_expert_intermediate_size": 32, "q_lora_rank": 16, "kv_lora_rank": 16,
         "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 16, "index_n_heads": 2,
         "index_head_dim": 8, "index_topk": 8, "linear_num_key_heads": 2,
         "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
         "linear_conv_kernel_dim": 4, "attn_type_list": [0, 1, 0, 1, 0, 1, 0, 1])";
  for (std::size_t at = 0; at < names.size(); ++count) {
    const std::size_t end = std::min(names.find(", ", at), names.size());
    const std::string type = names.substr(at, end - at);
    EXPECT_EQ(refusal(all, {}, type), "") << type;
    at = end + 2;
  }
  EXPECT_GE(count, 60U);
}

}  // namespace
}  // namespace stepcast
