#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/rewrites.hpp"

// What stands for a fused kernel is counted here once more, statement by statement: bytes that each
// reads plus bytes that it writes, per element.
namespace stepcast {
namespace {

using namespace lowering;

std::vector<Operator> unfused_operators(const LayerItems& items) {
  std::vector<Operator> found;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item)) found.push_back(*op);
  return found;
}

double unfused_bytes(const LayerItems& items, const std::string& prefix = "") {
  double sum = 0;
  for (const Operator& op : unfused_operators(items))
    if (op.name.starts_with(prefix)) sum += op.bytes.value();
  return sum;
}

double flops_of_products(const LayerItems& items) {
  double sum = 0;
  for (const Operator& op : unfused_operators(items))
    if (op.launch == LaunchClass::matmul) sum += op.flops.value();
  return sum;
}

std::size_t count(const LayerItems& items, const std::string& prefix) {
  std::size_t n = 0;
  for (const Operator& op : unfused_operators(items)) n += op.name.starts_with(prefix) ? 1 : 0;
  return n;
}

struct Unfused {
  WorkloadSpec spec;
  Passes passes;
  explicit Unfused(const ModelSpec& model, LayerKind kind = LayerKind::dense)
      : spec{workload(model)}, passes{transformer_layer(context(spec), kind)} {}
  LayerItems forward() const {
    return with_unfused_kernels(passes.forward, spec.runtime.kernels, spec.model);
  }
  LayerItems backward() const {
    return with_unfused_kernels(passes.backward, spec.runtime.kernels, spec.model);
  }
  double tokens() const { return static_cast<double>(spec.training.sequence); }
};

TEST(UnfusedKernels, RmsNormIsSixPassesThere) {
  Unfused layer{small_dense()};
  layer.spec.runtime.kernels.norm = KernelSpec::Norm::unfused;
  const double there = (2 + 4) + (4 + 4) + 4 + (4 + 4) + (4 + 2) + (2 + 2);
  EXPECT_DOUBLE_EQ(unfused_bytes(layer.forward(), "attention norm"), there * layer.tokens() * 1024);
  EXPECT_EQ(count(layer.forward(), "attention norm"), 6U);
}

TEST(UnfusedKernels, RmsNormIsThirteenPassesBack) {
  Unfused layer{small_dense()};
  layer.spec.runtime.kernels.norm = KernelSpec::Norm::unfused;
  const double weight = (2 + 2 + 2) + 2 + (2 + 2);            // its product, its sum, the input's
  const double scale = (2 + 4) + (4 + 4) + (4 + 4 + 4) + 4;   // cast, both factors, the sum
  const double square = 4 + (4 + 4) + (4 + 4) + (4 + 4 + 4);  // mean, x^1, times 2, product
  const double join = (4 + 4 + 4) + (4 + 2);
  EXPECT_DOUBLE_EQ(unfused_bytes(layer.backward(), "feed-forward norm"),
                   (weight + scale + square + join) * layer.tokens() * 1024);
  EXPECT_EQ(count(layer.backward(), "feed-forward norm"), 13U);
}

TEST(UnfusedKernels, LayerNormStaysOneKernel) {
  ModelSpec model = small_dense();
  model.norm = ModelSpec::Norm::layer;
  Unfused layer{model};
  layer.spec.runtime.kernels.norm = KernelSpec::Norm::unfused;
  EXPECT_EQ(layer.forward().size(), layer.passes.forward.size());
}

TEST(UnfusedKernels, RotationIsTwoProductsASumAndCopies) {
  Unfused layer{small_dense()};
  layer.spec.runtime.kernels.rope = KernelSpec::Rope::unfused;
  const double rotated = layer.tokens() * (16 + 8) * 64;
  const double turn = (1 + 1) + (1 + 1) + (1 + 1) + (2 + 2);  // dense halves, negated, joined
  EXPECT_DOUBLE_EQ(unfused_bytes(layer.forward(), "rope"),
                   ((2 + 2) + turn + (2 + 2) + (2 + 2 + 2) + (2 + 2)) * rotated);
  const double slices = 2 + (2 + 2) + 2 + (2 + 2 + 2);
  EXPECT_DOUBLE_EQ(unfused_bytes(layer.backward(), "rope"),
                   ((2 + 2) + (2 + 2) + turn + (2 + 2 + 2) + slices) * rotated);
  EXPECT_EQ(count(layer.forward(), "rope"), 2 * 8U);  // queries, then keys
}

