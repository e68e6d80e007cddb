#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lowering_fixtures.hpp"

namespace stepcast {
namespace {

using namespace lowering;

double tokens(const WorkloadSpec& spec) {
  return static_cast<double>(spec.training.micro_batch * spec.training.sequence);
}

/// Per token of a dense GQA layer: 2h(a+2g)d + 2adh + 6hf, and s a d * 2 for causal attention.
double dense_forward(const ModelSpec& model, double sequence) {
  const auto& a = std::get<GroupedQueryAttention>(model.attention);
  const double h = static_cast<double>(model.hidden), d = static_cast<double>(a.head_dim);
  const double q = static_cast<double>(a.heads) * d, kv = static_cast<double>(a.kv_heads) * d;
  return 2 * h * (q + 2 * kv) + 2 * q * h + 6 * h * static_cast<double>(model.ffn.hidden) +
         2 * sequence * q;
}

TEST(Layers, DenseForwardIsTheClosedFormula) {
  const WorkloadSpec spec = workload(known_models::llama3_70b());
  const Passes layer = transformer_layer(context(spec), LayerKind::dense);
  const double expected = tokens(spec) * dense_forward(spec.model, 2048);
  EXPECT_NEAR(product_flops(layer.forward), expected, 1e-12 * expected);
}

TEST(Layers, BackwardDoublesProductsAndRunsAttentionTwoAndAHalfTimes) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = any_workload();
    spec.training.recompute = TrainingSpec::Recompute::none;
    for (const LayerKind kind : {LayerKind::dense, LayerKind::moe}) {
      if (kind == LayerKind::moe && !spec.model.moe) continue;
      const Passes layer = transformer_layer(context(spec), kind);
      const double forward = product_flops(layer.forward);
      // rows of the core are attention_flops exactly `attention`; its projection is `attention out`
      const double core =
          product_flops(layer.forward, "attention") - product_flops(layer.forward, "attention out");
      const double expected = 2 * (forward - core) + 2.5 * core;
      RC_ASSERT(std::abs(product_flops(layer.backward) - expected) <= 1e-9 * expected);
      RC_ASSERT(layer.backward.size() ==
                layer.backward_input.size() + layer.backward_weight.size());
      RC_ASSERT(std::abs(product_flops(layer.backward_input) +
                         product_flops(layer.backward_weight) - product_flops(layer.backward)) <=
                1e-9 * expected);
    }
  }));
}

TEST(Layers, LatentAttentionIsItsClosedFormula) {
  const WorkloadSpec spec = workload(known_models::deepseek_v3());
  const Passes layer = transformer_layer(context(spec), LayerKind::dense);
  const double h = 7168, heads = 128, s = 2048;
  const double per_token = 2 * h * 1536 + 2 * 1536 * heads * 192 + 2 * h * 576 +
                           2 * 512 * heads * 256 + 2 * heads * 128 * h + s * heads * 320 +
                           6 * h * 18432;
  EXPECT_NEAR(product_flops(layer.forward), tokens(spec) * per_token,
              1e-12 * tokens(spec) * per_token);
}

TEST(Layers, ExpertsAreTheirClosedFormula) {
  WorkloadSpec spec = workload(small_moe());
  const LayerItems alone = transformer_layer(context(spec), LayerKind::moe).forward;
  const double rows = tokens(spec) * 4;
  EXPECT_NEAR(product_flops(alone, "experts"), rows * 6 * 1024 * 512, 1);
  EXPECT_NEAR(product_flops(alone, "router"), tokens(spec) * 2 * 1024 * 16, 1);
  EXPECT_NEAR(product_flops(alone, "shared expert"), tokens(spec) * 6 * 1024 * 1024, 1);

  // a balanced expert group leaves the work of each rank as it is, and load scales it
  spec.plan.dp = spec.plan.ep = 4;
  LayerContext loaded = context(spec);
  EXPECT_NEAR(product_flops(transformer_layer(loaded, LayerKind::moe).forward, "experts"),
              rows * 6 * 1024 * 512, 1);
  loaded.load = 1.5;
  EXPECT_NEAR(product_flops(transformer_layer(loaded, LayerKind::moe).forward, "experts"),
              1.5 * rows * 6 * 1024 * 512, 1);
  spec.plan.etp = 2;
  EXPECT_NEAR(product_flops(transformer_layer(context(spec), LayerKind::moe).forward, "experts"),
              rows * 6 * 1024 * 512, 1);
}

