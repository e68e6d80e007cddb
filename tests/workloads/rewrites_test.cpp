#include "stepcast/workloads/rewrites.hpp"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {
namespace {

std::vector<Operator> operators(const LayerItems& items) {
  std::vector<Operator> found;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item)) found.push_back(*op);
  return found;
}

bool is_cast(const Operator& op) { return op.name.ends_with(" to fp8"); }

double cast_bytes(const LayerItems& items) {
  double sum = 0;
  for (const Operator& op : operators(items))
    if (is_cast(op)) sum += op.bytes.value();
  return sum;
}

struct Step {
  WorkloadSpec spec;
  Step() { spec.training.micro_batch = 2; }
  LayerContext context() const {
    return {spec.model, spec.plan, spec.training, spec.moe, 1, 4, 1, nullptr, 0};
  }
};

TEST(Rewrites, EveryProductOfADenseLayerReadsItsInputOnce) {
  Step step;
  step.spec.model =
      lowering::small_dense();  // hidden 1024, 16 heads of 64, 8 KV heads, SwiGLU 4096
  step.spec.training.sequence = 512;
  const Passes passes = transformer_layer(step.context(), LayerKind::dense);
  const double tokens = 2 * 512;
  const double inputs = 1024 + 1024 + 1024 + 4096;         // qkv, attention out, up, down
  const double gradients = 2048 + 1024 + 2 * 4096 + 1024;  // of their outputs
  EXPECT_DOUBLE_EQ(cast_bytes(with_fp8_casts(passes.forward)), 4 * tokens * inputs);
  EXPECT_DOUBLE_EQ(cast_bytes(with_fp8_casts(passes.backward)), 4 * tokens * gradients);
  EXPECT_DOUBLE_EQ(cast_bytes(with_fp8_casts(passes.backward_weight)), 0);
}

TEST(Rewrites, StandBeforeTheirProductsAndChangeNothingElse) {
  Step step;
  step.spec.model = lowering::small_moe();
  step.spec.training.sequence = 512;
  const LayerItems plain = transformer_layer(step.context(), LayerKind::moe).backward;
  const LayerItems cast = with_fp8_casts(plain);
  std::size_t at = 0;
  for (std::size_t i = 0; i < cast.size(); ++i) {
    const auto* op = std::get_if<Operator>(&cast[i]);
    if (op != nullptr && is_cast(*op)) {
      ASSERT_LT(i + 1, cast.size());
      EXPECT_EQ(op->name, std::get<Operator>(cast[i + 1]).name + " to fp8");
      continue;
    }
    EXPECT_EQ(cast[i].index(), plain[at].index());
    ++at;
  }
  EXPECT_EQ(at, plain.size());
}

double named_bytes(const LayerItems& items, const std::string& end) {
  double sum = 0;
  for (const Operator& op : operators(items))
    if (op.name.ends_with(end)) sum += op.bytes.value();
  return sum;
}

TEST(Rewrites, StoredWeightsAreCastOnceForwardAndTheirGradientsBack) {
  Step step;
  step.spec.model = lowering::small_dense();
  step.spec.training.sequence = 512;
  const Passes passes = transformer_layer(step.context(), LayerKind::dense);
  // qkv, attention out, up with its gate, down
  const double weights = 1024 * (2048 + 1024 + 2 * 4096 + 4096);
  EXPECT_DOUBLE_EQ(named_bytes(with_weight_casts(passes.forward), " weights cast"), 6 * weights);
  EXPECT_DOUBLE_EQ(named_bytes(with_weight_casts(passes.backward), " weights cast"), 0);
  EXPECT_DOUBLE_EQ(named_bytes(with_weight_casts(passes.backward), " wgrad cast"), 6 * weights);
  EXPECT_DOUBLE_EQ(named_bytes(with_weight_casts(passes.backward_weight), " wgrad cast"),
                   6 * weights);
}

TEST(Rewrites, StoredWeightsOfExpertsAreThoseOfAllOfTheRank) {
  Step step;
  step.spec.model = lowering::small_moe();
  step.spec.training.sequence = 512;
  const LayerItems cast =
      with_weight_casts(transformer_layer(step.context(), LayerKind::moe).forward);
  const double experts = 16 * 512;  // their widths together
  EXPECT_DOUBLE_EQ(named_bytes(cast, "experts up weights cast"), 6 * 1024 * 2 * experts);
  EXPECT_DOUBLE_EQ(named_bytes(cast, "experts down weights cast"), 6 * 1024 * experts);
}