TEST(UnfusedKernels, TheKernelOfARotationStandsBetweenSlicesAndAJoin) {
  Unfused layer{small_dense()};
  layer.spec.runtime.kernels.rope = KernelSpec::Rope::sliced;
  const double rotated = layer.tokens() * (16 + 8) * 64;
  EXPECT_DOUBLE_EQ(unfused_bytes(layer.forward(), "rope"), ((2 + 2) + (2 + 2)) * rotated);
  const double slices = 2 + (2 + 2) + 2 + (2 + 2 + 2);
  EXPECT_DOUBLE_EQ(unfused_bytes(layer.backward(), "rope"), ((2 + 2) + slices) * rotated);
  EXPECT_EQ(count(layer.forward(), "rope"), 2 * 2U);  // queries, then keys
  EXPECT_EQ(count(layer.backward(), "rope"), 2 * 5U);
}

TEST(UnfusedKernels, SwigluIsSiluAndProductOfDenseHalves) {
  Unfused layer{small_dense()};
  layer.spec.runtime.kernels.activation = KernelSpec::Activation::unfused;
  const double inner = layer.tokens() * 4096;
  EXPECT_DOUBLE_EQ(unfused_bytes(layer.forward(), "feed-forward activation"),
                   ((2 + 2) + (2 + 2) + (2 + 2) + (2 + 2 + 2)) * inner);
  EXPECT_DOUBLE_EQ(unfused_bytes(layer.backward(), "feed-forward activation"),
                   ((2 + 2) + 2 * (2 + 2 + 2) + (2 + 2) + (2 + 2 + 2) + 2 * (2 + 2)) * inner);
}

TEST(UnfusedKernels, ClampedHalvesAreJoinedAndTheHostWaitsForTheirOffset) {
  Unfused layer{small_dense()};
  layer.spec.runtime.kernels.activation = KernelSpec::Activation::clamped;
  const double inner = layer.tokens() * 4096;
  const LayerItems forward = layer.forward(), backward = layer.backward();
  EXPECT_DOUBLE_EQ(unfused_bytes(forward, "feed-forward activation"),
                   (2 * (2 + 2) + (4 + 4) + (4 + 2)) * inner);
  EXPECT_DOUBLE_EQ(unfused_bytes(backward, "feed-forward activation"),
                   ((2 + 4 + 4) + 2 * (2 + 2 + 2) + (4 + 4)) * inner);
  const auto waits = [](const LayerItem& i) { return std::holds_alternative<HostReadback>(i); };
  ASSERT_EQ(std::ranges::count_if(forward, waits), 1);
  EXPECT_EQ(std::ranges::count_if(backward, waits), 0);
  const auto wait = std::ranges::find_if(forward, waits);
  EXPECT_EQ(std::get<Operator>(wait[-1]).name, "feed-forward activation join");
  EXPECT_EQ(std::get<Operator>(wait[1]).name, "feed-forward activation product");
}

TEST(UnfusedKernels, SiluAndProductOfTwoProjectionsCopyNoHalf) {
  Unfused layer{small_dense()};
  layer.spec.runtime.kernels.activation = KernelSpec::Activation::apart;
  const double inner = layer.tokens() * 4096;
  const LayerItems forward = layer.forward(), backward = layer.backward();
  EXPECT_DOUBLE_EQ(unfused_bytes(forward, "feed-forward activation"),
                   ((2 + 2) + (2 + 2 + 2)) * inner);
  EXPECT_EQ(count(forward, "feed-forward activation"), 2U);
  // gradients of both factors, and of silu
  EXPECT_DOUBLE_EQ(unfused_bytes(backward, "feed-forward activation"), 3 * (2 + 2 + 2) * inner);
  EXPECT_EQ(count(backward, "feed-forward activation"), 3U);
}

TEST(UnfusedKernels, GeluStandsBehindItsBias) {
  ModelSpec model = small_dense();
  model.ffn.kind = FeedForwardSpec::Kind::gelu;
  Unfused layer{model};
  layer.spec.runtime.kernels.activation = KernelSpec::Activation::unfused;
  const double inner = layer.tokens() * 4096;
  EXPECT_DOUBLE_EQ(unfused_bytes(layer.forward(), "feed-forward activation"), (4 + 4) * inner);
  EXPECT_DOUBLE_EQ(unfused_bytes(layer.backward(), "feed-forward activation"), 6 * inner);
}

