#include <gtest/gtest.h>

#include "sim/replay/random_job.hpp"

namespace stepcast {
namespace {

using namespace testing;

/// One rank that fetches, works and stores `parts` times, as an offloaded optimizer does.
Job part_by_part(int parts, double in, double work, double out) {
  Job job;
  job.cluster = ClusterSpec{};
  job.cluster.devices = 8;
  job.cluster.network.nic.link = {25_GBps, 2_us};
  job.cluster.node_fabric = SwitchFabric{{60_GBps, 1_us}, 1};
  job.plan.dp = 8;
  job.shape = {1, 1, 1, 1};
  StageProgram program;
  program.segments.emplace_back(std::vector<OperatorCost>{{.device = work}});
  const auto transfer = [](Stream stream, double seconds) {
    return StageCall{"part", GroupKind::tensor,    {CollectiveKind::all_gather, 1_MiB},
                     stream, ExposedKind::offload, {},
                     {},     Seconds{seconds}};
  };
  program.calls = {transfer(Stream::from_host, in), transfer(Stream::to_host, out)};
  program.slots = 3;
  program.chunks.resize(1);
  Instructions& code = program.epilogue;
  code.push_back(Communicate{0, 0, true});
  for (int k = 0; k < parts; ++k) {
    if (k + 1 < parts) code.push_back(Communicate{0, (k + 1U) % 2, true});
    code.insert(code.end(), {Wait{k % 2U}, Compute{0}, Communicate{1, 2, true}});
  }
  code.push_back(Wait{2});
  job.programs = {program};
  return job;
}

TEST(HostLink, PartsGoAtThePaceOfTheSlowestOfThree) {
  EXPECT_TRUE(rc::check([] {
    const int parts = *rc::gen::inRange(1, 20);
    const auto time = [] { return *rc::gen::inRange(1, 100) * 1e-4; };
    const double in = time(), work = time(), out = time();
    const double step = result_of(part_by_part(parts, in, work, out), Fold::automatic).back();
    RC_ASSERT(std::abs(step - (in + (parts - 1) * std::max({in, work, out}) + work + out)) <
              1e-9 * step);
  }));
}

TEST(HostLink, TransfersOfOneDirectionQueue) {
  Job job = part_by_part(1, 1e-3, 1e-6, 1e-3);
  Instructions& code = job.programs[0].epilogue;
  code = {Communicate{0, 0, true},
          Communicate{0, 1, true},
          Communicate{1, 2, true},
          Wait{0},
          Wait{1},
          Wait{2}};
  EXPECT_NEAR(result_of(job, Fold::off).back(), 2e-3, 1e-12);
}

}  // namespace
}  // namespace stepcast
