#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <ostream>

#include "known_models.hpp"

namespace stepcast {
namespace {

using namespace known_models;

/// Published or tabulated sizes: docs/models/parameters.md. Zero: not tabulated.
struct Size {
  const char* name;
  ModelSpec model;
  double without_mtp, mtp, active;
};

void PrintTo(const Size& size, std::ostream* out) { *out << size.name; }

class ParameterTable : public ::testing::TestWithParam<Size> {};

TEST_P(ParameterTable, IsMetWithinATenthOfAPercent) {
  const Size& size = GetParam();
  const ParameterCount count = count_parameters(size.model);
  EXPECT_NEAR(count.total_without_mtp, size.without_mtp, 1e-3 * size.without_mtp);
  EXPECT_NEAR(count.mtp, size.mtp, 1e-3 * size.mtp);
  EXPECT_NEAR(count.active, size.active, 1e-3 * size.active);
  EXPECT_EQ(count.total, count.total_without_mtp + count.mtp);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ParameterTable,
    ::testing::Values(Size{"gpt3", gpt3_175b(), 174.604e9, 0, 174.604e9},
                      Size{"llama3", llama3_70b(), 70.554e9, 0, 70.554e9},
                      Size{"mixtral", mixtral_8x7b(), 46.703e9, 0, 12.880e9},
                      Size{"mixtral22", mixtral_8x22b(), 140.621e9, 0, 39.15e9},
                      Size{"qwen3", qwen3_235b_a22b(), 235.094e9, 0, 22.19e9},
                      Size{"qwen2", qwen2_57b_a14b(), 57.409e9, 0, 14.25e9},
                      Size{"deepseek2", deepseek_v2(), 235.741e9, 0, 21.38e9},
                      Size{"deepseek", deepseek_v3(), 671.026e9, 11.61e9, 37.55e9},
                      Size{"pangu", pangu_ultra_moe(), 719.09e9, 12.44e9, 40.37e9},
                      Size{"telechat105", telechat3_105b(), 102.256e9, 2.320e9, 4.676e9},
                      Size{"telechat36", telechat3_36b(), 36.24e9, 0, 36.24e9}));

TEST(Parameters, PartsOfPublishedModels) {
  const ParameterCount deepseek = count_parameters(deepseek_v3());
  EXPECT_NEAR(deepseek.attention_per_layer, 187.11e6, 1e-3 * 187.11e6);
  EXPECT_NEAR(
      deepseek.attention_per_layer + deepseek.dense_ffn_per_layer + deepseek.norms_per_layer,
      583.5e6, 1e-3 * 583.5e6);
  EXPECT_NEAR(deepseek.attention_per_layer + deepseek.moe_ffn_per_layer + deepseek.norms_per_layer,
              11.507e9, 1e-3 * 11.507e9);
  EXPECT_NEAR(deepseek.active - deepseek.embedding, 36.63e9, 1e-3 * 36.63e9);

  const ParameterCount telechat = count_parameters(telechat3_105b());
  EXPECT_NEAR(telechat.attention_per_layer, 29.53e6, 1e-3 * 29.53e6);
  EXPECT_NEAR(telechat.attention_per_layer + telechat.moe_ffn_per_layer + telechat.norms_per_layer,
              2.307e9, 1e-3 * 2.307e9);

  const ParameterCount pangu = count_parameters(pangu_ultra_moe());
  EXPECT_NEAR(pangu.active - pangu.embedding, 39.19e9, 1e-3 * 39.19e9);
}

TEST(Parameters, EveryBiasOfASmallModelIsCounted) {
  ModelSpec model = grouped(1, 8, {2, 1, 4}, 16, 10);
  const double plain = count_parameters(model).total;
  EXPECT_EQ(plain, 2 * 10 * 8 + 8 + (2 * 8 * 8 + 2 * 8 * 4) + 3 * 8 * 16 + 2 * 8);
  model.bias = ModelSpec::Bias::qkv;
  EXPECT_EQ(count_parameters(model).total, plain + 8 + 2 * 4);
  model.bias = ModelSpec::Bias::all;
  EXPECT_EQ(count_parameters(model).total, plain + 8 + 2 * 4 + 8 + 2 * 16 + 8);
  model.tied_embeddings = true;
  EXPECT_EQ(count_parameters(model).total, plain + 8 + 2 * 4 + 8 + 2 * 16 + 8 - 10 * 8);
}

TEST(Parameters, LatentAttentionWithoutQueryRankProjectsDirectly) {
  ModelSpec model = grouped(1, 8, {}, 16, 10);
  model.attention = LatentAttention{2, 0, 3, 4, 2, 5};
  EXPECT_EQ(count_parameters(model).attention_per_layer,
            8 * 2 * 6 + 8 * (3 + 2) + 3 + 3 * 2 * (4 + 5) + 2 * 5 * 8);
}

TEST(Parameters, MoeLayersFollowFirstDenseAndPeriod) {
  ModelSpec model = mixtral_8x7b();
  model.moe->first_dense = 1;
  model.moe->period = 2;  // layers 1, 3, .. 31
  const ParameterCount count = count_parameters(model);
  EXPECT_DOUBLE_EQ(count.total, count.embedding + count.head + count.final_norm +
                                    32 * (count.attention_per_layer + count.norms_per_layer) +
                                    16 * count.dense_ffn_per_layer + 16 * count.moe_ffn_per_layer);
}

TEST(Parameters, ChoosingEveryExpertActivatesAll) {
  EXPECT_TRUE(rc::check([] {
    ModelSpec model = mixtral_8x7b();
    model.layers = *rc::gen::inRange(1, 40);
    model.moe->experts = *rc::gen::inRange(1, 65);
    model.moe->top_k = *rc::gen::inRange<std::int64_t>(1, model.moe->experts + 1);
    model.moe->first_dense = *rc::gen::inRange<std::int64_t>(0, model.layers + 1);
    const ParameterCount count = count_parameters(model);
    RC_ASSERT(count.active <= count.total);
    model.moe->top_k = model.moe->experts;
    const ParameterCount all = count_parameters(model);
    RC_ASSERT(std::abs(all.active - all.total) <= 1e-9 * all.total);
  }));
}

/// GFLOP per token at a sequence, with and without MTP.
struct FlopsRow {
  const char* name;
  ModelSpec model;
  std::int64_t sequence;
  double plain, with_mtp;
};

void PrintTo(const FlopsRow& work, std::ostream* out) { *out << work.name << " " << work.sequence; }

class FlopsTable : public ::testing::TestWithParam<FlopsRow> {};

TEST_P(FlopsTable, IsMetWithinATenthOfAPercent) {
  const FlopsRow& work = GetParam();
  EXPECT_NEAR(training_flops_per_token(work.model, work.sequence, false) / 1e9, work.plain,
              1e-3 * work.plain);
  EXPECT_NEAR(training_flops_per_token(work.model, work.sequence, true) / 1e9, work.with_mtp,
              1e-3 * work.with_mtp);
}

INSTANTIATE_TEST_SUITE_P(
    Models, FlopsTable,
    ::testing::Values(FlopsRow{"deepseek", deepseek_v3(), 4096, 250.5, 260.6},
                      FlopsRow{"deepseek", deepseek_v3(), 8192, 281.2, 291.9},
                      FlopsRow{"pangu", pangu_ultra_moe(), 4096, 265.8, 277.9},
                      FlopsRow{"pangu", pangu_ultra_moe(), 8192, 296.5, 309.1},
                      FlopsRow{"telechat105", telechat3_105b(), 4096, 31.7, 34.45},
                      FlopsRow{"telechat105", telechat3_105b(), 8192, 37.4, 40.24},
                      FlopsRow{"telechat36", telechat3_36b(), 8192, 231.9, 231.9}));

TEST(TrainingFlops, OfGpt3IsTheMegatronFormula) {
  // 72 s L h^2 (1 + s/(12 h) + V/(12 L h)) per sequence (Narayanan et al. 2021 without recompute,
  // the causal core counted half).
  const ModelSpec model = gpt3_175b();
  const double sequence = 2048, layers = 96, hidden = 12288, vocabulary = 50257;
  const double per_token = 72 * layers * hidden * hidden *
                           (1 + sequence / (12 * hidden) + vocabulary / (12 * layers * hidden));
  EXPECT_NEAR(training_flops_per_token(model, 2048, true), per_token, 1e-9 * per_token);
}

TEST(TrainingFlops, GrowLinearlyWithTheSequence) {
  const ModelSpec model = deepseek_v3();
  const double one = training_flops_per_token(model, 1000, true);
  const double two = training_flops_per_token(model, 2000, true);
  const double three = training_flops_per_token(model, 3000, true);
  EXPECT_NEAR(three - two, two - one, 1e-9 * one);
  EXPECT_GT(two, one);
}

}  // namespace
}  // namespace stepcast