TEST(Layers, TensorParallelHalvesProducts) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = workload(*rc::gen::element(small_dense(), small_moe()));
    spec.plan.cp = *rc::gen::element(1, 2);
    const LayerKind kind = spec.model.moe ? LayerKind::moe : LayerKind::dense;
    const Passes one = transformer_layer(context(spec), kind);
    spec.plan.tp = 2;
    spec.plan.sequence_parallel = *rc::gen::arbitrary<bool>();
    const Passes two = transformer_layer(context(spec), kind);
    RC_ASSERT(std::abs(product_flops(two.forward) * 2 - product_flops(one.forward)) < 1e3);
    RC_ASSERT(std::abs(product_flops(two.backward) * 2 - product_flops(one.backward)) < 1e3);
  }));
}

TEST(Layers, ContextParallelSharesTheWork) {
  WorkloadSpec spec = workload(small_dense());
  const double one = product_flops(transformer_layer(context(spec), LayerKind::dense).forward);
  using Algorithm = ParallelPlan::ContextAlgorithm;
  spec.plan.cp = 4;
  spec.plan.ulysses_degree = 2;
  for (const auto algorithm :
       {Algorithm::ring, Algorithm::ulysses, Algorithm::allgather, Algorithm::hybrid}) {
    spec.plan.context_algorithm = algorithm;
    const Passes layer = transformer_layer(context(spec), LayerKind::dense);
    EXPECT_NEAR(product_flops(layer.forward) * 4, one, 1e-9 * one);
  }
}

TEST(Layers, SequenceParallelMovesNoProduct) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.tp = 4;
  const Passes plain = transformer_layer(context(spec), LayerKind::moe);
  spec.plan.sequence_parallel = true;
  const Passes parallel = transformer_layer(context(spec), LayerKind::moe);
  EXPECT_EQ(product_flops(plain.forward), product_flops(parallel.forward));
  EXPECT_EQ(product_flops(plain.backward), product_flops(parallel.backward));
  EXPECT_LT(total_flops(parallel.forward), total_flops(plain.forward));  // norms and residuals
}

TEST(Layers, TensorCollectivesOfADenseLayer) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.tp = 4;
  const double activation = tokens(spec) * 1024 * 2;
  const auto layer = [&] { return transformer_layer(context(spec), LayerKind::dense); };
  for (const LayerItems& pass : {layer().forward, layer().backward}) {
    const Traffic reduced = traffic(pass, GroupKind::tensor, CollectiveKind::all_reduce);
    EXPECT_EQ(reduced.calls, 2);
    EXPECT_EQ(reduced.bytes, 2 * activation);
  }
  spec.plan.sequence_parallel = true;
  const Passes parallel = layer();
  const auto of = [](const LayerItems& items, CollectiveKind kind) {
    return traffic(items, GroupKind::tensor, kind);
  };
  EXPECT_EQ(of(parallel.forward, CollectiveKind::all_gather).bytes, 2 * activation);
  EXPECT_EQ(of(parallel.forward, CollectiveKind::reduce_scatter).bytes, 2 * activation);
  EXPECT_EQ(of(parallel.backward, CollectiveKind::all_gather).calls, 4);
  EXPECT_EQ(of(parallel.backward, CollectiveKind::all_gather).overlapped, 2);
  EXPECT_EQ(of(parallel.backward, CollectiveKind::all_gather).bytes, 4 * activation);
  EXPECT_EQ(of(parallel.backward, CollectiveKind::reduce_scatter).bytes, 2 * activation);
  EXPECT_EQ(of(parallel.backward_weight, CollectiveKind::all_gather).calls, 2);
}

/// all_gather, dgrad, wait, reduce_scatter, wgrad, wait: each hides behind the product that follows
/// it.
TEST(Layers, ColumnParallelBackwardHidesItsCollectives) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.tp = 4;
  spec.plan.sequence_parallel = true;
  std::vector<std::string> names;
  std::map<CommunicationId, std::string> under_way;
  for (const LayerItem& item : transformer_layer(context(spec), LayerKind::dense).backward) {
    if (const auto* op = std::get_if<Operator>(&item)) names.push_back(op->name);
    if (const auto* call = std::get_if<LayerCommunication>(&item))
      names.push_back(under_way[call->id] = call->name);
    if (const auto* wait = std::get_if<WaitFor>(&item))
      names.push_back("wait " + under_way.at(wait->id));
  }
  const std::string gather = "all_gather feed-forward up saved in";
  const std::string reduce = "reduce_scatter feed-forward up gradient";
  const std::vector<std::string> expected{gather, "feed-forward up dgrad", "wait " + gather,
                                          reduce, "feed-forward up wgrad", "wait " + reduce};
  const auto start = std::find(names.begin(), names.end(), gather);
  ASSERT_GE(names.end() - start, 6);
  EXPECT_EQ(std::vector<std::string>(start, start + 6), expected);
}