TEST(UnfusedKernels, TheFormulaOfGeluIsAKernelPerOperation) {
  ModelSpec model = small_dense();
  model.ffn.kind = FeedForwardSpec::Kind::gelu;
  Unfused layer{model};
  layer.spec.runtime.kernels.activation = KernelSpec::Activation::formula;
  const double inner = layer.tokens() * 4096, one = 2 + 2, two = 2 + 2 + 2;
  // x + b; x/2, c x, k x, (k x) x, 1 +, (c x)(..), tanh, 1 +, product
  EXPECT_DOUBLE_EQ(unfused_bytes(layer.forward(), "feed-forward activation"),
                   (one + 3 * one + two + one + two + 2 * one + two) * inner);
  // the argument and its tanh again; x/2, t t, 1 -, 3 k c x, .. x, c +, product, times x/2;
  // (1 + t) / 2, sum; times the gradient
  const double again = one + 2 * one + two + one + two + one;
  const double slope = one + two + one + one + two + one + two + two;
  EXPECT_DOUBLE_EQ(unfused_bytes(layer.backward(), "feed-forward activation"),
                   (again + slope + 2 * one + two + two) * inner);
}

TEST(UnfusedKernels, GatedFormulaReadsItsHalfThreeTimes) {
  Unfused layer{small_dense()};
  layer.spec.runtime.kernels.activation = KernelSpec::Activation::formula;
  const double inner = layer.tokens() * 4096, one = 2 + 2, two = 2 + 2 + 2;
  // x^3, k .., x + .., c .., tanh, 1 +, x/2, product; times the other half; four dense copies
  EXPECT_DOUBLE_EQ(unfused_bytes(layer.forward(), "feed-forward activation"),
                   (2 * one + two + 4 * one + two + two + 4 * one) * inner);
  const double product = one + 2 * two;             // dense half, both gradients
  const double inside = 2 * two + one + two + one;  // both factors, 1/2, tanh, c
  const double cube = one + 3 * one + two;          // k, dense half, square, 3, product
  EXPECT_DOUBLE_EQ(unfused_bytes(layer.backward(), "feed-forward activation"),
                   (product + inside + cube + 2 * two + 2 * one) * inner);
}

TEST(UnfusedKernels, StatementsAreElementwiseKernelsWhateverTheyStandFor) {
  Unfused layer{small_dense()};
  layer.spec.runtime.kernels = {KernelSpec::Norm::unfused, KernelSpec::Rope::unfused,
                                KernelSpec::Activation::unfused};
  std::size_t statements = 0;
  for (const LayerItems& items : {layer.forward(), layer.backward()})
    for (const Operator& op : unfused_operators(items)) {
      if (op.flow == nullptr) continue;
      ++statements;
      EXPECT_EQ(std::get<MemoryBoundWork>(op.work).kind, VectorKind::elementwise) << op.name;
    }
  EXPECT_EQ(statements, 2U * (6 + 13) + 2 * (8 + 11) + 4 + 6);
}

TEST(UnfusedKernels, EverythingElseStays) {
  Unfused layer{small_moe(), LayerKind::moe};
  KernelSpec& kernels = layer.spec.runtime.kernels;
  kernels = {KernelSpec::Norm::unfused, KernelSpec::Rope::unfused, KernelSpec::Activation::unfused};
  for (const bool back : {false, true}) {
    const LayerItems& before = back ? layer.passes.backward : layer.passes.forward;
    const LayerItems after = back ? layer.backward() : layer.forward();
    EXPECT_GT(unfused_bytes(after), unfused_bytes(before));
    EXPECT_DOUBLE_EQ(flops_of_products(after), flops_of_products(before));
    EXPECT_DOUBLE_EQ(unfused_bytes(after, "experts up"), unfused_bytes(before, "experts up"));
    EXPECT_EQ(count(after, "attention residual"), count(before, "attention residual"));
  }
}

// ---- latent attention without a kernel that rotates and joins

