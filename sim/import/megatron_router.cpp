#include <algorithm>
#include <array>

#include "megatron.hpp"
#include "stepcast/base/text.hpp"

// The router beside its product: losses, scores, precision, fusion.
namespace stepcast::launch {
namespace {

/// Ways of balancing that add a loss, of Megatron-LM and of MindSpeed-LLM.
constexpr std::array<std::string_view, 5> with_loss{
    "aux_loss", "seq_aux_loss", "global_aux_loss", "pai_megatron_aux_loss", "group_limited_greedy"};
constexpr std::array<std::string_view, 5> without_loss{"none", "None", "softmax_topk",
                                                       "sparsemixer_topk", "noaux_tc"};

/// Whether a coefficient is given that is not 0; of several losses one is enough.
bool counts(MegatronLaunch& launch, const Setting* coefficient) {
  if (coefficient == nullptr || coefficient->words.empty()) return false;
  return std::ranges::any_of(coefficient->words, [&](const std::string& word) {
    const auto value = parse_number(word);
    if (!value) launch.args.fail(*coefficient, "is '" + word + "', allowed: a number");
    return value && *value != 0;
  });
}

void import_balance(MegatronLaunch& launch) {
  const Setting* type = launch.flag("--moe-router-load-balancing-type");
  const Setting* coefficient = launch.flag("--moe-aux-loss-coeff");
  if (type == nullptr && coefficient == nullptr) return;
  std::vector<std::string> words =
      type == nullptr || type->words.empty() ? std::vector<std::string>{"aux_loss"} : type->words;
  const Setting& named = type != nullptr ? *type : *coefficient;
  bool loss = false;
  for (const std::string& word : words) {
    // Several kinds may stand together; one with a loss is enough for its kernels.
    const bool known = std::ranges::find(with_loss, word) != with_loss.end();
    if (word == "sinkhorn")
      launch.draft.note(named, "is not modelled: rounds of Sinkhorn in the router");
    else if (!known && std::ranges::find(without_loss, word) == without_loss.end())
      return launch.args.fail(named, "names " + word +
                                         ", allowed: aux_loss, seq_aux_loss, global_aux_loss, "
                                         "sinkhorn, none" +
                                         (launch.mindspeed() ? ", pai_megatron_aux_loss, "
                                                               "group_limited_greedy, "
                                                               "softmax_topk, sparsemixer_topk, "
                                                               "noaux_tc"
                                                             : ""));
    loss = loss || known;
  }
  launch.draft.set("moe.router.aux_loss", loss && counts(launch, coefficient), {coefficient, type});
}

void import_score(MegatronLaunch& launch) {
  // Absent is softmax in every version, and nothing has to be said.
  const Setting* score = launch.flag("--moe-router-score-function");
  if (score == nullptr) return;
  const std::string name = launch.args.text(score->name);
  if (name == "softmax" || name == "sigmoid")
    return launch.draft.set_where_used("moe.router.score", name, {score});
  if (name == "sqrtsoftplus")
    return launch.draft.note(*score, "is not modelled: a score of some kernels more");
  launch.args.fail(*score, "is '" + name + "', allowed: softmax, sigmoid");
}

void import_precision_of_router(MegatronLaunch& launch) {
  const Setting* type = launch.args.find({"--moe-router-dtype", "--router-gating-in-fp32"});
  if (type == nullptr) return;
  const std::string name =
      type->name == "--moe-router-dtype" ? launch.args.text(type->name) : "fp32";
  if (name == "None" || name.empty()) return;
  if (name != "fp32" && name != "fp64" && name != "bf16")
    return launch.args.fail(*type, "is '" + name + "', allowed: fp32, fp64");
  // FP64 is taken as FP32: kernels of scores are bound by memory either way, and no value is
  // wider.
  launch.draft.set_where_used("moe.router.precision", name == "bf16" ? name : std::string("fp32"),
                              {type}, name == "fp64" ? "the widest that there is" : "");
}

}  // namespace

void import_router(MegatronLaunch& launch) {
  import_balance(launch);
  const Setting* size = launch.flag("--moe-z-loss-coeff");
  if (counts(launch, size)) launch.draft.set_where_used("moe.router.z_loss", "true", {size});
  import_score(launch);
  import_precision_of_router(launch);
  if (const Setting* fusion = launch.flag("--moe-router-fusion"))
    launch.draft.set("runtime.kernels.router", "fused", {fusion});
}

}  // namespace stepcast::launch
