#include <gtest/gtest.h>

#include "random_job.hpp"
#include "sim/in_child.hpp"

/// Trunks that are only just as wide as what is below them are no limit, whether they are counted
/// or not. docs/models/collectives.md.
namespace stepcast {
namespace {

using namespace literals;
using namespace testing;

double step_of(Job job, double oversubscription) {
  job.cluster.network.oversubscription = oversubscription;
  job.cluster.network.pod_oversubscription = oversubscription;
  return in_child([&] { return result_of(job, Fold::automatic); }).back();
}

// One job in four, because each is replayed twice; not the first ones, which are the smallest.
TEST(Oversubscription, StepIsContinuousWhereTrunksBeginToCount) {
  int cases = 0;
  EXPECT_TRUE(rc::check([&] {
    if (++cases % 4 != 0) return;
    Job job = random_job();
    job.algorithms = random_algorithms();
    job.form = *rc::gen::element(NetworkForm::ports, NetworkForm::pairwise);
    const double without = step_of(job, 1), with = step_of(job, 1 + 1e-9);
    RC_LOG() << "step of " << without << " s, " << with << " s with trunks";
    RC_ASSERT(std::abs(with - without) <= 1e-6 * without);
  }));
}

/// Sixteen nodes below two leaves: an all-to-all below each leaf runs beside a larger one of all
/// nodes; who gets which part of a NIC decides when the work behind the first begins.
Job two_collectives_on_a_nic(double work) {
  Job job;
  job.plan.dp = 16;
  job.plan.ep = 8;
  job.plan.order = {"tp", "cp", "ep", "dp", "pp"};
  job.cluster.devices = 16;
  job.cluster.node_devices = 1;
  job.cluster.node_fabric = SwitchFabric{{60_GBps, 1_us}, 1};
  job.cluster.network.nic.link = {25_GBps, 2_us};
  job.cluster.network.kind = NetworkSpec::Kind::leaf_spine;
  job.cluster.network.leaf_ports = 8;
  StageProgram program;
  const auto inside =
      add_call(program, GroupKind::expert, CollectiveKind::all_to_all, 16_MiB, Stream::expert);
  const auto across =
      add_call(program, GroupKind::dense_data, CollectiveKind::all_to_all, 64_MiB, Stream::data);
  program.slots = 2;
  program.chunks.resize(1);
  program.epilogue = {Communicate{across, 0, true}, Communicate{inside, 1, true}, Wait{1},
                      Compute{add_compute(program, work)}, Wait{0}};
  job.programs = {program};
  return job;
}

TEST(Oversubscription, TakesNoShareOfANicFromWhoCrossesATrunk) {
  const Job job = two_collectives_on_a_nic(8e-3);
  const double before = step_of(job, 1);
  EXPECT_NEAR(step_of(job, 1 + 1e-9), before, 1e-6 * before);
}

// What ends last is what crosses the trunks: narrower ones cannot be faster.
TEST(Oversubscription, WhatCrossesTrunksTakesLongerOverNarrowerOnes) {
  const Job job = two_collectives_on_a_nic(1e-5);
  double before = step_of(job, 1);
  for (const double oversubscription : {1.5, 2.0, 4.0, 8.0}) {
    const double now = step_of(job, oversubscription);
    EXPECT_GE(now, before) << oversubscription << ":1";
    before = now;
  }
}

}  // namespace
}  // namespace stepcast
