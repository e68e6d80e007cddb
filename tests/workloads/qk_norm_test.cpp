#include <gtest/gtest.h>

#include <algorithm>

#include "known_models.hpp"
#include "lowering_fixtures.hpp"
#include "stepcast/workloads/memory.hpp"
#include "stepcast/workloads/states.hpp"

// Norms of queries and keys, and master weights that share half of the weight.
namespace stepcast {
namespace {

using namespace known_models;

ModelSpec normed(ModelSpec::QkNorm norm) {
  ModelSpec model = llama3_70b();
  model.qk_norm = norm;
  return model;
}

TEST(QkNorm, ParametersAreThoseOfOneHeadOrOfAll) {
  const double plain = count_parameters(llama3_70b()).total;
  EXPECT_DOUBLE_EQ(count_parameters(normed(ModelSpec::QkNorm::head)).total - plain, 80 * 2 * 128);
  EXPECT_DOUBLE_EQ(count_parameters(normed(ModelSpec::QkNorm::full)).total - plain,
                   80 * (64 + 8) * 128);
}

TEST(QkNorm, MatrixProductsOfATokenStayAsTheyAre) {
  EXPECT_DOUBLE_EQ(training_flops_per_token(normed(ModelSpec::QkNorm::full), 4096, false),
                   training_flops_per_token(llama3_70b(), 4096, false));
}

TEST(QkNorm, ActivationsGrowByWhatTheNormsRead) {
  WorkloadSpec spec;
  spec.model = llama3_70b();
  spec.training.sequence = 4096;
  spec.plan.tp = 8;
  const double before = layer_activations(spec, false, TrainingSpec::Recompute::none).value();
  spec.model.qk_norm = ModelSpec::QkNorm::head;
  const double after = layer_activations(spec, false, TrainingSpec::Recompute::none).value();
  EXPECT_DOUBLE_EQ(after - before, 2.0 * 4096 * 128 * (64 + 8) / 8);
}

TEST(MasterWeights, ARemainderIsTwoBytesLess) {
  TrainingSpec training;
  EXPECT_DOUBLE_EQ(optimizer_state_bytes(training), 12);
  training.master_weights = TrainingSpec::MasterWeights::remainder;
  EXPECT_DOUBLE_EQ(optimizer_state_bytes(training), 10);
}

TEST(MasterWeights, StoredWeightsAreMovedWithoutAHalfPrecisionCopy) {
  TrainingSpec training;
  EXPECT_DOUBLE_EQ(gathered_weight_bytes(training), 2);
  training.master_weights = TrainingSpec::MasterWeights::stored;
  EXPECT_DOUBLE_EQ(gathered_weight_bytes(training), 4);
  EXPECT_DOUBLE_EQ(optimizer_state_bytes(training), 12);
  EXPECT_DOUBLE_EQ(optimizer_step(10, RuntimeSpec{}, training).bytes.value(), 10 * 28);
  RuntimeSpec apart;
  apart.optimizer = RuntimeSpec::OptimizerKernels::elementwise;  // in FP32 alone
  EXPECT_DOUBLE_EQ(optimizer_step(10, apart, training).bytes.value(), 10 * 156);
}

TEST(MasterWeights, NoneIsTheWeightItself) {
  TrainingSpec training;
  training.master_weights = TrainingSpec::MasterWeights::none;
  EXPECT_DOUBLE_EQ(optimizer_state_bytes(training), 8);
  // a gradient, the weight and both moments, the latter three read and written
  EXPECT_DOUBLE_EQ(optimizer_step(10, RuntimeSpec{}, training).bytes.value(),
                   10 * (4 + 2 * (2 + 8)));
  RuntimeSpec apart;
  apart.optimizer = RuntimeSpec::OptimizerKernels::elementwise;  // in BF16 alone
  EXPECT_DOUBLE_EQ(optimizer_step(10, apart, training).bytes.value(), 10 * 156 / 2);
}

TEST(Moments, LowerPrecisionIsHeldAndMoved) {
  using Moment = TrainingSpec::Moment;
  TrainingSpec training;
  EXPECT_DOUBLE_EQ(moment_bytes(training), 8);
  const auto moved = [&] { return optimizer_step(10, RuntimeSpec{}, training).bytes.value(); };
  EXPECT_DOUBLE_EQ(moved(), 10 * 30);
  training.first_moment = Moment::bf16;
  training.second_moment = Moment::fp8;
  EXPECT_DOUBLE_EQ(moment_bytes(training), 3);
  EXPECT_DOUBLE_EQ(optimizer_state_bytes(training), 7);
  EXPECT_DOUBLE_EQ(moved(), 10 * (14 + 2 * 3));
  training.master_weights = TrainingSpec::MasterWeights::fp16;
  EXPECT_DOUBLE_EQ(optimizer_state_bytes(training), 5);
  EXPECT_DOUBLE_EQ(moved(), 10 * (10 + 2 * 3));
}

}  // namespace
}  // namespace stepcast
