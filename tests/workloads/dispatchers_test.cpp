#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "dispatcher_fixtures.hpp"
#include "known_models.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/rewrites.hpp"

/// Launches, copies and waits of dispatchers by version: the counted table of
/// docs/models/dispatchers.md.
namespace stepcast {
namespace {

using namespace lowering;
using namespace dispatchers;

struct Version {
  Dispatcher dispatcher;
  Dispatch dispatch;
  bool fused;
  Counts published;        ///< of the forward
  int published_backward;  ///< kernels
  int forward, backward;   ///< kernels here
};

// Published counts come from running the functions of each version under PyTorch's dispatch log.
// Backward it includes autograd's own: sums and casts of gradients that no statement names.
const Version versions[] = {
    {Dispatcher::megatron_0_6, Dispatch::flat, false, {60, 3, 6}, 26, 60, 26},
    {Dispatcher::megatron_0_8, Dispatch::flat, false, {64, 7, 8}, 26, 64, 26},
    {Dispatcher::megatron_0_9, Dispatch::flat, false, {44, 5, 1}, 25, 44, 25},
    {Dispatcher::megatron_0_10, Dispatch::flat, false, {54, 7, 3}, 30, 51, 30},
    {Dispatcher::megatron_0_14, Dispatch::flat, false, {61, 7, 3}, 34, 60, 34},
    {Dispatcher::megatron_0_14, Dispatch::flat, true, {29, 4, 1}, 20, 28, 20},
    {Dispatcher::megatron_0_14, Dispatch::allgather, false, {57, 3, 3}, 32, 53, 31}};

TEST(Dispatchers, LaunchWhatTheirVersionsLaunch) {
  for (const Version& v : versions) {
    const WorkloadSpec spec = spec_of(v.dispatcher, v.dispatch, v.fused);
    const Counts forward = forward_of(spec), backward = backward_of(spec);
    EXPECT_EQ(forward, (Counts{v.forward, v.published.copies, v.published.waits}));
    EXPECT_NEAR(forward.kernels, v.published.kernels, 4);
    EXPECT_EQ(backward, (Counts{v.backward, 0, 0}));
    EXPECT_NEAR(backward.kernels, v.published_backward, 1);
  }
}

// 63 kernels, 6 copies, 8 waits: there two of the waits have no copy of their own.
/// Launches and copies behind the first of a statement.
int followers(const LayerItems& items) {
  return static_cast<int>(std::ranges::count_if(items, [](const LayerItem& item) {
    const auto* op = std::get_if<Operator>(&item);
    return op != nullptr && op->in_call;
  }));
}

TEST(Dispatchers, LaunchSeveralKernelsWithOneStatement) {
  const auto forward = [](Dispatcher dispatcher, bool fused) {
    const WorkloadSpec spec = spec_of(dispatcher, Dispatch::flat, fused);
    return followers(transformer_layer(context(spec), LayerKind::moe).forward);
  };
  // top-k and two scatters; numbers and weights by masked_select: six kernels and a copy each
  EXPECT_EQ(forward(Dispatcher::megatron_0_10, false), 3 + 2 * 6);
  EXPECT_EQ(forward(Dispatcher::megatron_0_14, true), 0);
  EXPECT_EQ(forward(Dispatcher::mindspeed_2_0, false), 0);  // a call of an NPU is one launch
}

TEST(Dispatchers, ThatGatherByNumberWaitEightTimes) {
  EXPECT_EQ(forward_of(spec_of(Dispatcher::megatron_0_8, Dispatch::allgather)), (Counts{64, 8, 8}));
}

// A call of an NPU is a statement, and sizes of grouped products stay on the device.
TEST(Dispatchers, OfMindSpeedLaunchFewerKernels) {
  const Counts one = forward_of(spec_of(Dispatcher::mindspeed_1_0));
  EXPECT_EQ(one.kernels, 42);
  EXPECT_EQ(one.waits, 4);  // of splits one, of lists two, of repeated numbers one
  EXPECT_EQ(forward_of(spec_of(Dispatcher::mindspeed_2_3)).waits, 3);
  EXPECT_EQ(forward_of(spec_of(Dispatcher::mindspeed_2_3_seq)).waits, 3);
  EXPECT_EQ(forward_of(spec_of(Dispatcher::mindspeed_2_0)).waits, 7);
}

TEST(Dispatchers, MoveTheRowsOfTheirStatements) {
  const double row = 2 * 1024, n = 1024, R = 4 * n;
  const auto forward = [](Dispatcher d) {
    return transformer_layer(context(spec_of(d)), LayerKind::moe).forward;
  };
  EXPECT_DOUBLE_EQ(row_bytes(forward(Dispatcher::megatron_0_6), "unpermute "),
                   (R + 2 * R + 2 * R + R + n) * row);
  EXPECT_DOUBLE_EQ(row_bytes(forward(Dispatcher::megatron_0_12), "unpermute "), (n + 3 * R) * row);
  EXPECT_DOUBLE_EQ(row_bytes(forward(Dispatcher::megatron_0_6), "unsort "), 5 * R * row);
  EXPECT_DOUBLE_EQ(row_bytes(forward(Dispatcher::megatron_0_9), "unsort"), 2 * R * row);
}

WorkloadSpec deepep_spec(bool cut) {
  WorkloadSpec spec = spec_of(Dispatcher::deepep, Dispatch::two_hop_dedup, true);
  spec.plan.expert_part = cut ? 2 : 4;
  return spec;
}

std::vector<std::string> calls_and_waits(const LayerItems& items) {
  std::vector<std::string> list;
  for (const LayerItem& item : items) {
    if (const auto* call = std::get_if<LayerCommunication>(&item);
        call != nullptr && call->group != GroupKind::tensor)
      list.push_back(call->name + (call->overlapped ? " *" : ""));
    if (std::holds_alternative<WaitFor>(item)) list.push_back("wait");
  }
  return list;
}

TEST(Dispatchers, BySequenceTradePartsOfTheRows) {
  WorkloadSpec spec = spec_of(Dispatcher::mindspeed_2_3_seq);
  spec.plan.ep = spec.plan.etp = 2;
  const auto list = calls_and_waits(transformer_layer(context(spec), LayerKind::moe).forward);
  for (const char* name : {"all_to_all token parts", "all_to_all output parts"})
    EXPECT_EQ(std::count(list.begin(), list.end(), name), 1) << name;
}

// Layout, notify, dispatch and combine with a notify of its own; backward two more pairs
// (deepseek-ai/profile-data, train.json: 36 launches for 4 layers).
TEST(Dispatchers, OfDeepEPSendBothHopsAtOnce) {
  const Passes layer = expert_module(context(deepep_spec(true)));
  using Names = std::vector<std::string>;
  EXPECT_EQ(calls_and_waits(layer.forward),
            (Names{"notify dispatch", "dispatch outer *", "dispatch inner *", "wait", "wait",
                   "combine notify", "combine inner *", "combine outer *", "wait", "wait"}));
  EXPECT_EQ(calls_and_waits(layer.backward),
            (Names{"combine backward notify", "combine backward outer *",
                   "combine backward inner *", "wait", "wait", "dispatch backward notify",
                   "dispatch backward inner *", "dispatch backward outer *", "wait", "wait"}));
  const Passes whole = expert_module(context(deepep_spec(false)));
  EXPECT_EQ(calls_and_waits(whole.forward),
            (Names{"notify dispatch", "dispatch", "combine notify", "combine"}));
}

// Both hops are one kernel, so that its cores count once.
TEST(Dispatchers, OfDeepEPHoldCoresOnce) {
  const auto kernels = [](bool cut) {
    std::map<ExchangeKernel, int> of;
    for (const LayerItem& item : expert_module(context(deepep_spec(cut))).forward)
      if (const auto* call = std::get_if<LayerCommunication>(&item);
          call != nullptr && call->call.kind == CollectiveKind::all_to_all)
        ++of[call->kernel];
    return of;
  };
  using Kernels = std::map<ExchangeKernel, int>;
  EXPECT_EQ(kernels(true), (Kernels{{ExchangeKernel::deepep, 2}, {ExchangeKernel::joined, 2}}));
  EXPECT_EQ(kernels(false), (Kernels{{ExchangeKernel::deepep, 2}}));
}

TEST(Dispatchers, OfDeepEPWaitOnce) {
  const Counts counts = count(expert_module(context(deepep_spec(true))).forward, "", "");
  EXPECT_EQ(counts.waits, 1);
  // as many as were counted of Megatron-LM's flex dispatcher
  EXPECT_EQ(backward_of(deepep_spec(true)), (Counts{22, 0, 0}));
}

// The pair hides both hops, and waits for both.
TEST(Dispatchers, OfDeepEPHideBothHopsInAPair) {
  const Passes layer = transformer_layer(context(deepep_spec(true)), LayerKind::moe);
  int hidden = 0, waits = 0;
  for (const LayerItem& item : paired_layers(layer, layer)) {
    const auto* call = std::get_if<LayerCommunication>(&item);
    if (call != nullptr && call->id.leg == ExchangeLeg::inner) hidden += call->overlapped ? 1 : 0;
    const auto* wait = std::get_if<WaitFor>(&item);
    if (wait != nullptr && wait->id.leg == ExchangeLeg::inner) ++waits;
  }
  EXPECT_EQ(hidden, 4);
  EXPECT_EQ(waits, 4);
}

TEST(Dispatchers, SendRouterWeightsBesideTheRows) {
  for (const auto precision : {RouterSpec::Precision::bf16, RouterSpec::Precision::fp32}) {
    WorkloadSpec spec = spec_of(Dispatcher::megatron_0_12);
    const auto sent = [&] {
      return traffic(transformer_layer(context(spec), LayerKind::moe).forward, GroupKind::expert,
                     CollectiveKind::all_to_all);
    };
    spec.moe.router.precision = precision;
    const double row = 2 * 1024, R = 4 * 1024;
    const double weight = precision == RouterSpec::Precision::fp32 ? 4 : 2;
    EXPECT_EQ(sent().calls, 3);
    EXPECT_DOUBLE_EQ(sent().bytes, 2 * R * row + weight * R);
    spec.moe.dispatcher = Dispatcher::megatron_0_10;
    EXPECT_EQ(sent().calls, 2);
  }
}

TEST(Dispatchers, AddUpTheCountOfEveryExpertOverTheTensorRanks) {
  const WorkloadSpec spec = spec_of(Dispatcher::megatron_0_12);
  const LayerItems items = transformer_layer(context(spec), LayerKind::moe).forward;
  const Traffic counts = traffic(items, GroupKind::tensor, CollectiveKind::all_reduce);
  EXPECT_EQ(counts.calls, 1);
  EXPECT_DOUBLE_EQ(counts.bytes, 8.0 * static_cast<double>(spec.model.moe->experts));
}

TEST(Dispatchers, ReduceOutputsInTheTypeOfTheWeights) {
  WorkloadSpec spec = spec_of(Dispatcher::megatron_0_12);
  spec.plan.ep = 2;
  spec.plan.etp = 2;
  const auto reduced = [&] {
    return traffic(transformer_layer(context(spec), LayerKind::moe).forward,
                   GroupKind::expert_tensor, CollectiveKind::reduce_scatter)
        .bytes;
  };
  const double half = reduced();
  spec.moe.router.precision = RouterSpec::Precision::fp32;
  EXPECT_DOUBLE_EQ(reduced(), 2 * half);
  spec.moe.dispatcher = Dispatcher::megatron_0_10;
  EXPECT_DOUBLE_EQ(reduced(), half);
}

TEST(Dispatchers, WaitForCountsBehindTheirRows) {
  const WorkloadSpec spec = spec_of(Dispatcher::megatron_0_14, Dispatch::flat, true);
  const LayerItems items = transformer_layer(context(spec), LayerKind::moe).forward;
  const auto copy = std::ranges::find_if(
      items, [](const LayerItem& i) { return std::holds_alternative<CopyToHost>(i); });
  const auto wait = std::ranges::find_if(copy, items.end(), [](const LayerItem& i) {
    return std::holds_alternative<HostReadback>(i);
  });
  ASSERT_NE(wait, items.end());
  EXPECT_TRUE(std::get<HostReadback>(*wait).of_copy);
  EXPECT_GT(row_bytes({copy, wait}, "permute"), 0);  // goes on while the host waits
}

TEST(Padding, FillsEveryExpertAndWaitsForNothing) {
  WorkloadSpec spec = spec_of(Dispatcher::standard);
  const LayerItems plain = transformer_layer(context(spec), LayerKind::moe).forward;
  spec.moe.capacity_factor = 1.3;
  spec.moe.capacity_pad = true;
  const LayerItems padded = transformer_layer(context(spec), LayerKind::moe).forward;
  // 1024 tokens of a rank, four experts each of 16: 256 pairs per expert, 333 with padding
  const double more = 333.0 / 256;
  const auto sent = [](const LayerItems& items) {
    return traffic(items, GroupKind::expert, CollectiveKind::all_to_all);
  };
  EXPECT_DOUBLE_EQ(sent(padded).bytes, more * 2 * 4096 * 2048);
  EXPECT_EQ(sent(padded).calls, 2);  // of rows; counts are not told
  EXPECT_DOUBLE_EQ(product_flops(padded, "experts") / product_flops(plain, "experts"), more);
  EXPECT_EQ(count(padded, "feed-forward norm", "feed-forward residual").waits, 0);
  spec.moe.dispatcher = Dispatcher::megatron_0_12;
  EXPECT_EQ(forward_of(spec).waits, 0);
}

TEST(Padding, MakesLoadsEvenAndDropsThePopular) {
  WorkloadSpec spec = spec_of(Dispatcher::standard);
  spec.moe.routing.distribution = RoutingSpec::Distribution::zipf;
  spec.moe.capacity_factor = 1.3;
  const ExpertLoads dropped = expert_loads(spec);
  spec.moe.capacity_pad = true;
  const ExpertLoads padded = expert_loads(spec);
  EXPECT_TRUE(padded.even());
  EXPECT_DOUBLE_EQ(padded.largest(), 333.0 / 256);
  EXPECT_NEAR(padded.dropped, dropped.dropped, 0.01);
}

/// Kernels and collectives of a layer as it runs.
int launches(const LayerItems& items, const WorkloadSpec& spec) {
  const LayerItems run = as_run(items, spec, plain_cluster().device);
  return static_cast<int>(std::ranges::count_if(run, [](const LayerItem& item) {
    return std::holds_alternative<Operator>(item) ||
           std::holds_alternative<LayerCommunication>(item);
  }));
}

// A layer of DeepSeek-V3's published trace launches 246, 61 more than here in the backward of
// router and attention alone: docs/models/dispatchers.md.
TEST(Launches, OfALayerOfDeepSeekV3StayBelowItsTrace) {
  WorkloadSpec spec = workload(known_models::deepseek_v3());
  spec.training.sequence = 4096;
  spec.training.precision = TrainingSpec::Precision::fp8_mixed;
  spec.plan.dp = spec.plan.ep = 64;
  spec.plan.expert_part = 8;
  spec.moe.dispatch = Dispatch::two_hop_dedup;
  spec.moe.wire = MoeSpec::Wire::fp8;
  spec.moe.router.score = RouterSpec::Score::sigmoid;
  spec.moe.router.aux_loss = true;
  spec.runtime.kernels.router = KernelSpec::Router::statements;
  const Passes layer = transformer_layer(context(spec), LayerKind::moe);
  EXPECT_EQ(launches(layer.forward, spec) + launches(layer.backward, spec), 156);
}

TEST(MultiStream, LaunchesAProductOfEachExpert) {
  WorkloadSpec spec = spec_of(Dispatcher::standard);
  const auto passes = [&] { return transformer_layer(context(spec), LayerKind::moe); };
  const Passes one = passes();
  spec.moe.products = MoeSpec::Products::multi_stream;
  const Passes four = passes();  // experts of a rank
  EXPECT_EQ(four.forward.size(), one.forward.size() + 2 * 3);
  EXPECT_EQ(four.backward.size(), one.backward.size() + 4 * 3);
  EXPECT_DOUBLE_EQ(total_flops(four.forward) / total_flops(one.forward), 1);
}

/// Kernels whose name begins so, and their bytes.
std::pair<int, double> named_like(const LayerItems& items, const std::string& begin) {
  std::pair<int, double> found{0, 0};
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item); op != nullptr && op->name.starts_with(begin))
      found = {found.first + 1, found.second + op->bytes.value()};
  return found;
}

