#include <gtest/gtest.h>

#include "judged_job.hpp"

/// The judge counts every algorithm message by message, and knows hosts that are late: each against
/// the fast path, in few runs.
namespace stepcast {
namespace {

using namespace literals;
using namespace testing;

ClusterSpec cluster_of(std::int64_t nodes, std::int64_t per_node, const NodeFabric& fabric,
                       CollectiveLibrarySpec::Library library) {
  ClusterSpec c;
  c.devices = nodes * per_node;
  c.node_devices = per_node;
  c.node_fabric = fabric;
  c.network.nic.link = {25_GBps, 2_us};
  c.collectives.library = library;
  c.collectives.step_latency = 5_us;
  c.device.launch.communication = 3_us;
  return c;
}

/// Whether that algorithm makes that kind of call of all devices.
bool applies(const ClusterSpec& cluster, const NamedAlgorithm& algorithm,
             const CollectiveCall& call) {
  if (!algorithm.serves[static_cast<std::size_t>(call.kind)]) return false;
  std::vector<DeviceId> members;
  for (std::uint32_t d = 0; d < cluster.devices; ++d) members.push_back(DeviceId{d});
  try {
    plan_collective(Fabric(cluster), members, call, algorithm.name);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// An exchange of equal messages, and of messages that differ by receiver or by sender.
std::vector<Skew> skews_of(CollectiveKind kind, std::int64_t members) {
  std::vector<Skew> skews{{}};
  if (kind != CollectiveKind::all_to_all) return skews;
  constexpr double factors[] = {1, 0.5, 2.5};
  for (const bool senders : {false, true}) {
    Skew& skew = skews.emplace_back();
    skew.senders = senders;
    for (std::int64_t m = 0; m < members; ++m) skew.factor.push_back(factors[m % 3]);
  }
  return skews;
}

/// All devices make every call that some algorithm makes of them, one after the other.
Job all_calls(const ClusterSpec& cluster, std::size_t& calls) {
  Job job;
  job.cluster = cluster;
  job.plan.dp = job.plan.ep = cluster.devices;
  job.shape = {1, 1, 1, 1};
  StageProgram& program = job.programs.emplace_back();
  program.chunks.resize(1);
  program.slots = 1;
  for (std::size_t k = 0; k < chosen_kinds; ++k)
    for (const NamedAlgorithm& algorithm : collective_algorithms())
      for (const Skew& skew : skews_of(static_cast<CollectiveKind>(k), cluster.devices)) {
        const CollectiveCall call{static_cast<CollectiveKind>(k), 3_MiB, skew};
        if (!applies(cluster, algorithm, call)) continue;
        const auto index =
            add_call(program, GroupKind::expert, call.kind, call.bytes, Stream::tensor);
        program.calls.back().call = call;
        program.calls.back().algorithm = algorithm.name;
        program.epilogue.insert(program.epilogue.end(), {Communicate{index, 0, true}, Wait{0}});
      }
  calls = program.calls.size();
  return job;
}

TEST(JudgedCalls, OfEveryAlgorithmTakeAsLong) {
  using enum CollectiveLibrarySpec::Library;
  const LinkSpec fast{20_GBps, 1_us}, slow{12_GBps, 2_us};
  const NodeFabric mesh = MeshFabric{fast, 1}, port = SwitchFabric{{60_GBps, 1_us}, 1};
  const NodeFabric torus = TorusFabric{{{4, fast}, {2, slow}}};
  const NodeFabric full = FullMeshFabric{{{3, fast}, {2, slow}}};
  const NodeFabric line = FullMeshFabric{{{3, fast}}};
  std::vector<ClusterSpec> clusters{
      cluster_of(1, 5, mesh, hccl),  cluster_of(2, 4, port, hccl), cluster_of(3, 2, mesh, hccl),
      cluster_of(1, 8, torus, hccl), cluster_of(1, 6, full, hccl), cluster_of(3, 2, port, nccl),
      cluster_of(4, 2, mesh, nccl),  cluster_of(5, 3, line, hccl), cluster_of(4, 2, mesh, hccl)};
  clusters.back().super_node =
      SuperNodeSpec{.nodes = 2, .fabric = SwitchFabric{{40_GBps, 1_us}, 1}};
  std::size_t all = 0;
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    std::size_t calls = 0;
    const Job job = all_calls(clusters[c], calls);
    EXPECT_LE(difference(job), is_rounded(job) ? rounded_agreement : agreement) << c;
    EXPECT_GE(calls, 5U) << c;
    all += calls;
  }
  EXPECT_GE(all, 100U);
}

/// Two stages of two ranks whose hosts take as long as their devices, and copies to and from them.
Job late_hosts() {
  Job job;
  job.plan.tp = job.plan.pp = 2;
  job.cluster =
      cluster_of(2, 2, MeshFabric{{20_GBps, 1_us}, 1}, CollectiveLibrarySpec::Library::hccl);
  job.cluster.host.queue_depth = 2;
  job.cluster.host.synchronise = 50_us;
  job.shape = {2, 1, 4, 2};
  job.steps = 2;
  for (int stage = 0; stage < 2; ++stage) {
    StageProgram& program = job.programs.emplace_back();
    program.segments.emplace_back(
        std::vector<OperatorCost>{{.main = 2e-4, .worker = 3e-4, .launch = 1e-4, .device = 1e-4},
                                  {.main = 1e-4, .worker = 1e-5, .launch = 5e-5, .device = 9e-4},
                                  {.main = 1e-5, .worker = 2e-5, .launch = 1e-5, .device = 3e-4}});
    add_compute(program, 5e-4 * (stage + 1));
    const auto tensor =
        add_call(program, GroupKind::tensor, CollectiveKind::all_gather, 3_MiB, Stream::tensor);
    program.calls.back().issue = {.main = 1e-4, .worker = 2e-4, .launch = 1e-4};
    const auto host =
        add_call(program, GroupKind::tensor, CollectiveKind::all_gather, 1_MiB, Stream::to_host);
    program.calls.back().host_link = 700_us;
    const auto world =
        add_call(program, GroupKind::world, CollectiveKind::all_reduce, 1_MiB, Stream::data);
    program.send_issue = {.main = 5e-5, .worker = 3e-5, .launch = 2e-5};
    program.slots = 3;
    ChunkProgram& chunk = program.chunks.emplace_back();
    chunk.forward = {Communicate{host, 1, true},
                     Compute{0},
                     HostCopy{},
                     Compute{1},
                     HostSync{true},
                     Compute{1},
                     Communicate{tensor, 0, true},
                     Wait{0},
                     Wait{1}};
    chunk.first_forward = {Compute{1}};
    chunk.backward = {Compute{1}, HostSync{false}, Compute{0}, Communicate{tensor, 0, false},
                      Compute{1}, Wait{0}};
    chunk.last_backward = {Compute{0}};
    chunk.send_forward = chunk.send_backward = 2_MiB;
    program.prologue = {Compute{0}};
    program.epilogue = {Compute{1}, Communicate{world, 2, true}, Wait{2}, HostSync{false}};
  }
  return job;
}

TEST(JudgedHosts, AreAsLateAsInTheFastPath) {
  using enum ScheduleSpec::PointToPoint;
  for (const auto p2p : {overlapped, blocking})
    for (const std::int64_t depth : {1, 2, 64}) {
      Job job = late_hosts();
      job.cluster.host.queue_depth = depth;
      EXPECT_LE(difference(job, {}, p2p), agreement)
          << depth << (p2p == blocking ? " blocking" : "");
    }
}

}  // namespace
}  // namespace stepcast
