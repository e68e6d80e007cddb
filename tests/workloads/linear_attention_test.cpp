#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <random>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/memory.hpp"
#include "stepcast/workloads/operator_time.hpp"

// Attention whose heads keep a state: docs/models/linear_attention.md.
namespace stepcast {
namespace {

using namespace lowering;
using Rule = LinearAttention::Kind;

LinearAttention delta_net() {
  return {.key_heads = 8, .value_heads = 16, .key_dim = 64, .value_dim = 128, .full_every = 4};
}

LinearAttention lightning() {
  return {.kind = Rule::lightning,
          .key_heads = 16,
          .value_heads = 16,
          .key_dim = 64,
          .value_dim = 64,
          .convolution = 0,
          .chunk = 256,
          .full_every = 4};
}

ModelSpec with_states(const LinearAttention& attention) {
  ModelSpec model = small_dense();
  model.linear = attention;
  return model;
}

LayerContext linear_context(const WorkloadSpec& spec) {
  LayerContext layer = context(spec);
  layer.linear = true;
  return layer;
}

double core_flops(const LayerItems& items) { return product_flops(items, "chunk "); }

// ---- the chunkwise form against the recurrence it stands for -----------------------------------

using Matrix = std::vector<std::vector<double>>;

/// Products of matrices that count their FLOPs.
struct Counter {
  double flops = 0;