TEST(RotatedHeads, AreOrderedRotatedAndJoinedByStatements) {
  WorkloadSpec spec = workload(small_latent());  // 16 heads of 64 + 32 and 64, latents 256 and 128
  const Passes kernel = transformer_layer(context(spec), LayerKind::dense);
  spec.runtime.kernels.rope = KernelSpec::Rope::unfused;
  const Passes apart = transformer_layer(context(spec), LayerKind::dense);
  const double tokens = 2048, a = 16, dn = 64, dr = 32, dv = 64, kr = 128;
  const double one_kernel = 2 * (2 * a * (dn + dv) + (a + 1) * dr);
  double forward = 2 * 2 * (a * dr + dr);        // halves in order
  forward += 2 * 2 * (8 + 8 + 6) * dr;           // cos and sin, for q and for k
  forward += 2 * 2 * a * (dn + dr);              // q joined
  forward += 2 * (a * dn + dr + a * (dn + dr));  // k joined
  forward += 2 * 2 * a * dv;                     // v
  EXPECT_DOUBLE_EQ(unfused_bytes(apart.forward) - unfused_bytes(kernel.forward),
                   tokens * (forward - one_kernel));
  double backward = 2 * (a * dr + dr);      // heads of k added up
  backward += (4 + 4 + 6) * (a * dr + dr);  // zeros, halves, sum
  backward += 2 * 2 * a * (dn + dr) + 2 * 2 * a * (dn + dv) + 2 * 2 * (kr + dr);
  EXPECT_DOUBLE_EQ(unfused_bytes(apart.backward) - unfused_bytes(kernel.backward),
                   tokens * (backward - one_kernel));
  const auto launches = [&](const LayerItems& items) {
    return unfused_operators(with_unfused_kernels(items, spec.runtime.kernels, spec.model)).size();
  };
  // 2 + 12 + 3 for one kernel, 2 x 8 for another; backward 1 + 10 + 3, and 2 x 11
  EXPECT_EQ(launches(apart.forward) - unfused_operators(kernel.forward).size(), 31U);
  EXPECT_EQ(launches(apart.backward) - unfused_operators(kernel.backward).size(), 34U);
}

// ---- latent attention with heads of one size
// -----------------------------------------------------

TEST(PaddedHeads, TheCoreAndTheCopiesAroundItAreThoseOfWideHeads) {
  WorkloadSpec spec = workload(small_latent());  // 16 heads of 64 + 32 and 64, latents 256 and 128
  const Passes plain = transformer_layer(context(spec), LayerKind::dense);
  spec.training.attention_head = 256;
  const Passes padded = transformer_layer(context(spec), LayerKind::dense);
  const double tokens = 2048, a = 16, dn = 64, dr = 32, dv = 64, wide = 256;
  EXPECT_DOUBLE_EQ(flops_of_products(padded.forward) - flops_of_products(plain.forward),
                   tokens * tokens * a * (2 * wide - dn - dr - dv));
  double rows = 0;
  rows += 2 * (a * dr + dr);                               // halves in order
  rows += 2 * a * dn + 2 * a * (dn + dr);                  // q dense, joined
  rows += (dr + a * dr) + 2 * a * dn + 2 * a * (dn + dr);  // rotary part repeated, k
  rows += 2 * (a * (dn + dr) + a * wide);                  // q and k padded
  rows += 2 * a * dv + (a * dv + a * wide);                // v
  rows += 2 * a * dv;                                      // the output cut
  rows -= 2 * a * (dn + dv) + (a + 1) * dr;                // one kernel of the plain ones
  const double core = 2 * (a * (4 * wide - 2 * (dn + dr) - 2 * dv));  // read and written by it
  EXPECT_DOUBLE_EQ(unfused_bytes(padded.forward) - unfused_bytes(plain.forward),
                   2 * tokens * rows + core * tokens);
}

