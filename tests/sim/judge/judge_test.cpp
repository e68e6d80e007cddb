#include "stepcast/sim/judge/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "judged_job.hpp"
#include "stepcast/sim/engine/reference_world.hpp"
#include "temporary_files.hpp"

/// The fast path against SimGrid alone. docs/models/judge.md.
namespace stepcast {
namespace {

using namespace literals;
using namespace testing;

/// A few of the random jobs, because each of them runs in SimGrid operator by operator; not the
/// first ones, which are the smallest.
void agree_on_jobs(int one_in, std::int64_t most_ranks, const std::function<void(Job&)>& change,
                   Compared compared = Compared::times, const Sabotage& sabotage = {}) {
  int cases = 0;
  EXPECT_TRUE(rc::check([&] {
    if (++cases % one_in != 0) return;
    Job job;
    do job = random_job();
    while (job.plan.world() > most_ranks);
    job.algorithms = random_algorithms();
    change(job);
    const double apart = difference(job, sabotage, {}, compared);
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

TEST(Judge, AgreesOnThePlatformFileOfACluster) {
  agree_on_jobs(10, 16,
                [](Job& job) {
                  const int kind = *rc::gen::inRange(0, 3);
                  // A host of no speed would never work.
                  job.cluster.device.matmul_peak = FlopsPerSecond{1e14};
                  if (kind == 1) wire_nodes(job);
                  if (kind == 2) make_dragonfly(job);
                  if (*rc::gen::arbitrary<bool>()) job.faults = random_faults(job.cluster);
                },
                Compared::times, {.through_file = true});
}

TEST(Judge, AgreesOnDragonflies) {
  agree_on_jobs(15, 16, [](Job& job) {
    make_dragonfly(job);
    if (*rc::gen::arbitrary<bool>()) job.faults = random_faults(job.cluster);
  });
}

/// All that holds a rank up or makes it unlike the others, at once: stalls, clocks with a state,
/// documents, experts of unequal loads, kinds of nodes, several steps, damaged links.
void hold_up(Job& job) {
  if (*rc::gen::arbitrary<bool>()) job.faults = random_faults(job.cluster);
  job.steps = *rc::gen::inRange(1, 4);
  job.stalls = random_stalls(job);
  if (*rc::gen::inRange(0, 4) == 0) job.stalls.allocator_pauses = {2_ms, 0.3, 7};
  const int clock = *rc::gen::inRange(0, 6);
  if (clock == 0) job.cluster.device.idle_clock = {0.5, 100_us, 300_us, 0.8};
  if (clock == 1) job.cluster.device.power_cap = {.window = 2_ms, .waiting = 0.3};
  if (*rc::gen::arbitrary<bool>()) add_loads(job);
  if (*rc::gen::inRange(0, 3) == 0 && job.variant_of.empty()) load_unevenly(job);
  job.kinds = *rc::gen::inRange(0, 3) == 0;
  job.cluster.host.queue_depth = *rc::gen::element<std::int64_t>(1, 2, 5, 1024);
}

TEST(Judge, AgreesOnJobsThatAreHeldUp) { agree_on_jobs(10, 16, hold_up); }

TEST(Judge, RecordsWhatTheFastPathRecords) { agree_on_jobs(10, 16, hold_up, Compared::recording); }

/// Run at night: scripts/nightly.
TEST(Judge, DISABLED_AgreesOnManyJobsThatAreHeldUp) {
  for (int hundred = 0; hundred < 2; ++hundred) agree_on_jobs(1, 32, hold_up);
}

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

TEST(Judge, RefusesWhatDoesNotFitWithTheNumberThatDoes) {
  const Job job = two_nodes();
  const auto orders = stage_orders(pipeline_schedule(job.schedule), job.shape);
  const auto cost = [&](const Job& of) {
    return judge_cost(of.programs, orders, Placement(of.plan), of.steps);
  };
  Job twice = job;
  twice.plan.dp *= 2;
  EXPECT_GT(cost(twice).bytes, cost(job).bytes);
  EXPECT_GE(cost(twice).seconds, 2 * cost(job).seconds);
  announce_judge(cost(job), 8);
  try {
    announce_judge({.seconds = 1, .bytes = 1e18}, 1'000'000);
    FAIL() << "an exabyte fits";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("for 1000000 ranks"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("allowed: at most "));
  }
}

/// Seconds that each device computes, by SimGrid's trace: its use of a device begins and ends.
std::vector<double> computing_of_trace(const std::string& file) {
  std::ifstream in(file);
  std::map<std::string, std::size_t> device;  // by container
  std::string speed_used;                     // type of the variable
  std::vector<double> sums;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string event, first, second, third, fourth, name;
    words >> event >> first >> second >> third >> fourth >> name;
    if (event == "1" && third == "speed_used") speed_used = first;
    if (event == "6" && name.starts_with("\"device:")) {
      device[second] = sums.size();
      sums.push_back(0);
    }
    const bool more = event == "9", less = event == "10";
    if ((!more && !less) || second != speed_used) continue;
    const double speed = std::stod(fourth) / 1e12, date = std::stod(first);
    sums.at(device.at(third)) += (more ? -date : date) * speed;
  }
  return sums;
}

TEST(Judge, TracesWhatDevicesCompute) {
  const test::TemporaryFiles files;
  const std::string file = files.path("trace");
  const auto parts = in_child([&] {
    trace_reference_world(file);
    return step_of(two_nodes(), true);
  });
  const std::vector<double> traced = computing_of_trace(file);
  ASSERT_EQ(traced.size(), 8U);
  // Computing is the first part of each rank.
  const std::size_t of_rank = (parts.size() - 1) / traced.size();
  for (std::size_t r = 0; r < traced.size(); ++r) EXPECT_NEAR(traced[r], parts[r * of_rank], 1e-9);
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
