#include <gtest/gtest.h>

#include "sim/judge/judged_job.hpp"
#include "stepcast/topology/platform_table.hpp"

/// Jobs on the links of a platform file: docs/models/platform.md.
namespace stepcast {
namespace {

using namespace testing;

/// What a file would say of a fabric.
PlatformTable table_of(const Fabric& fabric) {
  const Platform platform = platform_of(fabric);
  PlatformTable table;
  for (const Platform::Host& host : platform.hosts) table.hosts.push_back(host.name);
  for (const Platform::Link& link : platform.links)
    table.links.push_back({link.name, BytesPerSecond{link.bandwidth}, Seconds{link.latency}});
  for (std::uint32_t a = 0; a < platform.hosts.size(); ++a)
    for (std::uint32_t b = 0; b < platform.hosts.size(); ++b) {
      table.first.push_back(table.crossed.size());
      for (const std::uint32_t link : platform.route(a, b)) table.crossed.push_back(link);
    }
  table.first.push_back(table.crossed.size());
  return table;
}

Job on_platform(Job job) {
  const auto table = std::make_shared<const PlatformTable>(table_of(Fabric(job.cluster)));
  job.cluster.node_fabric = PlatformFabric{1, table};
  NetworkSpec network;
  network.nic.link = job.cluster.network.nic.link;  // what the library reckons with
  job.cluster.network = network;
  return job;
}

Job switched_job() {
  Job job;
  do job = random_job();
  while (job.plan.world() > 16);
  job.cluster.node_fabric = SwitchFabric{{60_GBps, 1_us}, 1};
  job.cluster.collectives.library = CollectiveLibrarySpec::Library::hccl;
  if (*rc::gen::arbitrary<bool>()) make_dragonfly(job);
  return job;
}

/// Links by name and route give what links by kind give.
TEST(PlatformJob, TakesWhatTheClusterTook) {
  int cases = 0;
  EXPECT_TRUE(rc::check([&] {
    if (++cases % 4 != 0) return;
    const Job job = switched_job();
    const Job same = on_platform(job);
    const auto of_keys = in_child([&] { return result_of(job, Fold::automatic); });
    const auto of_file = in_child([&] { return result_of(same, Fold::automatic); });
    RC_ASSERT(!of_keys.empty());
    RC_ASSERT(of_keys.size() == of_file.size());
    for (std::size_t i = 0; i < of_keys.size(); ++i)
      RC_ASSERT(std::abs(of_keys[i] - of_file[i]) <=
                1e-9 * of_keys.back() * static_cast<double>(job.plan.world()));
  }));
}

TEST(PlatformJob, TheJudgeAgrees) {
  int cases = 0;
  EXPECT_TRUE(rc::check([&] {
    if (++cases % 20 != 0) return;
    Job job = on_platform(switched_job());
    if (*rc::gen::arbitrary<bool>())
      job.faults.bandwidth_factor[*rc::gen::inRange(0U, Fabric(job.cluster).link_count())] = 0.5;
    const double apart = difference(job);
    RC_ASSERT(apart <= (is_rounded(job) ? rounded_agreement : agreement));
  }));
}

TEST(PlatformJob, FoldingChangesNothing) {
  int cases = 0;
  EXPECT_TRUE(rc::check([&] {
    if (++cases % 8 != 0) return;
    const Job job = on_platform(switched_job());
    const auto folded = in_child([&] { return result_of(job, Fold::automatic); });
    const auto apart = in_child([&] { return result_of(job, Fold::off); });
    RC_ASSERT(!folded.empty());
    RC_ASSERT(folded.size() == apart.size());
    RC_ASSERT(std::abs(folded.back() - apart.back()) <= 1e-9 * apart.back());
  }));
}

}  // namespace
}  // namespace stepcast
