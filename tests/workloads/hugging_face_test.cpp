#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "known_models.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

using namespace known_models;

/// Writes config.json into a directory of its own, which goes with the object.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) {
    std::string name = (std::filesystem::temp_directory_path() / "stepcast-config-XXXXXX").string();
    directory_ = mkdtemp(name.data());
    std::ofstream{path()} << text;
  }
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;
  ~ConfigFile() { std::filesystem::remove_all(directory_); }
  std::filesystem::path path() const { return directory_ / "config.json"; }

 private:
  std::filesystem::path directory_;
};

ModelSpec read(const std::string& text) { return read_hugging_face(ConfigFile{text}.path()); }

std::vector<Diagnostic> errors(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    return error.diagnostics();
  }
  return {};
}

/// The only error of the text, as `key: message`.
std::string only_error(const std::string& text) {
  const auto all = errors(text);
  if (all.size() != 1) return std::to_string(all.size()) + " errors";
  return all[0].path + ": " + all[0].message;
}

double parameters(const std::string& text) { return count_parameters(read(text)).total; }

std::string llama(const std::string& more) {
  return R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
             "intermediate_size": 128, "vocab_size": 100)" +
         more + "}";
}

std::string qwen3_moe(const std::string& more) {
  return R"({"model_type": "qwen3_moe", "num_hidden_layers": 6, "hidden_size": 64, "num_attention_heads": 4,
             "num_key_value_heads": 2, "head_dim": 32, "intermediate_size": 128, "vocab_size": 100,
             "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 48)" +
         more + "}";
}

const std::string deepseek_v3_text =
    R"({"model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 128,
        "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "intermediate_size": 18432, "first_k_dense_replace": 3,
        "moe_layer_freq": 1, "n_routed_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
        "n_shared_experts": 1, "n_group": 8, "topk_group": 4, "topk_method": "noaux_tc",
        "num_nextn_predict_layers": 1, "vocab_size": 129280, "tie_word_embeddings": false,
        "max_position_embeddings": 163840, "rope_scaling": {"type": "yarn"}})";

TEST(HuggingFace, ReadsDenseModels) {
  const std::string telechat =
      R"({"model_type": "telechat3", "hidden_size": 6144, "intermediate_size": 24576, "num_attention_heads": 48,
          "num_hidden_layers": 64, "num_key_value_heads": 8, "vocab_size": 131072, "mlp_bias": false,
          "attention_bias": false, "head_dim": 128, "tie_word_embeddings": false})";
  EXPECT_EQ(parameters(telechat), count_parameters(telechat3_36b()).total);
  EXPECT_EQ(read(telechat).name, "telechat3");

  const std::string llama3 =
      R"({"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64,
          "num_hidden_layers": 80, "num_key_value_heads": 8, "vocab_size": 128256})";
  EXPECT_EQ(parameters(llama3), count_parameters(llama3_70b()).total);
}

TEST(HuggingFace, FillsWhatLlamaLeavesOut) {
  const ModelSpec model = read(llama(""));
  const auto& attention = std::get<GroupedQueryAttention>(model.attention);
  EXPECT_EQ(attention.kv_heads, 4);
  EXPECT_EQ(attention.head_dim, 16);
  EXPECT_FALSE(model.tied_embeddings);
  EXPECT_EQ(model.norm, ModelSpec::Norm::rms);
  EXPECT_EQ(model.position, ModelSpec::Position::rope);
  EXPECT_FALSE(model.moe);
  EXPECT_EQ(
      std::get<GroupedQueryAttention>(read(llama(R"(, "head_dim": null)")).attention).head_dim, 16);
  EXPECT_EQ(std::get<GroupedQueryAttention>(read(llama(R"(, "head_dim": 24)")).attention).head_dim,
            24);
  EXPECT_TRUE(read(llama(R"(, "tie_word_embeddings": true)")).tied_embeddings);
}

TEST(HuggingFace, KnowsWhichProjectionsHaveBiases) {
  EXPECT_EQ(read(llama("")).bias, ModelSpec::Bias::none);
  EXPECT_EQ(read(llama(R"(, "attention_bias": true)")).bias, ModelSpec::Bias::qkv);
  EXPECT_EQ(read(llama(R"(, "attention_bias": true, "mlp_bias": true)")).bias,
            ModelSpec::Bias::all);
  EXPECT_EQ(only_error(llama(R"(, "mlp_bias": true)")),
            "mlp_bias: is true, allowed only together with attention_bias");
  std::string qwen2 = llama("");
  qwen2.replace(qwen2.find("llama"), 5, "qwen2");
  EXPECT_EQ(read(qwen2).bias, ModelSpec::Bias::qkv);
  qwen2.replace(qwen2.find("qwen2"), 5, "qwen3");
  EXPECT_EQ(read(qwen2).bias, ModelSpec::Bias::none);
}

