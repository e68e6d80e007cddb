#include <gtest/gtest.h>

#include <algorithm>

#include "replicated_steps.hpp"

/// What goes between replicas where it is not a buffer of half-precision parameters.
namespace stepcast {
namespace {

using namespace lowering;

TEST(Lower, StoredWeightsAreGatheredInFp32) {
  WorkloadSpec spec = replicated(1, true);
  const auto gathered = [](const StageProgram& p) {
    return bytes_of(p, p.prologue, GroupKind::dense_data, CollectiveKind::all_gather);
  };
  const double half = gathered(lower_all(spec)[0]);
  spec.training.master_weights = TrainingSpec::MasterWeights::stored;
  EXPECT_GT(half, 0);
  EXPECT_NEAR(gathered(lower_all(spec)[0]), 2 * half, 1);
}

/// Calls of a kind in the group of dense replicas.
double calls_of(const StageProgram& program, const Instructions& code, CollectiveKind kind) {
  return static_cast<double>(std::ranges::count_if(code, [&](const Instruction& instruction) {
    const auto* call = std::get_if<Communicate>(&instruction);
    return call != nullptr && program.calls[call->call].group == GroupKind::dense_data &&
           program.calls[call->call].call.kind == kind;
  }));
}

TEST(Lower, OwnersBroadcastWholeTensorsAndReduceAllGradients) {
  for (const std::int64_t ranks : {4, 128}) {
    WorkloadSpec spec = replicated(1, true);
    spec.plan.dp = ranks;
    spec.communication.gather_overlap = false;
    spec.communication.exchange = CommunicationSpec::Exchange::broadcast;
    const double parameters = count_parameters(spec.model).total;
    const StageProgram program = lower_all(spec)[0];
    const Instructions code = step(program, 3);
    const auto bytes = [&](CollectiveKind kind) {
      return bytes_of(program, code, GroupKind::dense_data, kind);
    };
    EXPECT_NEAR(bytes(CollectiveKind::all_reduce), 4 * parameters, 1);
    EXPECT_EQ(bytes(CollectiveKind::reduce_scatter) + bytes(CollectiveKind::all_gather), 0);
    EXPECT_NEAR(bytes(CollectiveKind::broadcast), 2 * parameters, 1);
    // seven tensors in each of eight layers, the embedding, and the head with its norm
    EXPECT_EQ(calls_of(program, program.epilogue, CollectiveKind::broadcast),
              std::min(static_cast<double>(ranks), 8 * 7 + 1 + 2.0));
  }
}

TEST(Lower, TheLargestTensorGoesToWhoOwnsLeast) {
  WorkloadSpec spec = replicated(1, true);
  spec.plan.dp = 4;
  spec.model.vocabulary = 1'000'000;  // two tables, and layers with less than one of them
  spec.communication.gather_overlap = false;
  spec.communication.exchange = CommunicationSpec::Exchange::broadcast;
  const StageProgram program = lower_all(spec)[0];
  std::vector<double> owned;
  for (const Instruction& instruction : program.epilogue)
    if (const auto* call = std::get_if<Communicate>(&instruction))
      if (program.calls[call->call].call.kind == CollectiveKind::broadcast)
        owned.push_back(program.calls[call->call].call.bytes.value());
  const double table = 2 * 1e6 * static_cast<double>(spec.model.hidden);
  const double layers = 2 * count_parameters(spec.model).total - 2 * table;
  ASSERT_EQ(owned.size(), 4);
  EXPECT_DOUBLE_EQ(owned[0], table);
  EXPECT_DOUBLE_EQ(owned[1], table);
  EXPECT_NEAR(owned[2] + owned[3], layers, 1);
  EXPECT_NEAR(owned[2], owned[3], layers / 20);
}

/// Of a step with two micro-batches by lists: bytes gathered, over those of buffers.
double gathered_by_lists(WorkloadSpec spec) {
  const auto bytes = [&] {
    const StageProgram program = lower_all(spec)[0];
    return bytes_of(program, step(program, 2), GroupKind::dense_data, CollectiveKind::all_gather);
  };
  const double buffers = bytes();
  spec.communication.exchange = CommunicationSpec::Exchange::lists;
  return bytes() / buffers;
}

TEST(Lower, ListsGatherMatrixByMatrixWhatIsNotReadAgainSoon) {
  WorkloadSpec spec = replicated(3, true);
  EXPECT_NEAR(gathered_by_lists(spec), 1, 1e-12);
  spec.training.recompute = TrainingSpec::Recompute::full;  // small layers are kept
  EXPECT_NEAR(gathered_by_lists(spec), 1, 1e-12);
  spec.model.hidden = 16384;
  spec.model.attention = GroupedQueryAttention{128, 128, 128};
  spec.model.ffn = {FeedForwardSpec::Kind::gelu, 65536};
  spec.model.vocabulary = 1000;  // in a layer 3, 1, 4 and 4 parts; all but the last come once more
  EXPECT_NEAR(gathered_by_lists(spec), (2 + 8.0 / 12) / 2, 1e-3);
}

TEST(Lower, TheHostWaitsAndMakesPartsBeforeItGathersAList) {
  WorkloadSpec spec = replicated(3, true);
  spec.communication.exchange = CommunicationSpec::Exchange::lists;
  const StageProgram program = lower_all(spec)[0];
  const Instructions& forward = program.chunks[0].forward;
  EXPECT_EQ(calls_of(program, forward, CollectiveKind::all_gather), 8 * 4 + 2);
  const Instructions& backward = program.chunks[0].backward;
  EXPECT_EQ(calls_of(program, backward, CollectiveKind::reduce_scatter), 8 * 4 + 2);
  for (std::size_t i = 1; i < forward.size(); ++i) {
    const auto* call = std::get_if<Communicate>(&forward[i]);
    if (call == nullptr || program.calls[call->call].group != GroupKind::dense_data) continue;
    ASSERT_TRUE(std::holds_alternative<Compute>(forward[i - 1]));
    EXPECT_EQ(program.segments[std::get<Compute>(forward[i - 1]).segment].device_time(), 0);
  }
  const auto waits = [](const Instruction& i) { return std::holds_alternative<HostSync>(i); };
  EXPECT_EQ(std::ranges::count_if(forward, waits), 8 + 2);  // layers, embedding and head
}

/// Host time behind the last unit, of launches of 5 us and statements of 2 us [s].
double host_at_the_end(const WorkloadSpec& spec) {
  ClusterSpec cluster = plain_cluster();
  cluster.host.library_launch = Seconds{5e-6};
  cluster.host.library_launch_given = true;
  cluster.host.statement = Seconds{2e-6};
  const StageProgram program = lower_stage(spec, assign_layers(spec, cluster), cluster, Stage{0});
  double sum = 0;
  for (const Instruction& instruction : program.epilogue)
    if (const auto* run = std::get_if<Compute>(&instruction))
      for (const OperatorCost& cost : program.segments[run->segment].operators()) sum += cost.main;
  return sum;
}

TEST(Lower, VectorsArePutTogetherBehindTheUpdateFromAPartOfEveryRank) {
  WorkloadSpec spec = replicated(3, true);
  const double buffer = host_at_the_end(spec), part = 5e-6 + 3 * 2e-6;
  spec.communication.exchange = CommunicationSpec::Exchange::lists;
  // Two RMS norms of each of eight layers and the last one, from four ranks.
  EXPECT_NEAR(host_at_the_end(spec) - buffer, 4 * (8 * 2 + 1) * part, 1e-12);
  spec.model.norm = ModelSpec::Norm::layer;
  spec.model.bias = ModelSpec::Bias::all;
  EXPECT_NEAR(host_at_the_end(spec) - buffer, 4 * (8 * 8 + 2) * part, 1e-12);
}

TEST(Lower, PartsOfListsAreLaunchedByTheWorkerOfATaskQueue) {
  WorkloadSpec spec = replicated(3, true);
  spec.communication.exchange = CommunicationSpec::Exchange::lists;
  const auto first = [&] {
    const StageProgram program = lower_all(spec)[0];
    const auto compute = std::ranges::find_if(program.chunks[0].forward, [](const Instruction& i) {
      return std::holds_alternative<Compute>(i);
    });
    return program.segments[std::get<Compute>(*compute).segment].operators();
  };
  ASSERT_EQ(first().size(), 1U);
  spec.runtime.dispatch = RuntimeSpec::Dispatch::task_queue;
  const std::vector<OperatorCost> parts = first();
  ASSERT_EQ(parts.size(), static_cast<std::size_t>(spec.plan.dp));
  for (const OperatorCost& part : parts) EXPECT_GT(part.worker, 0);
}

}  // namespace
}  // namespace stepcast
