#include <gtest/gtest.h>

#include "host_link_fixtures.hpp"
#include "stepcast/workloads/memory.hpp"

// Activations on the host with units that run a forward beside a backward.
namespace stepcast {
namespace {

using namespace lowering;

// A pair stores what its forward leaves and fetches what its backward needs: as much as both move
// by themselves.
TEST(PairedOffload, MovesTheSameInPairs) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = 8;
  spec.plan.ep = 4;
  spec.moe.overlap = MoeSpec::Overlap::fb_pair;
  spec.pairs = true;
  for (const double part : {0.0, 0.25, 1.0}) {
    spec.training.offload_activations = part;
    const StageProgram program = lowered_with_link(spec);
    const Moved forward = moved(program, program.chunks[0].forward);
    const Moved backward = moved(program, program.chunks[0].backward);
    const Moved pair = moved(program, program.chunks[0].paired.at(0));
    EXPECT_DOUBLE_EQ(pair.out, forward.out);
    EXPECT_DOUBLE_EQ(pair.in, backward.in);
    EXPECT_DOUBLE_EQ(pair.in, pair.out);
    EXPECT_EQ(pair.calls, part > 0 ? 16 : 0);
  }
}

// The layers at hand of both passes, the one that comes and the one that goes; and what stays of
// the layer by which the forward of a pair is ahead of its backward.
TEST(PairedOffload, PairsHaveFourLayersOfWhatIsAwayOnTheDevice) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = 8;
  spec.plan.ep = 4;
  spec.training.offload_activations = 0.5;
  const auto activations = [&] {
    return stage_memory(spec, assign_layers(spec, plain_cluster()), cluster_with_link(), Stage{0},
                        std::vector<int>{1})
        .activations.value();
  };
  const double alone = activations();
  spec.moe.overlap = MoeSpec::Overlap::fb_pair;
  spec.pairs = true;
  const double layer =
      layer_activations(spec, true, TrainingSpec::Recompute::none, SoftmaxState::wide).value();
  EXPECT_NEAR(activations() - alone, 2 * 0.5 * layer + (1 - 0.5) * layer, 1e-9 * layer);
}

}  // namespace
}  // namespace stepcast
