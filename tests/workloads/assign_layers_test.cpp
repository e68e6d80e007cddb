#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/operator_time.hpp"
#include "stepcast/workloads/rewrites.hpp"

namespace stepcast {
namespace {

using namespace lowering;

double time(const LayerItems& items) {
  double sum = 0;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item))
      sum += operator_time(*op, plain_device(), false).value();
  return sum;
}

double time(const Passes& passes, const WorkloadSpec& spec) {
  const DeviceSpec device = plain_device();
  return time(as_run(passes.forward, spec, device)) + time(as_run(passes.backward, spec, device));
}

// The split looks at the operators of the pieces and at nothing else.
TEST(AssignLayers, TimesAreThoseOfTheOperators) {
  for (const ModelSpec& model : {small_dense(), small_moe(), small_latent()}) {
    const WorkloadSpec spec = workload(model);
    const LayerContext context = lowering::context(spec);
    const LayerTimes times = layer_times(spec, plain_cluster());
    ASSERT_EQ(times.prefix.size(), static_cast<std::size_t>(spec.model.layers) + 1);
    for (std::int64_t i = 0; i < spec.model.layers; ++i) {
      const LayerKind kind = spec.model.is_moe_layer(i) ? LayerKind::moe : LayerKind::dense;
      const auto at = static_cast<std::size_t>(i);
      EXPECT_NEAR(times.prefix[at + 1] - times.prefix[at],
                  time(transformer_layer(context, kind), spec), 1e-9 * times.prefix.back());
    }
    double after = time(head(context), spec);
    if (spec.model.mtp_layers > 0)
      after += static_cast<double>(spec.model.mtp_layers) * time(mtp_module(context), spec);
    EXPECT_DOUBLE_EQ(times.before, time(embedding(context), spec));
    EXPECT_NEAR(times.after, after, 1e-12 * after);
  }
}

struct Issued {
  double host = 0, device = 0;  ///< of the busier thread; of kernels with their starts
};

/// Of forward and backward.
Issued issued_of(const StageProgram& program) {
  double main = 0, worker = 0, device = 0;
  for (const Instructions* code : {&program.chunks[0].forward, &program.chunks[0].backward})
    for (const Instruction& instruction : *code)
      if (const auto* run = std::get_if<Compute>(&instruction))
        for (const OperatorCost& cost : program.segments[run->segment].operators()) {
          main += cost.main;
          worker += cost.worker;
          device += cost.device;
        }
  return {std::max(main, worker), device};
}

// One layer more takes the host what the program says that it issues for it, less what kernels wait
// for their start meanwhile.
TEST(AssignLayers, HostTimesAreThoseOfThePrograms) {
  const ClusterSpec cluster = plain_cluster();
  using enum RuntimeSpec::Dispatch;
  for (const auto dispatch : {eager, task_queue, graph_sink}) {
    WorkloadSpec spec = workload(small_dense());
    spec.runtime.dispatch = dispatch;
    spec.runtime.host_speed = 0.25;
    const auto issued = [&](std::int64_t layers) {
      spec.model.layers = layers;
      return issued_of(lower_stage(spec, assign_layers(spec, cluster), cluster, Stage{0}));
    };
    const Issued one = issued(1), two = issued(2);
    const LayerTimes times = layer_times(spec, cluster);
    const double host = two.host - one.host;
    const double starts = two.device - one.device - times.prefix[1];
    EXPECT_GT(host, starts);
    EXPECT_NEAR(times.host.prefix[1], host - starts, 1e-9 * host);
  }
}

// What the device waits for hides as much of the host.
TEST(AssignLayers, ExposedCommunicationHidesTheHost) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.tp = 4;
  ClusterSpec cluster = plain_cluster();
  cluster.node_devices = 4;
  const auto host = [&](double bandwidth) {
    cluster.node_fabric = SwitchFabric{{BytesPerSecond{bandwidth}, Seconds{0}}, 1};
    return layer_times(spec, cluster).host.prefix[1];
  };
  EXPECT_LT(host(100e9), host(400e9));
  EXPECT_EQ(host(1e9), 0);
}

// A host that waits for each launch adds to the device what it takes itself.
TEST(AssignLayers, AHostThatBlocksAddsToTheDevice) {
  const WorkloadSpec spec = workload(small_dense());
  ClusterSpec cluster = plain_cluster();
  const LayerTimes apart = layer_times(spec, cluster);
  cluster.host.queue_depth = 1;
  const LayerTimes times = layer_times(spec, cluster);
  EXPECT_GT(times.prefix.back(), apart.prefix.back() + apart.host.prefix.back());
  EXPECT_EQ(times.host.prefix.back(), times.prefix.back());
}