  Matrix times(const Matrix& a, const Matrix& b) {
    Matrix c(a.size(), std::vector<double>(b[0].size(), 0));
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < b[0].size(); ++j)
        for (std::size_t l = 0; l < b.size(); ++l) c[i][j] += a[i][l] * b[l][j];
    flops += 2.0 * static_cast<double>(a.size() * b.size() * b[0].size());
    return c;
  }
};

Matrix transposed(const Matrix& a) {
  Matrix b(a[0].size(), std::vector<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j) b[j][i] = a[i][j];
  return b;
}

Matrix random_matrix(std::mt19937& random, std::size_t rows, std::size_t columns) {
  std::uniform_real_distribution<double> number(-0.5, 0.5);
  Matrix m(rows, std::vector<double>(columns));
  for (auto& row : m)
    for (double& value : row) value = number(random);
  return m;
}

struct Sequence {
  Matrix q, k, v;
  std::vector<double> beta, decay;  ///< of each token
};

/// S = a (S - b k (k S)) + b k v, o = q S, token by token.
Matrix recurrent(const Sequence& s) {
  Matrix state(s.k[0].size(), std::vector<double>(s.v[0].size(), 0)), out;
  for (std::size_t t = 0; t < s.k.size(); ++t) {
    std::vector<double> read(s.v[0].size(), 0), o(s.v[0].size(), 0);
    for (std::size_t j = 0; j < read.size(); ++j)
      for (std::size_t i = 0; i < state.size(); ++i)
        read[j] += s.k[t][i] * s.decay[t] * state[i][j];
    for (std::size_t i = 0; i < state.size(); ++i)
      for (std::size_t j = 0; j < read.size(); ++j) {
        state[i][j] = s.decay[t] * state[i][j] + s.beta[t] * s.k[t][i] * (s.v[t][j] - read[j]);
        o[j] += s.q[t][i] * state[i][j];
      }
    out.push_back(o);
  }
  return out;
}

/// The kernels of `linear_attention_core.cpp`, one product after the other, over one head.
Matrix chunkwise(const Sequence& s, std::size_t c, Counter& products) {
  const std::size_t kd = s.k[0].size(), vd = s.v[0].size();
  Matrix state(kd, std::vector<double>(vd, 0)), out;
  for (std::size_t from = 0; from < s.k.size(); from += c) {
    const auto rows = [&](const Matrix& m) {
      return Matrix(m.begin() + static_cast<std::ptrdiff_t>(from),
                    m.begin() + static_cast<std::ptrdiff_t>(from + c));
    };
    const Matrix q = rows(s.q), k = rows(s.k), v = rows(s.v);
    std::vector<double> sum(c, 0);  // products of decays up to a token
    for (std::size_t i = 0; i < c; ++i) sum[i] = (i > 0 ? sum[i - 1] : 1) * s.decay[from + i];
    Matrix a = products.times(k, transposed(k));
    for (std::size_t i = 0; i < c; ++i)
      for (std::size_t j = 0; j < c; ++j)
        a[i][j] = j < i ? s.beta[from + i] * a[i][j] * sum[i] / sum[j] : 0;
    Matrix inverse(c, std::vector<double>(c, 0));  // of 1 + a, row by row
    for (std::size_t i = 0; i < c; ++i) {
      inverse[i][i] = 1;
      for (std::size_t j = 0; j < i; ++j)
        for (std::size_t l = j; l < i; ++l) inverse[i][j] -= a[i][l] * inverse[l][j];
    }
    Matrix bk = k, bv = v;
    for (std::size_t i = 0; i < c; ++i) {
      for (double& x : bk[i]) x *= s.beta[from + i] * sum[i];
      for (double& x : bv[i]) x *= s.beta[from + i];
    }
    const Matrix w = products.times(inverse, bk);
    Matrix u = products.times(inverse, bv);
    const Matrix seen = products.times(w, state);
    for (std::size_t i = 0; i < c; ++i)
      for (std::size_t j = 0; j < vd; ++j) u[i][j] -= seen[i][j];
    Matrix scores = products.times(q, transposed(k));
    Matrix scaled = q, written = k;
    for (std::size_t i = 0; i < c; ++i) {
      for (std::size_t j = 0; j < c; ++j) scores[i][j] *= j <= i ? sum[i] / sum[j] : 0;
      for (double& x : scaled[i]) x *= sum[i];
      for (double& x : written[i]) x *= sum[c - 1] / sum[i];
    }
    const Matrix across = products.times(scaled, state);
    const Matrix inside = products.times(scores, u);
    for (std::size_t i = 0; i < c; ++i) {
      out.push_back(across[i]);
      for (std::size_t j = 0; j < vd; ++j) out.back()[j] += inside[i][j];
    }
    const Matrix added = products.times(transposed(written), u);
    for (std::size_t i = 0; i < kd; ++i)
      for (std::size_t j = 0; j < vd; ++j) state[i][j] = sum[c - 1] * state[i][j] + added[i][j];
  }
  return out;
}

TEST(LinearAttention, ChunksGiveWhatTheRecurrenceGivesWithTheFlopsOfTheKernels) {
  constexpr std::size_t tokens = 24, kd = 5, vd = 7, c = 8;
  std::mt19937 random(7);
  Sequence s{random_matrix(random, tokens, kd),
             random_matrix(random, tokens, kd),
             random_matrix(random, tokens, vd),
             {},
             {}};
  std::uniform_real_distribution<double> part(0.3, 1.0);
  for (std::size_t t = 0; t < tokens; ++t) {
    s.beta.push_back(part(random));
    s.decay.push_back(part(random));
  }
  Counter products;
  const Matrix chunked = chunkwise(s, c, products), plain = recurrent(s);
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t j = 0; j < vd; ++j) EXPECT_NEAR(chunked[t][j], plain[t][j], 1e-12);

  WorkloadSpec spec = workload(with_states({.key_dim = kd, .value_dim = vd, .chunk = c}));
  spec.training.sequence = tokens;
  const LayerItems layer = transformer_layer(linear_context(spec), LayerKind::dense).forward;
  const double inverse = product_flops(layer, "chunk inverse");
  EXPECT_DOUBLE_EQ(inverse, tokens * c * c / 3.0);
  EXPECT_DOUBLE_EQ(core_flops(layer) - inverse - product_flops(layer, "chunk decay sums"),
                   products.flops);
}

// ---- layers -------------------------------------------------------------------------------------

