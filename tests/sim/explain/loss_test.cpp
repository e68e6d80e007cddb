#include "stepcast/sim/explain/loss.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/small_scenario.hpp"
#include "sim/sweep/small_sweep.hpp"

namespace stepcast {
namespace {

double lost(const LossSplit& s, const LossCause& c) {
  return s.lost_in_micro_batches(c) + s.lost_once(c);
}

LossSplit split_of(const std::string& path, const std::vector<std::string>& overrides, bool weak,
                   const std::vector<std::int64_t>& devices, std::int64_t seeds = 0) {
  const SearchPath search = default_search_path({});
  Sweep sweep = devices_sweep(load_scenario(path, overrides, search), devices, weak, search);
  sweep.seeds = seeds;
  return split_loss(sweep, search, 2);
}

void expect_sum(const LossSplit& s) {
  double sum = 0;
  for (const LossCause& c : s.causes) sum += lost(s, c);
  EXPECT_NEAR(sum, s.large_step - s.work * s.small_step, 1e-9 * s.large_step);
}

// Four stages of 3 ms: m micro-batches and a fill of three at either size. At a fixed batch the
// work falls and the fill stays, which is all that is lost.
TEST(Loss, OfAFixedBatchIsTheFill) {
  const test::TemporaryFiles files;
  const std::string path = files.write("base.yaml", test::sweep_base);
  const LossSplit s = split_of(path, {}, false, {8, 32});
  EXPECT_EQ(s.work, 0.25);
  EXPECT_NEAR(s.small_step, (8 + 3) * 3e-3, 1e-9);
  EXPECT_NEAR(s.large_step, (2 + 3) * 3e-3, 1e-9);
  expect_sum(s);
  for (const LossCause& cause : s.causes) {
    const bool fill = cause.name == "pipeline fill";
    EXPECT_NEAR(s.lost_once(cause), fill ? 0.75 * 9e-3 : 0, 1e-9) << cause.name;
    EXPECT_NEAR(s.lost_in_micro_batches(cause), 0, 1e-9) << cause.name;
  }
  EXPECT_NEAR(s.efficiency(), 0.25 * 11 / 5, 1e-9);
  EXPECT_NE(loss_table(s).find("pipeline fill"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(loss_json(s))["causes"].size(), 5U);
}

TEST(Loss, OfAModelAddsUpAndNamesTheSpread) {
  const test::TemporaryFiles files;
  const std::string path = files.write("s.yaml", test::small_scenario);
  const LossSplit calm = split_of(path, {}, true, {16, 64});
  expect_sum(calm);
  EXPECT_EQ(calm.causes[0].small.once, 0);
  EXPECT_EQ(calm.causes[0].large.per_micro_batch, 0);
  const LossSplit spread = split_of(path, {"stalls.spread.device.sigma=0.05"}, true, {16, 64}, 12);
  expect_sum(spread);
  EXPECT_EQ(spread.seeds, 12);
  EXPECT_GT(lost(spread, spread.causes[0]), 0) << "the slowest of more is slower";
  for (std::size_t k = 1; k < spread.causes.size(); ++k)
    EXPECT_NEAR(lost(spread, spread.causes[k]), lost(calm, calm.causes[k]), 1e-9) << k;
}

// A cause that a scenario has stands between what is drawn and latencies, and the others keep
// theirs.
TEST(Loss, NamesCollisionsBarriersAndClocks) {
  const test::TemporaryFiles files;
  const std::string path = files.write("s.yaml", test::small_scenario);
  const std::vector<std::string> base{"cluster.network.topology.kind=leaf_spine",
                                      "cluster.network.topology.leaf_ports=8"};
  std::vector<std::string> all = base;
  all.insert(all.end(),
             {"cluster.network.routing=ecmp", "runtime.barriers.gradients=true",
              "cluster.device.idle_clock.speed=0.5", "cluster.device.idle_clock.hold=100us",
              "cluster.device.idle_clock.ramp=1ms"});
  const LossSplit calm = split_of(path, base, true, {16, 64});
  const LossSplit s = split_of(path, all, true, {16, 64});
  expect_sum(s);
  ASSERT_EQ(s.causes.size(), calm.causes.size() + 3);
  EXPECT_EQ(s.causes[1].name, "clocks");
  EXPECT_EQ(s.causes[2].name, "collisions");
  EXPECT_EQ(s.causes[3].name, "barriers");
  for (std::size_t k = 1; k < calm.causes.size(); ++k)
    EXPECT_NEAR(lost(s, s.causes[k + 3]), lost(calm, calm.causes[k]), 1e-9) << k;
}

}  // namespace
}  // namespace stepcast
