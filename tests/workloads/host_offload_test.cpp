#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "host_link_fixtures.hpp"
#include "stepcast/workloads/memory.hpp"

namespace stepcast {
namespace {

using namespace lowering;

TEST(HostOffload, MovesItsPartOfEveryLayerOutAndBack) {
  WorkloadSpec spec = workload(small_dense());
  spec.training.offload_activations = 0.25;
  const StageProgram program = lowered_with_link(spec);
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

// Per token: the norm's output, 16 queries, 8 keys and values and 16 outputs of 64, and the
// softmax.
TEST(HostOffload, MovesTheAttentionOfEveryLayerAlone) {
  WorkloadSpec spec = workload(small_dense());
  spec.training.offload_activations = {};
  double attention = 2048.0 * (2 * 1024 + 2 * 64 * (16 + 8 + 8 + 16) + 64 * 16);
  const auto out = [&] {
    const StageProgram program = lowered_with_link(spec);
    const double back = moved(program, program.chunks[0].backward).in;
    EXPECT_DOUBLE_EQ(moved(program, program.chunks[0].forward).out, back);
    return back;
  };
  EXPECT_DOUBLE_EQ(out(), 8 * attention);
  using Module = TrainingSpec::Module;
  spec.training.recompute = TrainingSpec::Recompute::modules;
  spec.training.recompute_modules = 1U << static_cast<unsigned>(Module::mlp);
  EXPECT_DOUBLE_EQ(out(), 8 * attention);
  spec.training.recompute_modules |= 1U << static_cast<unsigned>(Module::layernorm);
  attention -= 2048.0 * 2 * 1024;
  EXPECT_DOUBLE_EQ(out(), 8 * attention);
}

// n devices with a link of 50 GB/s each behind something of S GB/s: min(50, S / n) each.
TEST(HostOffload, DevicesThatMeetHaveAnEvenShare) {
  WorkloadSpec spec = workload(small_dense());
  spec.training.offload_activations = 0.25;
  const double layer =
      layer_activations(spec, false, TrainingSpec::Recompute::none, SoftmaxState::wide).value();
  for (const auto& [shared, devices, each] :
       {std::tuple{0e9, 8, 50e9}, {400e9, 8, 50e9}, {80e9, 2, 40e9}, {80e9, 8, 10e9}}) {
    ClusterSpec cluster = cluster_with_link();
    cluster.host.shared_bandwidth = BytesPerSecond{shared};
    cluster.host.shared_devices = devices;
    const StageProgram program = lowered_with_link(spec, cluster);
    EXPECT_NEAR(moved(program, program.chunks[0].forward).seconds, 8 * (2e-6 + 0.25 * layer / each),
                1e-12);
  }
}

/// Of the eight layers of small_moe() seven have experts, 16 of two matrices (gate and value in
/// one) of 512 x 1024.
double expert_parameters() { return 7 * 16 * 3 * 512.0 * 1024; }

// In: active weights, then active states. Out: states, then weights. Replicas own their shard of
// the states.
TEST(HostOffload, FetchesTheExpertsThatWork) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = 8;
  spec.plan.ep = 4;
  spec.training.offload_experts = true;
  for (const double active : {1.0, 0.5, 0.25}) {
    for (const std::int64_t zero : {0, 1}) {
      spec.plan.zero = zero;
      spec.training.active_experts = active;
      const StageProgram program = lowered_with_link(spec);
      const double works = active * expert_parameters() / 4, owned = zero > 0 ? works / 2 : works;
      const Moved fetched = moved(program, program.prologue);
      EXPECT_EQ(fetched.calls, 7);
      EXPECT_NEAR(fetched.in, 2 * works, 1e-9 * works);
      const Moved epilogue = moved(program, program.epilogue);
      EXPECT_NEAR(epilogue.in, 12 * owned, 1e-9 * works);
      EXPECT_NEAR(epilogue.out, 12 * owned + 2 * works, 1e-9 * works);
    }
  }
}

TEST(HostOffload, ExpertsOnTheHostFreeDeviceMemory) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = 8;
  spec.plan.ep = 4;
  const auto budget = [&] {
    return stage_memory(spec, assign_layers(spec, plain_cluster()), cluster_with_link(), Stage{0},
                        std::vector<int>{1});
  };
  const MemoryBudget plain = budget();
  spec.training.offload_experts = true;
  spec.training.active_experts = 0.25;
  const MemoryBudget away = budget();
  const double experts = expert_parameters() / 4;
  EXPECT_NEAR(plain.parameters.value() - away.parameters.value(), 2 * 0.75 * experts, 1);
  EXPECT_NEAR(plain.gradients.value() - away.gradients.value(), 4 * 0.75 * experts, 1);
  // of two replicas; two parts of sixteen of the active quarter stay
  EXPECT_NEAR(plain.optimizer.value() - away.optimizer.value(), 12 * experts / 2 * (1 - 0.25 / 8),
              1);
  EXPECT_EQ(plain.activations.value(), away.activations.value());
}

// The products of fewer experts with more rows each: as many FLOPs, fewer weights to read.
TEST(HostOffload, TheWorkStaysWithFewerExperts) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = 4;
  spec.plan.ep = 4;
  const StageProgram plain = lowered_with_link(spec);
  spec.training.offload_experts = true;
  spec.training.active_experts = 0.5;
  const StageProgram away = lowered_with_link(spec);
  // but for norm and optimizer, which see the active experts only
  EXPECT_NEAR(away.executed_flops, plain.executed_flops, 1e-3 * plain.executed_flops);
  EXPECT_EQ(away.model_flops, plain.model_flops);
}