// Where the host waits for the device in a pass, it is not ahead of the next one: the device has
// what the host takes of that pass, and its own of the others.
TEST(AssignLayers, AHostThatReadsBackTakesTheLongerPassByPass) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = spec.plan.ep = 4;  // whose ranks announce what they send
  const auto layer = [&](double host_speed) {
    spec.runtime.host_speed = host_speed;
    const LayerTimes times = layer_times(spec, plain_cluster());
    return times.prefix.back() - times.prefix[times.prefix.size() - 2];
  };
  const double fast = layer(1e3), slow = layer(1e-3);
  EXPECT_GT(slow, 2 * fast);
  EXPECT_NEAR(layer(0.25e-3) - layer(0.5e-3), 2 * (layer(0.5e-3) - slow), 1e-9 * layer(0.25e-3));
  spec.runtime.dispatch = RuntimeSpec::Dispatch::graph_sink;  // which reads nothing back
  EXPECT_DOUBLE_EQ(layer(1e-3), fast);
}

TEST(AssignLayers, EveryLayerIsOnceAndInOrder) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = workload(small_latent());
    spec.model.layers = *rc::gen::inRange(1, 40);
    spec.plan.pp = *rc::gen::inRange(1, 9);
    spec.plan.vpp = *rc::gen::inRange(1, 4);
    const LayerTable table = assign_layers(spec, plain_cluster());
    RC_ASSERT(table.slices.size() == static_cast<std::size_t>(spec.plan.vpp));
    std::int64_t next = 0;
    for (const auto& row : table.slices) {
      RC_ASSERT(row.size() == static_cast<std::size_t>(spec.plan.pp));
      for (const auto& slice : row) {
        RC_ASSERT(slice.first == next);
        RC_ASSERT(slice.count >= (spec.model.layers >= spec.plan.pp * spec.plan.vpp ? 1 : 0));
        next += slice.count;
      }
    }
    RC_ASSERT(next == spec.model.layers);
    RC_ASSERT(table.slices.front().front().embedding);
    RC_ASSERT(table.slices.back().back().head);
    RC_ASSERT(table.slices.back().back().mtp == 1);
  }));
}

TEST(AssignLayers, FollowsTheTable) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.pp = 2;
  spec.plan.vpp = 2;
  spec.plan.layers = ParallelPlan::Layers::table;
  spec.plan.layers_per_chunk = {{3, 2}, {2, 1}};
  const LayerTable table = assign_layers(spec, plain_cluster());
  EXPECT_EQ(table.slices[0][1].first, 3);
  EXPECT_EQ(table.slices[1][0].first, 5);
  EXPECT_EQ(table.slices[1][1].count, 1);
}

TEST(AssignLayers, EvenGivesTheFirstChunksTheRest) {
  WorkloadSpec spec = workload(small_dense());
  spec.model.layers = 10;
  spec.plan.pp = 2;
  spec.plan.vpp = 2;
  spec.plan.layers = ParallelPlan::Layers::even;
  const LayerTable table = assign_layers(spec, plain_cluster());
  EXPECT_EQ(table.slices[0][0].count, 3);
  EXPECT_EQ(table.slices[0][1].count, 3);
  EXPECT_EQ(table.slices[1][0].first, 6);
  EXPECT_EQ(table.slices[1][0].count, 2);
  EXPECT_EQ(table.slices[1][1].count, 2);
}

TEST(AssignLayers, IdealDeviceBalancesCounts) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.pp = 4;
  ClusterSpec cluster = plain_cluster();
  DeviceSpec& device = cluster.device;
  device.matmul_peak = device.vector_peak = FlopsPerSecond{std::numeric_limits<double>::infinity()};
  device.memory_bandwidth = BytesPerSecond{std::numeric_limits<double>::infinity()};
  const LayerTable table = assign_layers(spec, cluster);
  for (const auto& slice : table.slices[0]) EXPECT_EQ(slice.count, 2);
}

// The layers of a pipeline follow each other whatever seat holds them, and each pipeline holds all.
TEST(AssignLayers, FollowThePlacementOfChunks) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = workload(small_dense());
    spec.plan.pp = *rc::gen::element(1, 2, 4);
    spec.plan.vpp = 2;
    spec.plan.chunk_placement = *rc::gen::element(ChunkPlacement::loop, ChunkPlacement::v_shape,
                                                  ChunkPlacement::bidirectional);
    spec.plan.layers =
        *rc::gen::element(ParallelPlan::Layers::automatic, ParallelPlan::Layers::even);
    const LayerTable table = assign_layers(spec, plain_cluster());
    const ChunkMap map = spec.plan.chunk_map();
    for (std::uint32_t first = 0; first < static_cast<std::uint32_t>(map.copies()); ++first) {
      std::optional<Seat> seat =
          first == 0 ? Seat{} : Seat{{1}, {static_cast<std::uint32_t>(spec.plan.pp - 1)}};
      std::int64_t next = 0, place = 0;
      for (; seat; seat = map.after(*seat), ++place) {
        const auto& slice = table.slices[seat->chunk.value][seat->stage.value];
        RC_ASSERT(map.virtual_stage(*seat) == place);
        RC_ASSERT(slice.first == next);
        RC_ASSERT(slice.embedding == (place == 0));
        RC_ASSERT(slice.head == !map.after(*seat));
        next += slice.count;
      }
      RC_ASSERT(next == spec.model.layers);
      RC_ASSERT(place == map.virtual_stages());
    }
  }));
}

}  // namespace
}  // namespace stepcast
