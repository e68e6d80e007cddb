#include <gtest/gtest.h>

#include "random_job.hpp"
#include "sim/in_child.hpp"

namespace stepcast {
namespace {

using namespace literals;
using namespace testing;

void expect_equal(const Job& job, const std::vector<double>& a, const std::vector<double>& b) {
  RC_ASSERT(!a.empty());
  RC_ASSERT(a.size() == b.size());
  const double scale = a.back() * static_cast<double>(job.plan.world());
  for (std::size_t i = 0; i < a.size(); ++i) {
    RC_LOG() << "part " << i % 6 << " of stage " << i / 6 << ": " << a[i] << " and " << b[i];
    RC_ASSERT(std::abs(a[i] - b[i]) <= 1e-9 * scale);
  }
  RC_ASSERT(std::abs(a.back() - b.back()) <= 1e-9 * b.back());
}

void expect_fold_changes_nothing(const Job& job) {
  const auto folded = in_child([&] { return result_of(job, Fold::automatic); });
  const auto separate = in_child([&] { return result_of(job, Fold::off); });
  expect_equal(job, folded, separate);
}

Job random_job_as(NetworkForm form) {
  Job job = random_job();
  job.algorithms = random_algorithms();
  job.form = form;
  return job;
}

TEST(Fold, ClassesGiveWhatEveryRankOnItsOwnGives) {
  EXPECT_TRUE(rc::check([] { expect_fold_changes_nothing(random_job_as(NetworkForm::ports)); }));
}

TEST(Fold, ClassesOfPairsGiveWhatEveryRankOnItsOwnGives) {
  EXPECT_TRUE(rc::check([] { expect_fold_changes_nothing(random_job_as(NetworkForm::pairwise)); }));
}

TEST(Fold, ClassesGiveTheSameOnADamagedFabric) {
  EXPECT_TRUE(rc::check([] {
    Job job = random_job_as(*rc::gen::element(NetworkForm::ports, NetworkForm::pairwise));
    job.faults = random_faults(job.cluster);
    RC_CLASSIFY(!job.faults.detour.empty(), "failed links");
    RC_CLASSIFY(!job.faults.bandwidth_factor.empty(), "degraded links");
    expect_fold_changes_nothing(job);
  }));
}

TEST(Fold, ClassesGiveTheSameOnDragonflies) {
  int cases = 0;
  EXPECT_TRUE(rc::check([&] {
    if (++cases % 5 != 0) return;  // a case takes 0.2 s
    Job job = random_job_as(*rc::gen::element(NetworkForm::ports, NetworkForm::pairwise));
    make_dragonfly(job);
    if (*rc::gen::arbitrary<bool>()) job.faults = random_faults(job.cluster);
    expect_fold_changes_nothing(job);
  }));
}

TEST(Fold, ClassesGiveTheSameOnNodesWithWires) {
  EXPECT_TRUE(rc::check([] {
    Job job = random_job_as(*rc::gen::element(NetworkForm::ports, NetworkForm::pairwise));
    wire_nodes(job);
    if (*rc::gen::arbitrary<bool>()) job.faults = random_faults(job.cluster);
    expect_fold_changes_nothing(job);
  }));
}

/// Classes of a job with tensor groups along the first side and data groups along the second.
std::size_t classes_on(const NodeFabric& fabric) {
  Job job;
  job.plan.tp = 4;
  job.plan.dp = 4;
  job.cluster.devices = job.cluster.node_devices = 16;
  job.cluster.node_fabric = fabric;
  job.cluster.network.nic.link = {25_GBps, 2_us};
  StageProgram program;
  add_call(program, GroupKind::tensor, CollectiveKind::all_gather, 3_MiB, Stream::tensor);
  add_call(program, GroupKind::dense_data, CollectiveKind::all_reduce, 5_MiB, Stream::data);
  program.chunks.resize(1);
  job.programs = {program};
  const Placement placement(job.plan);
  const Fabric links(job.cluster);
  return build_network_map({placement, links, job.programs, job.algorithms})
      .classes.representative.size();
}

TEST(Fold, RanksOfAGridAreOneClass) {
  const std::vector<GridDimension> sides{{4, {20_GBps, 1_us}}, {4, {12_GBps, 1_us}}};
  EXPECT_EQ(classes_on(FullMeshFabric{sides}), 1U);
  EXPECT_LE(classes_on(TorusFabric{sides}), 4U);
}

TEST(Fold, ClassesGiveTheSameWithUnequalExperts) {
  EXPECT_TRUE(rc::check([] {
    Job job = random_job_as(*rc::gen::element(NetworkForm::ports, NetworkForm::pairwise));
    load_unevenly(job);
    RC_CLASSIFY(std::set(job.variant_of.begin(), job.variant_of.end()).size() > 1, "unequal");
    RC_CLASSIFY(job.plan.expert_part > 0, "cut into parts");
    expect_fold_changes_nothing(job);
  }));
}

TEST(Fold, ClassesGiveTheSameUnderStallsOverSteps) {
  EXPECT_TRUE(rc::check([] {
    Job job = random_job_as(NetworkForm::ports);
    job.stalls = random_stalls(job);
    job.steps = *rc::gen::inRange(1, 4);
    expect_fold_changes_nothing(job);
  }));
}

// Alone in its group, a rank of a class waits for nobody; one of two comes first and waits.
TEST(Fold, HostsThatCollectGarbagePauseOnceHoweverOftenTheyAsk) {
  Job job;
  job.plan.tp = 2;
  job.cluster.devices = job.cluster.node_devices = 2;
  job.cluster.node_fabric = SwitchFabric{{60_GBps, 1_us}, 1};
  job.cluster.network.nic.link = {25_GBps, 2_us};
  job.shape = {1, 1, 50, 1};
  StageProgram program;
  program.segments.emplace_back(std::vector<OperatorCost>{{.main = 30e-3, .device = 1e-4}});
  add_call(program, GroupKind::tensor, CollectiveKind::all_gather, 3_MiB, Stream::tensor);
  program.slots = 1;
  ChunkProgram chunk;
  chunk.forward = {Compute{0}, Communicate{0, 0, true}, Wait{0}};
  chunk.first_forward = chunk.backward = chunk.last_backward = chunk.forward;
  program.chunks = {chunk};
  job.programs = {program};
  // Where a pause ends, the next one is close.
  job.stalls.gc_pauses = {4_ms, 5_ms, true, 3};
  expect_fold_changes_nothing(job);
}

TEST(Fold, ClassesGiveTheSameWithUnequalDocuments) {
  EXPECT_TRUE(rc::check([] {
    Job job = random_job_as(NetworkForm::ports);
    add_loads(job);
    RC_CLASSIFY(job.loads.repeats(), "alike micro-batches");
    expect_fold_changes_nothing(job);
  }));
}

TEST(Fold, ClassesGiveTheSameForEverySchedule) {
  EXPECT_TRUE(rc::check([] {
    Job job = random_job_as(NetworkForm::ports);
    reschedule(job, 3);
    RC_TAG(job.schedule);
    expect_fold_changes_nothing(job);
  }));
}

void drop_host_costs(Job& job) {
  for (StageProgram& program : job.programs)
    for (Segment& segment : program.segments)
      segment = Segment(std::vector<OperatorCost>{{.device = segment.device_time()}});
}

// Flows that meet go on in SimGrid from the date to which the job skipped.
TEST(Fold, SkippingRecurringMicroBatchesChangesNothing) {
  EXPECT_TRUE(rc::check([] {
    Job job = random_job_as(NetworkForm::ports);
    job.shape.micro_batches = job.plan.pp * *rc::gen::inRange(4, 12);
    job.steps = *rc::gen::inRange(1, 3);
    job.schedule = *rc::gen::element("1f1b", "gpipe");
    if (*rc::gen::arbitrary<bool>()) drop_host_costs(job);
    if (*rc::gen::arbitrary<bool>()) add_loads(job);
    const Fold fold = *rc::gen::element(Fold::automatic, Fold::off);
    const auto skipped = in_child([&] { return result_of(job, fold); });
    job.skip_recurring = false;
    const auto full = in_child([&] { return result_of(job, fold); });
    expect_equal(job, skipped, full);
  }));
}

TEST(Fold, SkippingChangesNothingForEverySchedule) {
  EXPECT_TRUE(rc::check([] {
    Job job = random_job_as(NetworkForm::ports);
    reschedule(job, 12);
    RC_TAG(job.schedule);
    if (*rc::gen::arbitrary<bool>()) drop_host_costs(job);
    const auto skipped = in_child([&] { return result_of(job, Fold::automatic); });
    job.skip_recurring = false;
    const auto full = in_child([&] { return result_of(job, Fold::automatic); });
    expect_equal(job, skipped, full);
  }));
}

NetworkMap map_of(const Job& job, Fold fold) {
  const Fabric fabric(job.cluster);
  const Placement placement(job.plan);
  const CollectiveChoice algorithms;
  return build_network_map({placement, fabric, job.programs, algorithms, fold});
}

// Six replicas on three nodes of one NIC: as halving-doubling, some phases load two NICs, one the
// third. The ports are shared with the tensor group, the NICs with nothing.
TEST(Fold, EachFlowKeepsItsOwnTightestPrivateLink) {
  Job job;
  job.cluster.devices = 12;
  job.cluster.node_devices = 4;
  job.cluster.node_fabric = SwitchFabric{{60_GBps, 1_us}, 1};
  job.cluster.network.nic.link = {25_GBps, 2_us};
  job.cluster.network.nic.per = NicSpec::Per::node;
  job.plan.tp = 2;
  job.plan.dp = 6;
  job.shape = {1, 1, 1, 1};
  StageProgram program;
  add_call(program, GroupKind::tensor, CollectiveKind::all_gather, 3_MiB, Stream::tensor);
  add_call(program, GroupKind::dense_data, CollectiveKind::all_reduce, 5_MiB, Stream::data);
  program.slots = 2;
  program.chunks.resize(1);
  program.epilogue = {Communicate{0, 0, true}, Wait{0}, Communicate{1, 1, true}, Wait{1}};
  job.programs = {program};
  job.algorithms.algorithm[static_cast<std::size_t>(CollectiveKind::all_reduce)] = "hd";
  const auto folded = in_child([&] { return result_of(job, Fold::automatic); });
  const auto separate = in_child([&] { return result_of(job, Fold::off); });
  ASSERT_FALSE(folded.empty());
  ASSERT_FALSE(separate.empty());
  EXPECT_NEAR(folded.back(), separate.back(), 1e-9 * separate.back());
}

// A lock-step collective over equal replicas tells none of them apart.
TEST(Fold, EqualReplicasAreOneClassPerStage) {
  EXPECT_TRUE(rc::check([] {
    Job job = random_job();
    job.plan = ParallelPlan{};
    job.plan.tp = 4;
    job.plan.pp = 2;
    job.plan.dp = 8;
    job.cluster = random_cluster(64);
    job.cluster.network.kind = NetworkSpec::Kind::single_switch;
    job.cluster.collectives.library = CollectiveLibrarySpec::Library::hccl;
    job.programs = {random_program(job.plan, 0), random_program(job.plan, 1)};
    RC_ASSERT(map_of(job, Fold::automatic).classes.ranks == (std::vector<std::uint32_t>{32, 32}));
  }));
}

}  // namespace
}  // namespace stepcast
