#include "stepcast/sim/judge/judge.hpp"

#include <gtest/gtest.h>

#include "judged_job.hpp"

/// The fast path against SimGrid alone. docs/models/judge.md.
namespace stepcast {
namespace {

using namespace literals;
using namespace testing;

/// A few of the random jobs, because each of them runs in SimGrid operator by operator; not the
/// first ones, which are the smallest.
void agree_on_jobs(int one_in, std::int64_t most_ranks, const std::function<void(Job&)>& change) {
  int cases = 0;
  EXPECT_TRUE(rc::check([&] {
    if (++cases % one_in != 0) return;
    Job job;
    do job = random_job();
    while (job.plan.world() > most_ranks);
    job.algorithms = random_algorithms();
    change(job);
    const double apart = difference(job);
    const bool rounded = is_rounded(job);
    RC_CLASSIFY(rounded, "rounded loads");
    RC_LOG() << "apart by " << apart << (rounded ? ", rounded loads" : "");
    RC_ASSERT(apart <= (rounded ? rounded_agreement : agreement));
  }));
}

TEST(Judge, AgreesOnRandomJobs) {
  agree_on_jobs(10, 16, [](Job&) {});
}

TEST(Judge, AgreesOnDamagedFabricsOverSteps) {
  agree_on_jobs(20, 16, [](Job& job) {
    job.faults = random_faults(job.cluster);
    job.steps = *rc::gen::inRange(1, 3);
  });
}

TEST(Judge, AgreesForSchedules) {
  agree_on_jobs(20, 16, [](Job& job) {
    do reschedule(job, 2);
    while (job.plan.world() > 16);
  });
}

TEST(Judge, AgreesOnNodesWithWires) {
  agree_on_jobs(15, 16, [](Job& job) {
    wire_nodes(job);
    if (*rc::gen::arbitrary<bool>()) job.faults = random_faults(job.cluster);
  });
}

TEST(Judge, AgreesOnDragonflies) {
  agree_on_jobs(15, 16, [](Job& job) {
    make_dragonfly(job);
    if (*rc::gen::arbitrary<bool>()) job.faults = random_faults(job.cluster);
  });
}

/// Run at night: scripts/nightly.
TEST(Judge, DISABLED_AgreesOnLargeRandomJobs) {
  agree_on_jobs(1, 64, [](Job&) {});
}

TEST(Judge, DISABLED_AgreesOnLargeDragonflies) { agree_on_jobs(2, 64, make_dragonfly); }

TEST(Judge, DISABLED_AgreesOnLargeJobsWithWires) { agree_on_jobs(2, 64, wire_nodes); }

/// Two nodes of four: tensor collectives inside, gradients between.
Job two_nodes() {
  Job job;
  job.plan.tp = 4;
  job.plan.dp = 2;
  job.cluster.devices = 8;
  job.cluster.node_devices = 4;
  job.cluster.node_fabric = SwitchFabric{{60_GBps, 1_us}, 1};
  job.cluster.network.nic.link = {25_GBps, 2_us};
  job.cluster.collectives.step_latency = 5_us;
  job.shape = {1, 1, 2, 1};
  StageProgram program;
  const auto run = add_compute(program, 1e-4);
  const auto tensor =
      add_call(program, GroupKind::tensor, CollectiveKind::all_gather, 3_MiB, Stream::tensor);
  const auto data =
      add_call(program, GroupKind::dense_data, CollectiveKind::all_reduce, 5_MiB, Stream::data);
  program.slots = 2;
  ChunkProgram chunk;
  chunk.forward = {Compute{run}, Communicate{tensor, 0, true}, Wait{0}};
  chunk.first_forward = chunk.backward = chunk.last_backward = chunk.forward;
  chunk.last_backward.push_back(Communicate{data, 1, true});
  program.chunks = {chunk};
  program.epilogue = {Wait{1}, Compute{run}};
  job.programs = {program};
  return job;
}

TEST(Judge, AgreesWithoutSabotage) { EXPECT_LE(difference(two_nodes()), agreement); }

TEST(Judge, SeesOneLinkAtHalfItsBandwidth) {
  const Sabotage half{[](Platform& platform) {
    for (Platform::Link& link : platform.links)
      if (link.name == "nic:0.up") link.bandwidth /= 2;
  }};
  EXPECT_GT(difference(two_nodes(), half), 1e-2);
}

TEST(Judge, SeesAMissingRoute) {
  const Sabotage drop{[](Platform& platform) {
    platform.route = [all = platform.route](std::uint32_t from, std::uint32_t to) {
      return from == 0 && to == 1 ? std::vector<std::uint32_t>{} : all(from, to);
    };
  }};
  EXPECT_EQ(in_child([&] { return step_of(two_nodes(), true, drop); }),
            std::vector<double>{no_route});
}

TEST(Judge, SeesTwoMembersThatChangedPlaces) {
  const Sabotage swap{[](Platform&) {}, {4, 1, 2, 3, 0, 5, 6, 7}};
  EXPECT_GT(difference(two_nodes(), swap), 1e-2);
}

}  // namespace
}  // namespace stepcast
