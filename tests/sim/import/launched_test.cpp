#include "stepcast/sim/import/launched.hpp"

#include <gtest/gtest.h>

#include "stepcast/base/errors.hpp"
#include "subjects.hpp"
#include "temporary_files.hpp"
#include "texts.hpp"

// Launch files where a scenario is read, and scenarios that name one.
namespace stepcast {
namespace {

using test::has;

constexpr const char* launch_script =
    "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 8 --hidden-size 1024 "
    "--num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 --vocab-size 32000 "
    "--micro-batch-size 1 --global-batch-size 32 --tensor-model-parallel-size 2 --bf16\n";

/// A script and what names it, in one folder.
struct LaunchFolder {
  test::TemporaryFiles files;
  std::string script = files.write("train.sh", launch_script);

  std::string scenario(const std::string& text) { return files.write("check.yaml", text); }
};

Scenario read_launched(const std::string& path, const std::vector<std::string>& overrides = {}) {
  const SearchPath search = default_search_path({});
  return read_scenario(load_any_scenario(path, overrides, search), search);
}

std::string launched_complaint(const std::string& path,
                               const std::vector<std::string>& overrides = {}) {
  try {
    (void)read_launched(path, overrides);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

const std::string launch_head = "# question: is the script as fast as it was?\nstepcast: 1\n";

TEST(Launched, AScriptIsAScenario) {
  LaunchFolder folder;
  const Scenario scenario =
      read_launched(folder.script, {"launch.cluster=dgx-h100", "training.global_batch=64"});
  EXPECT_EQ(scenario.cluster.devices, 16);
  EXPECT_EQ(scenario.workload.plan.tp, 2);
  EXPECT_EQ(scenario.workload.training.global_batch, 64);
  EXPECT_EQ(
      read_launched(folder.script, {"cluster.extends=clusters/dgx-h100.yaml"}).cluster.devices, 16);
  for (const char* size : {"launch.devices=32", "cluster.devices=32"})
    EXPECT_EQ(read_launched(folder.script, {"launch.cluster=dgx-h100", size}).cluster.devices, 32)
        << size;
}

TEST(Launched, ACheckNamesAScriptBesideIt) {
  LaunchFolder folder;
  const std::string file =
      folder.scenario(launch_head +
                      "name: held\nlaunch: {file: train.sh, cluster: dgx-h100}\n"
                      "training:\n  global_batch: 64\nschedule: {data: {mask: causal}}\n"
                      "expect:\n  step_time: {value: 1.0 s, tolerance: 1%}\n");
  const SearchPath search = default_search_path({});
  const auto document = launched_scenario(file, {}, search);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->path, file);
  const Scenario scenario = read_scenario(*document, search);
  EXPECT_EQ(scenario.name, "held");
  EXPECT_EQ(scenario.question, "is the script as fast as it was?");
  EXPECT_EQ(scenario.workload.training.global_batch, 64);
  EXPECT_EQ(scenario.workload.plan.tp, 2);
  ASSERT_TRUE(scenario.expect && scenario.expect->step_time);
  const Node* expect = document->root.find("expect")->find("step_time");
  EXPECT_EQ(expect->place.file, file);
  EXPECT_EQ(expect->place.line, 9);
  EXPECT_TRUE(is_launched(file, {}, search));
  EXPECT_EQ(read_launched(file, {"launch.devices=32"}).cluster.devices, 32);
}

TEST(Launched, WhatItNamesIsFoundFromAnywhere) {
  LaunchFolder folder;
  const std::string base =
      folder.files.write("base.yaml", launch_head + "launch: {file: " + folder.script +
                                          ", cluster: dgx-h100, devices: 8}\n");
  const std::string file = folder.scenario(launch_head + "extends: base.yaml\nname: x\n");
  EXPECT_EQ(read_launched(file).cluster.devices, 8);
  EXPECT_EQ(read_launched(base).cluster.devices, 8);
}

TEST(Launched, AClusterOfTheCommandLineCountsInsteadOfTheOneItNames) {
  LaunchFolder folder;
  const std::string file =
      folder.scenario(launch_head + "launch: {file: train.sh, cluster: dgx-h100, devices: 8}\n");
  EXPECT_EQ(read_launched(file, {"cluster.extends=dgx-a100"}).cluster.name, "dgx-a100");
  const std::string own = folder.scenario(
      launch_head +
      "launch: {file: train.sh, devices: 8}\ncluster: {extends: clusters/dgx-a100.yaml}\n");
  EXPECT_EQ(read_launched(own).cluster.name, "dgx-a100");
}

TEST(Launched, ErrorsHaveTheirPlaces) {
  LaunchFolder folder;
  EXPECT_TRUE(
      has(launched_complaint(folder.scenario(launch_head + "launch: {cluster: dgx-h100}\n")),
          "launch.file"));
  EXPECT_TRUE(has(launched_complaint(folder.scenario(
                      launch_head + "launch: {file: train.sh, clusters: dgx-h100}\n")),
                  "launch.clusters"));
  EXPECT_TRUE(has(launched_complaint(folder.scenario(
                      launch_head + "launch: {file: none.sh, cluster: dgx-h100}\n")),
                  "none.sh"));
  EXPECT_TRUE(has(launched_complaint(folder.script), "--cluster"));
  EXPECT_TRUE(has(launched_complaint(folder.script, {"launch.cluste=dgx-h100"}), "cluste"));
  const std::string wrong = launched_complaint(folder.scenario(
      launch_head + "launch: {file: train.sh, cluster: dgx-h100}\nparallel:\n  tp: many\n"));
  EXPECT_TRUE(has(wrong, "parallel.tp")) << wrong;
}

TEST(Launched, AnyOtherScenarioIsReadAsBefore) {
  const SearchPath search = default_search_path({});
  const std::string shipped = std::string(STEPCAST_SOURCE_DIR) + "/scenarios/ideal-pipeline.yaml";
  EXPECT_FALSE(launched_scenario(shipped, {}, search));
  EXPECT_FALSE(is_launched(shipped, {}, search));
  EXPECT_EQ(load_any_scenario(shipped, {}, search).root.entries.size(),
            load_scenario(shipped, {}, search).root.entries.size());
}

}  // namespace
}  // namespace stepcast
