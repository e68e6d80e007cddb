#include "imported_adapters.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/workloads/training_spec.hpp"

namespace stepcast::launch {
namespace {

/// Bits of adapter_targets, as a name of modules stands for them. `together`: they are one module,
/// with one adapter.
struct Modules {
  std::uint32_t bits;
  bool together;
};

constexpr std::uint32_t query = 1, key = 2, value = 4, attention_out = 8, gate = 16, up = 32,
                        down = 64, heads = query | key | value, inner = gate | up,
                        every = heads | attention_out | inner | down;

constexpr std::pair<std::string_view, Modules> names_of_modules[] = {
    {"linear_qkv", {heads, true}},
    {"attention_qkv", {heads, true}},
    {"query_key_value", {heads, true}},
    {"qkv_proj", {heads, true}},
    {"w_qkv", {heads, true}},
    {"linear_q", {query, false}},
    {"q_proj", {query, false}},
    {"wq", {query, false}},
    {"linear_k", {key, false}},
    {"k_proj", {key, false}},
    {"wk", {key, false}},
    {"linear_v", {value, false}},
    {"v_proj", {value, false}},
    {"wv", {value, false}},
    {"linear_proj", {attention_out, true}},
    {"attention_dense", {attention_out, true}},
    {"o_proj", {attention_out, true}},
    {"wo", {attention_out, true}},
    {"linear_fc1", {inner, true}},
    {"mlp_fc1", {inner, true}},
    {"gate_up_proj", {inner, true}},
    {"w_gate_hidden", {inner, true}},
    {"linear_fc1_gate", {gate, false}},
    {"gate_proj", {gate, false}},
    {"w1", {gate, false}},
    {"linear_fc1_up", {up, false}},
    {"up_proj", {up, false}},
    {"w3", {up, false}},
    {"linear_fc2", {down, true}},
    {"mlp_fc2", {down, true}},
    {"down_proj", {down, true}},
    {"w2", {down, true}},
    {"attention", {heads | attention_out, true}},
    {"mlp", {inner | down, true}},
    {"all", {every, true}},
};

/// `.*wq|.*wv` and `*.linear_qkv` as names.
std::vector<std::string> split_names(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words)
    for (std::size_t at = 0; at <= word.size();) {
      const std::size_t end = std::min(word.find_first_of("|,", at), word.size());
      std::string name = word.substr(at, end - at);
      while (!name.empty() && (name.front() == '.' || name.front() == '*' || name.front() == '\\' ||
                               name.front() == ' '))
        name.erase(0, 1);
      while (!name.empty() && (name.back() == '$' || name.back() == ' ')) name.pop_back();
      if (!name.empty()) names.push_back(std::move(name));
      at = end + 1;
    }
  return names;
}

std::string targets_text(std::uint32_t bits) {
  std::string text;
  for (std::size_t i = 0; i < adapter_targets.size(); ++i)
    if ((bits >> i & 1U) != 0) text += (text.empty() ? "" : ", ") + std::string(adapter_targets[i]);
  return "{modules: [" + text + "]}";
}

}  // namespace

void set_adapters(const AdapterFlags& flags, Arguments& arguments, Draft& draft) {
  const std::int64_t rank = flags.rank == nullptr
                                ? flags.otherwise
                                : arguments.count_in(flags.rank->name, flags.otherwise, 1, 1 << 16);
  draft.set("training.adapters.rank", rank, {flags.rank, flags.targets});
  const bool is_gated = flags.gated || draft.says("model.ffn.kind", "swiglu");
  std::uint32_t bits = 0;
  bool together = false, apart = false;
  const auto names = split_names(flags.targets != nullptr ? flags.targets->words : flags.usual);
  for (const std::string& name : names) {
    const auto* found =
        std::ranges::find(names_of_modules, name, &std::pair<std::string_view, Modules>::first);
    if (found == std::end(names_of_modules)) {
      if (!draft.given("training.adapters.targets"))
        arguments.fail(*flags.targets, "names '" + name +
                                           "', which no word of training.adapters.targets says, "
                                           "allowed: linear_qkv, linear_proj, linear_fc1, "
                                           "linear_fc2, or q_proj and the like");
      return;
    }
    const Modules& modules = found->second;
    bits |= modules.bits;
    const bool several = (modules.bits & (heads | inner)) != 0;
    (modules.together ? together : apart) |= several;
  }
  if (!is_gated) bits &= ~gate;
  const std::uint32_t all = is_gated ? every : every & ~gate;
  if (together && apart && flags.targets != nullptr)
    draft.note(*flags.targets,
               "names modules and parts of them, which are all taken for parts with one each");
  draft.set("training.adapters.targets", bits == all ? std::string("all") : targets_text(bits),
            {flags.targets});
  draft.set_where_used("training.adapters.products", std::string(apart ? "apart" : "joined"),
                       {flags.targets});
  const bool drops =
      flags.dropout == nullptr ? flags.drops : arguments.rate(flags.dropout->name) > 0;
  draft.set("training.adapters.dropout", drops, {flags.dropout});
  draft.set("training.adapters.frozen", std::string(flags.packed != nullptr ? "nf4" : "bf16"),
            {flags.packed});
  // Without tensor ranks nothing is split.
  if (draft.count("parallel.tp").value_or(1) > 1)
    draft.set("training.adapters.split", std::string(flags.split), {});
}

}  // namespace stepcast::launch
