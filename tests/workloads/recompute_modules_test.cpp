#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/memory.hpp"

// Recomputation by module: which rows run again, and which bytes no longer stay.
namespace stepcast {
namespace {

using namespace lowering;
using Module = TrainingSpec::Module;
using Recompute = TrainingSpec::Recompute;

constexpr Module all_modules[] = {
    Module::core_attn, Module::mla_up_proj, Module::layernorm,      Module::mlp,
    Module::moe,       Module::moe_act,     Module::shared_experts, Module::mlp_act};

WorkloadSpec rebuilding(std::vector<Module> modules, ModelSpec model = small_latent()) {
  WorkloadSpec spec = workload(model);
  spec.training.recompute = modules.empty() ? Recompute::none : Recompute::modules;
  for (const Module module : modules)
    spec.training.recompute_modules |= 1U << static_cast<unsigned>(module);
  return spec;
}

/// Operators by name, the others of a layer not counted.
std::map<std::string, int> names_counted(const LayerItems& items) {
  std::map<std::string, int> count;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item)) ++count[op->name];
  return count;
}

/// What the backward of a layer runs beside that of one that rebuilds nothing.
std::vector<std::string> added(Module module, LayerKind kind) {
  const Passes plain = transformer_layer(context(rebuilding({})), kind);
  const Passes again = transformer_layer(context(rebuilding({module})), kind);
  EXPECT_EQ(names_counted(again.forward), names_counted(plain.forward));
  EXPECT_EQ(names_counted(again.backward_weight), names_counted(plain.backward_weight));
  std::map<std::string, int> more = names_counted(again.backward);
  for (const auto& [name, count] : names_counted(plain.backward)) more[name] -= count;
  std::vector<std::string> rows;
  for (const auto& [name, count] : more) rows.insert(rows.end(), static_cast<size_t>(count), name);
  return rows;
}

using Rows = std::vector<std::string>;

TEST(RecomputeModules, RunTheirRowsAgain) {
  EXPECT_EQ(added(Module::core_attn, LayerKind::dense), Rows{"attention"});
  EXPECT_EQ(added(Module::mla_up_proj, LayerKind::dense),
            (Rows{"keys and values", "kv norm", "kv up", "q norm", "q up", "rope"}));
  EXPECT_EQ(added(Module::layernorm, LayerKind::moe),
            (Rows{"attention norm", "feed-forward norm"}));
  EXPECT_EQ(added(Module::mlp, LayerKind::dense),
            (Rows{"feed-forward activation", "feed-forward down", "feed-forward up"}));
  EXPECT_EQ(added(Module::mlp, LayerKind::moe), Rows{});
  EXPECT_EQ(added(Module::mlp_act, LayerKind::dense), Rows{"feed-forward activation"});
  EXPECT_EQ(added(Module::mlp_act, LayerKind::moe), Rows{});
  EXPECT_EQ(added(Module::moe, LayerKind::dense), Rows{});
  EXPECT_EQ(added(Module::moe_act, LayerKind::moe), Rows{"experts activation"});
  EXPECT_EQ(added(Module::shared_experts, LayerKind::moe),
            (Rows{"shared expert activation", "shared expert down", "shared expert up"}));
}

TEST(RecomputeModules, ALayerOfExpertsIsRebuiltWithItsExchanges) {
  WorkloadSpec spec = rebuilding({Module::moe});
  spec.plan.dp = spec.plan.ep = 4;
  const Passes layer = transformer_layer(context(spec), LayerKind::moe);
  const auto exchanged = [](const LayerItems& items) {
    return traffic(items, GroupKind::expert, CollectiveKind::all_to_all).calls;
  };
  spec.training.recompute = Recompute::none;
  const Passes plain = transformer_layer(context(spec), LayerKind::moe);
  EXPECT_EQ(exchanged(layer.backward) - exchanged(plain.backward), exchanged(plain.forward));
  EXPECT_DOUBLE_EQ(
      product_flops(layer.backward, "experts") - product_flops(plain.backward, "experts"),
      product_flops(plain.forward, "experts"));
}

TEST(RecomputeModules, SelectiveIsTheAttentionCore) {
  WorkloadSpec spec = rebuilding({Module::core_attn});
  const auto same = [&](LayerKind kind) {
    spec.training.recompute = Recompute::modules;
    const Passes named = transformer_layer(context(spec), kind);
    const Bytes bytes = layer_activations(spec, kind == LayerKind::moe, spec.training.recompute);
    spec.training.recompute = Recompute::selective;
    EXPECT_EQ(names_counted(named.backward),
              names_counted(transformer_layer(context(spec), kind).backward));
    EXPECT_EQ(bytes.value(),
              layer_activations(spec, kind == LayerKind::moe, Recompute::selective).value());
  };
  same(LayerKind::dense);
  same(LayerKind::moe);
}

/// Bytes per token that no longer stay, on a rank alone.
double freed(std::vector<Module> modules, bool moe) {
  const WorkloadSpec spec = rebuilding(modules);
  const double tokens = 2048;
  return (layer_activations(spec, moe, Recompute::none).value() -
          layer_activations(spec, moe, Recompute::modules).value()) /
         tokens;
}

TEST(RecomputeModules, FreeTheirBytes) {
  // small_latent: 16 heads of 64 + 32 and 64, latents of 256 and 128, hidden 1024, feed-forward
  // 4096, 4 of 16 experts of 512, a shared one of 1024
  EXPECT_DOUBLE_EQ(freed({Module::core_attn}, false), 64 * 16);
  EXPECT_DOUBLE_EQ(freed({Module::mla_up_proj}, false), 2 * (256 + 128) + 2 * 16 * (96 + 96 + 64));
  EXPECT_DOUBLE_EQ(freed({Module::layernorm}, true), 2 * 2 * 1024);
  EXPECT_DOUBLE_EQ(freed({Module::mlp}, false), 3 * 2 * 4096);
  EXPECT_DOUBLE_EQ(freed({Module::mlp}, true), 0);
  EXPECT_DOUBLE_EQ(freed({Module::mlp_act}, false), 2 * 4096);
  EXPECT_DOUBLE_EQ(freed({Module::moe_act}, true), 4 * 2 * 512);
  EXPECT_DOUBLE_EQ(freed({Module::shared_experts}, true), 3 * 2 * 1024);
  EXPECT_DOUBLE_EQ(freed({Module::moe}, true),
                   2 * 4 * 16 + 2 * 2 * 4 * 1024 + 4 * 3 * 2 * 512 + 3 * 2 * 1024);
  EXPECT_DOUBLE_EQ(freed({Module::moe_act, Module::layernorm}, true),
                   freed({Module::moe_act}, true) + freed({Module::layernorm}, true));
}

TEST(RecomputeModules, NoneKeepsLessThanAllOfThemAndMoreThanTheWholeLayer) {
  for (const bool moe : {false, true}) {
    const WorkloadSpec spec = rebuilding({});
    const double most = layer_activations(spec, moe, Recompute::none).value();
    const double least = layer_activations(spec, moe, Recompute::full).value();
    for (const Module module : all_modules) {
      const double kept = layer_activations(rebuilding({module}), moe, Recompute::modules).value();
      EXPECT_LE(kept, most);
      EXPECT_GT(kept, least);
    }
  }
}

}  // namespace
}  // namespace stepcast
