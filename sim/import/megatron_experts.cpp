#include "megatron.hpp"

// Experts: which layers have them, how tokens reach them.
namespace stepcast::launch {
namespace {

/// The pattern of the layers that the model has, as a dense prefix and a period.
void import_pattern(MegatronLaunch& launch) {
  const Setting* frequency = launch.flag("--moe-layer-freq");
  const Setting* prefix = launch.flag("--first-k-dense-replace");
  const std::string text = launch.args.text("--moe-layer-freq", "1");
  std::vector<bool> marked(static_cast<std::size_t>(launch.layers), true);
  // A number n puts experts into every n-th layer, a list says each.
  const bool number = text.find_first_not_of("-0123456789") == std::string::npos;
  if (number) {
    // -1 is what MindSpeed-LLM's scripts write for every layer.
    const auto given = launch.args.count("--moe-layer-freq", -1);
    if (given == 0) launch.args.fail("--moe-layer-freq", "is 0, allowed: -1, or from 1 up");
    const std::int64_t every = given.value_or(1) < 1 ? 1 : given.value_or(1);
    const std::int64_t dense = launch.args.count("--first-k-dense-replace", -1).value_or(0);
    for (std::size_t i = 0; i < marked.size(); ++i)
      marked[i] =
          static_cast<std::int64_t>(i) >= dense && static_cast<std::int64_t>(i) % every == 0;
  } else if (const auto pattern = layer_pattern(text);
             pattern && pattern->size() == marked.size()) {
    marked = *pattern;
  } else {
    return launch.args.fail(
        "--moe-layer-freq",
        "is '" + text +
            "', allowed: a number, or a list of 0 and 1 for each layer such as ([0]*3+[1]*58)");
  }
  std::vector<bool> real;
  for (std::size_t i = 0; i < marked.size(); ++i)
    // Layers that do nothing are positions of the script, not layers of the model.
    if (!launch.noop.contains(static_cast<std::int64_t>(i))) real.push_back(marked[i]);
  // The first layer with experts and the distance to the next one; all others must follow from the
  // two.
  std::size_t first = 0;
  while (first < real.size() && !real[first]) ++first;
  std::size_t next = first + 1;
  while (next < real.size() && !real[next]) ++next;
  const std::size_t period = first + 1 < real.size() && next < real.size() ? next - first : 1;
  for (std::size_t i = 0; i < real.size(); ++i)
    if (real[i] != (i >= first && (i - first) % period == 0))
      return launch.args.fail(
          frequency != nullptr ? "--moe-layer-freq" : "--first-k-dense-replace",
          "places experts irregularly, allowed: a dense prefix, then every n-th layer");
  launch.draft.set("model.moe.first_dense", static_cast<std::int64_t>(first), {frequency, prefix});
  launch.draft.set("model.moe.period", static_cast<std::int64_t>(period), {frequency, prefix});
}

void import_shared(MegatronLaunch& launch, std::int64_t expert_hidden) {
  const Setting* width_flag =
      launch.args.find({"--n-shared-experts", "--moe-shared-expert-intermediate-size"});
  if (const Setting* gate =
          launch.args.find({"--moe-shared-expert-gate", "--shared-expert-gate"})) {
    // A gate without experts behind it has nothing to weigh.
    if (width_flag != nullptr)
      launch.draft.set("model.moe.shared_gate", true, {gate});
    else
      launch.draft.note(*gate, "counts only with shared experts");
  }
  // MindSpeed counts shared experts as wide as a routed one; Megatron-LM gives the width of all
  // together as one.
  if (const Setting* count = launch.flag("--n-shared-experts")) {
    const std::int64_t shared = launch.args.count_or("--n-shared-experts", 0);
    launch.draft.set("model.moe.shared_experts", shared, {count});
    if (shared > 0)
      launch.draft.set("model.moe.shared_hidden", expert_hidden, {count},
                       "each as a routed expert");
  } else if (const Setting* width = launch.flag("--moe-shared-expert-intermediate-size")) {
    launch.draft.set("model.moe.shared_experts", 1, {width});
    launch.draft.set("model.moe.shared_hidden", launch.args.count_or(width->name, 1), {width});
  }
}

void import_groups(MegatronLaunch& launch) {
  const Setting* groups = launch.args.find({"--moe-router-num-groups", "--n-group"});
  const Setting* chosen = launch.args.find(
      {"--moe-router-group-topk", "--topk-group", "--moe-router-topk-limited-devices"});
  // Groups by device are groups of expert ranks; a top-k of groups without their number counts only
  // there.
  const bool by_rank = launch.mindspeed() || (chosen != nullptr && chosen->name ==
                                                                       "--moe-router-topk-limited-"
                                                                       "devices");
  if (groups != nullptr)
    launch.draft.set("model.moe.groups", launch.args.count_or(groups->name, 1), {groups});
  else if (chosen != nullptr && by_rank)
    launch.draft.set("model.moe.groups", launch.ep, {chosen},
                     "groups are those of expert parallelism");
  if (chosen != nullptr && (groups != nullptr || by_rank))
    launch.draft.set("model.moe.top_groups", launch.args.count_or(chosen->name, 1), {chosen});
}

/// The library of the flexible dispatcher.
void import_library(MegatronLaunch& launch) {
  const Setting* backend = launch.flag("--moe-flex-dispatcher-backend");
  if (backend == nullptr || launch.draft.runs().name.empty()) return;
  const std::string name = launch.args.text(backend->name);
  if (name != "deepep" && name != "hybridep")
    return launch.args.fail(*backend, "is '" + name + "', allowed: deepep, hybridep");
  launch.draft.set("moe.dispatcher", name, {backend});
}

void import_dispatch(MegatronLaunch& launch) {
  const Setting* type = launch.flag("--moe-token-dispatcher-type");
  const std::string name = launch.args.text("--moe-token-dispatcher-type", "allgather");
  // Each name of Megatron-LM stands for one way of moving tokens (docs/models/dispatchers.md).
  const bool known = name == "allgather" || name == "alltoall" || name == "flex" ||
                     (launch.mindspeed() && name == "alltoall_seq");
  if (!known)
    return launch.args.fail("--moe-token-dispatcher-type",
                            "is '" + name + "', allowed: allgather, alltoall, flex" +
                                (launch.mindspeed() ? ", alltoall_seq" : ""));
  // One expert rank moves nothing, except that an allgather also gathers between tensor ranks.
  const bool travels = launch.ep > 1 || (launch.etp > 1 && name == "allgather");
  for (const char* of_flex : {"--moe-flex-dispatcher-backend", "--moe-enable-deepep"})
    if (const Setting* setting = launch.flag(of_flex); setting != nullptr && name != "flex")
      launch.draft.note(*setting, "counts only with --moe-token-dispatcher-type flex");
  if (travels && name == "flex") import_library(launch);
  if (name == "alltoall_seq" && launch.draft.runs().is("MindSpeed") &&
      launch.draft.runs().at_least("2.1"))
    launch.draft.set("moe.dispatcher", "mindspeed_2.3_seq", {type});
  if (travels) {
    // Flex libraries send a token once per node.
    const char* dispatch = name == "allgather" ? "allgather"
                           : name == "flex"    ? "two_hop_dedup"
                                               : "flat";
    launch.draft.set(
        "moe.dispatch", std::string(dispatch),
        {type, launch.flag("--moe-flex-dispatcher-backend"), launch.flag("--moe-enable-deepep")});
  }
}

void import_overlap(MegatronLaunch& launch) {
  if (launch.ep == 1) return;
  const bool shared =
      launch.args.find({"--n-shared-experts", "--moe-shared-expert-intermediate-size"}) != nullptr;
  if (const Setting* pair =
          launch.args.find({"--overlap-moe-expert-parallel-comm", "--moe-fb-overlap"})) {
    // Megatron-LM itself refuses the pair.
    if (!launch.mindspeed() && launch.args.text("--recompute-granularity", "") == "full")
      return launch.args.fail(*pair, "does not go with --recompute-granularity full");
    return launch.draft.set("moe.overlap", "fb_pair", {pair});
  }
  const Setting* beside =
      launch.args.find({"--moe-shared-expert-overlap", "--moe-alltoall-overlap-comm",
                        "--moe-allgather-overlap-comm"});
  if (beside == nullptr) return;
  if (!shared) return launch.draft.note(*beside, "has no shared expert to run beside: no key");
  launch.draft.set("moe.overlap", "shared_expert", {beside});
  // The key hides the shared expert alone; the note says what is left out.
  if (launch.mindspeed())
    launch.draft.note(
        *beside, "hides a part of the all-to-all behind weight gradients, too, which no key says");
}

/// Whose library puts rows in order itself; nothing: another dispatcher, or none.
const Setting* flex_dispatcher(const MegatronLaunch& launch) {
  const Setting* type = launch.flag("--moe-token-dispatcher-type");
  return launch.args.text("--moe-token-dispatcher-type", "") == "flex" ? type : nullptr;
}

/// Grouped products of Transformer Engine are a launch for each expert of a rank.
void import_products(MegatronLaunch& launch) {
  const Setting* grouped = launch.flag("--moe-grouped-gemm");
  const Setting* older = launch.flag("--moe-use-legacy-grouped-gemm");
  if (older != nullptr && grouped == nullptr)
    launch.draft.note(*older, "counts only with --moe-grouped-gemm");
  const bool engine = launch.args.text("--transformer-impl", "transformer_engine") != "local";
  const bool several = launch.args.count_or("--num-experts", 1) > launch.ep;
  const bool streams =
      launch.draft.runs().streams_experts() && engine && several && older == nullptr;
  launch.draft.set("moe.experts",
                   grouped == nullptr ? "sequential"
                   : streams          ? "multi_stream"
                                      : "grouped",
                   {grouped, grouped != nullptr ? older : nullptr},
                   streams && grouped != nullptr ? "by Transformer Engine" : "");
}

void import_handling(MegatronLaunch& launch) {
  Draft& draft = launch.draft;
  import_products(launch);
  const Setting* fused =
      launch.args.find({"--moe-permute-fusion", "--use-fused-moe-token-permute-and-unpermute"});
  // Libraries permute inside their kernels.
  const Setting* flex = flex_dispatcher(launch);
  draft.set("moe.permutation", fused != nullptr || flex != nullptr ? "fused" : "indexed",
            {fused != nullptr ? fused : flex});
  if (const Setting* capacity = launch.flag("--moe-expert-capacity-factor")) {
    // Zero or less means that no tokens are dropped.
    if (const auto value = launch.args.number("--moe-expert-capacity-factor"); value && *value > 0)
      draft.set("moe.capacity_factor", capacity->words.front(), {capacity});
    if (const Setting* pad = launch.flag("--moe-pad-expert-input-to-capacity"))
      draft.set("moe.capacity_pad", true, {pad});
  }
  if (const Setting* pad = launch.flag("--moe-pad-expert-input-to-capacity");
      pad != nullptr && launch.flag("--moe-expert-capacity-factor") == nullptr)
    draft.note(*pad, "counts only with --moe-expert-capacity-factor");
}

/// `[0]*3+[1]*58`: sums and products of numbers and lists, and nothing else.
struct Pattern {
  std::string_view text;
  std::size_t at = 0;
  int depth = 0;
  bool wrong = false;
  struct Value {
    bool list = false;
    std::int64_t number = 0;
    std::vector<bool> items;
  };
  static constexpr std::size_t most = 100000;