TEST(Layers, ASerialBackwardReducesInputGradientsFirst) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.tp = 2;
  spec.communication.tensor_backward = CommunicationSpec::TensorBackward::serial;
  const LayerItems items = transformer_layer(context(spec), LayerKind::dense).backward;
  std::size_t reductions = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto* call = std::get_if<LayerCommunication>(&items[i]);
    if (call == nullptr || call->group != GroupKind::tensor) continue;
    ++reductions;
    EXPECT_TRUE(!call->overlapped || std::holds_alternative<WaitFor>(items[i + 1])) << call->name;
  }
  EXPECT_EQ(reductions, 2U);  // qkv and feed-forward up
}

TEST(Layers, LatentAttentionGathersCompressedStates) {
  WorkloadSpec spec = workload(small_latent());
  spec.plan.tp = 2;
  spec.plan.sequence_parallel = true;
  const Passes layer = transformer_layer(context(spec), LayerKind::dense);
  const double n = tokens(spec);
  // q and kv latents and the rotary key, then the feed-forward input
  EXPECT_EQ(traffic(layer.forward, GroupKind::tensor, CollectiveKind::all_gather).bytes,
            2 * n * (256 + 128 + 32 + 1024));
}

TEST(Layers, RingHidesBlocksBehindAllStepsButTheLast) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.cp = 4;
  const Passes layer = transformer_layer(context(spec), LayerKind::dense);
  const Traffic forward = traffic(layer.forward, GroupKind::context, CollectiveKind::all_gather);
  const double block = tokens(spec) / 4 * (2 * 8 * 64) * 2;  // K and V of one rank
  EXPECT_EQ(forward.calls, 1);
  EXPECT_EQ(forward.overlapped, 1);
  EXPECT_EQ(forward.bytes, 4 * block);  // output of the gather: (cp-1)/cp of it travels
  EXPECT_EQ(traffic(layer.backward, GroupKind::context, CollectiveKind::all_gather).bytes,
            8 * block);
  int before = 0, after = 0;
  bool waited = false;
  for (const LayerItem& item : layer.forward) {
    waited |= std::holds_alternative<WaitFor>(item);
    const auto* op = std::get_if<Operator>(&item);
    if (op && op->name == "attention") ++(waited ? after : before);
  }
  EXPECT_EQ(before, 3);
  EXPECT_EQ(after, 1);
}

/// Algorithms that the calls of a context group name, in both passes.
std::set<std::string> context_algorithms(const WorkloadSpec& spec) {
  const Passes layer = transformer_layer(context(spec), LayerKind::dense);
  std::set<std::string> names;
  for (const LayerItems& pass : {layer.forward, layer.backward})
    for (const LayerItem& item : pass) {
      const auto* call = std::get_if<LayerCommunication>(&item);
      if (call && call->group == GroupKind::context) names.insert(call->algorithm);
    }
  return names;
}

TEST(Layers, BlocksGoRoundByTheRingWhateverTheScenarioChose) {
  using Algorithm = ParallelPlan::ContextAlgorithm;
  using Names = std::set<std::string>;
  WorkloadSpec spec = workload(small_dense());
  spec.plan.cp = 4;
  spec.plan.ulysses_degree = 2;
  spec.plan.context_algorithm = Algorithm::ring;
  EXPECT_EQ(context_algorithms(spec), Names{"ring"});
  spec.plan.context_algorithm = Algorithm::hybrid;
  EXPECT_EQ(context_algorithms(spec), (Names{"", "ring"}));
  for (const auto other : {Algorithm::ulysses, Algorithm::allgather}) {
    spec.plan.context_algorithm = other;
    EXPECT_EQ(context_algorithms(spec), Names{""});
  }
}

/// Bytes of the kernels whose name begins so, and how many they are.
std::pair<double, int> bytes_and_count(const LayerItems& items, std::string_view begin) {
  std::pair<double, int> sum{0, 0};
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item); op && op->name.starts_with(begin))
      sum = {sum.first + op->bytes.value(), sum.second + 1};
  return sum;
}

