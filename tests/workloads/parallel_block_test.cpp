#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/memory.hpp"

// Layers whose attention and feed-forward read the same.
namespace stepcast::parallel_blocks {
namespace {

using namespace lowering;
using Block = ModelSpec::Block;

constexpr double hidden = 1024, c = 2048 * hidden;  // of small_dense(): width, elements of a stream

WorkloadSpec with_block(Block block, KernelSpec::Block products = KernelSpec::Block::apart) {
  WorkloadSpec spec = workload(small_dense());
  spec.model.block = block;
  spec.runtime.kernels.block = products;
  return spec;
}

WorkloadSpec joined() { return with_block(Block::parallel, KernelSpec::Block::joined); }

Passes layer(const WorkloadSpec& spec) {
  return transformer_layer(context(spec), LayerKind::dense);
}

int operators(const LayerItems& items) {
  return static_cast<int>(std::ranges::count_if(
      items, [](const LayerItem& item) { return std::holds_alternative<Operator>(item); }));
}

template <class Member>
double sum(const LayerItems& items, const Member& member) {
  double all = 0;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item)) all += member(*op);
  return all;
}

double bytes(const LayerItems& items) {
  return sum(items, [](const Operator& op) { return op.bytes.value(); });
}

double weight_gradients(const LayerItems& items) {
  return sum(items, [](const Operator& op) { return op.accumulated; });
}

WorkloadSpec any_dense() {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.tp = *rc::gen::element(1, 2, 4);
  spec.plan.cp = *rc::gen::element(1, 2);
  spec.plan.sequence_parallel = *rc::gen::arbitrary<bool>();
  spec.communication.tensor_chunks = *rc::gen::element(1, 2, 4);
  spec.training.dropout = *rc::gen::arbitrary<bool>();
  spec.model.bias =
      *rc::gen::element(ModelSpec::Bias::none, ModelSpec::Bias::qkv, ModelSpec::Bias::all);
  spec.model.ffn.kind =
      *rc::gen::element(FeedForwardSpec::Kind::swiglu, FeedForwardSpec::Kind::gelu);
  return spec;
}

LayerContext chunked(const WorkloadSpec& spec) {
  LayerContext made = context(spec);
  made.tensor_chunks = spec.communication.tensor_chunks;
  return made;
}

TEST(ParallelBlock, ComputesTheSameProducts) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = any_dense();
    const Passes serial = transformer_layer(chunked(spec), LayerKind::dense);
    spec.model.block = *rc::gen::element(Block::parallel, Block::parallel_norms);
    if (spec.model.block == Block::parallel)
      spec.runtime.kernels.block =
          *rc::gen::element(KernelSpec::Block::apart, KernelSpec::Block::joined);
    const Passes other = transformer_layer(chunked(spec), LayerKind::dense);
    const auto alike = [](double a, double b) { return std::abs(a - b) <= 1e-9 * b; };
    RC_ASSERT(alike(product_flops(other.forward), product_flops(serial.forward)));
    RC_ASSERT(alike(product_flops(other.backward), product_flops(serial.backward)));
    RC_ASSERT(alike(weight_gradients(other.backward), weight_gradients(serial.backward)));
    RC_ASSERT(other.backward.size() == other.backward_input.size() + other.backward_weight.size());
  }));
}

/// Calls over the tensor group, forward and backward: all-reduces, gathers and scatters.
struct Calls {
  int reduces[2], gathers[2], scatters[2];
  bool operator==(const Calls&) const = default;
};

Calls calls(WorkloadSpec spec, bool sequence_parallel) {
  spec.plan.tp = 4;
  spec.plan.sequence_parallel = sequence_parallel;
  const Passes passes = layer(spec);
  Calls all{};
  for (int pass = 0; pass < 2; ++pass) {
    const LayerItems& items = pass == 0 ? passes.forward : passes.backward;
    const auto count = [&](CollectiveKind kind) {
      const Traffic found = traffic(items, GroupKind::tensor, kind);
      EXPECT_EQ(found.bytes, found.calls * 2 * c);  // of a whole stream each
      return found.calls;
    };
    all.reduces[pass] = count(CollectiveKind::all_reduce);
    all.gathers[pass] = count(CollectiveKind::all_gather);
    all.scatters[pass] = count(CollectiveKind::reduce_scatter);
  }
  return all;
}

TEST(ParallelBlock, ExchangesHalfAsOften) {
  for (const WorkloadSpec& spec : {with_block(Block::parallel), joined()}) {
    EXPECT_EQ(calls(spec, false), (Calls{{1, 1}, {0, 0}, {0, 0}}));
    EXPECT_EQ(calls(spec, true), (Calls{{0, 0}, {1, 2}, {1, 1}}));
  }
  EXPECT_EQ(calls(with_block(Block::serial), false), (Calls{{2, 2}, {0, 0}, {0, 0}}));
  EXPECT_EQ(calls(with_block(Block::serial), true), (Calls{{0, 0}, {2, 4}, {2, 2}}));
}

/// Inputs behind two norms are two; outputs are added up all the same.
TEST(ParallelBlock, WithTwoNormsSharesItsOutputsAlone) {
  const WorkloadSpec spec = with_block(Block::parallel_norms);
  EXPECT_EQ(calls(spec, false), (Calls{{1, 2}, {0, 0}, {0, 0}}));
  EXPECT_EQ(calls(spec, true), (Calls{{0, 0}, {2, 3}, {1, 2}}));
}