TEST(HuggingFace, ReadsMixtral) {
  const std::string text =
      R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
          "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8,
          "num_experts_per_tok": 2})";
  EXPECT_EQ(parameters(text), count_parameters(mixtral_8x7b()).total);
  EXPECT_EQ(count_parameters(read(text)).active, count_parameters(mixtral_8x7b()).active);
}

TEST(HuggingFace, PlacesTheMoeLayersOfQwen3) {
  EXPECT_EQ(read(qwen3_moe("")).moe->first_dense, 0);
  EXPECT_EQ(read(qwen3_moe("")).moe->period, 1);
  const ModelSpec sparse = read(qwen3_moe(R"(, "decoder_sparse_step": 2)"));  // layers 1, 3, 5
  EXPECT_EQ(sparse.moe->first_dense, 1);
  EXPECT_EQ(sparse.moe->period, 2);
  EXPECT_EQ(read(qwen3_moe(R"(, "mlp_only_layers": [0, 1])")).moe->first_dense, 2);
  EXPECT_FALSE(read(qwen3_moe(R"(, "mlp_only_layers": [0, 1, 2, 3, 4, 5])")).moe);
  EXPECT_EQ(read(qwen3_moe(R"(, "mlp_only_layers": [0, 1, 2, 3, 4])")).moe->first_dense, 5);
  EXPECT_EQ(only_error(qwen3_moe(R"(, "mlp_only_layers": [0, 2])")),
            "mlp_only_layers: places MoE layers irregularly, allowed: one dense prefix, then every "
            "n-th layer");
}

TEST(HuggingFace, ReadsDeepSeekV3) {
  const ModelSpec model = read(deepseek_v3_text);
  EXPECT_EQ(count_parameters(model).total, count_parameters(deepseek_v3()).total);
  EXPECT_EQ(count_parameters(model).active, count_parameters(deepseek_v3()).active);
  EXPECT_EQ(model.moe->groups, 8);
  EXPECT_EQ(model.moe->top_groups, 4);
  EXPECT_TRUE(model.moe->correction_bias);
  EXPECT_EQ(model.mtp_layers, 1);
}

TEST(HuggingFace, ReadsDeepSeekV2WithoutQueryRank) {
  std::string text = deepseek_v3_text;
  text.replace(text.find("deepseek_v3"), 11, "deepseek_v2");
  text.replace(text.find("\"q_lora_rank\": 1536"), 19, "\"q_lora_rank\": null");
  text.replace(text.find("\"n_shared_experts\": 1"), 21, "\"n_shared_experts\": 2");
  const ModelSpec model = read(text);
  EXPECT_EQ(std::get<LatentAttention>(model.attention).q_lora_rank, 0);
  EXPECT_EQ(model.moe->shared_experts, 2);
  EXPECT_EQ(model.moe->shared_hidden, 2048);
  EXPECT_FALSE(model.moe->correction_bias);
}

TEST(HuggingFace, ReadsPanguUnderItsOwnNames) {
  const std::string text =
      R"({"model_type": "pangu_ultra_moe", "num_hidden_layers": 61, "hidden_size": 7680, "num_attention_heads": 128,
          "attention_q_lora_dim": 1536, "attention_kv_lora_dim": 512, "attention_qk_dim": 128,
          "attention_qk_rope_dim": 64, "attention_v_dim": 128, "intermediate_size": 18432, "num_dense_layers": 3,
          "num_routed_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
          "num_shared_experts": 1, "num_mtp_layers": 1, "vocab_size": 153600, "sandwich_norm": true})";
  EXPECT_EQ(parameters(text), count_parameters(pangu_ultra_moe()).total);
  EXPECT_EQ(read(text).norm, ModelSpec::Norm::sandwich);
}

TEST(HuggingFace, NamesFileAndKeyOfEveryError) {
  const ConfigFile file{R"({"model_type": "llama", "num_hidden_layers": 0, "hidden_size": "wide",
                            "num_attention_heads": 4, "num_key_value_heads": 3, "vocab_size": 1.5,
                            "tie_word_embeddings": 1, "head_dim": 16})"};
  try {
    read_hugging_face(file.path());
    FAIL() << "was read";
  } catch (const InputError& error) {
    std::string keys;
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      EXPECT_EQ(diagnostic.place.file, file.path().string());
      keys += diagnostic.path + " ";
    }
    for (const char* key : {"num_hidden_layers ", "hidden_size ", "intermediate_size ",
                            "vocab_size ", "tie_word_embeddings ", "num_key_value_heads "}) {
      EXPECT_NE(keys.find(key), std::string::npos) << key << "not in " << keys;
    }
  }
}