// docs/models/context_parallel.md: 62 bytes of an output and 896 of a token and head, each block.
TEST(Layers, StatementsOfARingMoveMoreThanItsKernel) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.cp = 4;
  spec.plan.context_algorithm = ParallelPlan::ContextAlgorithm::ring;
  const double own = tokens(spec) / 4, heads = 16;
  const double outputs = own * heads * 64;
  const Passes kernel = transformer_layer(context(spec), LayerKind::dense);
  EXPECT_EQ(bytes_and_count(kernel.forward, "merge block"), std::pair(3 * 6 * outputs, 3));
  spec.runtime.kernels.ring = KernelSpec::Ring::statements;
  const Passes statements = transformer_layer(context(spec), LayerKind::dense);
  const auto [bytes, kernels] = bytes_and_count(statements.forward, "merge block");
  EXPECT_EQ(kernels, 3 * 18);
  EXPECT_NEAR(bytes, 3 * (62 * outputs + 896 * own * heads), 1e-9 * bytes);
  const auto sums = bytes_and_count(kernel.backward, "accumulate block");
  const auto apart = bytes_and_count(statements.backward, "accumulate block");
  EXPECT_EQ(apart.second, 3 * sums.second);
  EXPECT_NEAR(apart.first, sums.first, 1e-9 * sums.first);
}

TEST(Layers, UlyssesExchangesHeadsAndAllGatherTheKeys) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.cp = 4;
  spec.plan.context_algorithm = ParallelPlan::ContextAlgorithm::ulysses;
  const double n = tokens(spec) / 4;
  const Passes ulysses = transformer_layer(context(spec), LayerKind::dense);
  for (const LayerItems& pass : {ulysses.forward, ulysses.backward}) {
    const Traffic exchanged = traffic(pass, GroupKind::context, CollectiveKind::all_to_all);
    EXPECT_EQ(exchanged.calls, 4);
    EXPECT_DOUBLE_EQ(exchanged.bytes, n * 2 * (16 + 8 + 8 + 16) * 64);
  }
  spec.plan.context_algorithm = ParallelPlan::ContextAlgorithm::allgather;
  const Passes gathered = transformer_layer(context(spec), LayerKind::dense);
  const auto keys = traffic(gathered.forward, GroupKind::context, CollectiveKind::all_gather);
  EXPECT_EQ(keys.bytes, tokens(spec) * 2 * (8 + 8) * 64);
  EXPECT_EQ(traffic(gathered.backward, GroupKind::context, CollectiveKind::reduce_scatter).bytes,
            keys.bytes);
}

TEST(Layers, DispatchAndCombineCarryEveryChosenToken) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.tp = 2;
  spec.plan.dp = 4;
  spec.plan.ep = 8;
  const double chosen = tokens(spec) / 2 * 4 * 1024 * 2;
  const Passes layer = transformer_layer(context(spec), LayerKind::moe);
  const Traffic forward = traffic(layer.forward, GroupKind::expert, CollectiveKind::all_to_all);
  EXPECT_EQ(forward.calls, 3);  // counts, dispatch, combine
  EXPECT_EQ(forward.bytes, 2 * chosen + 4 * 16);
  EXPECT_EQ(traffic(layer.backward, GroupKind::expert, CollectiveKind::all_to_all).bytes,
            2 * chosen);
  EXPECT_EQ(forward.overlapped, 0);

  spec.moe.overlap = MoeSpec::Overlap::shared_expert;
  const Passes hidden = transformer_layer(context(spec), LayerKind::moe);
  EXPECT_EQ(traffic(hidden.forward, GroupKind::expert, CollectiveKind::all_to_all).overlapped, 2);
  EXPECT_EQ(traffic(hidden.backward, GroupKind::expert, CollectiveKind::all_to_all).overlapped, 2);
  EXPECT_EQ(total_flops(hidden.forward), total_flops(layer.forward));
  EXPECT_EQ(total_flops(hidden.backward), total_flops(layer.backward));
}

TEST(Layers, ExpertTensorParallelGathersRows) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = 4;
  spec.plan.ep = spec.plan.etp = 2;
  const Passes layer = transformer_layer(context(spec), LayerKind::moe);
  const double rows = tokens(spec) * 4 * 2 * 1024 * 2;
  EXPECT_EQ(traffic(layer.forward, GroupKind::expert_tensor, CollectiveKind::all_gather).bytes,
            rows);
  EXPECT_EQ(traffic(layer.forward, GroupKind::expert_tensor, CollectiveKind::reduce_scatter).bytes,
            rows);
}

const Operator& find_operator(const LayerItems& items, const std::string& name) {
  for (const LayerItem& item : items) {
    const auto* op = std::get_if<Operator>(&item);
    if (op && op->name == name) return *op;
  }
  throw std::runtime_error("no operator " + name);
}

