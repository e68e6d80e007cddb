#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/rewrites.hpp"

// Kernels that make FP8 operands, by recipe: the table of docs/models/fp8.md.
namespace stepcast {
namespace {

using namespace lowering;
using Recipe = TrainingSpec::Fp8Recipe;
using Scales = KernelSpec::Scales;

struct Sum {
  int kernels = 0;
  double bytes = 0;
  bool operator==(const Sum&) const = default;
};

void PrintTo(const Sum& s, std::ostream* out) { *out << s.kernels << " of " << s.bytes << " B"; }

/// Vector operators whose name ends so.
Sum sum(const LayerItems& items, const std::string& end) {
  Sum found;
  for (const LayerItem& item : items) {
    const auto* op = std::get_if<Operator>(&item);
    if (op == nullptr || !op->name.ends_with(end)) continue;
    EXPECT_TRUE(std::holds_alternative<MemoryBoundWork>(op->work)) << op->name;
    ++found.kernels;
    found.bytes += op->bytes.value();
  }
  return found;
}

constexpr double cast_m = 512, cast_k = 1024, cast_n = 2048;

/// The three products of a linear layer, in an FP8 step.
LayerItems products(double groups = 1) {
  const auto op = [&](const char* name, double rows, double columns, double inner, Fp8 fp8) {
    Operator of{.name = name, .launch = LaunchClass::matmul, .fp8 = fp8};
    if (groups > 1)
      of.work = GroupedMatmulWork{groups, rows, columns, inner};
    else
      of.work = MatmulWork{rows, columns, inner};
    return of;
  };
  Operator gradient = op("w dgrad", cast_m, cast_k, cast_n, Fp8::casts);
  gradient.input_gradient = true;
  Operator weights = op("w wgrad", cast_k, cast_n, cast_m, Fp8::ready);
  weights.accumulated = groups * cast_k * cast_n;
  return {op("w", cast_m, cast_n, cast_k, Fp8::casts), gradient, weights};
}

LayerItems cast(Recipe recipe, double groups = 1, bool per_expert = false,
                Scales scales = Scales::joined) {
  return with_fp8_casts(products(groups), {recipe, scales, per_expert});
}

constexpr double inputs = cast_m * cast_k, gradients = cast_m * cast_n, weights = cast_k * cast_n;

TEST(Fp8Casts, DelayedAndTensorwiseMakeACopyAndItsTranspose) {
  const Sum copies{2, 4 * (inputs + gradients)};
  EXPECT_EQ(sum(cast(Recipe::delayed), " to fp8"), copies);
  EXPECT_EQ(cast(Recipe::delayed).size(), 5U);
  EXPECT_EQ(sum(cast(Recipe::tensorwise), " to fp8"), copies);
  EXPECT_EQ(sum(cast(Recipe::tensorwise), " maximum"), (Sum{2, 2 * (inputs + gradients)}));
  EXPECT_EQ(sum(cast(Recipe::tensorwise), " scale"), (Sum{2, 0}));
}

TEST(Fp8Casts, RowwiseCastsEveryOperandOfEveryProduct) {
  const LayerItems items = cast(Recipe::rowwise);
  EXPECT_EQ(sum(items, "w to fp8"), (Sum{1, 3 * inputs}));
  EXPECT_EQ(sum(items, "w dgrad to fp8"), (Sum{1, 3 * gradients}));
  EXPECT_EQ(sum(items, "w wgrad to fp8"), (Sum{1, 3 * inputs}));
  EXPECT_EQ(sum(items, " weights to fp8"), (Sum{3, 3 * (2 * weights + gradients)}));
  // maxima along what lies side by side are taken by the cast
  EXPECT_EQ(sum(items, " input maxima"), (Sum{1, 2 * inputs}));
  EXPECT_EQ(sum(items, " weight maxima"), (Sum{2, 2 * (weights + gradients)}));
}

TEST(Fp8Casts, BlocksOf128CarryAScaleInFp32EachWay) {
  EXPECT_EQ(sum(cast(Recipe::blockwise), " to fp8"),
            (Sum{2, (4 + 2 * 4 / 128.0) * (inputs + gradients)}));
  EXPECT_EQ(cast(Recipe::blockwise).size(), 5U);
}

// Inputs by token forward, gradients by token and by channel, inputs by channel backward; weights
// transposed once. Inputs are kept in FP8.
TEST(Fp8Casts, DeepSeekMakesEachCopyWhenAProductNeedsIt) {
  const double scale = 4 / 128.0;
  const LayerItems items = cast(Recipe::deepseek);
  EXPECT_EQ(sum(items, " to fp8"), (Sum{2, (3 + scale) * (inputs + gradients)}));
  EXPECT_EQ(sum(items, " input by channel"), (Sum{1, (2 + 2 * scale) * inputs}));
  EXPECT_EQ(sum(items, " gradient by channel"), (Sum{1, (3 + scale) * gradients}));
  EXPECT_EQ(sum(items, " scales order"), (Sum{2, 2 * scale * (inputs + gradients)}));
  EXPECT_EQ(sum(items, " weights transposed"), (Sum{1, 2 * weights}));
  EXPECT_EQ(items.size(), 3U + 7U);
}

TEST(Fp8Casts, ScalesOfMxfp8AreOrderedForEachOperandOfEachProduct) {
  const LayerItems items = cast(Recipe::mxfp8);
  EXPECT_EQ(sum(items, " to fp8"), (Sum{2, (4 + 2 / 32.0) * (inputs + gradients)}));
  EXPECT_EQ(sum(items, " scales order"), (Sum{6, 2 / 32.0 * 2 * (inputs + gradients + weights)}));
  EXPECT_EQ(sum(items, " zeros"), (Sum{0, 0}));
}

TEST(Fp8Casts, ExpertsSideBySideHaveKernelsOfTheirOwn) {
  const double e = 8;
  const LayerItems one = cast(Recipe::mxfp8, e), each = cast(Recipe::mxfp8, e, true);
  EXPECT_EQ(sum(one, " to fp8").kernels, 2);
  EXPECT_EQ(sum(each, " to fp8").kernels, 16);
  EXPECT_EQ(sum(one, " to fp8").bytes, sum(each, " to fp8").bytes);
  EXPECT_EQ(sum(each, " scales order").kernels, 6);  // one kernel for all of an operand
  const LayerItems apart = cast(Recipe::mxfp8, e, true, Scales::apart);
  EXPECT_EQ(sum(apart, " scales order").kernels, 48);
  EXPECT_EQ(sum(apart, " scales order").bytes, sum(one, " scales order").bytes);
  const LayerItems zeroed = cast(Recipe::mxfp8, e, true, Scales::zeroed);
  EXPECT_EQ(sum(zeroed, " ordered scales zeros").kernels, 48);
  EXPECT_EQ(sum(zeroed, " to fp8").kernels, 16);
  EXPECT_EQ(sum(zeroed, " scales zeros").kernels, 48 + 32);  // of both copies of each operand cast
}

/// Launches behind the first of a call.
int cast_followers(const LayerItems& items) {
  return static_cast<int>(std::ranges::count_if(
      items, [](const LayerItem& i) { return std::get<Operator>(i).in_call; }));
}

TEST(Fp8Casts, ACallOfTheLibraryLaunchesSeveralKernels) {
  const double e = 8;
  EXPECT_EQ(cast_followers(cast(Recipe::delayed)), 0);
  EXPECT_EQ(cast_followers(cast(Recipe::rowwise)), 0);  // compiled: each by itself
  EXPECT_EQ(cast_followers(cast(Recipe::tensorwise)),
            4);  // scale and copy behind the maximum, twice
  EXPECT_EQ(cast_followers(cast(Recipe::tensorwise, e, true)), 2 * (3 * 8 - 1));
  EXPECT_EQ(cast_followers(cast(Recipe::blockwise, e, true)), 2 * (8 - 1));
  EXPECT_EQ(cast_followers(cast(Recipe::mxfp8)),
            3 * 2);  // second order and product, behind the first
  EXPECT_EQ(cast_followers(cast(Recipe::mxfp8, e, true, Scales::apart)), 2 * (8 - 1) + 3 * 16);
}

TEST(Fp8Casts, RowsOfExpertsAreCopiedAroundThem) {
  WorkloadSpec spec = workload(small_moe());
  const Passes plain = transformer_layer(context(spec), LayerKind::moe);
  EXPECT_EQ(sum(plain.forward, "pad").kernels, 0);
  spec.moe.pads_rows = true;
  const Passes padded = transformer_layer(context(spec), LayerKind::moe);
  const double rows =
      2048 * 4 * 1024 * 2.0 * 2;  // cast_k rows of a token, read and written in BF16
  EXPECT_EQ(sum(padded.forward, "experts pad"), (Sum{1, rows}));
  EXPECT_EQ(sum(padded.forward, "experts unpad"), (Sum{1, rows}));
  EXPECT_EQ(sum(padded.backward, "experts unpad backward"), (Sum{1, rows}));
  EXPECT_EQ(sum(padded.backward, "experts pad backward"), (Sum{1, rows}));
  EXPECT_EQ(padded.forward.size(), plain.forward.size() + 3);  // and router weights
}

/// Bytes that the tensor group gathers and reduces.
double exchanged(const LayerItems& items, CollectiveKind kind) {
  return traffic(items, GroupKind::tensor, kind).bytes;
}

// Ranks cast their own rows and gather them in FP8: a copy forward and again for the weights, and
// of gradients both copies where their scales are those of groups.
TEST(Fp8Casts, TensorRanksGatherWhatTheyCast) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.tp = 4;
  spec.plan.sequence_parallel = true;
  const auto passes = [&] { return transformer_layer(context(spec), LayerKind::dense); };
  const Passes half = passes();
  const double forward = exchanged(half.forward, CollectiveKind::all_gather);
  const double saved = forward,
               backward = exchanged(half.backward, CollectiveKind::all_gather) - saved;
  spec.training.precision = TrainingSpec::Precision::fp8_mixed;
  const struct {
    Recipe recipe;
    double input, gradient;  // bytes for one in BF16
  } gathers[]{{Recipe::delayed, 0.5, 0.5},
              {Recipe::tensorwise, 0.5, 0.5},
              {Recipe::blockwise, 0.5 * (1 + 4 / 128.0), 1 + 4 / 128.0},
              {Recipe::mxfp8, 0.5 * (1 + 1 / 32.0), 1 + 1 / 32.0},
              {Recipe::rowwise, 1, 1},
              {Recipe::deepseek, 1, 1}};
  for (const auto& g : gathers) {
    spec.training.fp8_recipe = g.recipe;
    const Passes fp8 = passes();
    EXPECT_NEAR(exchanged(fp8.forward, CollectiveKind::all_gather), g.input * forward, 1e-6);
    EXPECT_NEAR(exchanged(fp8.backward, CollectiveKind::all_gather),
                g.input * saved + g.gradient * backward, 1e-6);
    EXPECT_EQ(exchanged(fp8.forward, CollectiveKind::reduce_scatter),
              exchanged(half.forward, CollectiveKind::reduce_scatter));
    EXPECT_NEAR(total_flops(fp8.backward) / total_flops(half.backward), 1, 1e-12);
    // Every rank needs the one scale: of two inputs, and of two gradients.
    const double each = g.recipe == Recipe::tensorwise ? 4 : 0;
    EXPECT_EQ(exchanged(fp8.forward, CollectiveKind::all_reduce), 2 * each);
    EXPECT_EQ(exchanged(fp8.backward, CollectiveKind::all_reduce), 2 * each);
  }
  spec.training.fp8_recipe = Recipe::delayed;
  const Passes fp8 = passes();
  const LayerItems cast = with_fp8_casts(fp8.forward);
  const double input = 2048.0 * 1024;
  EXPECT_EQ(sum(cast, "qkv to fp8"), (Sum{1, 3 * input / 4}));
  EXPECT_EQ(sum(with_fp8_casts(fp8.backward), "qkv saved in transposed"), (Sum{1, 2 * input}));
  EXPECT_NEAR(total_flops(cast) / total_flops(half.forward), 1, 1e-12);
}

/// Host time of the computing of a step.
double host_time(const WorkloadSpec& spec, const ClusterSpec& cluster = plain_cluster()) {
  const StageProgram program = lower_stage(spec, assign_layers(spec, cluster), cluster, Stage{0});
  double sum = 0;
  for (const Instructions* code : {&program.chunks[0].forward, &program.chunks[0].backward})
    for (const Instruction& instruction : *code)
      if (const auto* run = std::get_if<Compute>(&instruction))
        for (const OperatorCost& cost : program.segments[run->segment].operators())
          sum += cost.main;
  return sum;
}

TEST(LibraryLaunches, CostTheHostATimeOfTheirOwn) {
  WorkloadSpec spec = workload(small_moe());
  spec.moe.products = MoeSpec::Products::multi_stream;
  ClusterSpec cluster = plain_cluster();
  cluster.host.library_launch = Seconds{3e-6};
  cluster.host.library_launch_given = true;
  // seven layers with 16 experts on the rank, two products forward and four backward
  EXPECT_NEAR(host_time(spec) - host_time(spec, cluster), 7 * 6 * 15 * (12e-6 - 3e-6), 1e-12);
  spec.moe.products = MoeSpec::Products::grouped;
  EXPECT_EQ(host_time(spec), host_time(spec, cluster));
}

TEST(LibraryLaunches, BlockWhereAllDo) {
  WorkloadSpec spec = workload(small_moe());
  spec.moe.products = MoeSpec::Products::multi_stream;
  ClusterSpec cluster = plain_cluster();
  cluster.host.queue_depth = 1;
  cluster.host.blocking = Seconds{40e-6};
  cluster.host.blocking_given = true;
  const double blocking = host_time(spec, cluster);
  cluster.host.library_launch_given = true;
  EXPECT_EQ(host_time(spec, cluster), blocking);
}

TEST(RecomputedParts, TakeTheHostStatementsOfTheirWrappers) {
  WorkloadSpec spec = workload(small_moe());
  spec.runtime.recompute_statements = 18;
  ClusterSpec cluster = plain_cluster();
  cluster.host.statement = Seconds{4e-6};
  const auto more = [&] { return host_time(spec, cluster) - host_time(spec); };
  EXPECT_EQ(more(), 0);
  spec.training.recompute = TrainingSpec::Recompute::full;
  EXPECT_NEAR(more(), 8 * 18 * 4e-6, 1e-12);  // eight layers
  spec.training.recompute = TrainingSpec::Recompute::modules;
  spec.training.recompute_modules = 1U << static_cast<unsigned>(TrainingSpec::Module::core_attn) |
                                    1U << static_cast<unsigned>(TrainingSpec::Module::layernorm);
  EXPECT_NEAR(more(), 8 * 3 * 18 * 4e-6, 1e-12);  // two norms
  spec.runtime.host_speed = 2;
  EXPECT_NEAR(more(), 8 * 3 * 18 * 4e-6 / 2, 1e-12);
}

TEST(Graphs, AreLaunchedAsOneOperatorEach) {
  WorkloadSpec spec = workload(small_moe());
  const double eager = host_time(spec);
  const auto with = [&](std::initializer_list<GraphScope> scopes) {
    spec.runtime.graphs = 0;
    for (const GraphScope scope : scopes) spec.runtime.graphs |= 1U << static_cast<unsigned>(scope);
    return host_time(spec);
  };
  const double attention = with({GraphScope::attn});
  const double router = with({GraphScope::moe_router});
  EXPECT_LT(attention, eager);
  EXPECT_LT(router, eager);
  // parts that do not touch save apart what they save together
  const double shared = with({GraphScope::shared_experts});
  EXPECT_NEAR(with({GraphScope::attn, GraphScope::shared_experts}), attention + shared - eager,
              1e-12);
  // those that touch need one launch less
  EXPECT_LT(with({GraphScope::attn, GraphScope::moe_router}), attention + router - eager);
  // of a graph of everything less is left
  spec.runtime.graphs = 0;
  spec.runtime.dispatch = RuntimeSpec::Dispatch::graph_sink;
  EXPECT_LT(host_time(spec), attention);
}

}  // namespace
}  // namespace stepcast
