#include "stepcast/sim/replay/judge.hpp"

#include <gtest/gtest.h>

#include "random_job.hpp"
#include "sim/in_child.hpp"
#include "stepcast/base/errors.hpp"

/// The fast path against SimGrid alone. docs/models/judge.md.
namespace stepcast {
namespace {

using namespace literals;
using namespace testing;

constexpr double agreement = 1e-6;
/// Where the fast path rounds loads to a 1024th of a link's; `engine: simgrid` refuses these jobs.
constexpr double rounded_agreement = 1e-4;
constexpr double no_route = -1;

/// What a test does to the platform or to who lives where before the judge runs.
struct Sabotage {
  std::function<void(Platform&)> of_platform = [](Platform&) {};
  std::vector<std::uint32_t> host_of_rank = {};
};

std::vector<double> numbers_of(const Timeline& t) {
  std::vector<double> parts;
  for (const RankTimes& times : t.classes) {
    for (const Seconds part :
         {times.computing, times.bubble, times.host_stall, times.other_idle, times.communication})
      parts.push_back(part.value());
    for (const Seconds part : times.exposed) parts.push_back(part.value());
  }
  parts.push_back(t.step_time.value());
  return parts;
}

/// Unfolded, so that the parts are those of every rank.
std::vector<double> step_of(const Job& job, bool by_judge, const Sabotage& sabotage = {}) {
  const Fabric fabric(job.cluster, job.faults);
  const Placement placement(job.plan);
  const NetworkMap network = build_network_map(
      {placement, fabric, job.programs, job.algorithms, Fold::off, {}, job.form, {}});
  const auto orders = stage_orders(pipeline_schedule(job.schedule), job.shape);
  const ReplayInput input{.programs = job.programs,
                          .network = network,
                          .host = job.cluster.host,
                          .shape = job.shape,
                          .orders = orders,
                          .steps = job.steps};
  if (!by_judge) return numbers_of(replay(input));
  Platform platform = platform_of(fabric);
  sabotage.of_platform(platform);
  try {
    return numbers_of(judged({input, placement, fabric, platform, sabotage.host_of_rank}));
  } catch (const EngineError& error) {
    if (std::string(error.what()).find("has no route") == std::string::npos) throw;
    return {no_route};
  }
}

/// The largest difference of any part of any rank, over the step; infinite where the judge failed.
double difference(const Job& job, const Sabotage& sabotage = {}) {
  const auto fast = in_child([&] { return step_of(job, false); });
  const auto judge = in_child([&] { return step_of(job, true, sabotage); });
  if (fast.empty() || fast.size() != judge.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < fast.size(); ++i)
    largest = std::max(largest, std::abs(fast[i] - judge[i]) / fast.back());
  return largest;
}

bool is_rounded(const Job& job) {
  const Fabric fabric(job.cluster, job.faults);
  const Placement placement(job.plan);
  return build_network_map(
             {placement, fabric, job.programs, job.algorithms, Fold::off, {}, job.form, {}})
      .rounded;
}

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

/// Run at night: scripts/nightly.
TEST(Judge, DISABLED_AgreesOnLargeRandomJobs) {
  agree_on_jobs(1, 64, [](Job&) {});
}

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
