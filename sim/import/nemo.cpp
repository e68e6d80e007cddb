#include <algorithm>
#include <array>
#include <cmath>

#include "imported_adapters.hpp"
#include "stepcast/base/foreign_document.hpp"
#include "stepcast/base/text.hpp"
#include "structured.hpp"
#include "unknown_names.hpp"

// NeMo's and Megatron-Bridge's YAML say Megatron's flags by other names: they become those.
namespace stepcast::launch {
namespace {

bool is_true(const Setting& setting) {
  return !setting.words.empty() &&
         (setting.words.front() == "true" || setting.words.front() == "True");
}

std::string section_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? std::string() : name.substr(0, dot);
}

/// What OmegaConf puts in for `${.hidden_size}` of the same section, `${..name}` of the one above,
/// `${trainer.precision}` and `${multiply:4, ${.hidden_size}}`; others stay as they are written.
class Interpolation {
 public:
  explicit Interpolation(const std::vector<Setting>& all) : all_{all} {}

  std::string text(std::string text, const std::string& section, int depth = 0) const {
    constexpr int deepest = 16;
    // From the last one back: the innermost of nested ones comes first.
    for (std::size_t open = text.rfind("${"); open != std::string::npos && depth < deepest;
         open = open == 0 ? std::string::npos : text.rfind("${", open - 1)) {
      const std::size_t close = text.find('}', open);
      if (close == std::string::npos) break;
      const std::string inside = text.substr(open + 2, close - open - 2);
      const auto found =
          inside.find(':') == std::string::npos ? named(inside, section, depth) : computed(inside);
      if (found) text.replace(open, close + 1 - open, *found);
    }
    return text;
  }

 private:
  std::optional<std::string> named(std::string name, std::string section, int depth) const {
    const bool relative = name.starts_with('.');
    if (relative) name.erase(0, 1);
    // One dot is the section itself, each further one the section above.
    for (; relative && name.starts_with('.'); name.erase(0, 1)) section = section_of(section);
    if (relative && !section.empty()) name = section + "." + name;
    const auto is = [&](const Setting& s) {
      return s.name == name || "training." + s.name == name;  // which it stands below
    };
    const auto found = std::ranges::find_if(all_, is);
    if (found == all_.end() || found->words.size() != 1) return {};
    return text(found->words.front(), section_of(found->name), depth + 1);
  }

  static std::optional<std::string> computed(const std::string& inside) {
    const std::size_t colon = inside.find(':'), comma = inside.find(',');
    if (comma == std::string::npos) return {};
    const auto a =
        parse_count(trimmed(std::string_view(inside).substr(colon + 1, comma - colon - 1)));
    const auto b = parse_count(trimmed(std::string_view(inside).substr(comma + 1)));
    const std::string_view name = std::string_view(inside).substr(0, colon);
    if (!a || !b || *b == 0) return {};
    const double value = name == "multiply"       ? *a * *b
                         : name == "divide_floor" ? std::floor(*a / *b)
                         : name == "divide_ceil"  ? std::ceil(*a / *b)
                                                  : -1;
    constexpr double most = 1e15;
    if (value < 0 || value > most) return {};
    return std::to_string(static_cast<std::int64_t>(value));
  }

