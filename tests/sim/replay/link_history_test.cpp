#include "stepcast/sim/replay/link_history.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "pipelines.hpp"

namespace stepcast {
namespace {

/// A transfer of 1 MB over a link of 1 GB/s, whose bytes come twice over a second one.
NetworkMap two_links() {
  NetworkMap map = testing::free_network(2);
  NetworkFlow& flow = map.hops[static_cast<std::size_t>(Channel::output_next)][0].flow;
  flow.bytes = 1e6;
  flow.number = 0;
  map.links = {{.name = "one", .bandwidth = 1e9, .count = 1, .loads = {{0, 1.0}}},
               {.name = "two", .bandwidth = 1e9, .count = 1, .loads = {{0, 2.0}}}};
  return map;
}

double sum(const std::vector<float>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

// Parts are microseconds, doubled until all of 256 of them hold the run: 2^19 us for 100 s.
TEST(LinkHistory, SpreadsALoadEvenlyOverItsTime) {
  const NetworkMap map = two_links();
  LinkHistory history(map);
  history.add_transfer(Channel::output_next, 0, 0, 100);
  Recording out;
  history.take(out);
  const double part = 524288e-6;
  EXPECT_DOUBLE_EQ(out.part, part);
  ASSERT_EQ(out.links.size(), 2U);
  EXPECT_DOUBLE_EQ(out.links[0].bytes, 1e6);
  EXPECT_DOUBLE_EQ(out.links[1].bytes, 2e6);
  const std::vector<float>& busy = out.links[0].busy;
  ASSERT_EQ(busy.size(), 256U);
  EXPECT_NEAR(busy[0], 1e-5 * part, 1e-12);
  EXPECT_NEAR(busy[100], 1e-5 * part, 1e-12);
  EXPECT_NEAR(busy[190], 1e-5 * (100 - 190 * part), 1e-10);
  EXPECT_EQ(busy[191], 0);
  EXPECT_NEAR(sum(busy), 1e-3, 1e-9);
  EXPECT_NEAR(sum(out.links[1].busy), 2e-3, 1e-9);
}

TEST(LinkHistory, KeepsWhatItHasWhereItsPartsBecomeLonger) {
  const NetworkMap map = two_links();
  LinkHistory history(map);
  history.add_transfer(Channel::output_next, 0, 0, 100e-6);         // parts of 1 us
  history.add_transfer(Channel::output_next, 0, 200e-6, 200e-6);    // no length: where it is
  history.add_transfer(Channel::output_next, 0, 300e-6, 300.5e-6);  // parts of 2 us
  Recording out;
  history.take(out);
  EXPECT_DOUBLE_EQ(out.part, 2e-6);
  const std::vector<float>& busy = out.links[0].busy;
  EXPECT_NEAR(busy[0], 2e-5, 1e-9);
  EXPECT_NEAR(busy[49], 2e-5, 1e-9);
  EXPECT_NEAR(busy[50], 0, 1e-12);
  EXPECT_NEAR(busy[100], 1e-3, 1e-9);
  EXPECT_NEAR(busy[150], 1e-3, 1e-9);
  EXPECT_NEAR(sum(busy), 3e-3, 1e-8);
}

}  // namespace
}  // namespace stepcast