TEST(HostOffload, BringsTheOptimizerInPartsAndBack) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.zero = 0;
  spec.training.offload_optimizer = true;
  const StageProgram program = lowered_with_link(spec);
  const Moved epilogue = moved(program, program.epilogue);
  EXPECT_EQ(epilogue.calls, 32);
  EXPECT_DOUBLE_EQ(epilogue.in, epilogue.out);
  spec.training.offload_optimizer = false;
  const MemoryBudget budget = stage_memory(spec, assign_layers(spec, plain_cluster()),
                                           cluster_with_link(), Stage{0}, std::vector<int>{1});
  EXPECT_NEAR(epilogue.in, budget.optimizer.value(), 1e-9 * epilogue.in);
}

TEST(HostOffload, APartOfTheOptimizerMovesAndLeavesThatPart) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.zero = 0;
  const auto states = [&] {
    return stage_memory(spec, assign_layers(spec, plain_cluster()), cluster_with_link(), Stage{0},
                        std::vector<int>{1})
        .optimizer.value();
  };
  const double all = states();
  spec.training.offload_optimizer = true;
  const StageProgram whole = lowered_with_link(spec);
  spec.training.offload_optimizer_part = 0.25;
  const StageProgram part = lowered_with_link(spec);
  EXPECT_NEAR(moved(part, part.epilogue).in, 0.25 * moved(whole, whole.epilogue).in, 1);
  EXPECT_NEAR(part.executed_flops, whole.executed_flops, 1e-9 * whole.executed_flops);
  EXPECT_NEAR(states(), (0.75 + 0.25 * 2 / 16) * all, 1e-9 * all);
}

/// What the host works in a step by itself [s].
double host_work(const StageProgram& program, const Instructions& code) {
  double work = 0;
  for (const Instruction& i : code)
    if (const auto* run = std::get_if<Compute>(&i)) {
      const Segment& segment = program.segments[run->segment];
      if (segment.device_time() == 0) work += segment.matrix({}).main;
    }
  return work;
}

ClusterSpec cluster_with_host() {
  ClusterSpec cluster = cluster_with_link();
  cluster.host.devices_per_host = 8;
  cluster.host.memory_bandwidth = BytesPerSecond{400e9};
  cluster.host.memory_efficiency = 0.5;
  return cluster;
}

// Gradients of 4 bytes out, weights of 2 in, and 30 bytes of each parameter past 25 GB/s, an
// eighth of half of 400.
TEST(HostOffload, TheHostUpdatesWhatLivesThere) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.zero = 0;
  const StageProgram plain = lowered_with_link(spec);
  spec.training.offload_optimizer = true;
  const double states = moved(lowered_with_link(spec), lowered_with_link(spec).epilogue).in;
  spec.training.offload_update = TrainingSpec::OffloadUpdate::host;
  const StageProgram there = lowered_with_link(spec, cluster_with_host());
  const double parameters = states / 12;
  const Moved epilogue = moved(there, there.epilogue);
  EXPECT_EQ(epilogue.calls, 32);
  EXPECT_NEAR(epilogue.out, 4 * parameters, 1e-9 * states);
  EXPECT_NEAR(epilogue.in, 2 * parameters, 1e-9 * states);
  EXPECT_NEAR(host_work(there, there.epilogue), 30 * parameters / 25e9, 1e-9 * states / 25e9);
  EXPECT_NEAR(there.update_flops, plain.update_flops - 14 * parameters, 1e-6 * parameters);
  spec.runtime.host_speed = 0.125;  // of threads that issue, not of memory
  const StageProgram slow = lowered_with_link(spec, cluster_with_host());
  EXPECT_DOUBLE_EQ(host_work(slow, slow.epilogue), host_work(there, there.epilogue));
}

