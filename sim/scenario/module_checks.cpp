#include "stepcast/sim/scenario/checks.hpp"

// Recomputation by module: a module that the model does not have would do nothing.
namespace stepcast {

void check_modules(const WorkloadSpec& workload, Checks& checks) {
  using Module = TrainingSpec::Module;
  const TrainingSpec& training = workload.training;
  const ModelSpec& model = workload.model;
  if (training.recompute != TrainingSpec::Recompute::modules) return;
  // Of modules that the scenario recomputes: each needs what it is a part of, and none may run
  // twice.
  const auto require = [&](Module module, bool holds, const std::string& what) {
    if (training.recomputes(module)) checks.require(holds, "training.recompute", what);
  };
  require(Module::mla_up_proj, std::holds_alternative<LatentAttention>(model.attention),
          "names mla_up_proj but the model has no latent attention, allowed: without it");
  require(Module::mlp, has_dense_layers(model),
          "names mlp but every layer of the model has experts, allowed: moe, moe_act, "
          "shared_experts");
  require(Module::mlp_act, has_dense_layers(model),
          "names mlp_act but every layer of the model has experts, allowed: moe_act");
  require(Module::mlp_act, !training.recomputes(Module::mlp),
          "names mlp and mlp_act, which runs again with it, allowed: one of them");
  for (const Module module : {Module::moe, Module::moe_act, Module::shared_experts})
    require(module, model.moe.has_value(),
            "names parts of experts but the model has none, allowed: without moe, moe_act, "
            "shared_experts");
  if (!model.moe) return;
  require(Module::shared_experts, model.moe->shared_experts > 0,
          "names shared_experts but the model has none, allowed: without them");
  const bool inside =
      training.recomputes(Module::moe_act) || training.recomputes(Module::shared_experts);
  require(Module::moe, !inside,
          "names moe and its parts, which run again with it, allowed: moe alone, or moe_act and "
          "shared_experts");
  require(
      Module::shared_experts, workload.moe.overlap != MoeSpec::Overlap::shared_expert,
      "names shared_experts, which moe.overlap shared_expert takes apart, allowed: without them, "
      "or another overlap");
}

}  // namespace stepcast