TEST(HuggingFace, SaysWhatIsWrong) {
  EXPECT_EQ(only_error(llama(R"(, "num_key_value_heads": -2)")),
            "num_key_value_heads: is -2, allowed: a whole number, 1 to 16777216");
  EXPECT_EQ(only_error(llama(R"(, "num_key_value_heads": 18446744073709551615)")),
            "num_key_value_heads: is 18446744073709551615, allowed: a whole number, 1 to 16777216");
  EXPECT_EQ(only_error(llama(R"(, "num_key_value_heads": 3)")),
            "num_key_value_heads: is 3, must divide num_attention_heads (4)");
  EXPECT_EQ(only_error(qwen3_moe(R"(, "decoder_sparse_step": 0)")),
            "decoder_sparse_step: is 0, allowed: a whole number, 1 to 16777216");
  EXPECT_EQ(only_error(qwen3_moe(R"(, "mlp_only_layers": "all")")),
            "mlp_only_layers: is \"all\", allowed: a list of whole numbers");
  EXPECT_EQ(only_error(R"({"model_type": 5})"), "model_type: is 5, allowed: a text");
  EXPECT_EQ(only_error("{}"), "model_type: is missing, it is required");
  EXPECT_EQ(only_error(R"({"model_type": ""})").find("model_type: is '', allowed: llama, "), 0U);
  EXPECT_EQ(only_error(R"({"model_type": "never_heard"})")
                .find("model_type: is 'never_heard', allowed: llama, "),
            0U);
  EXPECT_EQ(only_error("[1]"), ": is not a JSON object");
  EXPECT_EQ(only_error("\xff"), ": is not valid JSON");
  std::string greedy = qwen3_moe("");
  greedy.replace(greedy.find("per_tok\": 2"), 11, "per_tok\": 9");
  EXPECT_EQ(only_error(greedy), "num_experts_per_tok: is 9, allowed: up to 8 experts");
  std::string deep = deepseek_v3_text;
  deep.replace(deep.find("replace\": 3"), 11, "replace\": 62");
  EXPECT_EQ(only_error(deep), "first_k_dense_replace: is 62, allowed: up to 61 layers");
  std::string odd = llama("");
  odd.replace(odd.find("heads\": 4"), 9, "heads\": 5");
  EXPECT_EQ(only_error(odd),
            "head_dim: is missing, and hidden_size (64) is no multiple of num_attention_heads (5)");
}

TEST(HuggingFace, KeysThatFailedDrawNoFurtherErrors) {
  const auto spoiled = [](std::string text, std::string_view from, std::string_view to) {
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(only_error(spoiled(llama(""), R"("hidden_size": 64, )", "")),
            "hidden_size: is missing, it is required");
  EXPECT_EQ(only_error(spoiled(llama(R"(, "num_key_value_heads": 2)"), "heads\": 4", "heads\": 0")),
            "num_attention_heads: is 0, allowed: a whole number, 1 to 16777216");
  EXPECT_EQ(only_error(llama(R"(, "mlp_bias": true, "attention_bias": 1)")),
            "attention_bias: is 1, allowed: true, false");
  EXPECT_EQ(only_error(spoiled(qwen3_moe(""), "num_experts\": 8", "num_experts\": 0")),
            "num_experts: is 0, allowed: a whole number, 1 to 16777216");
  EXPECT_EQ(only_error(spoiled(deepseek_v3_text, "layers\": 61", "layers\": -1")),
            "num_hidden_layers: is -1, allowed: a whole number, 1 to 16777216");
}

TEST(HuggingFace, PointsAtBadJson) {
  const auto all = errors("{\"model_type\": \"llama\",\n  \"hidden_size\" 64}");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].place.line, 2);
  EXPECT_EQ(all[0].place.column, 18);  // the end of what should not be there
  EXPECT_EQ(errors("").size(), 1U);
}

TEST(HuggingFace, NeedsAFile) {
  EXPECT_THROW(read_hugging_face("/nowhere/config.json"), InputError);
  EXPECT_THROW(read_hugging_face(std::filesystem::temp_directory_path()), InputError);
}

TEST(HuggingFace, DamagedFilesAreReadOrRefusedNeverWorse) {
  EXPECT_TRUE(rc::check([] {
    std::string text = deepseek_v3_text;
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    if (*rc::gen::arbitrary<bool>()) {
      text[at] = *rc::gen::arbitrary<char>();
    } else {
      text.resize(at);
    }
    try {
      const ModelSpec model = read(text);
      RC_ASSERT(count_parameters(model).total > 0);
    } catch (const InputError& error) {
      RC_ASSERT(!error.diagnostics().empty());
    }
  }));
}

}  // namespace
}  // namespace stepcast