// Eighths of 16 GB/s read and 8 GB/s written, where the link has 50.
ClusterSpec cluster_with_drives() {
  ClusterSpec cluster = cluster_with_host();
  cluster.host.storage_read = BytesPerSecond{16e9};
  cluster.host.storage_write = BytesPerSecond{8e9};
  return cluster;
}

WorkloadSpec with_states_away() {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.zero = 0;
  spec.training.offload_optimizer = true;
  return spec;
}

TEST(HostOffload, DrivesAreTheNarrowestPartOfTheWay) {
  WorkloadSpec spec = with_states_away();
  const StageProgram memory = lowered_with_link(spec, cluster_with_drives());
  spec.training.offload_store = TrainingSpec::OffloadStore::storage;
  const StageProgram drives = lowered_with_link(spec, cluster_with_drives());
  const Moved held = moved(memory, memory.epilogue), stored = moved(drives, drives.epilogue);
  EXPECT_EQ(stored.in, held.in);
  EXPECT_EQ(stored.out, held.out);
  EXPECT_NEAR(held.seconds, 32 * 2e-6 + 2 * held.in / 50e9, 1e-9 * held.seconds);
  EXPECT_NEAR(stored.seconds, 32 * 2e-6 + stored.in / 2e9 + stored.out / 1e9,
              1e-9 * stored.seconds);
  ClusterSpec fast = cluster_with_drives();
  fast.host.storage_read = fast.host.storage_write = BytesPerSecond{400e9};
  const StageProgram wide = lowered_with_link(spec, fast);
  EXPECT_EQ(moved(wide, wide.epilogue).seconds, held.seconds);
}

// One part read before, one written behind, and in between the longest of reading, updating and
// writing: 12 bytes of a parameter at 2 and 1 GB/s, or 30 past 25.
TEST(HostOffload, TheHostUpdatesWhatItsDrivesBring) {
  WorkloadSpec spec = with_states_away();
  const StageProgram plain = lowered_with_link(spec);
  const double states = moved(plain, plain.epilogue).in, part = states / 16;
  spec.training.offload_update = TrainingSpec::OffloadUpdate::host;
  spec.training.offload_store = TrainingSpec::OffloadStore::storage;
  const auto work = [&](double read, double write) {
    ClusterSpec cluster = cluster_with_drives();
    cluster.host.storage_read = BytesPerSecond{8 * read};
    cluster.host.storage_write = BytesPerSecond{8 * write};
    const StageProgram program = lowered_with_link(spec, cluster);
    return host_work(program, program.epilogue);
  };
  const double update = part / 12 * 30 / 25e9;
  for (const auto& [read, write] : {std::pair{2e9, 1e9}, {1e9, 2e9}, {1e12, 1e12}}) {
    const double longest = std::max({part / read, update, part / write});
    const double expected = part / read + 15 * longest + update + part / write;
    EXPECT_NEAR(work(read, write), expected, 1e-9 * expected);
  }
}

// Of states on drives three parts of sixteen are in memory, of all eight devices of the host.
TEST(HostOffload, DrivesHoldTheStates) {
  WorkloadSpec spec = with_states_away();
  ClusterSpec cluster = cluster_with_drives();
  const auto budget = [&] {
    return stage_memory(spec, assign_layers(spec, plain_cluster()), cluster, Stage{0},
                        std::vector<int>{1});
  };
  const double states = budget().host.value();
  EXPECT_EQ(budget().storage.value(), 0);
  spec.training.offload_store = TrainingSpec::OffloadStore::storage;
  EXPECT_NEAR(budget().storage.value(), states, 1e-9 * states);
  EXPECT_NEAR(budget().host.value(), 3.0 / 16 * states, 1e-9 * states);
  cluster.host.storage_capacity = Bytes{1.001 * states};
  EXPECT_TRUE(budget().fits_host());
  cluster.host.storage_capacity = Bytes{0.999 * states};
  EXPECT_TRUE(budget().fits_memory());
  EXPECT_FALSE(budget().fits_storage());
  EXPECT_FALSE(budget().fits_host());
}

