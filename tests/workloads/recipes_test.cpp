#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/operator_time.hpp"
#include "stepcast/workloads/rewrites.hpp"

/// What recipes run beside or instead of the kernels of the plain layer: bytes counted operand by
/// operand.
namespace stepcast {
namespace {

using namespace lowering;

constexpr double recipe_tokens = 2048, hidden = 1024;

/// Bytes of the rows whose name holds `part`.
double bytes(const LayerItems& items, const std::string& part) {
  double sum = 0;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item);
        op != nullptr && op->name.find(part) != std::string::npos)
      sum += op->bytes.value();
  return sum;
}

Operator row(const LayerItems& items, const std::string& name) {
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item); op != nullptr && op->name == name)
      return *op;
  ADD_FAILURE() << "no row " << name;
  return {};
}

Passes dense(const WorkloadSpec& spec) {
  return transformer_layer(context(spec), LayerKind::dense);
}

TEST(Biases, AreAddedInAPassAndSummedOverTokens) {
  WorkloadSpec spec = workload(small_dense());
  EXPECT_EQ(bytes(dense(spec).forward, "bias"), 0);
  EXPECT_EQ(bytes(dense(spec).backward, "bias"), 0);
  const auto& a = std::get<GroupedQueryAttention>(spec.model.attention);
  const double qkv = static_cast<double>((a.heads + 2 * a.kv_heads) * a.head_dim);
  spec.model.bias = ModelSpec::Bias::qkv;
  EXPECT_EQ(bytes(dense(spec).forward, "bias"), recipe_tokens * qkv * (2 + 2));
  EXPECT_EQ(bytes(dense(spec).backward, "bias"), recipe_tokens * qkv * 2);
  spec.model.bias = ModelSpec::Bias::all;
  spec.model.ffn.kind = FeedForwardSpec::Kind::gelu;
  const double up = static_cast<double>(spec.model.ffn.hidden);
  EXPECT_EQ(bytes(dense(spec).forward, "bias"), recipe_tokens * qkv * (2 + 2));
  EXPECT_EQ(bytes(dense(spec).backward, "bias"), recipe_tokens * (qkv + hidden + up + hidden) * 2);
  EXPECT_EQ(bytes(dense(spec).backward_weight, "bias"), bytes(dense(spec).backward, "bias"));
}

TEST(UnfusedAttention, CopiesIntoTheOrderOfTheNextProduct) {
  WorkloadSpec spec = workload(small_dense());
  spec.training.attention = TrainingSpec::Attention::unfused;
  const auto& a = std::get<GroupedQueryAttention>(spec.model.attention);
  const double q = static_cast<double>(a.heads * a.head_dim);
  const double kv = static_cast<double>(a.kv_heads * a.head_dim);
  const Passes layer = dense(spec);
  EXPECT_EQ(bytes(layer.forward, "context copy"), recipe_tokens * q * 4);
  EXPECT_EQ(bytes(layer.backward, "context gradient copy"), recipe_tokens * q * 4);
  EXPECT_EQ(bytes(layer.backward, "joined"), recipe_tokens * (q + 2 * kv) * 4);
}

TEST(Dropout, WritesMasksAndTakesAPassOfTheBackward) {
  WorkloadSpec spec = workload(small_dense());
  const double residuals = bytes(dense(spec).forward, "residual");
  EXPECT_EQ(bytes(dense(spec).backward, "dropout"), 0);
  spec.training.dropout = true;
  const Passes layer = dense(spec);
  EXPECT_EQ(bytes(layer.forward, "residual") - residuals, 2 * recipe_tokens * hidden);
  EXPECT_EQ(bytes(layer.backward, "dropout"), 2 * recipe_tokens * hidden * 5);
}

TEST(UnfusedAttention, HeadsThatAreNoMultipleOfEightLeaveTheTensorCores) {
  WorkloadSpec spec = workload(small_dense());
  spec.training.attention = TrainingSpec::Attention::unfused;
  DeviceSpec device = plain_device();
  device.efficiency.unaligned = 0.01;
  const auto scores = [&](std::int64_t head_dim) {
    std::get<GroupedQueryAttention>(spec.model.attention).head_dim = head_dim;
    const Operator op = row(dense(spec).forward, "attention scores");
    return operator_time(op, device, false).value() * device.matmul_peak.value() / op.flops.value();
  };
  EXPECT_NEAR(scores(108), 100, 1e-9);
  EXPECT_LT(scores(112), 2);
}

