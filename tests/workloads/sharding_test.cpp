#include <gtest/gtest.h>

#include "lowered_steps.hpp"
#include "stepcast/workloads/memory.hpp"
#include "stepcast/workloads/states.hpp"

// What data ranks share out: in groups, with second copies, and with gathers of one byte.
// docs/models/data_parallel.md.
namespace stepcast {
namespace {

using namespace lowering;

/// Bytes of all calls of a group in a step of three micro-batches.
double bytes_of(const StageProgram& program, GroupKind group, CollectiveKind kind) {
  double sum = 0;
  for (const Instruction& instruction : step(program, 3))
    if (const auto* call = std::get_if<Communicate>(&instruction)) {
      const StageCall& target = program.calls[call->call];
      if (target.group == group && target.call.kind == kind) sum += target.call.bytes.value();
    }
  return sum;
}

WorkloadSpec sharded(const ModelSpec& model, std::int64_t zero, std::int64_t replicate) {
  WorkloadSpec spec = workload(model);
  spec.plan.dp = 8;
  spec.plan.zero = zero;
  spec.plan.dp_replicate = replicate;
  spec.communication.bucket = 4000000;
  return spec;
}

MemoryBudget memory(const WorkloadSpec& spec) {
  const ClusterSpec cluster = plain_cluster();
  return stage_memory(spec, assign_layers(spec, cluster), cluster, Stage{0},
                      std::vector<int>(static_cast<std::size_t>(spec.plan.vpp), 1));
}

TEST(Sharding, GroupsGatherAndScatterInsideAndSumAcross) {
  for (const bool overlap : {true, false})
    for (const std::int64_t zero : {1, 2, 3}) {
      WorkloadSpec spec = sharded(small_dense(), zero, 2);
      spec.communication.gradient_overlap = overlap;
      const double parameters = count_parameters(spec.model).total;
      const StageProgram program = lower_all(spec)[0];
      const double reductions = zero == 1 ? 1 : 3, gathers = zero == 3 ? 6 : 1;
      EXPECT_NEAR(bytes_of(program, GroupKind::dense_shard, CollectiveKind::reduce_scatter),
                  reductions * 4 * parameters, 10);
      EXPECT_NEAR(bytes_of(program, GroupKind::dense_replica, CollectiveKind::all_reduce),
                  reductions * 4 * parameters / 4, 10);
      EXPECT_NEAR(bytes_of(program, GroupKind::dense_shard, CollectiveKind::all_gather),
                  gathers * 2 * parameters, 10);
      for (const CollectiveKind kind :
           {CollectiveKind::reduce_scatter, CollectiveKind::all_reduce, CollectiveKind::all_gather})
        EXPECT_EQ(bytes_of(program, GroupKind::dense_data, kind), 0);
    }
}

TEST(Sharding, ExpertsOfOneReplicaPerGroupAreOnlySummedAcross) {
  WorkloadSpec spec = sharded(small_moe(), 1, 2);
  spec.plan.ep = 4;  // two replicas of each expert, one in each group
  const double experts = 7 * 16 * 3.0 * 1024 * 512 / 4;
  const StageProgram program = lower_all(spec)[0];
  EXPECT_EQ(bytes_of(program, GroupKind::expert_shard, CollectiveKind::reduce_scatter), 0);
  EXPECT_EQ(bytes_of(program, GroupKind::expert_shard, CollectiveKind::all_gather), 0);
  EXPECT_NEAR(bytes_of(program, GroupKind::expert_replica, CollectiveKind::all_reduce), 4 * experts,
              10);
}

TEST(Sharding, StatesAreThoseOfOneGroup) {
  for (const std::int64_t zero : {1, 2, 3}) {
    const MemoryBudget groups = memory(sharded(small_dense(), zero, 2));
    WorkloadSpec one = sharded(small_dense(), zero, 1);
    one.plan.dp = 4;
    const MemoryBudget alone = memory(one);
    EXPECT_EQ(groups.parameters, alone.parameters);
    EXPECT_EQ(groups.gradients, alone.gradients);
    EXPECT_EQ(groups.optimizer, alone.optimizer);
  }
}

TEST(Sharding, BackwardsGatherFromTheSecondCopy) {
  WorkloadSpec spec = sharded(small_dense(), 3, 1);
  const MemoryBudget before = memory(spec);
  spec.plan.hpz = 2;
  const double parameters = count_parameters(spec.model).total;
  const StageProgram program = lower_all(spec)[0];
  for (const GroupKind group : {GroupKind::dense_data, GroupKind::dense_shard})
    EXPECT_NEAR(bytes_of(program, group, CollectiveKind::all_gather), 3 * 2 * parameters, 10);
  EXPECT_NEAR(bytes_of(program, GroupKind::dense_data, CollectiveKind::reduce_scatter),
              3 * 4 * parameters, 10);
  const MemoryBudget with = memory(spec);
  EXPECT_NEAR(with.parameters.value() - before.parameters.value(), 2 * parameters / 2, 1);
  EXPECT_EQ(with.optimizer, before.optimizer);
}

/// Weights of products of the dense fixture: all but the table, the head and the norms.
double products(const ModelSpec& model) {
  const ParameterCount count = count_parameters(model);
  return static_cast<double>(model.layers) *
         (count.attention_per_layer + count.dense_ffn_per_layer);
}

TEST(Sharding, WeightsOfProductsAreGatheredAndKeptInOneByte) {
  for (const std::int64_t zero : {1, 2, 3}) {
    WorkloadSpec spec = sharded(small_dense(), zero, 1);
    spec.training.precision = TrainingSpec::Precision::fp8_mixed;
    const auto gathered = [&] {
      return bytes_of(lower_all(spec)[0], GroupKind::dense_data, CollectiveKind::all_gather);
    };
    const double wide = gathered();
    const MemoryBudget before = memory(spec);
    spec.communication.gather_precision = CommunicationSpec::GatherPrecision::fp8;
    const double times = zero == 3 ? 6 : 1;
    EXPECT_NEAR(wide - gathered(), times * products(spec.model), 10);
    const MemoryBudget with = memory(spec);
    const double saved = zero == 3 ? 0 : products(spec.model);
    EXPECT_NEAR((before.parameters - with.parameters).value(), saved, 10);
    const double parameters = count_parameters(spec.model).total;
    EXPECT_EQ(states_of(spec).parameters.value(), 2 * parameters - saved);
    const double layer = products(spec.model) / static_cast<double>(spec.model.layers);
    EXPECT_NEAR((before.buffers - with.buffers).value(), zero == 3 ? 2 * layer : 0, 10);
  }
}

TEST(Sharding, ExpertsAreGatheredInOneByteTheirRouterIsNot) {
  WorkloadSpec spec = sharded(small_moe(), 1, 1);
  const auto gathered = [&](GroupKind group) {
    return bytes_of(lower_all(spec)[0], group, CollectiveKind::all_gather);
  };
  const double experts = gathered(GroupKind::expert_data), dense = gathered(GroupKind::dense_data);
  spec.communication.gather_precision = CommunicationSpec::GatherPrecision::fp8;
  EXPECT_DOUBLE_EQ(gathered(GroupKind::expert_data), experts / 2);
  const ParameterCount count = count_parameters(spec.model);
  const double plain = static_cast<double>(spec.model.layers) * count.attention_per_layer +
                       count.dense_ffn_per_layer +  // its first layer has no experts
                       7 * 3.0 * 1024 * 1024;       // the others have a shared one
  EXPECT_NEAR(dense - gathered(GroupKind::dense_data), plain, 10);
}

}  // namespace
}  // namespace stepcast
