#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "hugging_face_models.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/model_spec.hpp"
#include "temporary_files.hpp"

// Families of configurations against the parameters of published checkpoints.
namespace stepcast {
namespace {

using hugging_face_models::Published, hugging_face_models::published;

std::string written(const std::string& text) {
  static const test::TemporaryFiles files;  // of this process, as others run beside it
  return files.write("family.json", text);
}

std::string complaint(const std::string& text) {
  try {
    (void)read_hugging_face(written(text));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(HuggingFaceFamilies, ParametersAreThePublishedOnes) {
  std::set<std::string> families;
  for (const Published& model : published) {
    SCOPED_TRACE(model.name);
    const ParameterCount count = count_parameters(read_hugging_face(written(model.config)));
    EXPECT_NEAR(count.total_without_mtp, model.total, 1e-3 * model.total);
    EXPECT_NEAR(count.active, model.active, 1e-3 * model.active);
    families.insert(model.family);
  }
  EXPECT_GE(families.size(), 25U);
}

TEST(HuggingFaceFamilies, ErnieHasExpertsInEveryLayerUnlessToldOtherwise) {
  for (const Published& model : published) {
    if (model.family != std::string("ernie4_5_moe")) continue;
    std::string without = model.config;
    const std::string interval = R"("moe_layer_interval": 1, )";
    const std::size_t at = without.find(interval);
    ASSERT_NE(at, std::string::npos) << model.name;
    without.erase(at, interval.size());
    EXPECT_EQ(count_parameters(read_hugging_face(written(without))).total,
              count_parameters(read_hugging_face(written(model.config))).total)
        << model.name;
  }
}

TEST(HuggingFaceFamilies, WhatAModelLacksIsRefusedByName) {
  for (const char* family : {"gemma4", "mimo_v2_flash", "qwen3_5", "minimax_m3", "llama4_text",
                             "hunyuan", "nemotron_h", "longcat_flash"}) {
    const std::string said = complaint(std::string(R"({"model_type": ")") + family + R"("})");
    EXPECT_NE(said.find(family), std::string::npos) << said;
    EXPECT_NE(said.find("a model lacks that"), std::string::npos) << said;
  }
}

constexpr const char* small =
    R"("num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100)";

/// Windows of the layers of a small model of the family, 0 for none.
std::vector<std::int64_t> windows(const std::string& family, const std::string& more) {
  const ModelSpec model =
      read_hugging_face(written(R"({"model_type": ")" + family + R"(", )" + small + more + "}"));
  std::vector<std::int64_t> all;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) all.push_back(model.window_of(layer));
  return all;
}

using Windows = std::vector<std::int64_t>;

TEST(HuggingFaceFamilies, WindowsCountUnlessTheyReachEverything) {
  const std::string longest = R"(, "max_position_embeddings": 32768, "sliding_window": )";
  EXPECT_EQ(windows("mistral", longest + "4096"), (Windows{4096, 4096}));
  EXPECT_EQ(windows("mistral", longest + "32768"), (Windows{0, 0}));
  EXPECT_EQ(windows("mistral", longest + "null"), (Windows{0, 0}));
  EXPECT_EQ(windows("qwen2", longest + "4096"), (Windows{0, 0}));
  const std::string used = longest + R"(4096, "use_sliding_window": true, "max_window_layers": )";
  EXPECT_EQ(windows("qwen2", used + "2"), (Windows{0, 0}));
  EXPECT_EQ(windows("qwen2", used + "0"), (Windows{4096, 4096}));
  EXPECT_NE(complaint(std::string(R"({"model_type": "qwen2", )") + small + used + "1}")
                .find("max_window_layers: is 1, allowed: 0, or the number of layers"),
            std::string::npos);
}

TEST(HuggingFaceFamilies, WindowsAlternateAsTheFamilyOrTheLayersSay) {
  const std::string reach =
      R"(, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 16)";
  EXPECT_EQ(windows("gpt_oss", reach), (Windows{16, 0}));
  EXPECT_EQ(windows("gemma2", reach), (Windows{16, 0}));
  EXPECT_EQ(windows("gemma3_text", reach), (Windows{16, 16}));
  EXPECT_EQ(windows("gemma3_text", reach + R"(, "sliding_window_pattern": 2)"), (Windows{16, 0}));
  const std::string types = reach + R"(, "layer_types": )";
  EXPECT_EQ(windows("gpt_oss", types + R"(["sliding_attention", "sliding_attention"])"),
            (Windows{16, 16}));
  EXPECT_EQ(windows("gpt_oss", types + R"(["full_attention", "full_attention"])"), (Windows{0, 0}));
  for (const char* wrong :
       {R"(["full_attention", "sliding_attention"])", R"(["sliding_attention"])",
        R"(["linear_attention", "full_attention"])", R"([1, 2])", R"("full")"})
    EXPECT_NE(complaint(std::string(R"({"model_type": "gpt_oss", )") + small + types + wrong + "}")
                  .find("layer_types"),
              std::string::npos)
        << wrong;
}

TEST(HuggingFaceFamilies, AnUnknownTypeIsReadAsAFamily) {
  const std::string file = written(
      std::string(R"({"model_type": "never_heard", "tie_word_embeddings": false, )") + small + "}");
  EXPECT_THROW((void)read_hugging_face(file), InputError);
  const ModelSpec model = read_hugging_face(file, "qwen3");
  EXPECT_EQ(model.name, "never_heard");
  EXPECT_EQ(model.qk_norm, ModelSpec::QkNorm::head);
}

ModelSpec small_of(const std::string& family, const std::string& more = "") {
  return read_hugging_face(written(R"({"model_type": ")" + family + R"(", )" + small + more + "}"));
}

TEST(HuggingFaceFamilies, PartsThatReadTheSameAreRead) {
  using Block = ModelSpec::Block;
  for (const char* family : {"gptj", "codegen", "phi", "falcon", "cohere", "cohere2"})
    EXPECT_EQ(small_of(family).block, Block::parallel) << family;
  EXPECT_EQ(small_of("gpt_neox").block, Block::parallel_norms);
  EXPECT_EQ(small_of("gpt_neox", R"(, "use_parallel_residual": false)").block, Block::serial);
  EXPECT_EQ(small_of("stablelm").block, Block::serial);
  EXPECT_EQ(small_of("stablelm", R"(, "use_parallel_residual": true)").block, Block::parallel);
  EXPECT_EQ(small_of("falcon", R"(, "parallel_attn": false)").block, Block::serial);
  const std::string second = R"(, "new_decoder_architecture": true, "num_kv_heads": 2)";
  EXPECT_EQ(small_of("falcon", second).block, Block::parallel_norms);
  EXPECT_EQ(small_of("falcon", second + R"(, "num_ln_in_parallel_attn": 1)").block,
            Block::parallel);
}

TEST(HuggingFaceFamilies, FalconsKeysAreOfOneHeadOrOfSome) {
  const auto heads = [](const std::string& more) {
    return std::get<GroupedQueryAttention>(small_of("falcon", more).attention).kv_heads;
  };
  EXPECT_EQ(heads(""), 1);
  EXPECT_EQ(heads(R"(, "multi_query": false)"), 4);
  EXPECT_EQ(heads(R"(, "new_decoder_architecture": true, "num_kv_heads": 2)"), 2);
}

TEST(HuggingFaceFamilies, WidthsAreFourTimesUnlessSaid) {
  const std::string dimensions = R"(, "n_layer": 2, "n_embd": 64, "n_head": 4, "vocab_size": 100)";
  EXPECT_EQ(read_hugging_face(written(R"({"model_type": "gptj")" + dimensions + "}")).ffn.hidden,
            256);
  EXPECT_NE(complaint(R"({"model_type": "llama")" + dimensions + "}").find("intermediate_size"),
            std::string::npos);
}

TEST(HuggingFaceFamilies, SerialTypesRefuseParallelParts) {
  for (const char* key : {"use_parallel_residual", "parallel_attn"}) {
    const std::string said =
        complaint(std::string(R"({"model_type": "llama", )") + small + ", \"" + key + "\": true}");
    EXPECT_NE(said.find(std::string(key) + ": is true"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace stepcast
