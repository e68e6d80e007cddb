#include "printed.hpp"

#include <algorithm>
#include <array>

#include "deepspeed.hpp"
#include "forms.hpp"
#include "printed_names.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/base/text.hpp"
#include "unknown_names.hpp"

// The arguments that Megatron-LM, MindSpeed-LLM and Megatron-DeepSpeed print when they start: each
// one with its value, defaults too, so that no shell is left to follow.
namespace stepcast::launch {
namespace {

bool is_name(std::string_view text) {
  return !text.empty() &&
         (std::isalpha(static_cast<unsigned char>(text.front())) != 0 || text.front() == '_') &&
         std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

/// `  hidden_size ............ 4096` behind whatever a launcher writes before it.
std::optional<Printed> printed_line(std::string_view line) {
  const std::size_t dots = line.find(" .");
  if (dots == std::string_view::npos) return {};
  const std::size_t end = line.find_first_not_of('.', dots + 1);
  if (end == std::string_view::npos || line[end] != ' ') return {};
  std::string_view name = trimmed(line.substr(0, dots));
  name = name.substr(name.find_last_of(" \t:|]") + 1);
  if (!is_name(name)) return {};
  return Printed{std::string(name), std::string(trimmed(line.substr(end))), {}};
}

/// A name of 48 letters or more has no dots: `  name value`.
std::optional<Printed> long_line(std::string_view line) {
  constexpr std::size_t column = 47;
  const std::string_view all = trimmed(line);
  const std::size_t first = all.find(' ');
  if (first == std::string_view::npos || first < column || !is_name(all.substr(0, first)))
    return {};
  return Printed{std::string(all.substr(0, first)), std::string(trimmed(all.substr(first))), {}};
}

bool has_rule(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  return at != std::string_view::npos && line.find("-------- ") < at;
}

struct Log {
  std::string title;
  std::vector<Printed> arguments;
  std::optional<Printed> padded;  ///< of `padded vocab (size: 50257) .. (new size: 50432)`
};

std::optional<Printed> padded_line(std::string_view line, const Place& place) {
  constexpr std::string_view mark = "(new size: ";
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos || line.find("padded vocab") > at) return {};
  const std::string_view rest = line.substr(at + mark.size());
  return Printed{"padded_vocab_size", std::string(rest.substr(0, rest.find(')'))), place};
}

/// The last list of a log counts: it is that of the run that went on.
Log read_log(const std::string& path, std::string_view text) {
  Log log;
  bool inside = false;
  int number = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    const Place place{path, number, 1};
    const std::string words = lower_case(std::string(line));
    if (has_rule(words, "end of ") && words.find("arguments") != std::string::npos) {
      inside = false;
    } else if (has_rule(words, "arguments ----")) {
      log.title = words;
      // A later list replaces what came before.
      log.arguments.clear();
      inside = true;
    } else if (inside) {
      // Lines are `name ..... value`; long names have no dots left.
      auto found = printed_line(line);
      if (!found) found = long_line(line);
      if (!found) continue;
      found->place = place;
      log.arguments.push_back(std::move(*found));
    } else if (auto padded = padded_line(line, place)) {
      log.padded = std::move(padded);
    }
  }
  return log;
}

const Printed* find_printed(const std::vector<Printed>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Printed::name);
  return found == all.end() ? nullptr : &*found;
}

bool is_nothing(std::string_view value) {
  constexpr std::array<std::string_view, 7> nothing{"", "None", "False", "[]", "{}", "()", "''"};
  return std::ranges::find(nothing, value) != nothing.end();
}
bool is_zero(std::string_view value) { return value == "0" || value == "0.0"; }

