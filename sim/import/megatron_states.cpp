#include <algorithm>

#include "megatron.hpp"
#include "stepcast/base/text.hpp"

// Precision and place of what the optimizer keeps, and of gathered parameters.
namespace stepcast::launch {
namespace {

/// Of the optimizer that goes to the host.
void import_part(MegatronLaunch& launch) {
  const Setting* part = launch.flag("--optimizer-offload-fraction");
  if (part == nullptr) return;
  const auto value = parse_number(launch.args.text(part->name, "1"));
  if (!value || *value < 0 || *value > 1)
    return launch.args.fail(*part, "is no part, allowed: 0 to 1");
  if (launch.flag("--optimizer-cpu-offload") == nullptr)
    return launch.draft.note(*part, "counts only with --optimizer-cpu-offload");
  if (*value == 0) return launch.draft.set("training.offload.optimizer", false, {part});
  launch.draft.set("training.offload.optimizer_part", shortest(*value), {part});
}

/// Of one state of the optimizer. Megatron-LM asserts that other precisions than FP32 are asked
/// for.
void import_state(MegatronLaunch& launch, const char* flag, const char* key,
                  const std::vector<std::string>& allowed) {
  const Setting* type = launch.flag(flag);
  if (type == nullptr) return;
  const std::string name = launch.args.text(flag);
  if (std::ranges::find(allowed, name) == allowed.end())
    return launch.args.fail(*type, "is '" + name + "', allowed: " + joined(allowed));
  if (name != "fp32" && launch.flag("--use-precision-aware-optimizer") == nullptr)
    return launch.args.fail(*type, "needs --use-precision-aware-optimizer, allowed: fp32");
  const bool master = name == "fp32" && std::string_view(key) == "training.master_weights";
  launch.draft.set(key, master ? "full" : name, {type});
}

/// Whether every group that parameters are shared out in is one rank.
bool shares_nothing(const MegatronLaunch& launch) {
  if (!launch.devices) return false;
  const std::int64_t stage = *launch.devices / launch.pp;
  const std::int64_t groups =
      launch.args.count_in("--num-distributed-optimizer-instances", 1, 1, most_counted);
  const bool experts = launch.experts && stage / (launch.ep * launch.etp) > 1;
  return stage / (launch.tp * groups) <= 1 && !experts;
}

/// Gathers of one byte. With MXFP8 Megatron-LM gathers in BF16 and casts rows and columns.
void import_gathered(MegatronLaunch& launch) {
  const Setting* gathers = launch.flag("--fp8-param-gather");
  if (gathers == nullptr) return;
  if (!launch.draft.says("training.precision", "fp8_mixed"))
    return launch.draft.note(*gathers, "counts only with --fp8-format");
  if (launch.draft.says("training.fp8_recipe", "mxfp8"))
    return launch.draft.note(*gathers, "gathers in BF16 with --fp8-recipe mxfp8, as without it");
  if (launch.draft.says("parallel.zero", "0"))
    return launch.args.fail(*gathers, "needs --use-distributed-optimizer");
  if (shares_nothing(launch))
    return launch.draft.note(*gathers, "gathers nothing: no parameter is shared out among ranks");
  launch.draft.set("communication.parameter.precision", "fp8", {gathers});
}

}  // namespace

void import_states(MegatronLaunch& launch) {
  if (const Setting* optimizer = launch.args.find({"--optimizer-cpu-offload", "--swap-optimizer"}))
    launch.draft.set("training.offload.optimizer", true, {optimizer});
  import_part(launch);
  import_state(launch, "--exp-avg-dtype", "training.first_moment", {"fp32", "bf16", "fp16", "fp8"});
  import_state(launch, "--exp-avg-sq-dtype", "training.second_moment",
               {"fp32", "bf16", "fp16", "fp8"});
  import_state(launch, "--main-params-dtype", "training.master_weights", {"fp32", "fp16"});
  // MindSpeed-LLM's O2AdamW casts its moments for the update.
  if (const Setting* half = launch.flag("--o2-optimizer"))
    for (const char* key : {"training.first_moment", "training.second_moment"})
      launch.draft.set(key, "bf16", {half});
  if (const Setting* layers = launch.flag("--cpu-offloading-num-layers");
      layers != nullptr && launch.layers > 0) {
    const double part = static_cast<double>(launch.args.count_or(layers->name, 0)) /
                        static_cast<double>(launch.layers);
    launch.draft.set("training.offload.activations", std::to_string(part), {layers});
  }
  if (const Setting* shared = launch.flag("--reuse-fp32-param"))
    launch.draft.set("training.master_weights", "remainder", {shared});
  import_gathered(launch);
}

}  // namespace stepcast::launch
