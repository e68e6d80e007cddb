#include <gtest/gtest.h>

#include <set>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/memory.hpp"

namespace stepcast {
namespace {

using namespace lowering;

ClusterSpec cluster_with_link() {
  ClusterSpec cluster = plain_cluster();
  cluster.host.device_link_bandwidth = BytesPerSecond{50e9};
  cluster.host.device_link_latency = Seconds{2e-6};
  return cluster;
}

StageProgram lowered(const WorkloadSpec& spec) {
  const ClusterSpec cluster = cluster_with_link();
  return lower_stage(spec, assign_layers(spec, cluster.device), cluster, Stage{0});
}

struct Moved {
  double out = 0, in = 0, seconds = 0;
  int calls = 0;
};

Moved moved(const StageProgram& program, const Instructions& code) {
  Moved sum;
  for (const Instruction& i : code) {
    const auto* start = std::get_if<Communicate>(&i);
    if (start == nullptr || !program.calls[start->call].over_host_link()) continue;
    const StageCall& call = program.calls[start->call];
    (call.stream == Stream::to_host ? sum.out : sum.in) += call.call.bytes.value();
    sum.seconds += call.host_link.value();
    ++sum.calls;
  }
  return sum;
}

TEST(HostOffload, MovesItsPartOfEveryLayerOutAndBack) {
  WorkloadSpec spec = workload(small_dense());
  spec.training.offload_activations = 0.25;
  const StageProgram program = lowered(spec);
  const double layer =
      layer_activations(spec, false, TrainingSpec::Recompute::none, SoftmaxState::wide).value();
  const Moved forward = moved(program, program.chunks[0].forward);
  const Moved backward = moved(program, program.chunks[0].backward);
  EXPECT_EQ(forward.calls, 8);
  EXPECT_DOUBLE_EQ(forward.out, 8 * 0.25 * layer);
  EXPECT_EQ(forward.in, 0);
  EXPECT_DOUBLE_EQ(backward.in, 8 * 0.25 * layer);
  EXPECT_EQ(backward.out, 0);
  EXPECT_NEAR(forward.seconds, 8 * (2e-6 + 0.25 * layer / 50e9), 1e-12);
}

TEST(HostOffload, BringsTheOptimizerInPartsAndBack) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.zero = 0;
  spec.training.offload_optimizer = true;
  const StageProgram program = lowered(spec);
  const Moved epilogue = moved(program, program.epilogue);
  EXPECT_EQ(epilogue.calls, 32);
  EXPECT_DOUBLE_EQ(epilogue.in, epilogue.out);
  spec.training.offload_optimizer = false;
  const MemoryBudget budget = stage_memory(spec, assign_layers(spec, plain_device()),
                                           cluster_with_link(), Stage{0}, std::vector<int>{1});
  EXPECT_NEAR(epilogue.in, budget.optimizer.value(), 1e-9 * epilogue.in);
}

TEST(HostOffload, EveryTransferIsAwaitedAndTheWorkStays) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = any_workload();
    const StageProgram plain = lowered(spec);
    spec.training.offload_activations = *rc::gen::element(0.0, 0.5, 1.0);
    spec.training.offload_optimizer = *rc::gen::arbitrary<bool>();
    const StageProgram program = lowered(spec);
    RC_ASSERT(program.model_flops == plain.model_flops);
    for (std::size_t c = 0; c < program.chunks.size(); ++c) {
      const ChunkProgram& chunk = program.chunks[c];
      RC_ASSERT(moved(program, chunk.forward).out == moved(program, chunk.backward).in);
      RC_ASSERT(moved(program, chunk.first_forward).out == moved(program, chunk.forward).out);
      RC_ASSERT(moved(program, chunk.last_backward).in == moved(program, chunk.backward).in);
      std::set<std::uint32_t> open;
      for (const Instruction& i : chunk.backward) {
        const auto* start = std::get_if<Communicate>(&i);
        if (start && program.calls[start->call].over_host_link()) open.insert(start->slot);
        if (const auto* wait = std::get_if<Wait>(&i)) open.erase(wait->slot);
      }
      RC_ASSERT(open.empty());
    }
  }));
}

TEST(HostOffload, FreesDeviceMemory) {
  WorkloadSpec spec = workload(small_dense());
  const auto budget = [&] {
    return stage_memory(spec, assign_layers(spec, plain_device()), cluster_with_link(), Stage{0},
                        std::vector<int>{4});
  };
  const MemoryBudget plain = budget();
  spec.training.offload_activations = 1;
  spec.training.offload_optimizer = true;
  const MemoryBudget offloaded = budget();
  const double layer =
      layer_activations(spec, false, TrainingSpec::Recompute::none, SoftmaxState::wide).value();
  // four micro-batches of eight layers less, the two layers at hand more
  EXPECT_NEAR(plain.activations.value() - offloaded.activations.value(), (4 * 8 - 2) * layer,
              1e-6 * layer);
  EXPECT_DOUBLE_EQ(offloaded.optimizer.value(), plain.optimizer.value() / 8);
}

}  // namespace
}  // namespace stepcast
