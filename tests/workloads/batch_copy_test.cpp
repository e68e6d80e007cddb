#include <gtest/gtest.h>

#include "lowered_steps.hpp"

/// Batches of the loader on their way to the device. docs/models/offload.md.
namespace stepcast {
namespace {

using namespace lowering;

ClusterSpec cluster_of_batches() {
  ClusterSpec cluster = plain_cluster();
  cluster.host.device_link_bandwidth = BytesPerSecond{50e9};
  cluster.host.device_link_latency = Seconds{2e-6};
  cluster.host.pageable_bandwidth = BytesPerSecond{5e9};
  return cluster;
}

/// Transfers from the host that stand at the begin of the code, each awaited at once.
std::vector<StageCall> batches(const StageProgram& program, const Instructions& code) {
  std::vector<StageCall> found;
  for (std::size_t i = 0; i + 1 < code.size(); i += 2) {
    const auto* start = std::get_if<Communicate>(&code[i]);
    const auto* wait = std::get_if<Wait>(&code[i + 1]);
    if (start == nullptr || wait == nullptr || wait->slot != start->slot) break;
    if (!program.calls[start->call].over_host_link()) break;
    found.push_back(program.calls[start->call]);
  }
  return found;
}

TEST(BatchCopy, IsBeforeEveryForwardOfTheFirstAndOfTheLastStage) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.pp = 4;
  spec.training.batch_copy = Bytes{1e6};
  spec.training.offload_pinned = false;  // which is of what is offloaded
  const ClusterSpec cluster = cluster_of_batches();
  const LayerTable layers = assign_layers(spec, cluster);
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    const StageProgram program = lower_stage(spec, layers, cluster, Stage{stage});
    const ChunkProgram& chunk = program.chunks[0];
    const bool reads = stage == 0 || stage == 3;
    for (const Instructions* code : {&chunk.forward, &chunk.first_forward}) {
      const std::vector<StageCall> found = batches(program, *code);
      ASSERT_EQ(found.size(), reads ? 1 : 0) << stage;
      if (!reads) continue;
      EXPECT_EQ(found[0].stream, Stream::from_host);
      EXPECT_DOUBLE_EQ(found[0].host_link.value(), 2e-6 + 1e6 / 50e9);
    }
    EXPECT_TRUE(batches(program, chunk.backward).empty());
  }
}

TEST(BatchCopy, PageableMemoryIsThatOfWhatIsOffloaded) {
  WorkloadSpec spec = workload(small_dense());
  spec.training.offload_activations = 1;
  const auto fetched = [&](bool pinned) {
    spec.training.offload_pinned = pinned;
    const ClusterSpec cluster = cluster_of_batches();
    const StageProgram program = lower_stage(spec, assign_layers(spec, cluster), cluster, Stage{0});
    const auto call = std::ranges::find_if(program.calls, &StageCall::over_host_link);
    return (call->host_link - Seconds{2e-6}) / (call->call.bytes / BytesPerSecond{50e9});
  };
  EXPECT_NEAR(fetched(true), 1, 1e-9);
  EXPECT_NEAR(fetched(false), 10, 1e-9);
}

}  // namespace
}  // namespace stepcast
