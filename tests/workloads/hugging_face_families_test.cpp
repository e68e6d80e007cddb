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

TEST(HuggingFaceFamilies, WhatAModelLacksIsRefusedByName) {
  for (const char* family :
       {"gpt_oss", "gemma2", "gemma3_text", "qwen3_next", "deepseek_v32", "glm_moe_dsa",
        "llama4_text", "minimax_m1", "hunyuan", "nemotron_h", "longcat_flash"}) {
    const std::string said = complaint(std::string(R"({"model_type": ")") + family + R"("})");
    EXPECT_NE(said.find(family), std::string::npos) << said;
    EXPECT_NE(said.find("a model lacks that"), std::string::npos) << said;
  }
}

constexpr const char* small =
    R"("num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100)";

TEST(HuggingFaceFamilies, WindowsAreRefusedUnlessTheyReachEverything) {
  const std::string start = std::string(R"({"model_type": "mistral", )") + small;
  EXPECT_NE(complaint(start + R"(, "sliding_window": 4096, "max_position_embeddings": 32768})")
                .find("sliding_window"),
            std::string::npos);
  EXPECT_EQ(complaint(start + R"(, "sliding_window": 4096, "max_position_embeddings": 4096})"), "");
  EXPECT_EQ(complaint(start + R"(, "sliding_window": null})"), "");
}

TEST(HuggingFaceFamilies, AnUnknownTypeIsReadAsAFamily) {
  const std::string file = written(std::string(R"({"model_type": "never_heard", )") + small + "}");
  EXPECT_THROW((void)read_hugging_face(file), InputError);
  const ModelSpec model = read_hugging_face(file, "qwen3");
  EXPECT_EQ(model.name, "never_heard");
  EXPECT_EQ(model.qk_norm, ModelSpec::QkNorm::head);
}

}  // namespace
}  // namespace stepcast
