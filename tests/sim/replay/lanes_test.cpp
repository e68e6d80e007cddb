#include "stepcast/sim/replay/lanes.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "random_job.hpp"
#include "sim/replay/lanes/lane_queue.hpp"
#include "sim/replay/replayer.hpp"
#include "stepcast/workloads/host_queue.hpp"

// Several seeds in one replay against replays of their own, which are the reference: equal to the
// bit wherever lanes answer at all.
namespace stepcast {
namespace {

using namespace literals;
using stepcast::testing::Job;
using stepcast::testing::load_unevenly;
using stepcast::testing::random_algorithms;
using stepcast::testing::random_job;
using stepcast::testing::reschedule;

void forget_compiling(std::vector<Segment>& segments) {
  for (Segment& segment : segments) {
    std::vector<OperatorCost> operators = segment.operators();
    for (OperatorCost& op : operators) op.compile = 0;
    segment = Segment(std::move(operators));
  }
}

/// With the same host times, none of which makes a kernel.
Job without_compiling(Job job) {
  for (StageProgram& program : job.programs) {
    forget_compiling(program.segments);
    for (auto& variant : program.variants) forget_compiling(variant);
  }
  return job;
}

struct Compared {
  std::size_t served = 0;   ///< seeds that lanes answered
  std::size_t unequal = 0;  ///< of these, with other bits than alone
  std::size_t flows = 0;    ///< that met in the replays alone
};

/// `seeds` jittered seeds of the job in lanes and each alone.
Compared compared(const Job& job, std::size_t seeds, ScheduleSpec::PointToPoint p2p,
                  std::optional<Seconds> boundary = {}) {
  const Fabric fabric(job.cluster, job.faults);
  const Placement placement(job.plan);
  std::vector<StallPlan> plans;
  for (std::size_t i = 0; i < seeds; ++i) {
    StallsSpec spec = job.stalls;
    spec.compute_jitter->seed += static_cast<std::int64_t>(i);
    plans.push_back(plan_stalls(spec, placement, job.cluster));
  }
  std::vector<std::uint32_t> variants;
  for (std::uint32_t r = 0; r < placement.world() && !job.variant_of.empty(); ++r)
    variants.push_back(job.variant_of[placement.coordinates(Rank{r}).ep]);
  const NetworkMap network =
      build_network_map({placement, fabric, job.programs, job.algorithms, Fold::automatic,
                         plans.front().keys(), job.form, variants});
  const auto orders = stage_orders(pipeline_schedule(job.schedule), job.shape);
  ReplayInput input{.programs = job.programs,
                    .network = network,
                    .host = job.cluster.host,
                    .shape = job.shape,
                    .orders = orders,
                    .p2p = p2p,
                    .boundary_latency = boundary,
                    .sharing = Sharing::incremental};
  const bool follows = std::ranges::any_of(job.programs, compiles);
  EXPECT_EQ(may_run_in_lanes(input, plans.front()), !follows);
  if (follows) return {};
  const auto steps = replay_in_lanes(input, plans);
  EXPECT_EQ(steps.size(), seeds);
  Compared result;
  for (std::size_t i = 0; i < seeds; ++i) {
    input.stalls = &plans[i];
    const Timeline alone = replay(input);
    result.flows += alone.flows;
    if (!steps[i]) continue;
    ++result.served;
    if (*steps[i] != alone.step_time) ++result.unequal;
  }
  return result;
}

Job jittered(Job job, double sigma) {
  job.stalls.compute_jitter = {sigma, 11};
  return job;
}

RC_GTEST_PROP(Lanes, AreReplaysOfTheirOwn, ()) {
  Job job = random_job();
  if (*rc::gen::arbitrary<bool>()) reschedule(job, 3);
  if (*rc::gen::inRange(0, 3) == 0) load_unevenly(job);
  if (*rc::gen::inRange(0, 8) != 0) job = without_compiling(std::move(job));
  job.algorithms = random_algorithms();
  job.cluster.host.queue_depth = *rc::gen::element<std::int64_t>(1, 2, 5, 1024);
  if (*rc::gen::arbitrary<bool>()) job.stalls.slow_devices = {{{0}, 1.3}};
  if (*rc::gen::arbitrary<bool>()) job.stalls.slow_hosts = {{{0}, 300}};
  job.stalls.host_sync =
      *rc::gen::element(StallsSpec::HostSyncAt::none, StallsSpec::HostSyncAt::unit);
  const auto p2p = *rc::gen::element(ScheduleSpec::PointToPoint::overlapped,
                                     ScheduleSpec::PointToPoint::blocking);
  const auto seeds = *rc::gen::inRange<std::size_t>(1, most_lanes + 1);
  const auto boundary =
      *rc::gen::element<std::optional<Seconds>>(std::nullopt, std::nullopt, Seconds{1e-4});
  const Compared c =
      compared(jittered(job, *rc::gen::element(0.01, 0.1, 0.5)), seeds, p2p, boundary);
  RC_ASSERT(c.unequal == 0U);
  RC_CLASSIFY(c.served == seeds, "all served");
  RC_CLASSIFY(c.served == 0, "none served");
  RC_CLASSIFY(c.flows > 0, "flows met");
}

/// Host and device times that make a queue of few operators bind now and then.
std::vector<Segment> random_segments() {
  std::vector<Segment> segments;
  const auto time = [](int most) { return *rc::gen::inRange(0, most) * 1e-6; };
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
    std::vector<OperatorCost> operators;
    for (int o = *rc::gen::inRange(0, 7); o > 0; --o)
      operators.push_back({time(20), time(5), time(3), time(60)});
    segments.emplace_back(operators);
  }
  return segments;
}

RC_GTEST_PROP(Lanes, HaveTheHostQueueOfEach, ()) {
  const std::vector<Segment> segments = random_segments();
  const auto depth = *rc::gen::element<std::uint64_t>(1, 2, 3, 8, 20);
  const auto order = *rc::gen::container<std::vector<std::uint32_t>>(
      40, rc::gen::inRange(0U, static_cast<std::uint32_t>(segments.size())));
  std::vector<std::size_t> sizes;
  for (const std::uint32_t s : order)
    if (segments[s].size() > 0) sizes.push_back(segments[s].size());
  const QueuePlan plan(depth, sizes);
  LaneQueue together(plan);
  std::vector<HostQueue> apart(lanes, HostQueue(depth));
  LaneClocks clocks;
  std::uint64_t draw = 0;
  for (const std::uint32_t s : order) {
    LaneSpeeds speeds;
    LaneClocks before = clocks;
    for (std::size_t l = 0; l < lanes; ++l) {
      speeds.device[l] = 0.5 + uniform_number(l, 0, 0, draw);
      // What the device or the host waits for between segments.
      before.device[l] += 5e-5 * std::max(0.0, uniform_number(l, 1, 0, draw) - 0.7);
      before.main[l] += 1e-3 * std::max(0.0, uniform_number(l, 2, 0, draw) - 0.9);
    }
    ++draw;
    clocks = before;
    together.run(clocks, segments[s], speeds);
    for (std::size_t l = 0; l < lanes; ++l)
      RC_ASSERT(apart[l].run(before.of(l), segments[s], speeds.of(l)) == clocks.of(l));
  }
  std::uint64_t loops = 0;
  for (const HostQueue& queue : apart) loops += queue.operator_loops();
  RC_CLASSIFY(loops > 0, "queues bind");
}

/// A pipeline of two stages over four replicas whose gradients meet their transfers.
Job small_job() {
  Job job;
  job.plan.pp = 2;
  job.plan.dp = 4;
  job.shape = {2, 1, 6, 2};
  job.cluster.devices = 8;
  job.cluster.node_devices = 1;
  job.cluster.node_fabric = SwitchFabric{{60_GBps, 1_us}, 1};
  job.cluster.network.nic.link = {25_GBps, 2_us};
  job.cluster.network.nic.per = NicSpec::Per::device;
  job.cluster.network.kind = NetworkSpec::Kind::single_switch;
  for (std::uint32_t s = 0; s < 2; ++s) {
    StageProgram program;
    std::vector<OperatorCost> work(5, OperatorCost{2e-6, 1e-6, 1e-6, 1e-4});
    program.segments = {Segment(work)};
    program.calls.push_back({"reduce gradients",
                             GroupKind::dense_data,
                             {CollectiveKind::all_reduce, 20_MiB},
                             Stream::data,
                             ExposedKind::data,
                             {}});
    program.slots = 1;
    ChunkProgram chunk;
    chunk.forward = chunk.first_forward = {Compute{0}};
    chunk.backward = {Compute{0}, Communicate{0, 0, true}, Compute{0}};
    chunk.last_backward = chunk.backward;
    (s == 0 ? chunk.send_forward : chunk.send_backward) = Bytes{8e6};
    program.chunks = {chunk};
    program.epilogue = {Wait{0}, Compute{0}};
    job.programs.push_back(program);
  }
  return job;
}

// What lanes are for: links are shared, draws differ, and every seed is answered.
TEST(Lanes, ServeSeedsWhoseFlowsMeet) {
  const Compared c =
      compared(jittered(small_job(), 0.05), most_lanes, ScheduleSpec::PointToPoint::overlapped);
  EXPECT_GT(c.flows, 0U);
  EXPECT_EQ(c.served, most_lanes);
  EXPECT_EQ(c.unequal, 0U);
}

// Transfers to the host queue behind a reduction: each ends at once when the one before it has.
TEST(Lanes, TakeLongQueuesBehindOneThatIsBusy) {
  constexpr std::size_t queued = 50'000;  // calls inside each other would leave the stack
  Job job = jittered(small_job(), 0.05);
  StageProgram& program = job.programs.front();
  program.calls.push_back(program.calls.front());
  program.calls.back().host_link = 1_us;
  program.slots = 2;
  Instructions epilogue(queued, Communicate{1, 1, false});
  epilogue.insert(epilogue.end(), {Wait{1}, Wait{0}, Compute{0}});
  program.epilogue = epilogue;
  const Compared c = compared(job, 2, ScheduleSpec::PointToPoint::overlapped);
  EXPECT_GT(c.flows, 0U);
  EXPECT_GT(c.served, 0U);
  EXPECT_EQ(c.unequal, 0U);
}

TEST(Lanes, AreRefusedWhereSomethingElseThanDrawsCounts) {
  const Job job = jittered(small_job(), 0.05);
  const Placement placement(job.plan);
  const Fabric fabric(job.cluster, job.faults);
  StallPlan plan = plan_stalls(job.stalls, placement, job.cluster);
  const NetworkMap network = build_network_map(
      {placement, fabric, job.programs, job.algorithms, Fold::automatic, plan.keys()});
  const auto orders = stage_orders(pipeline_schedule("1f1b"), job.shape);
  ReplayInput input{.programs = job.programs,
                    .network = network,
                    .host = job.cluster.host,
                    .shape = job.shape,
                    .orders = orders,
                    .sharing = Sharing::incremental};
  EXPECT_TRUE(may_run_in_lanes(input, plan));
  input.steps = 2;
  EXPECT_FALSE(may_run_in_lanes(input, plan));
  input.steps = 1;
  input.sharing = Sharing::simgrid;
  EXPECT_FALSE(may_run_in_lanes(input, plan));
  input.sharing = Sharing::incremental;
  plan.spec.checkpoint = {1, 3_ms};
  EXPECT_FALSE(may_run_in_lanes(input, plan));
  plan.spec.checkpoint.reset();
  plan.spec.compute_jitter.reset();
  EXPECT_FALSE(may_run_in_lanes(input, plan));
}

}  // namespace
}  // namespace stepcast