TEST(MultiStream, AddsTheBiasesOfOutputsByStatementsOfEachExpert) {
  WorkloadSpec spec = spec_of(Dispatcher::megatron_0_14, Dispatch::flat, true);
  spec.moe.products = MoeSpec::Products::multi_stream;
  const auto biases = [&](bool backward) {
    const Passes layer = transformer_layer(context(spec), LayerKind::moe);
    return named_like(backward ? layer.backward : layer.forward, "experts bias");
  };
  EXPECT_EQ(biases(false).first, 0);
  spec.model.bias = ModelSpec::Bias::all;
  // four experts on the rank: two statements each, and one that joins
  EXPECT_EQ(biases(false).first, 4 * 2 + 1);
  EXPECT_EQ(biases(true).first, 4 * 4 + 1 + 4 * 2);
  const double outputs = 2048.0 / 2 * 4 * 1024;  // of the tokens of a tensor rank, four pairs each
  EXPECT_NEAR(biases(false).second, (2 + 6 + 4) * outputs, 1e-6 * outputs);
  spec.moe.router.precision = RouterSpec::Precision::fp32;
  EXPECT_EQ(biases(false).first, 4 * 2 + 2);
  EXPECT_NEAR(biases(false).second, (4 + 10 + 8 + 6) * outputs, 1e-6 * outputs);
  EXPECT_EQ(biases(true).first, 1 + 4 + 4 * 4 + 1 + 4 * 2);
  spec.moe.dispatcher = Dispatcher::standard;  // of no version
  EXPECT_EQ(biases(false).first, 4 * 2 + 2);
  spec.moe.dispatcher = Dispatcher::megatron_0_10;  // weighs behind the way back
  EXPECT_EQ(biases(false).first, 0);
}

// Indexed rows of gathered tokens carry the bias beside the outputs: it is added there, once.
TEST(MultiStream, LeavesBiasesToRowsThatCarryThem) {
  WorkloadSpec spec = spec_of(Dispatcher::standard, Dispatch::allgather);
  spec.moe.products = MoeSpec::Products::multi_stream;
  spec.model.bias = ModelSpec::Bias::all;
  const auto biases = [&](const char* begin) {
    const Passes layer = transformer_layer(context(spec), LayerKind::moe);
    return std::pair{named_like(layer.forward, begin).first,
                     named_like(layer.backward, begin).first};
  };
  EXPECT_EQ(biases("experts bias"), std::pair(0, 0));
  EXPECT_GT(biases("combine bias").first, 0);
  EXPECT_GT(biases("combine backward bias").second, 0);
  spec.moe.permutation = MoeSpec::Permutation::fused;
  EXPECT_EQ(biases("experts bias"), std::pair(4 * 2 + 1, 4 * 4 + 1 + 4 * 2));
  EXPECT_EQ(biases("combine bias").first, 0);
}

}  // namespace
}  // namespace stepcast