TEST(Rewrites, HeadRouterAndScoresStayInBf16) {
  Step step;
  step.spec.model = lowering::small_moe();
  step.spec.training.sequence = 512;
  step.spec.training.attention = TrainingSpec::Attention::unfused;
  EXPECT_EQ(cast_bytes(with_fp8_casts(head(step.context()).forward)), 0);
  const Passes layer = transformer_layer(step.context(), LayerKind::moe);
  for (const Operator& op : operators(layer.forward))
    if (op.name == "router" || op.name.starts_with("attention scores")) {
      EXPECT_EQ(op.fp8, Fp8::none) << op.name;
    }
}

TEST(Rewrites, RowsThatArriveInFp8AreNotCastAgain) {
  Step step;
  step.spec.model = lowering::small_moe();
  step.spec.training.sequence = 512;
  step.spec.plan.dp = 4;
  step.spec.plan.ep = 4;
  const auto casts_of = [&](MoeSpec::Wire wire, const std::string& name) {
    step.spec.moe.wire = wire;
    int found = 0;
    for (const Operator& op :
         operators(with_fp8_casts(transformer_layer(step.context(), LayerKind::moe).forward)))
      if (op.name == name) ++found;
    return found;
  };
  EXPECT_EQ(casts_of(MoeSpec::Wire::bf16, "experts up to fp8"), 1);
  EXPECT_EQ(casts_of(MoeSpec::Wire::fp8, "experts up to fp8"), 0);
  EXPECT_EQ(casts_of(MoeSpec::Wire::fp8, "experts down to fp8"), 1);
}

TEST(OptimizerStep, ElementwiseKernelsReadAndWriteEveryOperand) {
  // operands of each operation, its result included, of 4 bytes
  const double first_moment = 2 + 2 + 3, second_moment = 2 + 2 + 2 + 3;  // scaled, squared, added
  const double quotient = 2 + 2 + 3, decay = 2 + 3, change = 2 + 3, assignments = 3 * 2;
  RuntimeSpec runtime;
  EXPECT_DOUBLE_EQ(optimizer_step(10, runtime).bytes.value(), 10 * (7 * 4 + 2));
  runtime.optimizer = RuntimeSpec::OptimizerKernels::elementwise;
  EXPECT_DOUBLE_EQ(
      optimizer_step(10, runtime).bytes.value(),
      10 * 4 * (first_moment + second_moment + quotient + decay + change + assignments));
}

TEST(OptimizerStep, StatementsOfOneTensorReadAndWriteFullPrecision) {
  // operands of each statement, its result included, of 4 bytes
  const double clip = 2, first_moment = 2 + 3, second_moment = 2 + 3;
  const double denominator = 2 + 2 + 2, change = 4;
  RuntimeSpec runtime;
  runtime.optimizer = RuntimeSpec::OptimizerKernels::per_tensor;
  EXPECT_DOUBLE_EQ(optimizer_step(10, runtime).bytes.value(),
                   10 * 4 * (clip + first_moment + second_moment + denominator + change));
}

double product_bytes(const LayerItems& items) {
  double sum = 0;
  for (const Operator& op : operators(items))
    if (op.name.ends_with(" wgrad")) sum += op.bytes.value();
  return sum;
}

TEST(Rewrites, SeparateAccumulationIsAnOperatorOfItsOwn) {
  Step step;
  step.spec.model = lowering::small_moe();
  step.spec.training.sequence = 512;
  const Passes passes = transformer_layer(step.context(), LayerKind::moe);
  const double weights = 1024 * 2048 + 1024 * 1024  // qkv, attention out
                         + 3 * 1024 * 1024          // shared expert: gate, up, down
                         + 1024 * 16                // router
                         + 16 * (3 * 1024 * 512);   // routed experts
  double added = 0;
  const LayerItems separate = with_separate_accumulation(passes.backward, 4);
  for (const Operator& op : operators(separate))
    if (op.name.ends_with(" wgrad accumulation")) {
      EXPECT_TRUE(std::holds_alternative<MemoryBoundWork>(op.work));
      added += op.bytes.value();
    }
  EXPECT_DOUBLE_EQ(added, (2 + 4 + 4) * weights);
  EXPECT_DOUBLE_EQ(product_bytes(separate), product_bytes(passes.backward) - (4 + 4 - 2) * weights);
  EXPECT_EQ(operators(with_separate_accumulation(passes.backward_input, 4)).size(),
            operators(passes.backward_input).size());
}

