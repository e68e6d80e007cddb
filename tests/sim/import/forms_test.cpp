#include <gtest/gtest.h>

#include "stepcast/base/foreign_document.hpp"
#include "subjects.hpp"
#include "temporary_files.hpp"

// YAML, TOML and what they refuse.
namespace stepcast {
namespace {

using namespace import_tests;

ImportOptions on(const std::string& cluster) {
  ImportOptions options;
  options.cluster = cluster;
  return options;
}

std::string complaint(const std::string& path, const ImportOptions& options) {
  try {
    (void)import_launch(path, options, default_search_path({}));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::string written(const std::string& name, const std::string& text) {
  static const test::TemporaryFiles files;  // of this process, as others run beside it
  return files.write(name, text);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(ForeignDocument, ExpandsAnchorsWithinBounds) {
  const Node root =
      parse_foreign_document("a: &x {b: 1.e-8}\nc: *x\nd: [*x, 2]\nb: 1\nb: 2\n", "f.yaml");
  EXPECT_EQ(root.find("c")->find("b")->text, "1.e-8");
  EXPECT_EQ(root.find("d")->items.size(), 2U);
  EXPECT_EQ(root.find("b")->text, "2");
  std::string bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before +
            ", " + before + ", " + before + "]\n";
  }
  EXPECT_THROW((void)parse_foreign_document(bomb, "bomb.yaml"), InputError);
  EXPECT_THROW((void)parse_foreign_document("a: &a [*a]\n", "self.yaml"), InputError);
}

TEST(MindFormersTraps, OffsetsMustAddUp) {
  EXPECT_TRUE(has(complaint(data_path("mf_telechat3_105b.yaml"), on("atlas-800t-a2")),
                  "must be 45 layers less 5 in each of 8 chunks: 5"));
}

TEST(MindFormersTraps, UnknownKeysAreNamed) {
  const std::string path =
      written("stepcast_mf.yaml",
              "parallel_config:\n  data_paralel: 2\nmodel:\n  model_config:\n    num_layers: 2\n");
  EXPECT_TRUE(
      has(complaint(path, on("atlas-800t-a2")), "did you mean parallel_config.data_parallel?"));
}

TEST(TorchtitanTraps, OneMicroBatchForFourStages) {
  ImportOptions options = on("dgx-h100");
  options.devices = 64;
  const ImportedScenario imported =
      import_launch(data_path("tt_llama4_128e.toml"), options, default_search_path({}));
  EXPECT_EQ(read_scenario(imported.document, default_search_path({})).micro_batches(), 1);
}

TEST(TorchtitanTraps, SelectiveByOperatorAsks) {
  ImportOptions options = on("dgx-h100");
  options.devices = 8;
  EXPECT_TRUE(has(complaint(data_path("tt_llama3_8b.toml"), options), "--set training.recompute"));
}

TEST(TorchtitanTraps, BrokenTomlHasItsPlace) {
  EXPECT_TRUE(has(complaint(written("stepcast_broken.toml", "[model]\nname = \n"), on("dgx-h100")),
                  "stepcast_broken.toml:2:"));
}

TEST(Bridge, RunConfigHasTheRecipesValues) {
  ImportOptions options = on("dgx-h100");
  options.devices = 32;
  const SearchPath search = default_search_path({});
  const Scenario scenario = read_scenario(
      import_launch(data_path("bridge_run_config.yaml"), options, search).document, search);
  const ParallelPlan& plan = scenario.workload.plan;
  EXPECT_EQ(plan.tp, 4);
  EXPECT_EQ(plan.vpp, 5);
  EXPECT_EQ(plan.cp, 2);
  EXPECT_EQ(plan.dp, 1);
  EXPECT_EQ(scenario.micro_batches(), 512);
  EXPECT_EQ(scenario.workload.communication.tensor_chunks, 4);
}

}  // namespace
}  // namespace stepcast
