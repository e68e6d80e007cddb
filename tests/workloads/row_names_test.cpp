#include <gtest/gtest.h>

#include <optional>
#include <tuple>
#include <vector>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/rewrites.hpp"

// Names are for reports: what is done to the items of a layer goes by roles and ids.
namespace stepcast {
namespace {

using namespace lowering;

LayerItems renamed(LayerItems items) {
  for (LayerItem& item : items) {
    if (auto* op = std::get_if<Operator>(&item)) op->name = "row";
    if (auto* call = std::get_if<LayerCommunication>(&item)) call->name = "row";
    if (auto* readback = std::get_if<HostReadback>(&item)) readback->name = "row";
  }
  return items;
}

Passes renamed(Passes passes) {
  for (auto part : {&Passes::forward, &Passes::backward_input, &Passes::backward_weight,
                    &Passes::backward, &Passes::recomputed})
    passes.*part = renamed(std::move(passes.*part));
  return passes;
}

/// Everything of an item but its name.
using Operation =
    std::tuple<std::size_t, double, double, LaunchClass, bool, Fp8, double, OperatorRole>;
using Communication =
    std::tuple<GroupKind, CollectiveKind, double, bool, std::string, bool, CommunicationId>;
struct NamedRow {
  std::size_t kind;
  std::optional<Operation> operation = {};
  std::optional<Communication> communication = {};
  friend bool operator==(const NamedRow&, const NamedRow&) = default;
};

std::vector<NamedRow> rows(const LayerItems& items) {
  std::vector<NamedRow> all;
  for (const LayerItem& item : items) {
    NamedRow& row = all.emplace_back(NamedRow{item.index()});
    if (const auto* op = std::get_if<Operator>(&item))
      row.operation = Operation{op->work.index(), op->flops.value(), op->bytes.value(), op->launch,
                                op->routed,       op->fp8,           op->accumulated,   op->role};
    if (const auto* call = std::get_if<LayerCommunication>(&item))
      row.communication = Communication{call->group,      call->call.kind, call->call.bytes.value(),
                                        call->overlapped, call->algorithm, call->in_kernel,
                                        call->id};
  }
  return all;
}

WorkloadSpec any_rewritten_workload() {
  WorkloadSpec spec = any_workload();
  spec.model.norm = *rc::gen::element(ModelSpec::Norm::rms, ModelSpec::Norm::sandwich);
  spec.runtime.fusion = *rc::gen::element(RuntimeSpec::Fusion::none, RuntimeSpec::Fusion::pattern,
                                          RuntimeSpec::Fusion::dvm);
  spec.runtime.kernels.norm = *rc::gen::element(KernelSpec::Norm::fused, KernelSpec::Norm::unfused);
  spec.runtime.kernels.rope = *rc::gen::element(KernelSpec::Rope::fused, KernelSpec::Rope::unfused);
  spec.runtime.kernels.activation =
      *rc::gen::element(KernelSpec::Activation::fused, KernelSpec::Activation::formula);
  spec.communication.accumulation = *rc::gen::element(CommunicationSpec::Accumulation::fused,
                                                      CommunicationSpec::Accumulation::separate);
  spec.training.precision =
      *rc::gen::element(TrainingSpec::Precision::bf16, TrainingSpec::Precision::fp8_mixed);
  using Recipe = TrainingSpec::Fp8Recipe;
  spec.training.fp8_recipe =
      *rc::gen::element(Recipe::delayed, Recipe::tensorwise, Recipe::rowwise, Recipe::mxfp8);
  return spec;
}

std::vector<Passes> all_pieces(const WorkloadSpec& spec) {
  const LayerContext layer = context(spec);
  std::vector<Passes> pieces{embedding(layer), head(layer),
                             transformer_layer(layer, LayerKind::dense)};
  if (spec.model.moe) pieces.push_back(transformer_layer(layer, LayerKind::moe));
  if (spec.model.mtp_layers > 0) pieces.push_back(mtp_module(layer));
  return pieces;
}

TEST(Names, RenamingRowsLeavesWhatIsRun) {
  EXPECT_TRUE(rc::check([] {
    const WorkloadSpec spec = any_rewritten_workload();
    const DeviceSpec device = plain_cluster().device;
    for (const Passes& passes : all_pieces(spec)) {
      const Passes other = renamed(passes);
      for (auto part : {&Passes::forward, &Passes::backward, &Passes::backward_weight})
        RC_ASSERT(rows(as_run(passes.*part, spec, device)) ==
                  rows(as_run(other.*part, spec, device)));
    }
  }));
}

TEST(Names, RenamingRowsLeavesThePairs) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = any_rewritten_workload();
    RC_PRE(spec.model.moe.has_value() && spec.plan.ep > 1);
    spec.moe.overlap = MoeSpec::Overlap::fb_pair;
    Passes passes = transformer_layer(context(spec), LayerKind::moe);
    for (auto part : {&Passes::forward, &Passes::backward_input, &Passes::backward_weight})
      passes.*part = as_run(std::move(passes.*part), spec, plain_cluster().device);
    const Passes other = renamed(passes);
    RC_ASSERT(rows(paired_layers(passes, passes)) == rows(paired_layers(other, other)));
  }));
}

}  // namespace
}  // namespace stepcast
