#include "stepcast/workloads/operator_table.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "operator_rows.hpp"
#include "stepcast/workloads/operator_forecast.hpp"
#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {
namespace {

using lowering::plain_cluster;

ClusterSpec one_node() {
  ClusterSpec cluster = plain_cluster();
  cluster.device.matmul_peak_fp8 = FlopsPerSecond{600e12};
  cluster.node_fabric = SwitchFabric{{BytesPerSecond{100e9}, Seconds{1e-6}}, 0.5};
  cluster.collectives.library = CollectiveLibrarySpec::Library::nccl;
  return cluster;
}

OperatorRequest request(const char* kind, KernelShape shape, std::int64_t ranks = 1) {
  return {find_operator_kind(kind), shape, ranks};
}

std::vector<Operator> kernels(const char* kind, const KernelShape& shape) {
  return find_operator_kind(kind)->kernels(shape);
}

TEST(OperatorTable, NamesAreUniqueAndKindsWhole) {
  std::set<std::string_view> names;
  for (const OperatorKind& kind : operator_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_EQ(find_operator_kind(kind.name), &kind);
    EXPECT_FALSE(kind.types.empty()) << kind.name;
    EXPECT_FALSE(kind.sizes.empty()) << kind.name;
    EXPECT_EQ(kind.kernels == nullptr, kind.of == OperatorClass::collective) << kind.name;
  }
  EXPECT_EQ(find_operator_kind("residual"), find_operator_kind("residual_add"));
  EXPECT_EQ(find_operator_kind("matmull"), nullptr);
}

TEST(OperatorTable, WorkOfEachKind) {
  const struct {
    const char* kind;
    KernelShape shape;
    double flops, bytes;
  } rows[] = {
      {"matmul", {.m = 3, .k = 5, .n = 7}, 2 * 3 * 5 * 7, 2 * (15 + 35 + 21)},
      {"matmul", {.m = 3, .k = 5, .n = 7, .type = ElementType::fp8}, 210, 15 + 35 + 2 * 21},
      {"grouped_matmul", {.m = 3, .k = 5, .n = 7, .groups = 4}, 4 * 210, 4 * 142},
      {"rms_norm", {.m = 4, .n = 8}, 4 * 32, 4 * 32},
      {"layer_norm", {.m = 4, .n = 8}, 7 * 32, 4 * 32},
      {"norm_backward", {.m = 4, .n = 8}, 8 * 32, 8 * 32},
      {"silu_and_mul", {.m = 4, .n = 8}, 6 * 32, 6 * 32},
      {"gelu", {.m = 4, .n = 8}, 8 * 32, 4 * 32},
      {"residual_add", {.m = 4, .n = 8}, 32, 6 * 32},
      {"permute", {.m = 4, .n = 8}, 0, 4 * 32},
      {"optimizer", {.m = 100}, 1400, 3000},
  };
  for (const auto& row : rows) {
    const std::vector<Operator> found = kernels(row.kind, row.shape);
    ASSERT_EQ(found.size(), 1U) << row.kind;
    EXPECT_EQ(found[0].flops.value(), row.flops) << row.kind;
    EXPECT_EQ(found[0].bytes.value(), row.bytes) << row.kind;
  }
}

/// The kernel that stands alone is the one that a layer runs.
TEST(OperatorTable, AttentionIsThatOfALayer) {
  ModelSpec model = lowering::small_dense();
  model.attention = GroupedQueryAttention{16, 16, 64};
  WorkloadSpec spec = lowering::workload(model);
  spec.training.micro_batch = 3;
  const Passes layer = transformer_layer(lowering::context(spec), LayerKind::dense);
  const KernelShape shape{.heads = 16, .head_size = 64, .sequence = 2048, .batch = 3};
  const auto compare = [&](const LayerItems& items, const char* kind) {
    const Operator own = kernels(kind, shape).front();
    int seen = 0;
    for (const LayerItem& item : items) {
      const auto* op = std::get_if<Operator>(&item);
      if (op == nullptr || op->name != own.name) continue;
      ++seen;
      EXPECT_EQ(op->flops.value(), own.flops.value());
      EXPECT_EQ(op->bytes.value(), own.bytes.value());
      const DeviceSpec device = lowering::plain_device();
      EXPECT_EQ(operator_time(*op, device, false), operator_time(own, device, false));
    }
    EXPECT_EQ(seen, 1) << kind;
  };
  compare(layer.forward, "attention_forward");
  compare(layer.backward, "attention_backward");
}

TEST(OperatorTable, BothPassesAddUpAndAMaskHalves) {
  const OperatorForecaster device{one_node()};
  KernelShape shape{.heads = 16, .head_size = 128, .sequence = 8192, .batch = 2};
  const auto time = [&](const char* kind) { return device.time(request(kind, shape)).value(); };
  EXPECT_EQ(time("attention_forward_backward"),
            time("attention_forward") + time("attention_backward"));
  const double masked = kernels("attention_forward", shape)[0].flops.value();
  shape.causal = false;
  EXPECT_EQ(kernels("attention_forward", shape)[0].flops.value(), 2 * masked);
}

TEST(OperatorForecast, BoundIsWhatTheTimeFollows) {
  ClusterSpec cluster = one_node();
  const auto bound = [&](const OperatorRequest& r) {
    return OperatorForecaster{cluster}.forecast(r).bound;
  };
  const OperatorRequest large = request("matmul", {.m = 8192, .k = 8192, .n = 8192});
  EXPECT_EQ(bound(large), OperatorBound::compute);
  EXPECT_EQ(bound(request("matmul", {.m = 1, .k = 8192, .n = 8192})), OperatorBound::memory);
  EXPECT_EQ(bound(request("residual_add", {.m = 8192, .n = 8192})), OperatorBound::memory);
  cluster.device.vector_peak = FlopsPerSecond{1e9};
  EXPECT_EQ(bound(request("gelu", {.m = 8192, .n = 8192})), OperatorBound::vector);
}

TEST(OperatorForecast, FullWavesOnAPlainDeviceAreEfficient) {
  const OperatorForecaster device{one_node()};
  KernelShape shape{.m = 128 * 24, .k = 65536, .n = 256};
  const OperatorForecast bf16 = device.forecast(request("matmul", shape));
  EXPECT_NEAR(bf16.time.value(), bf16.flops.value() / 300e12, 1e-12 * bf16.time.value());
  EXPECT_NEAR(bf16.efficiency, 1, 1e-12);
  EXPECT_EQ(bf16.launch.value(), 3e-6);
  shape.type = ElementType::fp8;
  const OperatorForecast fp8 = device.forecast(request("matmul", shape));
  EXPECT_NEAR(fp8.time.value(), bf16.time.value() / 2, 1e-12);
  EXPECT_NEAR(fp8.efficiency, 1, 1e-12);
}

TEST(OperatorForecast, ALargeTransferIsBoundByItsLink) {
  const OperatorForecaster node{one_node()};
  const OperatorForecast sent = node.forecast(request("send_recv", {.m = 1e9}, 2));
  // latency 1 us, half of 100 GB/s; its launch of 5 us stands beside it
  EXPECT_NEAR(sent.time.value(), 1e-6 + 1e9 / 50e9, 1e-12);
  EXPECT_EQ(sent.launch.value(), 5e-6);
  EXPECT_EQ(sent.bound, OperatorBound::link);
  EXPECT_NEAR(sent.efficiency, 1e9 / 100e9 / sent.time.value(), 1e-9);
  EXPECT_EQ(node.forecast(request("send_recv", {.m = 8}, 2)).bound, OperatorBound::latency);
}

/// Kernels of an inference library are told apart from those of training.
TEST(OperatorForecast, KernelsOfOneKindReachTheirPartOfTheMemory) {
  ClusterSpec cluster = one_node();
  MemoryEfficiency& memory = cluster.device.efficiency.memory;
  memory.norm = 0.5;
  memory.block_norm = 0.25;
  memory.gather = 0.2;
  const OperatorForecaster device{cluster};
  const auto efficiency = [&](const char* kind) {
    return device.forecast(request(kind, {.m = 8192, .n = 8192})).efficiency;
  };
  EXPECT_NEAR(efficiency("norm"), 0.5, 1e-12);
  EXPECT_NEAR(efficiency("rms_norm"), 0.25, 1e-12);
  EXPECT_NEAR(efficiency("permute"), 0.2, 1e-12);
  EXPECT_NEAR(efficiency("residual_add"), 1, 1e-12);
}

TEST(OperatorForecast, CollectivesAreThoseOfThePlan) {
  const OperatorForecaster node{one_node()};
  const Fabric fabric{one_node()};
  for (const OperatorKind& kind : operator_kinds()) {
    if (!kind.collective) continue;
    std::vector<DeviceId> members{DeviceId{0}, DeviceId{1}};
    if (*kind.collective != CollectiveKind::send_recv)
      members.insert(members.end(), {DeviceId{2}, DeviceId{3}});
    const auto ranks = static_cast<std::int64_t>(members.size());
    const CollectiveCall call{*kind.collective, Bytes{64e6}};
    const Seconds alone = lone_time(fabric, plan_collective(fabric, members, call, "auto"));
    EXPECT_EQ(node.time({&kind, {.m = 64e6}, ranks}).value(), alone.value()) << kind.name;
  }
  EXPECT_EQ(node.most_ranks(), 8);
}

/// A ring passes on 2(p-1)/p of its bytes, at half of the data sheet here.
TEST(OperatorForecast, ALargeAllReduceIsBoundByItsLinks) {
  const OperatorForecaster node{one_node()};
  const OperatorForecast ring = node.forecast(request("all_reduce", {.m = 8e9}, 8));
  EXPECT_EQ(ring.bound, OperatorBound::link);
  EXPECT_NEAR(ring.efficiency, 1.75 * 8e9 / 100e9 / ring.time.value(), 1e-9);
  EXPECT_LE(ring.efficiency, 0.5);
  EXPECT_EQ(node.forecast(request("all_reduce", {.m = 8}, 8)).bound, OperatorBound::latency);
}

TEST(OperatorForecast, LargerKernelsTakeNoLess) {
  const OperatorForecaster device{one_node()};
  EXPECT_TRUE(rc::check([&] {
    const auto size = [] { return static_cast<double>(*rc::gen::inRange(1, 5000)); };
    const auto kind = *rc::gen::elementOf(
        std::vector<std::string>{"matmul", "grouped_matmul", "gelu", "rms_norm", "permute"});
    KernelShape shape{.m = size(), .k = size(), .n = size(), .groups = 3};
    const double before = device.time(request(kind.c_str(), shape)).value();
    RC_ASSERT(before > 0);
    shape.m += size();
    RC_ASSERT(device.time(request(kind.c_str(), shape)).value() >= before);
  }));
}

}  // namespace
}  // namespace stepcast
