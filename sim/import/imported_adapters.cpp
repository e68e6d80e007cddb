#include "imported_adapters.hpp"

#include <algorithm>

#include "stepcast/base/suggest.hpp"
#include "stepcast/workloads/training_spec.hpp"

namespace stepcast::launch {
namespace {

/// Bits of adapter_targets, and the names of modules that stand for them. `together`: they are one
/// module, with one adapter.
struct Modules {
  std::uint32_t bits;
  bool together;
  std::string_view names;
};

constexpr std::uint32_t query = 1, key = 2, value = 4, attention_out = 8, gate = 16, up = 32,
                        down = 64, heads = query | key | value, inner = gate | up,
                        every = heads | attention_out | inner | down;

constexpr Modules names_of_modules[] = {
    {heads, true, "linear_qkv attention_qkv query_key_value qkv_proj w_qkv"},
    {query, false, "linear_q q_proj wq"},
    {key, false, "linear_k k_proj wk"},
    {value, false, "linear_v v_proj wv"},
    {attention_out, true, "linear_proj attention_dense o_proj wo"},
    {inner, true, "linear_fc1 mlp_fc1 gate_up_proj w_gate_hidden"},
    {gate, false, "linear_fc1_gate gate_proj w1"},
    {up, false, "linear_fc1_up up_proj w3"},
    {down, true, "linear_fc2 mlp_fc2 down_proj w2"},
    {heads | attention_out, true, "attention"},
    {inner | down, true, "mlp"},
    {every, true, "all"}};

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
    const auto* found = std::ranges::find_if(
        names_of_modules, [&](const Modules& m) { return is_among(name, m.names); });
    if (found == std::end(names_of_modules)) {
      if (!draft.given("training.adapters.targets"))
        arguments.fail(*flags.targets, "names '" + name +
                                           "', which no word of training.adapters.targets says, "
                                           "allowed: linear_qkv, linear_proj, linear_fc1, "
                                           "linear_fc2, or q_proj and the like");
      return;
    }
    bits |= found->bits;
    const bool several = (found->bits & (heads | inner)) != 0;
    (found->together ? together : apart) |= several;
  }
  if (!is_gated) bits &= ~gate;
  const std::uint32_t all = is_gated ? every : every & ~gate;
  if (together && apart && flags.targets != nullptr)
    draft.note(*flags.targets,
               "names modules and parts of them, which are all taken for parts with one each");
  draft.set("training.adapters.targets", bits == all ? std::string("all") : targets_text(bits),
            {flags.targets});
  draft.set_where_used("training.adapters.products", apart ? "apart" : "joined", {flags.targets});
  const bool drops =
      flags.dropout == nullptr ? flags.drops : arguments.rate(flags.dropout->name) > 0;
  draft.set("training.adapters.dropout", drops, {flags.dropout});
  draft.set("training.adapters.frozen", flags.packed != nullptr ? "nf4" : "bf16", {flags.packed});
  // Without tensor ranks nothing is split.
  if (draft.count("parallel.tp").value_or(1) > 1)
    draft.set("training.adapters.split", std::string(flags.split), {});
}

}  // namespace stepcast::launch