TEST(LinearAttention, FlopsAreTheClosedForms) {
  const double c = 64, k = 64, v = 128, heads = 16, tokens = 2048;
  const WorkloadSpec delta = workload(with_states(delta_net()));
  const Passes d = transformer_layer(linear_context(delta), LayerKind::dense);
  EXPECT_DOUBLE_EQ(core_flops(d.forward) / (tokens * heads),
                   6 * k * v + c * (6 * k + 4 * v) + c * c / 3 + 1);
  EXPECT_DOUBLE_EQ(core_flops(d.backward) / (tokens * heads),
                   16 * k * v + c * (20 * k + 10 * v) + 4 * c * c + 1);
  const double width = 2 * 8 * k + 2 * heads * v + 2 * heads;
  EXPECT_EQ(product_flops(d.forward, "linear attention in"), 2 * tokens * 1024 * width);
  EXPECT_EQ(product_flops(d.forward, "linear attention out"), 2 * tokens * 1024 * heads * v);

  const WorkloadSpec flash = workload(with_states(lightning()));
  const Passes l = transformer_layer(linear_context(flash), LayerKind::dense);
  EXPECT_DOUBLE_EQ(core_flops(l.forward) / (tokens * heads), 4 * k * k + 256 * 4 * k);
  EXPECT_DOUBLE_EQ(core_flops(l.backward) / (tokens * heads), 10 * k * k + 256 * 10 * k);
}

TEST(LinearAttention, RanksOfAGroupShareItsHeads) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = workload(with_states(delta_net()));
    const auto passes = [&] { return transformer_layer(linear_context(spec), LayerKind::dense); };
    const double forward = core_flops(passes().forward), backward = core_flops(passes().backward);
    spec.plan.tp = *rc::gen::element(1, 2, 4);
    spec.plan.cp = *rc::gen::element(1, 2);
    spec.plan.context_algorithm = ParallelPlan::ContextAlgorithm::ulysses;
    spec.plan.sequence_parallel = *rc::gen::arbitrary<bool>();
    const auto ranks = static_cast<double>(spec.plan.tp * spec.plan.cp);
    RC_ASSERT(std::abs(core_flops(passes().forward) * ranks / forward - 1) < 1e-12);
    RC_ASSERT(std::abs(core_flops(passes().backward) * ranks / backward - 1) < 1e-12);
    const Traffic heads = traffic(passes().forward, GroupKind::context, CollectiveKind::all_to_all);
    RC_ASSERT(heads.calls == (spec.plan.cp > 1 ? 2 : 0));
    if (spec.plan.cp == 1) return;
    // all that the projection makes goes there, values come back
    const double width = 2 * 8 * 64 + 2 * 16 * 128 + 2 * 16 + 16 * 128;
    RC_ASSERT(std::abs(heads.bytes * ranks / (2 * 2048 * width) - 1) < 1e-12);
  }));
}

TEST(LinearAttention, StagesRunEachLayerWithItsOwn) {
  const ModelSpec model = with_states(delta_net());
  for (std::int64_t layer = 0; layer < 8; ++layer)
    EXPECT_EQ(model.is_linear(layer), layer != 3 && layer != 7);
  WorkloadSpec spec = workload(model);
  const auto executed = [&] {
    const LayerTable layers = assign_layers(spec, plain_cluster());
    const StageProgram program = lower_stage(spec, layers, plain_cluster(), Stage{0});
    return std::pair{program.executed_flops, program.executed_attention_flops};
  };
  const auto mixed = executed();
  spec.model.linear->full_every = 0;
  const auto linear = executed();
  spec.model.linear.reset();
  const auto full = executed();
  EXPECT_NEAR(mixed.first, 0.75 * linear.first + 0.25 * full.first, 1e-3 * mixed.first);
  EXPECT_NEAR(mixed.second, 0.25 * full.second, 1e-9 * full.second);
  EXPECT_EQ(linear.second, 0);
}

/// 6 of 8 layers read a state, write to it and read it again, whatever the chunk and the sequence.
TEST(LinearAttention, ModelFlopsAreThoseOfTheRecurrence) {
  ModelSpec model = with_states(delta_net());
  const double hidden = 1024, k = 64, v = 128, heads = 16;
  const double weights = hidden * (2 * 8 * k + 3 * heads * v + 2 * heads);
  const double linear = 3 * (2 * weights + 6 * heads * k * v);
  const auto full = [](std::int64_t sequence) {
    return 3 * (2 * 1024.0 * (2 * 16 + 2 * 8) * 64 + 2.0 * 16 * 64 * static_cast<double>(sequence));
  };
  const double rest = 3 * 2 * (8 * 3 * hidden * 4096 + hidden * 32000);
  for (const std::int64_t sequence : {0, 2048, 65536})
    EXPECT_NEAR(
        training_flops_per_token(model, sequence, false) / (rest + 6 * linear + 2 * full(sequence)),
        1, 1e-12);
  const double chunk_64 = training_flops_per_token(model, 2048, false);
  model.linear->chunk = 128;
  EXPECT_EQ(training_flops_per_token(model, 2048, false), chunk_64);
}