  const std::vector<Setting>& all_;
};

std::vector<Setting> interpolated(std::vector<Setting> settings) {
  const std::vector<Setting> written = settings;
  const Interpolation interpolation{written};
  for (Setting& setting : settings)
    for (std::string& word : setting.words)
      word = interpolation.text(word, section_of(setting.name));
  return settings;
}

struct Translation {
  Launch launch;
  void add(const Setting& from, std::string name, std::vector<std::string> words = {}) {
    launch.settings.push_back(
        {std::move(name), std::move(words), from.place, from.is_list, from.name});
  }
};

/// Parts of the names of Megatron-Bridge's mixed_precision, with Megatron-LM's recipe.
constexpr std::pair<std::string_view, const char*> named_recipes[] = {
    {"with_fp8_mixed", "delayed"},
    {"fp8_delayed_scaling", "delayed"},
    {"fp8_current_scaling", "tensorwise"},
    {"fp8_subchannel_scaling", "blockwise"},
    {"with_mxfp8", "mxfp8"}};

/// A precision by name; a name of mixed_precision has the recipe of FP8 in it, and one that is
/// unknown is handed on, to be refused.
void translate_precision(Translation& all, const Setting& s, const std::string& value,
                         Draft& draft) {
  const auto names = [&value](std::string_view part) {
    return value.find(part) != std::string::npos;
  };
  if (!names("16") && !names("fp8") && !names("fp4") && !draft.given("training.precision"))
    draft.wrong(s.place, s.name,
                "is '" + value +
                    "', which no value of training.precision says, allowed: bf16, 16, with fp8");
  if (names("fp4")) all.add(s, "--fp4-format", {"e2m1"});
  if (names("fp8")) {
    all.add(s, "--fp8-format", {"hybrid"});
    const auto* known = std::ranges::find_if(
        named_recipes, [&](const auto& recipe) { return names(recipe.first); });
    if (known != std::end(named_recipes))
      all.add(s, "--fp8-recipe", {known->second});
    else if (s.name == "mixed_precision")
      all.add(s, "--fp8-recipe", {value});
  }
  const bool half = value.starts_with("16") || value.starts_with("fp16");
  all.add(s, half ? "--fp16" : "--bf16");
}

/// The type of a state of the optimizer, as PyTorch names it or as Megatron-LM does.
void translate_state(Translation& all, const Setting& s, const std::string& value) {
  static const std::pair<std::string_view, const char*> types[] = {{"torch.float32", "fp32"},
                                                                   {"torch.bfloat16", "bf16"},
                                                                   {"torch.float16", "fp16"},
                                                                   {"torch.uint8", "fp8"}};
  const auto* known =
      std::ranges::find(types, value, &std::pair<std::string_view, const char*>::first);
  const auto row = find_flag(Framework::nemo, s.name);
  if (row) all.add(s, std::string(row->note), {known == std::end(types) ? value : known->second});
}

/// Switches of a flag that is there when the field is off, or has a word.
std::string_view switched_flag(const Setting& s, const std::string& value) {
  struct Switch {
    std::string_view field, flag;
    bool on;
  };
  // Megatron-LM's switches are there or not, these fields have a value: some flags stand for the
  // one that is off.
  const bool off = !is_true(s);
  const bool sharded = value == "mcore_distributed_optim" || value == "distributed_fused_adam";
  const std::array<Switch, 11> switches{
      {{"model.bias", "--disable-bias-linear", off},
       {"model.add_bias_linear", "--disable-bias-linear", off},
       {"model.activation", "--swiglu", value.ends_with("swiglu")},
       {"model.gated_linear_unit", "--swiglu", !off},
       {"model.apply_rope_fusion", "--no-rope-fusion", off},
       {"model.bias_activation_fusion", "--no-bias-swiglu-fusion", off},
       {"model.overlap_p2p_comm", "--no-overlap-p2p-communication", off},
       {"model.share_embeddings_and_output_weights", "--untie-embeddings-and-output-weights", off},
       {"model.gradient_accumulation_fusion", "--no-gradient-accumulation-fusion", off},
       {"ddp.grad_reduce_in_fp32", "--grad-reduce-in-bf16", off},
       {"model.optim.name", "--use-distributed-optimizer", sharded}}};
  const auto found = std::ranges::find(switches, std::string_view(s.name), &Switch::field);
  if (found == switches.end()) return {};
  return found->on ? found->flag : "off";
}

std::string normalization_word(const std::string& value) {
  const auto names = [&value](std::string_view part) {
    return value.find(part) != std::string::npos;
  };
  if (names("rmsnorm") || names("RMSNorm")) return "RMSNorm";
  return names("layernorm") || names("LayerNorm") ? "LayerNorm" : value;
}

/// Keys whose flag is a switch with the other sense, or whose words differ. False: a plain one.
bool translate_special(Translation& all, const Setting& s, Draft& draft) {
  const std::string value = s.words.empty() ? "" : s.words.front();
  const std::string_view flag = switched_flag(s, value);
  if (!flag.empty()) {
    if (flag != "off") all.add(s, std::string(flag));
    // One key of NeMo, two flags of Megatron-LM.
  } else if (s.name == "model.num_query_groups") {
    all.add(s, "--group-query-attention");
    all.add(s, "--num-query-groups", s.words);
  } else if (s.name == "model.normalization") {
    all.add(s, "--normalization", {normalization_word(value)});
  } else if (s.name == "trainer.precision" || s.name == "mixed_precision") {
    translate_precision(all, s, value, draft);
  } else if (s.name == "model.use_flash_attention") {
    if (!is_true(s)) all.add(s, "--attention-backend", {"unfused"});
  } else if (s.name == "model.optim.grad_sync_dtype") {
    all.add(s, "--main-grads-dtype", {value == "bf16" ? "bf16" : "fp32"});
  } else if (s.name.starts_with("optimizer.") && s.name.ends_with("_dtype")) {
    translate_state(all, s, value);
  } else if (s.name == "model.fp8") {
    if (value != "false" && value != "null") all.add(s, "--fp8-format", {"hybrid"});
  } else {
    return false;
  }
  return true;
}

/// The flags that a row of the table names: `--recompute-method`.
void translate(Translation& all, const Setting& s, Draft& draft) {
  if (s.name == "trainer.num_nodes") {
    all.launch.nodes = s;
    return;
  }
  if (s.name == "trainer.devices") {
    all.launch.devices_per_node = s;
    return;
  }
  if (s.words.empty() || s.words.front() == "null" || translate_special(all, s, draft)) return;
  const auto row = find_flag(Framework::nemo, s.name);
  if (!row || !row->note.starts_with("--")) return;
  const std::string name(row->note.substr(0, row->note.find_first_of(", ")));
  const auto target = find_flag(Framework::megatron, name);
  // A note of the table that begins with dashes is the flag of Megatron-LM with the same meaning.
  const bool is_switch = target && target->arity == Arity::none;
  if (is_switch && !is_true(s)) return;
  all.add(s, name, is_switch ? std::vector<std::string>{} : s.words);
}

/// `mixed_precision` with its fields, as a run writes it: they are those of the model and of `ddp`,
/// which count where both stand.
std::vector<Setting> with_precision(std::vector<Setting> settings) {
  constexpr std::pair<std::string_view, std::string_view> fields[] = {
      {"mixed_precision.bf16", "model.bf16"},
      {"mixed_precision.fp8", "model.fp8"},
      {"mixed_precision.fp8_recipe", "model.fp8_recipe"},
      {"mixed_precision.fp8_param_gather", "ddp.fp8_param_gather"},
      {"mixed_precision.grad_reduce_in_fp32", "ddp.grad_reduce_in_fp32"}};
  for (const auto& [field, other] : fields) {
    // A run writes both, and the second is what it ran with.
    if (std::ranges::find(settings, other, &Setting::name) != settings.end()) continue;
    const auto found = std::ranges::find(settings, field, &Setting::name);
    if (found == settings.end()) continue;
    found->written = found->name;
    found->name = other;
  }
  return settings;
}

/// Adapters of Megatron-Bridge's `peft:`, or of NeMo's `model.peft:`.
void import_peft(const std::vector<Setting>& settings, Draft& draft) {
  Arguments arguments{settings, draft.wrong()};
  const Setting* kind = arguments.find("peft._target_");
  const Setting* scheme = arguments.find("model.peft.peft_scheme");
  const bool bridge = kind != nullptr || arguments.find("peft.dim") != nullptr;
  const std::string name = bridge ? arguments.text("peft._target_", "lora")
                                  : arguments.text("model.peft.peft_scheme", "none");
  if (!bridge && (scheme == nullptr || name == "none")) return;
  const auto ends = [&name](std::string_view end) { return name.ends_with(end); };
  const bool canonical = bridge && (ends("CanonicalLoRA") || ends("canonical_lora"));
  if (!canonical && (!(ends(".LoRA") || name == "LoRA" || name == "lora")))
    return arguments.fail(bridge ? "peft._target_" : "model.peft.peft_scheme",
                          "is '" + name +
                              "', which training.adapters lacks, allowed: lora, canonical_lora, "
                              "or without it");
  const auto find = [&](const char* own, const char* older) {
    return arguments.find(bridge ? own : older);
  };
  AdapterFlags flags{
      .rank = find("peft.dim", "model.peft.lora_tuning.adapter_dim"),
      .targets = find("peft.target_modules", "model.peft.lora_tuning.target_modules"),
      .dropout = find("peft.dropout", "model.peft.lora_tuning.adapter_dropout"),
      .otherwise = 32,
      .usual = {"linear_qkv"}};
  if (bridge) flags.usual = {"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"};
  if (canonical)
    // Canonical adapters stand at every projection by itself, plain ones at the joined ones.
    flags.usual = {"linear_q",        "linear_k",      "linear_v",  "linear_proj",
                   "linear_fc1_gate", "linear_fc1_up", "linear_fc2"};
  set_adapters(flags, arguments, draft);
  if (kind != nullptr) draft.expect(*kind);
}

/// Files whose sizes stand in a checkpoint, and models that are no decoder.
void refuse_other_models(const std::vector<Setting>& settings) {
  const auto find = [&](std::string_view name) -> const Setting* {
    const auto found = std::ranges::find(settings, name, &Setting::name);
    return found == settings.end() ? nullptr : &*found;
  };
  if (const Setting* head = find("model.bert_binary_head"))
    refuse_input(head->place, head->name, std::string(what_bert_is));
  const Setting* checkpoint = find("model.restore_from_path");
  if (checkpoint == nullptr) checkpoint = find("restore_from_path");
  if (checkpoint != nullptr && find("model.num_layers") == nullptr &&
      find("model.hidden_size") == nullptr)
    refuse_input(checkpoint->place, checkpoint->name,
                 "names a checkpoint, which holds the sizes of the model and is not read; "
                 "add them to the section model, as the file of its pretraining has them");
}

}  // namespace