TEST(FlashAttention, EachGenerationHasItsOwnNumbers) {
  WorkloadSpec spec = workload(small_dense());
  DeviceSpec device = plain_device();
  device.efficiency.attention.fused.forward.cube = 0.8;
  device.efficiency.attention.flash_1 = AttentionKernel{{.cube = 0.4}, {}};
  device.efficiency.attention.flash_triton = AttentionKernel{{.cube = 0.5}, {}};
  device.efficiency.attention.cudnn = AttentionKernel{{.cube = 0.6}, {}};
  device.efficiency.attention.cudnn_mxfp8 = AttentionKernel{{.cube = 0.7}, {}};
  device.matmul_peak_fp8 = 2 * device.matmul_peak;
  const auto rate = [&](TrainingSpec::Attention attention) {
    spec.training.attention = attention;
    Operator op = row(dense(spec).forward, "attention");
    op.bytes = Bytes{0};
    return op.flops / operator_time(op, device, false) / device.matmul_peak;
  };
  EXPECT_NEAR(rate(TrainingSpec::Attention::fused), 0.8, 1e-12);
  EXPECT_NEAR(rate(TrainingSpec::Attention::flash_1), 0.4, 1e-12);
  EXPECT_NEAR(rate(TrainingSpec::Attention::cudnn), 0.6, 1e-12);
  EXPECT_NEAR(rate(TrainingSpec::Attention::flash_triton), 0.5, 1e-12);
  EXPECT_NEAR(rate(TrainingSpec::Attention::cudnn_mxfp8), 2 * 0.7, 1e-12);
}

TEST(AttentionInMxfp8, CastsItsOperandsAndForgetsTheWindowBackward) {
  WorkloadSpec spec = workload(small_dense());
  const auto& a = std::get<GroupedQueryAttention>(spec.model.attention);
  const auto q = static_cast<double>(a.heads * a.head_dim);
  const auto kv = static_cast<double>(a.kv_heads * a.head_dim);
  const auto flops = [&](double window) {
    LayerContext layer = context(spec);
    layer.window = static_cast<std::int64_t>(window);
    const Passes passes = transformer_layer(layer, LayerKind::dense);
    return std::pair{row(passes.forward, "attention").flops,
                     row(passes.backward, "attention backward").flops};
  };
  const auto whole = flops(0);
  EXPECT_LT(flops(128).second, whole.second);
  EXPECT_EQ(bytes(dense(spec).forward, " to fp8"), 0);
  spec.training.attention = TrainingSpec::Attention::cudnn_mxfp8;
  EXPECT_EQ(flops(128).second, whole.second);
  EXPECT_LT(flops(128).first, whole.first);
  const double both_orders = 2 + 2 + 2.0 / 32;
  EXPECT_NEAR(bytes(dense(spec).forward, " to fp8"), recipe_tokens * (q + 2 * kv) * both_orders, 1);
  EXPECT_NEAR(bytes(dense(spec).backward, "gradient to fp8"), recipe_tokens * q * both_orders, 1);
}

TEST(HeadInFp8, IsCastAsLinearLayersAre) {
  WorkloadSpec spec = workload(small_dense());
  EXPECT_EQ(row(head(context(spec)).forward, "head").fp8, Fp8::none);
  spec.training.fp8_head = true;
  EXPECT_EQ(row(head(context(spec)).forward, "head").fp8, Fp8::casts);
}

TEST(FusedCrossEntropy, ReadsLogitsOnceAndMakesGradientsInPlace) {
  WorkloadSpec spec = workload(small_dense());
  const double logits = recipe_tokens * static_cast<double>(spec.model.vocabulary);
  EXPECT_EQ(bytes(head(context(spec)).forward, "loss"), logits * 38);
  spec.training.cross_entropy = TrainingSpec::CrossEntropy::fused;
  EXPECT_EQ(bytes(head(context(spec)).forward, "loss"), logits * 2);
  EXPECT_EQ(bytes(head(context(spec)).backward, "loss"), logits * 4);
}

