#include "stepcast/sim/import/export.hpp"

#include <gtest/gtest.h>

#include "stepcast/base/text.hpp"
#include "subjects.hpp"

// Flags of a scenario, read back.
namespace stepcast {
namespace {

using namespace import_tests;

Scenario imported(const Subject& subject, std::vector<std::string> overrides = {}) {
  ImportOptions options = subject.options;
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  const SearchPath search = default_search_path({});
  return read_scenario(import_launch(data_path(subject.file), options, search).document, search);
}

Subject subject_of(const std::string& id) {
  for (const Subject& subject : subjects())
    if (subject.id == id) return subject;
  return {};
}

TEST(Export, AnImportedLaunchIsSaidAgainInFlags) {
  int tried = 0;
  for (const Subject& subject : subjects()) {
    const std::string kind = subject.id.starts_with("mlm-")   ? "megatron"
                             : subject.id.starts_with("msl-") ? "mindspeed"
                             : subject.id.starts_with("mf-")  ? "mindformers"
                                                              : "";
    if (kind.empty()) continue;
    const LaunchExport flags = export_launch(imported(subject), kind);
    EXPECT_TRUE(flags.lacking.empty()) << subject.id << ": " << joined(flags.lacking) << "\n"
                                       << flags.text;
    ++tried;
  }
  EXPECT_GE(tried, 26);
}

TEST(Export, LayersOfEachChunkAreWrittenOut) {
  const LaunchExport flags =
      export_launch(imported(subject_of("mlm-deepseek-v3-proxy")), "megatron");
  EXPECT_NE(flags.text.find("'Et*2|t*2|t*2|t*2|t*2|t*2|t*1|t*1mL'"), std::string::npos)
      << flags.text;
}

TEST(Export, WhatTheFrameworkLacksIsNamed) {
  const auto lacking = [](const std::vector<std::string>& sets) {
    return joined(
        export_launch(imported(subject_of("mlm-mixtral-8x22b"), sets), "megatron").lacking);
  };
  EXPECT_EQ(lacking({"training.micro_batch=1"}), "");
  EXPECT_NE(lacking({"schedule.pipeline=zb_h1"}).find("schedule.pipeline"), std::string::npos);
  EXPECT_NE(lacking({"training.recompute=[[7, 6, 5, 4, 3, 2, 1, 0]]"}).find("training.recompute"),
            std::string::npos);
  EXPECT_NE(lacking({"moe.placement=balanced", "moe.routing={distribution: zipf, exponent: 1}"})
                .find("moe.placement"),
            std::string::npos);
  EXPECT_NE(lacking({"runtime.dispatch=graph_sink"}).find("runtime.dispatch"), std::string::npos);
}

LaunchExport exported(const std::vector<std::string>& sets) {
  return export_launch(imported(subject_of("mlm-mixtral-8x22b"), sets), "megatron");
}

TEST(Export, RecipesOfFp8AndGraphsAreWritten) {
  const std::string fp8 = "training.precision=fp8_mixed";
  for (const std::string recipe : {"delayed", "tensorwise", "blockwise", "mxfp8"})
    for (const std::string padding : {"none", "copies"}) {
      const LaunchExport flags =
          exported({fp8, "cluster.device.mxfp8=true", "training.fp8_recipe=" + recipe,
                    "moe.row_padding=" + padding});
      EXPECT_TRUE(flags.lacking.empty()) << recipe << ": " << joined(flags.lacking);
      EXPECT_NE(flags.text.find("--fp8-recipe " + recipe), std::string::npos);
    }
  const LaunchExport graphs = exported({"runtime.graphs={scopes: [attn, moe_router]}"});
  EXPECT_TRUE(graphs.lacking.empty()) << joined(graphs.lacking);
  EXPECT_NE(graphs.text.find("--cuda-graph-scope attn moe_router"), std::string::npos);
}

TEST(Export, OneWorkQueueStandsInTheEnvironment) {
  const auto order = [](const std::string& id, std::vector<std::string> sets = {}) {
    return imported(subject_of(id), std::move(sets)).workload.runtime.start_order;
  };
  using Order = RuntimeSpec::StartOrder;
  EXPECT_EQ(order("mlm-mixtral-8x22b"), Order::as_issued);
  EXPECT_EQ(order("mlm-deepseek-v3-proxy"), Order::as_issued)
      << "the variable is absent, and the framework asserts it";
  EXPECT_EQ(order("mlm-deepseek-v3-proxy", {"framework=none"}), Order::by_stream);
  EXPECT_EQ(order("mlm-gpt3-175b"), Order::by_stream) << "nothing overlaps";
  EXPECT_EQ(order("mlm-mixtral-8x22b", {"communication.gradient.overlap=false"}), Order::by_stream);
  EXPECT_EQ(order("mlm-mixtral-8x22b", {"runtime.dispatch=graph_sink"}), Order::by_stream);
  EXPECT_EQ(order("msl-qwen3-32b"), Order::by_stream) << "an NPU has no such queue";
  const std::string variable = "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
  const LaunchExport one = exported({}), apart = exported({"runtime.start_order=by_stream"});
  EXPECT_TRUE(one.lacking.empty()) << joined(one.lacking);
  EXPECT_TRUE(apart.lacking.empty()) << joined(apart.lacking);
  EXPECT_NE(one.text.find(variable), std::string::npos);
  EXPECT_EQ(apart.text.find(variable), std::string::npos);
  const LaunchExport npu =
      export_launch(imported(subject_of("msl-qwen3-32b"),
                             {"runtime.dispatch=eager", "runtime.start_order=as_issued"}),
                    "mindspeed");
  EXPECT_NE(joined(npu.lacking).find("runtime.start_order"), std::string::npos);
}

// Plans write it for all sizes; imports leave it out where there is nothing to split.
TEST(Export, SequenceParallelismOfOneTensorRankIsNothingToSay) {
  const std::vector<std::string> alone{"parallel.tp=1", "parallel.sequence_parallel=true"};
  const Scenario scenario = imported(subject_of("mlm-mixtral-8x22b"), alone);
  ASSERT_TRUE(scenario.workload.plan.sequence_parallel);
  EXPECT_EQ(joined(export_launch(scenario, "megatron").lacking), "");
}

TEST(Export, ARecipeThatMegatronLacksIsNamed) {
  const LaunchExport flags =
      exported({"training.precision=fp8_mixed", "training.fp8_recipe=rowwise"});
  EXPECT_NE(joined(flags.lacking).find("training.fp8_recipe"), std::string::npos);
}

}  // namespace
}  // namespace stepcast