std::optional<std::int64_t> import_nemo(const std::string& path, const std::string& text,
                                        const ImportOptions& options, Draft& draft) {
  Node root = parse_foreign_document(text, path);
  // the launcher's configuration may stand below `training:`
  if (const Node* below = root.find("training"); below != nullptr && root.find("model") == nullptr)
    root = Node(*below);
  Translation all;
  all.launch.file = path;
  const std::vector<Setting> read = interpolated(flattened(root));
  refuse_other_models(read);
  const std::vector<Setting> settings =
      checked(Framework::nemo, with_precision(read), options, draft);
  for (const Setting& setting : settings) translate(all, setting, draft);
  // Without a method nothing is rebuilt, whatever the number of layers says.
  const auto named = [&](std::string_view name) {
    return std::ranges::find(all.launch.settings, name, &Setting::name) !=
           all.launch.settings.end();
  };
  if (!named("--recompute-granularity"))
    std::erase_if(all.launch.settings,
                  [](const Setting& s) { return s.name.starts_with("--recompute-"); });
  const auto devices = import_flags(Framework::megatron, std::move(all.launch), options, draft);
  import_peft(settings, draft);
  // What is switched off here the framework may do where nothing is said.
  for (const Setting& setting : settings)
    if (const auto row = find_flag(Framework::nemo, setting.name); row && !is_true(setting))
      draft.back(std::string(row->key.substr(0, row->key.find(','))), setting);
  return devices;
}

}  // namespace stepcast::launch