TEST(ParallelBlock, PiecesMoveWhatTheWholeMoves) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = any_dense();
    spec.model.block = Block::parallel;
    const Passes pieces = transformer_layer(chunked(spec), LayerKind::dense);
    const Passes whole = layer(spec);
    for (const auto pass : {&Passes::forward, &Passes::backward})
      for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                              CollectiveKind::reduce_scatter}) {
        const double moved = traffic(whole.*pass, GroupKind::tensor, kind).bytes;
        RC_ASSERT(std::abs(traffic(pieces.*pass, GroupKind::tensor, kind).bytes - moved) <=
                  1e-9 * moved);
      }
    RC_ASSERT(std::abs(total_flops(pieces.forward) / total_flops(whole.forward) - 1) < 1e-12);
  }));
}

/// Serial: norm, qkv, rope, core, out, sum, norm, up, activation, down, sum. One norm goes, and
/// with joined products also two of those and the sum between outputs.
TEST(ParallelBlock, LaunchesLess) {
  EXPECT_EQ(operators(layer(with_block(Block::serial)).forward), 11);
  EXPECT_EQ(operators(layer(with_block(Block::parallel_norms)).forward), 11);
  EXPECT_EQ(operators(layer(with_block(Block::parallel)).forward), 10);
  EXPECT_EQ(operators(layer(joined()).forward), 7);
  // backward every product is two, and sums of gradients go with those of outputs
  EXPECT_EQ(operators(layer(with_block(Block::serial)).backward), 15);
  EXPECT_EQ(operators(layer(with_block(Block::parallel)).backward), 14);
  EXPECT_EQ(operators(layer(joined()).backward), 9);
}

/// A norm moves 4 bytes forward and 8 backward per element; joined products leave out the sums of 6
/// and read or write the stream once instead of twice, two of them forward and four backward.
TEST(ParallelBlock, MovesLess) {
  const Passes serial = layer(with_block(Block::serial));
  const auto saved = [&](const WorkloadSpec& spec) {
    const Passes passes = layer(spec);
    return std::pair{bytes(serial.forward) - bytes(passes.forward),
                     bytes(serial.backward) - bytes(passes.backward)};
  };
  EXPECT_EQ(saved(with_block(Block::parallel)), (std::pair{4 * c, 8 * c}));
  EXPECT_EQ(saved(with_block(Block::parallel_norms)), (std::pair{0 * c, 0 * c}));
  EXPECT_EQ(saved(joined()), (std::pair{(4 + 6 + 2 * 2) * c, (8 + 6 + 4 * 2) * c}));
}

/// Partial sums are added up before they are scattered, over whole streams.
TEST(ParallelBlock, AddsUpBeforeItScatters) {
  WorkloadSpec serial = with_block(Block::serial), parallel = with_block(Block::parallel);
  for (WorkloadSpec* spec : {&serial, &parallel}) {
    spec->plan.tp = 4;
    spec->plan.sequence_parallel = true;
  }
  EXPECT_EQ(bytes(layer(parallel).forward) - bytes(layer(serial).forward), 6 * c - (4 + 6) * c / 4);
}

TEST(ParallelBlock, DropsOutOnce) {
  for (const auto& [block, dropouts] : {std::pair{Block::serial, 2}, {Block::parallel, 1}}) {
    WorkloadSpec spec = with_block(block);
    const double without = bytes(layer(spec).forward), rows = operators(layer(spec).backward);
    spec.training.dropout = true;
    EXPECT_EQ(bytes(layer(spec).forward) - without, dropouts * c);
    EXPECT_EQ(operators(layer(spec).backward) - rows, dropouts);
  }
}

TEST(ParallelBlock, HasTheWeightsOfItsNorms) {
  const auto total = [](Block block) { return count_parameters(with_block(block).model).total; };
  EXPECT_EQ(total(Block::serial), total(Block::parallel_norms));
  EXPECT_EQ(total(Block::serial) - total(Block::parallel), 8 * hidden);
  const auto dense = [](Block block) { return layer(with_block(block)).dense_parameters; };
  EXPECT_EQ(dense(Block::serial) - dense(Block::parallel), hidden);
}

/// One input of norms and one mask less in all, and with one norm one output of theirs less.
TEST(ParallelBlock, KeepsLess) {
  const auto kept = [](Block block, bool dropout) {
    WorkloadSpec spec = with_block(block);
    spec.training.dropout = dropout;
    return layer_activations(spec, false, TrainingSpec::Recompute::none).value();
  };
  for (const bool dropout : {false, true}) {
    const double serial = kept(Block::serial, dropout), masks = dropout ? c : 0;
    EXPECT_EQ(serial - kept(Block::parallel_norms, dropout), 2 * c + masks);
    EXPECT_EQ(serial - kept(Block::parallel, dropout), 4 * c + masks);
  }
}

TEST(ParallelBlock, RunsItsPartsAgain) {
  using Module = TrainingSpec::Module;
  const auto again = [](Block block, Module module) {
    WorkloadSpec spec = with_block(block);
    const double once = product_flops(layer(spec).backward);
    const int rows = operators(layer(spec).backward);
    spec.training.recompute = TrainingSpec::Recompute::modules;
    spec.training.recompute_modules = 1U << static_cast<unsigned>(module);
    const Passes passes = layer(spec);
    return std::pair{product_flops(passes.backward) - once, operators(passes.backward) - rows};
  };
  const double up_and_down = 3 * 2 * c * 4096;
  EXPECT_EQ(again(Block::parallel, Module::mlp), (std::pair{up_and_down, 3}));
  EXPECT_EQ(again(Block::serial, Module::mlp), (std::pair{up_and_down, 3}));
  EXPECT_EQ(again(Block::parallel, Module::mlp_act), (std::pair{0.0, 1}));
  EXPECT_EQ(again(Block::parallel, Module::layernorm), (std::pair{0.0, 1}));
  EXPECT_EQ(again(Block::parallel_norms, Module::layernorm), (std::pair{0.0, 2}));
}

}  // namespace
}  // namespace stepcast::parallel_blocks