  bool take(char c) {
    while (at < text.size() && text[at] == ' ') ++at;
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  }
  Value atom() {
    Value value;
    if (++depth > 32) wrong = true;
    if (wrong) return value;
    if (take('(')) {
      value = sum();
      wrong = wrong || !take(')');
    } else if (take('[')) {
      value.list = true;
      for (bool more = !take(']'); more && !wrong; more = !take(']')) {
        const Value item = sum();
        wrong =
            wrong || item.list || item.number < 0 || item.number > 1 || value.items.size() > most;
        value.items.push_back(item.number == 1);
        take(',');
      }
    } else {
      std::size_t digits = 0;
      while (at < text.size() && text[at] >= '0' && text[at] <= '9' && ++digits < 8)
        value.number = 10 * value.number + (text[at++] - '0');
      wrong = wrong || digits == 0;
    }
    --depth;
    return value;
  }
  Value product() {
    Value left = atom();
    while (!wrong && take('*')) {
      Value right = atom();
      if (right.list) std::swap(left, right);
      if (!left.list) {
        left.number *= right.number;
        continue;
      }
      wrong = wrong || right.list || right.number < 0 ||
              static_cast<std::size_t>(right.number) * (left.items.size() + 1) > most;
      std::vector<bool> all;
      for (std::int64_t i = 0; i < right.number && !wrong; ++i)
        all.insert(all.end(), left.items.begin(), left.items.end());
      left.items = std::move(all);
    }
    return left;
  }
  Value sum() {
    Value left = product();
    while (!wrong && take('+')) {
      const Value right = product();
      wrong = wrong || left.list != right.list || left.items.size() > most;
      left.number += right.number;
      left.items.insert(left.items.end(), right.items.begin(), right.items.end());
    }
    return left;
  }
};

}  // namespace

std::optional<std::vector<bool>> layer_pattern(std::string_view text) {
  Pattern pattern{text};
  const Pattern::Value value = pattern.sum();
  if (pattern.wrong || !value.list || pattern.at != text.size()) return {};
  return value.items;
}

void import_experts(MegatronLaunch& launch) {
  const Setting* experts = launch.flag("--num-experts");
  if (!launch.experts) return;
  Draft& draft = launch.draft;
  draft.set("model.moe.experts", launch.args.count_or("--num-experts", 1), {experts});
  const Setting* chosen = launch.flag("--moe-router-topk");
  // Megatron-LM's defaults: two experts for a token, experts as wide as the dense layers.
  draft.set("model.moe.top_k", launch.args.count_or("--moe-router-topk", 2), {chosen});
  const Setting* width =
      launch.args.find({"--moe-ffn-hidden-size", "--moe-intermediate-size", "--ffn-hidden-size"});
  const std::int64_t hidden = width != nullptr ? launch.args.count_or(width->name, 1)
                                               : draft.count("model.ffn.hidden").value_or(1);
  draft.set("model.moe.expert_hidden", hidden, {width});
  import_pattern(launch);
  import_shared(launch, hidden);
  import_groups(launch);
  if (const Setting* bias = launch.flag("--moe-router-enable-expert-bias"))
    draft.set("model.moe.correction_bias", true, {bias});
  import_dispatch(launch);
  import_overlap(launch);
  import_handling(launch);
  import_router(launch);
}

}  // namespace stepcast::launch