TEST(PaddedHeads, TheBackwardPassUndoesEachCopy) {
  WorkloadSpec spec = workload(small_latent());
  const Passes plain = transformer_layer(context(spec), LayerKind::dense);
  spec.training.attention_head = 256;
  const Passes padded = transformer_layer(context(spec), LayerKind::dense);
  const double tokens = 2048, a = 16, dn = 64, dr = 32, dv = 64, wide = 256;
  double rows = a * wide + 2 * a * dv;         // zeros, and the gradient into them
  rows += 2 * 2 * a * (dn + dr) + 2 * a * dv;  // q, k and v cut
  rows += a * dr + dr;                         // heads of the rotary key added up
  rows += 2 * (a * dr + dr);                   // halves back
  rows += 2 * a * dn + 2 * a * (dn + dr);      // q
  rows += 2 * a * dn + 2 * a * (dn + dv);      // k and v
  rows += 2 * (256 + 128 + dr);                // the latents
  rows -= 2 * a * (dn + dv) + (a + 1) * dr;    // one kernel of the plain ones
  const double core = 2 * 2 * (a * (4 * wide - 2 * (dn + dr) - 2 * dv));
  EXPECT_DOUBLE_EQ(unfused_bytes(padded.backward) - unfused_bytes(plain.backward),
                   2 * tokens * rows + core * tokens);
}

// ---- experts
// -------------------------------------------------------------------------------------------

struct Moe {
  WorkloadSpec spec = workload(small_moe());  // hidden 1024, 16 experts of 512, top 4
  Passes passes() const { return transformer_layer(context(spec), LayerKind::moe); }
};

double total(const LayerItems& items, const std::vector<std::string>& prefixes) {
  double sum = 0;
  for (const std::string& p : prefixes) sum += unfused_bytes(items, p);
  return sum;
}

TEST(IndexedPermutation, FlatMovesRowsStatementByStatement) {
  Moe moe;
  moe.spec.plan.dp = moe.spec.plan.ep = 4;
  moe.spec.moe.permutation = MoeSpec::Permutation::indexed;
  const Passes passes = moe.passes();
  const double row = 2 * 1024, tokens = 2048, copies = 4 * tokens;
  EXPECT_DOUBLE_EQ(unfused_bytes(passes.forward, "permute"), 2 * copies * row);
  // zeros, placed, weighed, added up per token
  EXPECT_DOUBLE_EQ(unfused_bytes(passes.forward, "unpermute"),
                   (copies + 2 * copies + 2 * copies + copies + tokens) * row);
  // gradients of rows and of weights from one row per token; rows taken back
  EXPECT_DOUBLE_EQ(unfused_bytes(passes.backward, "unpermute backward"),
                   ((tokens + copies) + (tokens + 2 * copies) + copies + 2 * copies) * row);
  EXPECT_DOUBLE_EQ(unfused_bytes(passes.backward, "permute backward"), (tokens + 3 * copies) * row);
  EXPECT_DOUBLE_EQ(unfused_bytes(passes.forward, "sort by expert"), 2 * copies * row);
  EXPECT_DOUBLE_EQ(unfused_bytes(passes.forward, "unsort"), 3 * copies * row);
  EXPECT_DOUBLE_EQ(unfused_bytes(passes.backward, "sort gradient"), 2 * copies * row);
  EXPECT_DOUBLE_EQ(unfused_bytes(passes.backward, "unsort gradient"), 4 * copies * row);
}

TEST(IndexedPermutation, GatheredTokensAreSelectedTwiceAndAddedUp) {
  Moe moe;
  moe.spec.plan.dp = moe.spec.plan.ep = 4;
  moe.spec.moe.dispatch = MoeSpec::Dispatch::allgather;
  moe.spec.moe.permutation = MoeSpec::Permutation::indexed;
  const Passes passes = moe.passes();
  const double row = 2 * 1024, all = 4 * 2048, rows = 4 * 2048;
  EXPECT_DOUBLE_EQ(total(passes.forward, {"dispatch", "sort", "unsort", "combine"}),
                   (2 * rows + 2 * rows + 3 * rows + 2 * rows + all + 3 * rows) * row);
  EXPECT_DOUBLE_EQ(
      total(passes.backward, {"combine", "sort", "unsort", "dispatch"}),
      (2 * rows + 2 * rows + 3 * rows + rows + 2 * rows + 4 * rows + all + 3 * rows) * row);
}

TEST(IndexedPermutation, TensorRanksSortTheirPartAndJoinWhatTheyShare) {
  Moe moe;
  moe.spec.plan.tp = moe.spec.plan.etp = 4;
  moe.spec.plan.sequence_parallel = true;
  moe.spec.moe.permutation = MoeSpec::Permutation::indexed;
  const LayerItems forward = moe.passes().forward;
  const double row = 2 * 1024, rows = 4 * 2048;  // of all four ranks
  EXPECT_DOUBLE_EQ(unfused_bytes(forward, "sort by expert"), 2 * rows / 4 * row);
  EXPECT_DOUBLE_EQ(unfused_bytes(forward, "unsort"), 3 * rows / 4 * row);
  EXPECT_DOUBLE_EQ(unfused_bytes(forward, "all_gather expert rows parts"), 2 * rows * row);
  EXPECT_DOUBLE_EQ(unfused_bytes(forward, "reduce_scatter expert rows parts"), 2 * rows * row);
}