TEST(Layers, WeightGradientsAccumulateInTheirPrecision) {
  using Precision = CommunicationSpec::GradientPrecision;
  WorkloadSpec spec = workload(small_moe());
  const double n = tokens(spec);
  for (const auto& [precision, bytes] : {std::pair{Precision::fp32, 4.0}, {Precision::bf16, 2.0}}) {
    spec.communication.gradient_precision = precision;
    const LayerItems dense = transformer_layer(context(spec), LayerKind::dense).backward_weight;
    const Operator& down = find_operator(dense, "feed-forward down wgrad");
    EXPECT_EQ(down.bytes.value(), 2 * n * (4096 + 1024) + 2 * bytes * 4096 * 1024);
    EXPECT_EQ(down.flops.value(), 2 * n * 4096 * 1024);
    const LayerItems moe = transformer_layer(context(spec), LayerKind::moe).backward_weight;
    // 4 of 16 experts per token
    EXPECT_EQ(find_operator(moe, "experts down wgrad").bytes.value(),
              2 * 4 * n * (512 + 1024) + 2 * bytes * 16 * 512 * 1024);
    EXPECT_EQ(find_operator(moe, "router wgrad").bytes.value(),
              4 * n * (1024 + 16) + 2 * bytes * 1024 * 16);
    const LayerItems table = embedding(context(spec)).backward_weight;
    const auto whole = static_cast<double>(spec.model.vocabulary) * 1024;
    EXPECT_EQ(find_operator(table, "embedding gradient").bytes.value(),
              4 * n * 1024 + 2 * bytes * whole);
  }
}

TEST(Layers, SelectiveRecomputeRunsTheCoreAgain) {
  WorkloadSpec spec = workload(small_dense());
  const double plain = product_flops(transformer_layer(context(spec), LayerKind::dense).backward);
  spec.training.recompute = TrainingSpec::Recompute::selective;
  const double selective =
      product_flops(transformer_layer(context(spec), LayerKind::dense).backward);
  EXPECT_NEAR(selective - plain, 2.0 * 2048 * 2048 * 1024, 1);
}

TEST(Layers, UnfusedAttentionWorksOnWholeScores) {
  WorkloadSpec spec = workload(small_dense());
  const auto passes = [&] { return transformer_layer(context(spec), LayerKind::dense); };
  const double fused = product_flops(passes().forward);
  const double fused_backward = product_flops(passes().backward);
  spec.training.attention = TrainingSpec::Attention::unfused;
  const double core = 4.0 * 2048 * 2048 * 1024;  // two products over all pairs
  EXPECT_NEAR(product_flops(passes().forward) - fused, core - core / 2, 1);
  EXPECT_NEAR(product_flops(passes().backward) - fused_backward, 2 * core - 2.5 * core / 2, 1);
  const double scores = 16.0 * 2048 * 2048;  // of all heads
  EXPECT_EQ(find_operator(passes().forward, "attention softmax").bytes.value(), 4 * scores);
  EXPECT_EQ(find_operator(passes().forward, "attention dropout").bytes.value(), 5 * scores);
  spec.training.recompute = TrainingSpec::Recompute::selective;
  EXPECT_NEAR(product_flops(passes().backward) - fused_backward, 3 * core - 2.5 * core / 2, 1);
}

TEST(Layers, ParametersOfAllPiecesAreTheModel) {
  for (const ModelSpec& model : {small_dense(), small_moe(), small_latent(),
                                 known_models::gpt3_175b(), known_models::deepseek_v3()}) {
    WorkloadSpec spec = workload(model);
    const auto sum = [](const Passes& passes) {
      return passes.dense_parameters + passes.expert_parameters;
    };
    double total = sum(embedding(context(spec))) + sum(head(context(spec)));
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
      total += sum(transformer_layer(
          context(spec), model.is_moe_layer(layer) ? LayerKind::moe : LayerKind::dense));
    for (std::int64_t module = 0; module < model.mtp_layers; ++module)
      total += sum(mtp_module(context(spec)));
    EXPECT_DOUBLE_EQ(total, count_parameters(model).total);
  }
}

TEST(Layers, HeadReducesThreeNumbersPerToken) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.tp = 4;
  spec.plan.sequence_parallel = true;
  const Passes passes = head(context(spec));
  const Traffic loss = traffic(passes.forward, GroupKind::tensor, CollectiveKind::all_reduce);
  EXPECT_EQ(loss.calls, 3);
  EXPECT_EQ(loss.bytes, 3 * 4 * tokens(spec));
  EXPECT_EQ(product_flops(passes.forward), tokens(spec) * 2 * 1024 * 32000 / 4);
  EXPECT_EQ(product_flops(passes.backward), 2 * product_flops(passes.forward));
}

/// Forward and backward work of a layer, all slices together.

}  // namespace
}  // namespace stepcast