TEST(LinearAttention, ParametersByHand) {
  const ParameterCount count = count_parameters(with_states(delta_net()));
  const double keys = 8 * 64, values = 16 * 128;
  EXPECT_EQ(count.linear_attention_per_layer,
            1024 * (2 * keys + 3 * values + 32) + 4 * (2 * keys + values) + 32 + 128);
  EXPECT_EQ(count_parameters(with_states(lightning())).linear_attention_per_layer,
            1024 * 5 * 1024 + 1024);
  EXPECT_EQ(count.total_without_mtp - count_parameters(small_dense()).total_without_mtp,
            6 * (count.linear_attention_per_layer - count.attention_per_layer));
}

TEST(LinearAttention, ActivationsByHand) {
  const WorkloadSpec spec = workload(with_states(delta_net()));
  const auto bytes = [&](bool linear) {
    return layer_activations(spec, false, TrainingSpec::Recompute::none, SoftmaxState::compact,
                             linear)
               .value() /
           2048;
  };
  const double keys = 8 * 64, values = 16 * 128, repeated = 16 * 64;
  // input of the convolution, of both norms, q and k of all heads, v, inverses, gates, and the
  // output with its gate before and after they meet
  const double delta = 2 * (2 * keys + values) + 2 * 2 * keys + 2 * 2 * repeated + 2 * values +
                       2 * 16 * 64 + 4 * 32 + 3 * 2 * values;
  const double attention = 2 * (2 * 16 + 2 * 8) * 64 + 4 * 16;
  EXPECT_NEAR(bytes(true) - bytes(false), delta - attention, 1e-9);
  EXPECT_EQ(
      layer_activations(spec, false, TrainingSpec::Recompute::full, SoftmaxState::compact, true),
      layer_activations(spec, false, TrainingSpec::Recompute::full, SoftmaxState::compact));
}

/// No table measures these kernels: they take what bytes or products need at least.
TEST(LinearAttention, TimesAreTheRoof) {
  DeviceSpec device = plain_device();
  device.efficiency.matmul.sustained = 0.8;
  device.efficiency.memory.peak = 0.9;
  const WorkloadSpec spec = workload(with_states(delta_net()));
  int seen = 0;
  for (const LayerItem& item : transformer_layer(linear_context(spec), LayerKind::dense).backward)
    if (const auto* op = std::get_if<Operator>(&item);
        op != nullptr && std::holds_alternative<LinearAttentionWork>(op->work)) {
      const double roof =
          std::max(op->flops.value() / (0.8 * 300e12), op->bytes.value() / (0.9 * 1.6e12));
      EXPECT_DOUBLE_EQ(operator_time(*op, device, false).value(), roof) << op->name;
      ++seen;
    }
  EXPECT_EQ(seen, 7);
}

TEST(LinearAttention, OutputGatesWidenTheQueries) {
  WorkloadSpec spec = workload(small_dense());
  const Passes plain = transformer_layer(context(spec), LayerKind::dense);
  std::get<GroupedQueryAttention>(spec.model.attention).output_gate = true;
  const Passes gated = transformer_layer(context(spec), LayerKind::dense);
  EXPECT_EQ(product_flops(gated.forward) - product_flops(plain.forward), 2.0 * 2048 * 1024 * 1024);
  EXPECT_EQ(product_flops(gated.backward) - product_flops(plain.backward),
            2 * 2.0 * 2048 * 1024 * 1024);
  EXPECT_EQ(gated.dense_parameters - plain.dense_parameters, 1024.0 * 1024);
}

}  // namespace
}  // namespace stepcast