/// `[1, 'a']` -> its words; `torch.bfloat16`, `AttnBackend.auto` by the names that flags take.
std::vector<std::string> words_of(std::string_view value) {
  constexpr std::array<std::pair<std::string_view, const char*>, 5> types{
      {{"torch.float32", "fp32"},
       {"torch.bfloat16", "bf16"},
       {"torch.float16", "fp16"},
       {"torch.uint8", "fp8"},
       {"torch.half", "fp16"}}};
  // Types first, since they look like members of a module.
  const auto type =
      std::ranges::find(types, value, &std::pair<std::string_view, const char*>::first);
  if (type != types.end()) return {type->second};
  std::vector<std::string> words;
  // `[0]*3+[1]*58` is no list but a sum of two.
  const bool list = (value.starts_with('[') && value.ends_with(']') &&
                     value.find_first_of("*+") == std::string_view::npos) ||
                    (value.starts_with('(') && value.ends_with(')'));
  if (!list) {
    const std::size_t dot = value.rfind('.');
    // Of `AttnBackend.auto` the member; `1.5` and paths are no members.
    const bool member = dot != std::string_view::npos && is_name(value.substr(0, dot)) &&
                        is_name(value.substr(dot + 1));
    words.emplace_back(member ? value.substr(dot + 1) : value);
    return words;
  }
  value = value.substr(1, value.size() - 2);
  while (!value.empty()) {
    std::string_view word = trimmed(value.substr(0, value.find(',')));
    value.remove_prefix(
        std::min(value.find(',') == std::string_view::npos ? value.size() : value.find(',') + 1,
                 value.size()));
    if (word.size() > 1 && (word.front() == '\'' || word.front() == '"'))
      word = word.substr(1, word.size() - 2);
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

std::string dashed(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

/// The flag behind a name; `off`: the flag is there when the value is False.
struct NamedFlag {
  std::string name;
  bool off = false;
};
std::optional<NamedFlag> flag_of(Framework framework, std::string_view name) {
  const auto known = [&](const std::string& flag) {
    return find_flag(framework, flag).has_value();
  };
  // Names that are printed otherwise than their flag come first: a rule would find another flag for
  // some.
  for (const PrintedName& other : printed_names())
    if (other.printed == name && known(std::string(other.flag)))
      return NamedFlag{std::string(other.flag), other.off};
  constexpr std::string_view deprecated = "deprecated_";
  if (name.starts_with(deprecated)) name.remove_prefix(deprecated.size());
  // The usual rule, then flags with underscores, then switches that are printed without their `no`.
  if (known(dashed(name))) return NamedFlag{dashed(name)};
  if (known("--" + std::string(name))) return NamedFlag{"--" + std::string(name)};
  if (known("--no-" + dashed(name).substr(2)))
    return NamedFlag{"--no-" + dashed(name).substr(2), true};
  return {};
}

/// Names that count only where another one is on, and are printed all the same.
struct Need {
  std::string_view name, other;
};
constexpr std::array<Need, 9> needs{{{"num_query_groups", "group_query_attention"},
                                     {"kv_lora_rank", "multi_latent_attention"},
                                     {"q_lora_rank", "multi_latent_attention"},
                                     {"qk_head_dim", "multi_latent_attention"},
                                     {"qk_pos_emb_head_dim", "multi_latent_attention"},
                                     {"v_head_dim", "multi_latent_attention"},
                                     {"fp8_recipe", "fp8"},
                                     {"context_parallel_algo", "context_parallel_size"},
                                     {"cp_comm_type", "context_parallel_size"}}};

/// Whether what a name counts with is printed, and off.
bool counts_for_nothing(const std::vector<Printed>& all, std::string_view name) {
  const auto need = std::ranges::find(needs, name, &Need::name);
  if (need == needs.end()) return false;
  const Printed* other = find_printed(all, need->other);
  return other != nullptr && (is_nothing(other->value) || other->value == "1");
}

class Arranger {
 public:
  Arranger(Framework framework, const std::vector<Printed>& all)
      : framework_{framework}, all_{all} {}

  Launch launch(const std::string& path) {
    Launch launch{path, {}, {}, {}, {}, {}};
    for (const Printed& printed : all_) add(printed, launch);
    if (const Printed* size = find_printed(all_, "world_size"))
      launch.devices = Setting{"world_size", {size->value}, size->place, false, "world_size"};
    return launch;
  }
  /// Names of no table that are not switched off.
  const std::vector<Setting>& unknown() const { return unknown_; }

 private:
  void add(const Printed& printed, Launch& launch) {
    if (is_printed_default(printed.name, printed.value)) return;
    if (counts_for_nothing(all_, printed.name)) return;
    const auto flag = flag_of(framework_, printed.name);
    if (!flag) return add_unknown(printed);
    const auto row = find_flag(framework_, flag->name);
    if (row->treatment == Treatment::ignored) return;
    Setting setting{
        flag->name, {}, printed.place, false, printed.shown.empty() ? printed.name : printed.shown};
    if (flag->off) {
      if (printed.value == "False") launch.settings.push_back(std::move(setting));
      return;
    }
    const bool open = row->treatment != Treatment::taken;
    if (is_nothing(printed.value) || (open && is_zero(printed.value))) return;
    if (row->arity == Arity::none && (printed.value == "True" || printed.value == "1")) {
      launch.settings.push_back(std::move(setting));
      return;
    }
    setting.words = words_of(printed.value);
    if (row->arity == Arity::one && setting.words.size() != 1) {
      std::string whole = printed.value;  // a list that is one word, such as a pattern of layers
      std::erase(whole, ' ');
      setting.words = {std::move(whole)};
    }
    launch.settings.push_back(std::move(setting));
  }

  /// A name of no table says something only where it is not switched off.
  void add_unknown(const Printed& printed) {
    if (is_nothing(printed.value) || is_zero(printed.value)) return;
    unknown_.push_back({printed.name, {printed.value}, printed.place, false, printed.shown});
  }

  Framework framework_;
  const std::vector<Printed>& all_;
  std::vector<Setting> unknown_;
};

Framework framework_of(const Log& log) {
  for (const char* name : {"deepspeed_config", "zero_stage", "ds_sequence_parallel_size"})
    if (find_printed(log.arguments, name) != nullptr) return Framework::megatron_deepspeed;
  const bool titled = log.title.find("mindspeed") != std::string::npos;
  for (const char* name : {"use_fused_rmsnorm", "context_parallel_algo", "use_ascend_mc2"})
    if (titled || find_printed(log.arguments, name) != nullptr) return Framework::mindspeed;
  return Framework::megatron;
}

}  // namespace

Launch arranged(Framework framework, const std::vector<Printed>& arguments, const std::string& path,
                const ImportOptions& options, Draft& draft) {
  Arranger arranger{framework, arguments};
  Launch launch = arranger.launch(path);
  refuse_other_steps(framework, arranger.unknown());
  settle_unknown(framework, arranger.unknown(), arguments.size(), options.ignore_unknown, {},
                 draft);
  return launch;
}

std::string read_printed(const std::string& path, const SearchPath& search) {
  const auto file = find_file(path, {}, search);
  auto bytes = file ? bytes_of(*file) : std::nullopt;
  if (!bytes) refuse_input({path}, {}, "is no file that can be read");
  std::string text = std::move(*bytes);
  constexpr std::size_t most = std::size_t{64} << 20;  // arguments are printed at the start
  if (text.size() > most) text.resize(most);
  // Logs have tabs, colours and carriage returns of progress bars between what they print.
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n'; }, ' ');
  return text;
}

Framework printed_framework(const std::string& text) { return framework_of(read_log({}, text)); }

bool has_printed_arguments(std::string_view text) {
  const std::size_t at = lower_case(std::string(text)).find("arguments ----");
  return at != std::string_view::npos && text.find(" ....", at) != std::string_view::npos;
}

std::optional<std::int64_t> import_arguments(const std::string& path, const std::string& text,
                                             const ImportOptions& options, Draft& draft) {
  const Log log = read_log(path, text);
  if (log.arguments.empty())
    refuse_input({path}, {},
                 "prints no arguments, allowed: the log of a run from its start, with the "
                 "list between '---- arguments ----' and '---- end of arguments ----'");
  const Framework framework = framework_of(log);
  std::vector<Printed> arguments = log.arguments;
  const Printed* padded = find_printed(arguments, "padded_vocab_size");
  if (log.padded && (padded == nullptr || is_nothing(padded->value)))
    arguments.push_back(*log.padded);
  Launch launch = arranged(framework, arguments, path, options, draft);
  const auto devices =
      framework == Framework::megatron_deepspeed
          ? import_megatron_deepspeed_launch(path, std::move(launch), options, draft)
          : import_flags(framework, std::move(launch), options, draft);
  draft.note({{path},
              {},
              "prints no environment: what CUDA_DEVICE_MAX_CONNECTIONS, TASK_QUEUE_ENABLE and the "
              "like say is left at its default, unless --set says it"});
  draft.expect_nothing();  // all arguments are printed, those without effect as well
  return devices;
}

}  // namespace stepcast::launch
