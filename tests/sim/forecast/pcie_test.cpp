#include <gtest/gtest.h>

#include "sim/replay/random_job.hpp"
#include "stepcast/sim/network/collective_times.hpp"

/// Copies between devices and hosts, and NICs, on one PCIe tree. docs/models/offload.md.
namespace stepcast::pcie {
namespace {

using namespace testing;

constexpr double lane = 32e9, uplink = 40e9, nic = 25e9, latency = 5e-6;

/// Stages of one rank each, two to a switch, on nodes of two devices.
Job job_of(std::int64_t stages, PcieTree::Nic where) {
  Job job;
  job.cluster = ClusterSpec{};
  job.cluster.devices = stages;
  job.cluster.node_devices = 2;
  job.cluster.node_fabric = SwitchFabric{{60_GBps, 0_us}, 1};
  job.cluster.network.nic.link = {BytesPerSecond{nic}, Seconds{0}};
  job.cluster.host.device_link_bandwidth = BytesPerSecond{lane};
  job.cluster.host.pcie = {2, BytesPerSecond{uplink}, where};
  job.plan.pp = stages;
  job.shape = {stages, 1, 1, 1};
  for (std::int64_t s = 0; s < stages; ++s) {
    StageProgram program;
    program.slots = 4;
    program.chunks.resize(1);
    job.programs.push_back(program);
  }
  return job;
}

/// Copies that many bytes in the epilogue, which awaits all that is in flight.
void copy(StageProgram& program, Stream direction, double bytes) {
  program.calls.push_back({"copy",
                           GroupKind::tensor,
                           {CollectiveKind::all_gather, Bytes{bytes}},
                           direction,
                           ExposedKind::offload,
                           {},
                           {},
                           Seconds{latency + bytes / lane}});
  const auto call = static_cast<std::uint32_t>(program.calls.size() - 1);
  program.epilogue.insert(program.epilogue.begin(), Communicate{call, call, true});
  program.epilogue.push_back(Wait{call});
}

double step(const Job& job) { return result_of(job, Fold::off).back(); }

TEST(Pcie, TwoCopiesShareTheUplinkOfTheirSwitch) {
  Job job = job_of(2, PcieTree::Nic::device);
  for (StageProgram& program : job.programs) copy(program, Stream::to_host, 1e9);
  EXPECT_NEAR(step(job), latency + 2e9 / uplink, 1e-9);
}

/// The shorter one leaves its half of the uplink to the other one, which is then as fast as its
/// own link.
TEST(Pcie, ACopyTakesWhatItsNeighbourLeaves) {
  Job job = job_of(2, PcieTree::Nic::device);
  copy(job.programs[0], Stream::to_host, 1e9);
  copy(job.programs[1], Stream::to_host, 3e9);
  EXPECT_NEAR(step(job), latency + 1e9 / (uplink / 2) + 2e9 / lane, 1e-9);
  Job alone = job_of(2, PcieTree::Nic::device);
  copy(alone.programs[1], Stream::to_host, 3e9);
  EXPECT_NEAR(step(alone), latency + 3e9 / lane, 1e-9);
}

TEST(Pcie, DirectionsDoNotMeet) {
  Job job = job_of(2, PcieTree::Nic::device);
  copy(job.programs[0], Stream::to_host, 1e9);
  copy(job.programs[1], Stream::from_host, 1e9);
  EXPECT_NEAR(step(job), latency + 1e9 / lane, 1e-9);
}

/// Two nodes of one rank each that exchange 2e9 bytes over their NICs while they copy 1e9 bytes
/// from and to their hosts.
double exchange_beside_copies(PcieTree::Nic where, bool copies) {
  Job job = job_of(1, where);
  job.cluster.devices = 2;
  job.cluster.node_devices = 1;
  job.cluster.host.pcie.switch_devices = 1;
  job.plan.pp = 1;
  job.plan.dp = 2;
  StageProgram& program = job.programs[0];
  if (copies) {
    copy(program, Stream::to_host, 1e9);
    copy(program, Stream::from_host, 1e9);
  }
  program.calls.push_back({"exchange",
                           GroupKind::data,
                           {CollectiveKind::all_gather, Bytes{2e9}},
                           Stream::data,
                           ExposedKind::data,
                           {}});
  const auto call = static_cast<std::uint32_t>(program.calls.size() - 1);
  program.epilogue.insert(program.epilogue.begin(), Communicate{call, 3, true});
  program.epilogue.push_back(Wait{3});
  return step(job);
}

/// 1e9 bytes each way by the NIC and 1e9 by the copy: apart, the slower of the two; on one link,
/// both together.
TEST(Pcie, NicsMeetCopiesOnTheLinkOfTheirDevice) {
  const double apart = exchange_beside_copies(PcieTree::Nic::device, true);
  const double together = exchange_beside_copies(PcieTree::Nic::pcie_switch, true);
  EXPECT_NEAR(apart, 1e9 / nic, 1e-4);
  EXPECT_NEAR(together, 2e9 / lane, 1e-4);
  EXPECT_NEAR(exchange_beside_copies(PcieTree::Nic::pcie_switch, false), 1e9 / nic, 1e-4);
}

/// Of four ranks on two nodes two NICs are below each switch: the time of the exchange alone has
/// the tree as the replay has it.
TEST(Pcie, AnExchangeAloneIsAsLongAsInAStep) {
  double before = 0;
  for (const auto where :
       {PcieTree::Nic::device, PcieTree::Nic::pcie_switch, PcieTree::Nic::root}) {
    Job job = job_of(1, where);
    job.cluster.devices = 4;
    job.cluster.host.device_link_bandwidth = BytesPerSecond{22e9};
    job.plan.pp = 1;
    job.plan.dp = 4;
    const StageCall call{"exchange",   GroupKind::data,   {CollectiveKind::all_to_all, Bytes{4e9}},
                         Stream::data, ExposedKind::data, {}};
    StageProgram& program = job.programs[0];
    program.calls.push_back(call);
    program.epilogue = {Communicate{0, 3, true}, Wait{3}};
    CollectiveTimes times(job.cluster, {});
    const double alone = times.alone(Placement(job.plan), call, Rank{0});
    EXPECT_NEAR(step(job), alone, 1e-9 * alone);
    EXPECT_GT(alone, before * 1.05);
    before = alone;
  }
}

/// Random copies of random stages, with and without a tree.
Job random_copies(PcieTree tree) {
  const auto stages = 2 * *rc::gen::inRange<std::int64_t>(1, 4);
  Job job = job_of(stages, tree.nic);
  for (StageProgram& program : job.programs) {
    add_compute(program, *rc::gen::inRange(1, 9) * 1e-3);
    program.chunks[0].forward = program.chunks[0].first_forward = {Compute{0}};
    program.chunks[0].backward = program.chunks[0].last_backward = {Compute{0}};
    program.chunks[0].send_forward = program.chunks[0].send_backward =
        Bytes{*rc::gen::inRange(1, 9) * 1e7};
    for (int k = *rc::gen::inRange(0, 3); k > 0; --k)
      copy(program, *rc::gen::element(Stream::to_host, Stream::from_host),
           *rc::gen::inRange(1, 9) * 1e8);
  }
  job.programs.back().chunks[0].send_forward = job.programs.front().chunks[0].send_backward =
      Bytes{0};
  return job;
}

/// Where every device has a switch for itself that is no narrower than its own link, and NICs are
/// on devices, nothing meets: the step is that without a tree. Otherwise it is never shorter.
TEST(Pcie, APathOfItsOwnIsAsWithoutATreeAndSharingIsNeverSooner) {
  EXPECT_TRUE(rc::check([] {
    Job job = random_copies({});
    job.cluster.host.pcie = {};
    const double plain = step(job);
    job.cluster.host.pcie = {1, BytesPerSecond{lane * *rc::gen::inRange(1, 3)},
                             PcieTree::Nic::device};
    RC_ASSERT(std::abs(step(job) - plain) <= 1e-12 * plain);
    const auto where =
        *rc::gen::element(PcieTree::Nic::device, PcieTree::Nic::pcie_switch, PcieTree::Nic::root);
    job.cluster.host.pcie = {2, BytesPerSecond{uplink}, where};
    const double shared = step(job);
    RC_ASSERT(shared >= plain * (1 - 1e-9));
    const double folded = result_of(job, Fold::automatic).back();
    RC_ASSERT(std::abs(folded - shared) <= 1e-9 * shared);
  }));
}

}  // namespace
}  // namespace stepcast::pcie
