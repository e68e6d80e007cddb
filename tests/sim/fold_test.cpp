#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "sim/in_child.hpp"
#include "stepcast/sim/replay.hpp"

namespace stepcast {
namespace {

using namespace literals;

/// A random job on a cluster whose leaves may be partly filled and oversubscribed.
struct Job {
  ClusterSpec cluster;
  ParallelPlan plan;
  PipelineShape shape;
  std::vector<StageProgram> programs;
  CollectiveChoice algorithms = {};
  NetworkForm form = NetworkForm::ports;
  LinkFaults faults = {};
};

ClusterSpec random_cluster(std::int64_t devices) {
  ClusterSpec c;
  c.devices = devices;
  c.node_devices = 4;
  if (*rc::gen::arbitrary<bool>()) {
    c.node_fabric = MeshFabric{{20_GBps, 1_us}, 1};
  } else {
    c.node_fabric = SwitchFabric{{60_GBps, 1_us}, 1};
  }
  c.network.nic.link = {25_GBps, 2_us};
  c.network.nic.per = *rc::gen::element(NicSpec::Per::device, NicSpec::Per::node);
  c.network.kind =
      *rc::gen::element(NetworkSpec::Kind::leaf_spine, NetworkSpec::Kind::rail_optimized,
                        NetworkSpec::Kind::single_switch);
  c.network.leaf_ports = *rc::gen::element<std::int64_t>(4, 6, 8, 12);
  c.network.oversubscription = *rc::gen::element(1.0, 2.0, 3.0);
  c.collectives.library =
      *rc::gen::element(CollectiveLibrarySpec::Library::hccl, CollectiveLibrarySpec::Library::nccl);
  c.collectives.step_latency = 5_us;
  c.device.launch.communication = 3_us;
  return c;
}

std::uint32_t add_compute(StageProgram& program, double seconds) {
  OperatorCost cost;
  cost.main = 1e-6;
  cost.device = seconds;
  program.segments.emplace_back(std::vector<OperatorCost>{cost});
  return static_cast<std::uint32_t>(program.segments.size() - 1);
}

std::uint32_t add_call(StageProgram& program, GroupKind group, CollectiveKind kind, Bytes bytes,
                       Stream stream) {
  const auto exposed = stream == Stream::tensor ? ExposedKind::tensor : ExposedKind::data;
  program.calls.push_back({"call", group, {kind, bytes}, stream, exposed, {}});
  return static_cast<std::uint32_t>(program.calls.size() - 1);
}

/// Tensor collectives in each pass, gradients behind the last backward, a world reduction at the
/// end.
StageProgram random_program(const ParallelPlan& plan, std::uint32_t stage) {
  StageProgram program;
  const Bytes boundary{*rc::gen::inRange(0, 4) * 1e6};
  const auto run = add_compute(program, *rc::gen::inRange(1, 9) * 1e-4);
  const auto tensor =
      add_call(program, GroupKind::tensor, CollectiveKind::all_gather, 3_MiB, Stream::tensor);
  const auto expert =
      add_call(program, GroupKind::expert, CollectiveKind::all_to_all, 2_MiB, Stream::expert);
  const auto data =
      add_call(program, GroupKind::dense_data, CollectiveKind::all_reduce, 5_MiB, Stream::data);
  const auto world =
      add_call(program, GroupKind::world, CollectiveKind::all_reduce, 4_B, Stream::data);
  program.slots = 4;
  ChunkProgram chunk;
  chunk.forward = {Compute{run}, Communicate{tensor, 0, true},
                   Wait{0},      Communicate{expert, 1, true},
                   Compute{run}, Wait{1}};
  chunk.backward = {Compute{run}, Communicate{tensor, 0, true}, Compute{run}, Wait{0}};
  chunk.first_forward = chunk.forward;
  chunk.last_backward = chunk.backward;
  chunk.last_backward.push_back(Communicate{data, 2, true});
  if (stage + 1 < plan.pp) chunk.send_forward = boundary;
  if (stage > 0) chunk.send_backward = boundary;
  program.chunks = {chunk};
  program.epilogue = {Compute{run}, Wait{2}, Communicate{world, 3, true}, Wait{3}, Compute{run}};
  return program;
}

/// A few degraded links of any kind, and failed mesh pairs and NICs that have a way around.
LinkFaults random_faults(const ClusterSpec& cluster) {
  const Fabric intact(cluster);
  LinkFaults faults = {};
  std::set<std::uint32_t> failed;
  const auto any_link = [&] { return *rc::gen::inRange(0U, intact.link_count()); };
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    faults.bandwidth_factor[any_link()] = *rc::gen::element(0.25, 0.5, 0.9);
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    const std::uint32_t link = any_link();
    if (!detour_around(intact, {link}, {link}).empty()) failed.insert(link);
  }
  for (const std::uint32_t link : failed) {
    const auto detour = detour_around(intact, {link}, failed);
    if (!detour.empty()) faults.detour[link] = detour;
  }
  return faults;
}

Job random_job() {
  Job job;
  job.plan.tp = *rc::gen::element(1, 2, 4);
  job.plan.pp = *rc::gen::inRange(1, 5);
  job.plan.dp = *rc::gen::element(1, 2, 3, 4, 6);
  job.plan.ep = *rc::gen::arbitrary<bool>() ? job.plan.dp : 1;
  if (*rc::gen::arbitrary<bool>()) job.plan.order = {"tp", "cp", "ep", "pp", "dp"};
  const std::int64_t nodes = (job.plan.world() + 3) / 4;
  job.cluster = random_cluster(nodes * 4);
  job.shape = {job.plan.pp, 1, *rc::gen::inRange(1, 7), job.plan.pp};
  for (std::uint32_t s = 0; s < job.plan.pp; ++s)
    job.programs.push_back(random_program(job.plan, s));
  return job;
}

/// All of them make their kind of any group of the job.
CollectiveChoice random_algorithms() {
  CollectiveChoice choice;
  const auto set = [&](CollectiveKind kind, const std::string& algorithm) {
    choice.algorithm[static_cast<std::size_t>(kind)] = algorithm;
  };
  set(CollectiveKind::all_reduce, *rc::gen::element<std::string>("auto", "ring", "nhr", "hd"));
  set(CollectiveKind::all_gather, *rc::gen::element<std::string>("auto", "ring", "mesh", "hd"));
  set(CollectiveKind::all_to_all, *rc::gen::element<std::string>("auto", "pairwise"));
  return choice;
}

/// Step time, then the parts of every stage, summed over its ranks.
std::vector<double> result_of(const Job& job, Fold fold) {
  const Fabric fabric(job.cluster, job.faults);
  const Placement placement(job.plan);
  const NetworkMap network =
      build_network_map({placement, fabric, job.programs, job.algorithms, fold, {}, job.form});
  const Timeline t =
      replay({job.programs, network, job.cluster.host, job.shape, pipeline_schedule("1f1b")});
  std::vector<double> parts(static_cast<std::size_t>(job.plan.pp) * 6);
  for (std::size_t c = 0; c < t.classes.size(); ++c) {
    const RankTimes& times = t.classes[c];
    const Seconds all[] = {times.computing,  times.exposed_total(), times.bubble,
                           times.host_stall, times.other_idle,      times.communication};
    for (std::size_t k = 0; k < 6; ++k) {
      parts[network.classes.stage[c].value * 6 + k] += all[k].value() * network.classes.ranks[c];
    }
  }
  parts.push_back(t.step_time.value());
  return parts;
}

void expect_fold_changes_nothing(const Job& job) {
  const auto folded = testing::in_child([&] { return result_of(job, Fold::automatic); });
  const auto separate = testing::in_child([&] { return result_of(job, Fold::off); });
  RC_ASSERT(!folded.empty());
  RC_ASSERT(folded.size() == separate.size());
  const double scale = folded.back() * static_cast<double>(job.plan.world());
  for (std::size_t i = 0; i < folded.size(); ++i)
    RC_ASSERT(std::abs(folded[i] - separate[i]) <= 1e-9 * scale);
  RC_ASSERT(std::abs(folded.back() - separate.back()) <= 1e-9 * separate.back());
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
  const auto folded = testing::in_child([&] { return result_of(job, Fold::automatic); });
  const auto separate = testing::in_child([&] { return result_of(job, Fold::off); });
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