TEST(IndexedPermutation, ABiasPerRowIsCarriedAlong) {
  Moe moe;
  moe.spec.plan.dp = moe.spec.plan.ep = 4;
  moe.spec.moe.dispatch = MoeSpec::Dispatch::allgather;
  moe.spec.moe.permutation = MoeSpec::Permutation::indexed;
  const double without = total(moe.passes().forward, {"unsort", "combine"});
  moe.spec.model.bias = ModelSpec::Bias::all;
  EXPECT_DOUBLE_EQ(total(moe.passes().forward, {"unsort", "combine"}), 2 * without);
}

TEST(Gathering, RanksThatShareExpertsGatherTokensAndNotRows) {
  Moe moe;
  moe.spec.plan.tp = moe.spec.plan.etp = 4;
  moe.spec.plan.dp = moe.spec.plan.ep = 2;
  moe.spec.plan.sequence_parallel = true;
  moe.spec.moe.dispatch = MoeSpec::Dispatch::allgather;
  const Passes passes = moe.passes();
  const double row = 2 * 1024, own = 2048.0 / 4;
  std::vector<double> there, back;
  for (const LayerItem& item : passes.forward)
    if (const auto* call = std::get_if<LayerCommunication>(&item)) {
      EXPECT_FALSE(call->name.ends_with("expert rows")) << call->name;
      if (call->name.starts_with("dispatch")) there.push_back(call->call.bytes.value());
      if (call->name.starts_with("combine")) back.push_back(call->call.bytes.value());
    }
  EXPECT_EQ(there, (std::vector{2 * own * row, 8 * own * row}));
  EXPECT_EQ(back, (std::vector{8 * own * row, 2 * own * row}));
  EXPECT_DOUBLE_EQ(unfused_bytes(passes.forward, "dispatch select"), 2 * (4 * 4 * own) * row);
}

TEST(SequentialExperts, DoTheWorkOfGroupedOnesOneByOne) {
  Moe grouped, sequential;
  for (Moe* moe : {&grouped, &sequential}) moe->spec.plan.dp = moe->spec.plan.ep = 4;
  sequential.spec.moe.products = MoeSpec::Products::sequential;
  const Passes g = grouped.passes(), s = sequential.passes();
  EXPECT_DOUBLE_EQ(flops_of_products(s.forward), flops_of_products(g.forward));
  EXPECT_DOUBLE_EQ(flops_of_products(s.backward), flops_of_products(g.backward));
  EXPECT_EQ(count(s.forward, "experts up"), 4U);
  EXPECT_EQ(count(s.backward, "experts down wgrad"), 4U);
  for (const Operator& op : unfused_operators(s.forward))
    EXPECT_FALSE(std::holds_alternative<GroupedMatmulWork>(op.work)) << op.name;
  double g_weights = 0, s_weights = 0;
  for (const Operator& op : unfused_operators(g.backward)) g_weights += op.accumulated;
  for (const Operator& op : unfused_operators(s.backward)) s_weights += op.accumulated;
  EXPECT_DOUBLE_EQ(s_weights, g_weights);
}

TEST(SequentialExperts, CopyTheirPartsOfTheRows) {
  Moe moe;
  moe.spec.plan.dp = moe.spec.plan.ep = 4;
  moe.spec.moe.products = MoeSpec::Products::sequential;
  const Passes passes = moe.passes();
  const double row = 2 * 1024, rows = 4 * 2048, n = 4;
  EXPECT_DOUBLE_EQ(unfused_bytes(passes.forward, "experts output"), (1 + 2) * rows * row);
  EXPECT_DOUBLE_EQ(unfused_bytes(passes.backward, "experts output"), (2 * n + 2 + 1) * rows * row);
  EXPECT_DOUBLE_EQ(unfused_bytes(passes.backward, "experts input"),
                   (n + 2 + 3 * (n - 1)) * rows * row);
}

}  // namespace
}  // namespace stepcast