TEST(OneHotLoss, WritesLabelsAndLogarithms) {
  WorkloadSpec spec = workload(small_dense());
  const double logits = recipe_tokens * static_cast<double>(spec.model.vocabulary);
  EXPECT_EQ(bytes(head(context(spec)).forward, "loss"), 38 * logits);
  EXPECT_EQ(bytes(head(context(spec)).backward, "loss backward"), 14 * logits);
  spec.training.cross_entropy = TrainingSpec::CrossEntropy::one_hot;
  const double shifted = (2 + 4) + 4 + (4 + 4) + (4 + 4) + 4;  // and exponentials, their sum
  const double label = (4 + 4) + 4 + (4 + 4 + 4) + (4 + 4) + 4;
  EXPECT_EQ(bytes(head(context(spec)).forward, "loss"), (shifted + label) * logits);
  const double back = (4 + 4) + (4 + 4 + 4) + (4 + 4) + (4 + 2);
  EXPECT_EQ(bytes(head(context(spec)).backward, "loss backward"), back * logits);
  spec.plan.tp = 2;
  EXPECT_EQ(bytes(head(context(spec)).backward, "loss backward"), (back + 4 + 4) * logits / 2);
}

TEST(TransformersLoss, CopiesAndCastsTheLogits) {
  WorkloadSpec spec = workload(small_dense());
  const double logits = recipe_tokens * static_cast<double>(spec.model.vocabulary);
  spec.training.cross_entropy = TrainingSpec::CrossEntropy::transformers;
  const double shift = 2 + 2, cast = 2 + 4, softmax = 4 + 4, output = 2 + 4;
  EXPECT_EQ(bytes(head(context(spec)).forward, "loss"), (shift + cast + softmax + output) * logits);
  const double zeros = 4, gradient = 4 + 4 + 4, back = 4 + 2, unshift = 2 + 2 + 2;
  EXPECT_EQ(bytes(head(context(spec)).backward, "loss backward"),
            (zeros + gradient + back + unshift) * logits);
}

// Three reductions end kernels, and a row of labels is no elementwise work.
TEST(OneHotLoss, IsFusedUpToItsReductions) {
  WorkloadSpec spec = workload(small_dense());
  const double logits = recipe_tokens * static_cast<double>(spec.model.vocabulary);
  spec.training.cross_entropy = TrainingSpec::CrossEntropy::one_hot;
  spec.runtime.fusion = RuntimeSpec::Fusion::dvm;
  const Passes passes = head(context(spec));
  const auto fused = [&](const LayerItems& items) {
    return bytes(as_run(items, spec, plain_cluster().device), "loss");
  };
  EXPECT_DOUBLE_EQ(fused(passes.forward), ((2 + 4) + (4 + 4) + 4 + (4 + 4 + 4)) * logits);
  EXPECT_DOUBLE_EQ(fused(passes.backward), (4 + 4 + 2) * logits);
}

// All but the last projection, its exchange and the sum runs again where the backward reads it.
TEST(Rebuild, LeavesOutWhatNoGradientReads) {
  for (const std::int64_t tp : {1, 2})
    for (const std::int64_t chunks : {1, 2}) {
      WorkloadSpec spec = workload(small_dense());
      spec.plan.tp = tp;
      spec.plan.sequence_parallel = tp > 1;
      spec.communication.tensor_chunks = tp > 1 ? chunks : 1;
      const Passes whole = dense(spec);
      spec.training.rebuild = TrainingSpec::Rebuild::needed;
      const Passes needed = dense(spec);
      EXPECT_EQ(needed.forward.size(), whole.forward.size());
      EXPECT_EQ(needed.backward.size(), whole.backward.size());
      ASSERT_LT(needed.recomputed.size(), whole.recomputed.size());
      EXPECT_EQ(std::get<Operator>(needed.recomputed.back()).name, "feed-forward activation");
      const double left_out = bytes(whole.recomputed, "feed-forward down") +
                              bytes(whole.recomputed, "feed-forward residual");
      EXPECT_DOUBLE_EQ(bytes(needed.recomputed, ""), bytes(whole.recomputed, "") - left_out);
    }
}

// A norm behind the feed-forward part reads what the last projection writes.
TEST(Rebuild, KeepsTheProjectionBeforeANorm) {
  WorkloadSpec spec = workload(small_dense());
  spec.model.norm = ModelSpec::Norm::sandwich;
  spec.training.rebuild = TrainingSpec::Rebuild::needed;
  EXPECT_EQ(std::get<Operator>(dense(spec).recomputed.back()).name, "feed-forward post norm");
}

TEST(LogitMetrics, AreLogSoftmaxesOverFullPrecision) {
  WorkloadSpec spec = workload(small_dense());
  const double logits = recipe_tokens * static_cast<double>(spec.model.vocabulary);
  EXPECT_EQ(bytes(head(context(spec)).forward, "metrics"), 0);
  spec.training.logit_metrics = 2;
  EXPECT_EQ(bytes(head(context(spec)).forward, "metrics"), 2 * logits * (2 + 4 + 4 + 4));
}

}  // namespace
}  // namespace stepcast
