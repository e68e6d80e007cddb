#include <gtest/gtest.h>

#include "sim/in_child.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"

namespace stepcast {
namespace {

struct Counts {
  double tasks, skipped;
};

Counts run(const std::string& name, int micro_batches_per_rank) {
  const std::string file =
      std::string(STEPCAST_SOURCE_DIR "/scenarios/regression/") + name + ".yaml";
  const std::vector<double> numbers = testing::in_child([&] {
    Scenario s = prepare_scenario(file, {"simulate.sharing=incremental"}, default_search_path({}));
    const std::string batch = std::to_string(s.workload.plan.dp * micro_batches_per_rank);
    s = prepare_scenario(file, {"simulate.sharing=incremental", "training.global_batch=" + batch},
                         default_search_path({}));
    const Forecast f = forecast(s);
    return std::vector<double>{static_cast<double>(f.timeline.tasks),
                               static_cast<double>(f.timeline.skipped_micro_batches)};
  });
  return numbers.size() == 2 ? Counts{numbers[0], numbers[1]} : Counts{0, 0};
}

// Rendezvous of many members and flows that go alone are under way at every mark here, and get
// other numbers each time.
TEST(Skipping, CostsOfRendezvousDoNotGrowWithMicroBatches) {
  for (const std::string name : {"expert-two-hop", "expert-super-node", "expert-overlap-chunks",
                                 "context-ring", "expert-fb-pair"}) {
    const Counts some = run(name, 540), more = run(name, 1080);
    EXPECT_GT(some.skipped, 400) << name;
    EXPECT_EQ(more.skipped - some.skipped, 540) << name;
    EXPECT_EQ(more.tasks, some.tasks) << name;
  }
}

}  // namespace
}  // namespace stepcast