TEST(Rewrites, FlatGradientsAreJoinedCastAndDivided) {
  Step step;
  step.spec.model = lowering::small_moe();
  step.spec.training.sequence = 512;
  const Passes passes = transformer_layer(step.context(), LayerKind::moe);
  const auto moved = [&](double gradient_bytes) {
    double bytes = 0, products = 0;
    for (const Operator& op : operators(with_flat_gradients(passes.backward, gradient_bytes))) {
      if (!op.name.ends_with(" wgrad flattened")) continue;
      EXPECT_TRUE(std::holds_alternative<MemoryBoundWork>(op.work));
      EXPECT_EQ(op.flops.value(), 0);
      bytes += op.bytes.value();
      ++products;
    }
    EXPECT_GT(products, 4);
    return bytes;
  };
  // joined, 2 read and 2 written; where they are reduced in FP32, cast (2 and 4); divided
  EXPECT_DOUBLE_EQ(moved(4) / moved(2), (4.0 + 6 + 8) / (4 + 4));
  const LayerItems flat = with_flat_gradients(passes.backward, 2);
  const LayerItems separate = with_separate_accumulation(passes.backward, 2);
  EXPECT_DOUBLE_EQ(product_bytes(flat), product_bytes(separate));
}

TEST(Rewrites, TheGradientOfTheTableIsWrittenWholeAndAddedBehind) {
  using Accumulation = CommunicationSpec::Accumulation;
  Step step;
  step.spec.model = lowering::small_moe();
  step.spec.training.sequence = 512;
  const double rows = 2 * 512 * 1024.0;
  const auto table = static_cast<double>(step.spec.model.vocabulary) * 1024;
  const auto bytes = [&](Accumulation how) {
    step.spec.communication.accumulation = how;
    const std::vector<Operator> run =
        operators(as_run(embedding(step.context()).backward, step.spec, {}));
    EXPECT_EQ(run.size(), 2U);
    EXPECT_EQ(run.front().name, "embedding gradient");
    EXPECT_EQ(run.front().bytes.value(), 4 * rows + 2 * table);
    return run.back().bytes.value();
  };
  EXPECT_EQ(bytes(Accumulation::fused), (2 + 4 + 4) * table);
  EXPECT_EQ(bytes(Accumulation::separate), (2 + 4 + 4) * table);
  EXPECT_EQ(bytes(Accumulation::flat), (4 + 6 + 8) * table);
}

TEST(Rewrites, PersistentNormsAreTheNormsOfTheLayerAtTheirOwnRate) {
  Step step;
  step.spec.model = lowering::small_moe();
  step.spec.model.norm = ModelSpec::Norm::layer;
  step.spec.training.sequence = 512;
  const Passes passes = transformer_layer(step.context(), LayerKind::moe);
  DeviceSpec device = lowering::plain_device();
  device.efficiency.memory = {.peak = 0.8, .norm = 0.4, .backward = 0.5};
  device.efficiency.memory.persistent_norm = 0.6;
  device.efficiency.memory.persistent_norm_backward = 0.7;
  const auto times = [&](const LayerItems& items) {
    std::vector<double> out;
    for (const Operator& op : operators(items))
      if (const auto* work = std::get_if<MemoryBoundWork>(&op.work);
          work != nullptr && op.name.find("norm") != std::string::npos)
        out.push_back(operator_time(op, device, false).value());
    return out;
  };
  const auto faster = [&](const LayerItems& items) {
    const std::vector<double> plain = times(items), own = times(with_persistent_norms(items));
    EXPECT_EQ(plain.size(), 2);
    EXPECT_EQ(own.size(), plain.size());
    return plain.front() / own.front();
  };
  EXPECT_NEAR(faster(passes.forward), 0.6 / 0.4, 1e-9);
  EXPECT_NEAR(faster(passes.backward_input), 0.7 / (0.4 * 0.5), 1e-9);
}

}  // namespace
}  // namespace stepcast
