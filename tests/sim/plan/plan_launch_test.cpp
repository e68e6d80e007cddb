#include <gtest/gtest.h>

#include "stepcast/sim/plan/plan.hpp"
#include "stepcast/sim/plan/plan_report.hpp"
#include "temporary_files.hpp"
#include "texts.hpp"

// A plan of a launch file: its scenario, with lists and `search` of the command line.
namespace stepcast {
namespace {

TEST(PlanOfALaunchFile, SearchesBesideWhatTheFileSays) {
  const test::TemporaryFiles files;
  const std::string path = files.write(
      "train.sh",
      "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 8 --hidden-size 1024 "
      "--num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 "
      "--micro-batch-size 1 --global-batch-size 32 --vocab-size 32000 --bf16 "
      "--extra-vocab-size 7 "
      "--tensor-model-parallel-size 8\n");
  const SearchPath search = default_search_path({});
  const PlanSpace space = read_plan(path,
                                    {"cluster.extends=dgx-h100", "parallel.tp=[1, 2, 4]",
                                     "training.micro_batch=[1, 2]", "framework=none"},
                                    {}, search);
  EXPECT_EQ(space.dimensions.tp, (std::vector<std::int64_t>{1, 2, 4}));
  EXPECT_EQ(space.dimensions.micro_batch, (std::vector<std::int64_t>{1, 2}));
  ASSERT_EQ(space.warnings.size(), 1U);
  EXPECT_TRUE(test::has(space.warnings.front(), "--extra-vocab-size: is not modelled"));
  PlanPoint point;
  point.strategy.tp = 4;
  point.strategy.micro_batch = 2;
  const Scenario scenario = read_point(space, point, search);
  EXPECT_EQ(scenario.workload.plan.tp, 4);
  EXPECT_EQ(scenario.workload.training.micro_batch, 2);
  EXPECT_EQ(scenario.workload.model.layers, 8);
  const std::string text = plan_scenario(space, point, "", {}, search);
  EXPECT_TRUE(test::has(text, "hidden: 1024")) << text;
  EXPECT_FALSE(test::has(text, "extends: '" + path)) << text;
  // A size of its own where the file's is not meant.
  EXPECT_EQ(read_plan(path, {"cluster.extends=dgx-h100"}, {64}, search)
                .bases.front()
                .scenario.cluster.devices,
            64);
  // A scenario that names it is planned as it is.
  const std::string named =
      files.write("named.yaml", "stepcast: 1\nlaunch: {file: train.sh, cluster: dgx-h100}\n");
  const PlanSpace of_named = read_plan(named, {"parallel.tp=[2, 4]"}, {}, search);
  EXPECT_EQ(of_named.dimensions.tp, (std::vector<std::int64_t>{2, 4}));
  EXPECT_TRUE(of_named.launched.has_value());
}

}  // namespace
}  // namespace stepcast