// Experts that live on the host and are updated there send gradients and fetch no states; where
// replicas tell each other what they updated, the weights pass by the device once.
TEST(HostOffload, ExpertsAreUpdatedWhereTheyLive) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = 8;
  spec.plan.ep = 4;
  spec.training.offload_experts = true;
  spec.training.active_experts = 0.5;
  spec.training.offload_update = TrainingSpec::OffloadUpdate::host;
  const double works = 0.5 * expert_parameters() / 4;
  for (const std::int64_t zero : {0, 1}) {
    spec.plan.zero = zero;
    const StageProgram program = lowered_with_link(spec, cluster_with_host());
    const double owned = zero > 0 ? works / 2 : works;
    const Moved epilogue = moved(program, program.epilogue);
    EXPECT_NEAR(moved(program, program.prologue).in, 2 * works, 1e-9 * works);
    EXPECT_NEAR(epilogue.out, 4 * owned + (zero > 0 ? 2 * works : 0), 1e-9 * works);
    EXPECT_NEAR(epilogue.in, zero > 0 ? 2 * owned : 0, 1e-9 * works);
  }
}

// All experts' states and weights, and half of the activations, eight times on a host of eight.
TEST(HostOffload, TheHostHoldsWhatIsOffloaded) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = 8;
  spec.plan.ep = 4;
  spec.training.offload_experts = true;
  spec.training.active_experts = 0.25;
  ClusterSpec cluster = cluster_with_host();
  const auto budget = [&] {
    return stage_memory(spec, assign_layers(spec, plain_cluster()), cluster, Stage{0},
                        std::vector<int>{3});
  };
  const double experts = expert_parameters() / 4, states = (2 + 12.0 / 2) * experts;
  EXPECT_NEAR(budget().host.value(), 8 * states, 1e-9 * states);
  EXPECT_TRUE(budget().fits_host());
  cluster.host.memory_capacity = Bytes{8 * states * 1.001};
  EXPECT_TRUE(budget().fits_host());
  cluster.host.memory_capacity = Bytes{8 * states * 0.999};
  EXPECT_FALSE(budget().fits_host());
  EXPECT_FALSE(budget().fits());
  spec.training.offload_experts = false;
  spec.training.active_experts = 1;
  spec.training.offload_activations = 0.5;
  double layers = 0;
  for (const bool moe : {false, true})
    layers +=
        (moe ? 7 : 1) *
        layer_activations(spec, moe, TrainingSpec::Recompute::none, SoftmaxState::wide).value();
  EXPECT_NEAR(budget().host.value(), 8 * 3 * 0.5 * layers, 1e-9 * layers);
}

TEST(HostOffload, EveryTransferIsAwaitedAndTheWorkStays) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = any_workload();
    const StageProgram plain = lowered_with_link(spec);
    spec.training.offload_activations = *rc::gen::element(0.0, 0.5, 1.0);
    spec.training.offload_optimizer = *rc::gen::arbitrary<bool>();
    spec.training.offload_experts = spec.plan.zero < 3 && *rc::gen::arbitrary<bool>();
    const StageProgram program = lowered_with_link(spec);
    RC_ASSERT(program.model_flops == plain.model_flops);
    for (std::size_t c = 0; c < program.chunks.size(); ++c) {
      const ChunkProgram& chunk = program.chunks[c];
      // sums of the same bytes in another order
      const auto alike = [](double a, double b) { return std::abs(a - b) <= 1e-12 * a; };
      RC_ASSERT(alike(moved(program, chunk.forward).out, moved(program, chunk.backward).in));
      RC_ASSERT(alike(moved(program, chunk.first_forward).out, moved(program, chunk.forward).out));
      RC_ASSERT(alike(moved(program, chunk.last_backward).in, moved(program, chunk.backward).in));
      std::set<std::uint32_t> open;
      for (const Instruction& i : chunk.backward) {
        const auto* start = std::get_if<Communicate>(&i);
        if (start && program.calls[start->call].over_host_link()) open.insert(start->slot);
        if (const auto* wait = std::get_if<Wait>(&i)) open.erase(wait->slot);
      }
      RC_ASSERT(open.empty());
    }
    check_slots(program, step(program, 2));
  }));
}

TEST(HostOffload, FreesDeviceMemory) {
  WorkloadSpec spec = workload(small_dense());
  const auto budget = [&] {
    return stage_memory(spec, assign_layers(spec, plain_cluster()), cluster_with_link(), Stage{0},
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
