#include <gtest/gtest.h>

#include <algorithm>

#include "small_plans.hpp"

namespace stepcast {
namespace {

using test::PlanFile;

TEST(Plan, AnotherClusterIsTheFileWithItsLineEdited) {
  const auto text = [](const std::string& cluster, const std::string& search) {
    return "stepcast: 1\nname: p\nframework: none\ncluster: {extends: clusters/" + cluster +
           ".yaml, devices: 16}\nmodel: {extends: models/llama2-7b.yaml, layers: 8}\n"
           "parallel: {tp: [1, 2], pp: 1, dp: auto}\n"
           "training: {sequence: 2048, global_batch: 32}\nschedule: {pipeline: 1f1b}\n"
           "plan: {search: {" +
           search + "training.second_moment: [fp32, bf16]}}\n";
  };
  const PlanFile listed(
      text("atlas-800t-a2", "cluster.extends: [clusters/dgx-a100.yaml, clusters/dgx-h100.yaml], "));
  const PlanSpace space = listed.read();
  ASSERT_EQ(space.bases.size(), 4U);
  for (const char* cluster : {"dgx-a100", "dgx-h100"}) {
    const PlanSpace edited = PlanFile(text(cluster, "")).read();
    const PlanSpace swapped =
        PlanFile(text("atlas-800t-a2", "")).read({std::string("cluster.extends=") + cluster});
    for (const PlanBase& base : edited.bases) {
      const auto same = [&](const PlanBase& other) {
        return other.settings.back() == base.settings.back() &&
               other.scenario.cluster.name == base.scenario.cluster.name &&
               other.scenario.cluster.device.matmul_peak ==
                   base.scenario.cluster.device.matmul_peak &&
               other.scenario.cluster.network.nic.link.bandwidth ==
                   base.scenario.cluster.network.nic.link.bandwidth;
      };
      EXPECT_TRUE(std::ranges::any_of(space.bases, same)) << cluster;
      EXPECT_TRUE(std::ranges::any_of(swapped.bases, same)) << cluster;
    }
  }
}

}  // namespace
}  // namespace stepcast
