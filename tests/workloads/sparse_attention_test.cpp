#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/memory.hpp"
#include "stepcast/workloads/operator_time.hpp"

// Latent attention to tokens that an indexer chooses: docs/models/sparse_attention.md.
namespace stepcast {
namespace {

using namespace lowering;

constexpr double sparse_tokens = 2048, top = 512, heads = 16, rank = 128, rope = 32, nope = 64,
                 value = 64, q_rank = 256, index_heads = 8, index_dim = 48, sparse_hidden = 1024;

ModelSpec small_sparse() {
  ModelSpec model = small_latent();
  auto& a = std::get<LatentAttention>(model.attention);
  a.index_heads = 8;
  a.index_dim = 48;
  a.index_top_k = 512;
  return model;
}

/// Pairs of tokens of one sequence, each with itself by half, of `most` for a query.
double pairs(std::int64_t sequence, double most) {
  double sum = 0;
  for (std::int64_t i = 0; i < sequence; ++i) sum += std::min(static_cast<double>(i) + 0.5, most);
  return sum;
}

Passes layer(const WorkloadSpec& spec) {
  return transformer_layer(context(spec), LayerKind::dense);
}

TEST(SparseAttention, AQueryMeetsTheTokensThatAreChosen) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = workload(small_sparse());
    spec.training.sequence = *rc::gen::inRange(1, 3000);
    const std::int64_t most = *rc::gen::inRange(1, 4000);
    std::get<LatentAttention>(spec.model.attention).index_top_k = most;
    const Passes passes = layer(spec);
    const double seen = pairs(spec.training.sequence, static_cast<double>(most));
    const double all = pairs(spec.training.sequence, 1e9);
    const auto near = [](double a, double b) { return std::abs(a / b - 1) < 1e-12; };
    RC_ASSERT(near(product_flops(passes.forward, "sparse attention"),
                   2 * seen * heads * (2 * rank + rope)));
    RC_ASSERT(near(product_flops(passes.backward, "sparse attention backward"),
                   2 * seen * heads * (3 * (rank + rope) + 2 * rank)));
    RC_ASSERT(
        near(product_flops(passes.forward, "index scores"), 2 * all * index_heads * index_dim));
    RC_ASSERT(near(product_flops(passes.backward, "index scores backward"),
                   3 * 2 * seen * index_heads * index_dim));
  }));
}

/// Matrices on queries and outputs instead of keys and values cost the same.
TEST(SparseAttention, AbsorbedProductsCostWhatTheProjectionCosts) {
  const Passes dense = layer(workload(small_latent())), sparse = layer(workload(small_sparse()));
  EXPECT_EQ(
      product_flops(sparse.forward, "q absorb") + product_flops(sparse.forward, "value absorb"),
      product_flops(dense.forward, "kv up"));
  EXPECT_EQ(
      product_flops(sparse.backward, "q absorb") + product_flops(sparse.backward, "value absorb"),
      product_flops(dense.backward, "kv up"));
}

TEST(SparseAttention, TheIndexerLearnsAloneAndOnEveryRank) {
  WorkloadSpec spec = workload(small_sparse());
  const auto indexer = [&](const char* row) {
    return product_flops(layer(spec).forward, row) + product_flops(layer(spec).backward, row);
  };
  const double queries = 2 * sparse_tokens * q_rank * index_heads * index_dim;
  EXPECT_EQ(indexer("index q"), 2 * queries);  // forward and the gradient of its weights
  EXPECT_EQ(product_flops(layer(spec).backward, "index q dgrad"), 0);
  const double core = product_flops(layer(spec).forward, "sparse attention");
  const double scores = product_flops(layer(spec).forward, "index scores");
  spec.plan.tp = 4;
  spec.plan.sequence_parallel = true;
  EXPECT_EQ(indexer("index q"), 2 * queries);
  EXPECT_EQ(product_flops(layer(spec).forward, "index scores"), scores);
  EXPECT_EQ(product_flops(layer(spec).forward, "sparse attention"), core / 4);
  const Traffic sums = traffic(layer(spec).forward, GroupKind::tensor, CollectiveKind::all_reduce);
  EXPECT_EQ(sums.calls, 1);  // of what the heads look at
  EXPECT_NEAR(sums.bytes, 4 * pairs(2048, top), 1e-6);
}

TEST(SparseAttention, ModelFlopsCountWhatIsLearnt) {
  const ModelSpec sparse = small_sparse(), dense = small_latent();
  for (const std::int64_t s : {512, 2048, 32768}) {
    const auto n = static_cast<double>(s);
    const double seen = pairs(s, top) / n, all = pairs(s, 1e9) / n;
    const double attention = 3 * 2 * (seen - all) * heads * (nope + rope + value);
    const double weights =
        q_rank * index_heads * index_dim + sparse_hidden * (index_dim + index_heads);
    const double scores = 2 * index_heads * index_dim * (all + 2 * seen);
    const double expected = 9 * (attention + 2 * 2 * weights + scores);  // 8 layers and a module
    EXPECT_NEAR(
        training_flops_per_token(sparse, s, true) - training_flops_per_token(dense, s, true),
        expected, 1e-9 * training_flops_per_token(dense, s, true));
  }
}

TEST(SparseAttention, ParametersByHand) {
  const ParameterCount sparse = count_parameters(small_sparse());
  EXPECT_EQ(
      sparse.attention_per_layer - count_parameters(small_latent()).attention_per_layer,
      q_rank * index_heads * index_dim + sparse_hidden * (index_dim + index_heads) + 2 * index_dim);
}

TEST(SparseAttention, ActivationsByHand) {
  WorkloadSpec spec = workload(small_sparse());
  const auto kept = [&](const ModelSpec& model) {
    spec.model = model;
    return layer_activations(spec, false, TrainingSpec::Recompute::none, SoftmaxState::compact)
               .value() /
           sparse_tokens;
  };
  const double dense = heads * 2 * (2 * (nope + rope) + value);
  const double sparse = heads * 2 * (nope + 2 * rank + rope);
  const double indexer = 2 * (index_heads * (index_dim + 1) + 2 * index_dim) + 2 * 4 * top;
  EXPECT_NEAR(kept(small_sparse()) - kept(small_latent()), sparse - dense + indexer, 1e-9);
}

TEST(SparseAttention, SelectionIsBoundByItsBytes) {
  const DeviceSpec device = plain_device();
  const WorkloadSpec spec = workload(small_sparse());
  for (const LayerItem& item : layer(spec).forward)
    if (const auto* op = std::get_if<Operator>(&item); op != nullptr && op->name == "index top-k") {
      EXPECT_NEAR(op->bytes.value(), 4 * (pairs(2048, 1e9) + pairs(2048, top)), 1e-3);
      EXPECT_EQ(operator_time(*op, device, false), op->bytes / device.memory_bandwidth);
      return;
    }
  FAIL() << "no row chooses";
}

}  // namespace
}  // namespace stepcast
