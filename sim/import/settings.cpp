
#include "forms.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/base/text.hpp"
#include "unknown_names.hpp"

// Settings against the table of their framework.
namespace stepcast::launch {
namespace {

std::string first_key(std::string_view keys) { return std::string(keys.substr(0, keys.find(','))); }

bool is_off(const Setting& setting) {
  if (setting.words.size() != 1) return false;
  const std::string& word = setting.words.front();
  return word == "false" || word == "False" || word == "null" || word == "None" || word.empty();
}

/// Switched off, or a number that asks for nothing.
bool is_neutral(const Setting& setting) {
  const bool number =
      setting.words.size() == 1 && (setting.words.front() == "0" || setting.words.front() == "1");
  return number || is_off(setting);
}

void check_arity(const Flag& flag, const Setting& setting, Draft& draft) {
  const std::size_t words = setting.words.size();
  if (flag.arity == Arity::one && words == 0) draft.wrong(setting, "has no value, allowed: one");
  // YAML lists are one value of several words.
  if (flag.arity == Arity::one && words > 1 && !setting.is_list)
    draft.wrong(setting, "has " + std::to_string(words) + " values, allowed: one");
  // YAML says `true` where a command line says nothing.
  const bool said =
      words == 1 && (setting.words.front() == "true" || setting.words.front() == "True");
  if (flag.arity == Arity::none && words > 0 && !said && !is_off(setting))
    draft.wrong(setting, "takes no value, but has '" + setting.words.front() + "'");
}

/// Whether the value is one of those, with | between them, that ask for nothing.
bool is_neutral_value(const Flag& flag, const Setting& setting) {
  return !flag.neutral.empty() && !setting.words.empty() &&
         is_among(setting.words.front(), flag.neutral, '|');
}

void check_refused(const Flag& flag, const Setting& setting, Draft& draft) {
  const std::string key = first_key(flag.key);
  // A value from --set is the user's answer to what the flag does not say.
  if (draft.given(key)) return draft.note(setting, "gives way to --set " + key);
  const bool harmless = is_off(setting) || is_neutral_value(flag, setting);
  if (harmless) return;
  const std::string what = std::string(flag.note);
  if (flag.treatment == Treatment::unmodelled)
    return draft.note(setting, "is not modelled: " + what);
  if (flag.treatment == Treatment::lacking)
    return draft.wrong(setting,
                       "asks for what every key lacks: " + what + "; allowed: a file without it");
  draft.wrong(setting, "asks for what the file does not say as a value of " + key + ": " + what +
                           "; allowed: a file without it, or --set " + key +
                           "=.. where the key can say what is meant");
}

/// A number without an effect is still one that the framework can run with.
void check_number(const Flag& flag, const Setting& setting, Draft& draft) {
  if (setting.words.size() != 1 || flag.numbers == Numbers::any) return;
  const auto value = parse_number(setting.words.front());
  if (!value) return;
  const bool usual = flag.numbers == Numbers::usual;
  const std::string_view allowed = flag.numbers == Numbers::share   ? "0 to 1"
                                   : flag.numbers == Numbers::above ? "more than 0"
                                                                    : "0 or more";
  const bool fits = usual                            ? *value >= 0 || *value == -1
                    : flag.numbers == Numbers::share ? *value >= 0 && *value <= 1
                                                     : *value > 0;
  if (!fits)
    draft.wrong(setting, "is " + setting.words.front() + ", allowed: " + std::string(allowed));
}

}  // namespace

void check_settings(Framework framework, const std::vector<Setting>& settings, bool ignore_unknown,
                    Draft& draft, const std::string& program) {
  std::vector<Setting> unknown;
  std::set<std::string_view> sections;  // said once, at their first key
  for (const Setting& setting : settings) {
    const auto flag = find_flag(framework, setting.name);
    if (flag && flag->section && !is_off(setting) && !sections.insert(flag->name).second) continue;
    if (!flag) {
      unknown.push_back(setting);
      continue;
    }
    switch (flag->treatment) {
      case Treatment::taken:
        check_arity(*flag, setting, draft);
        if (!is_neutral(setting)) draft.expect(setting);
        break;
      case Treatment::ignored:
        check_number(*flag, setting, draft);
        break;
      case Treatment::unmodelled:
        check_number(*flag, setting, draft);
        check_refused(*flag, setting, draft);
        break;
      case Treatment::refused:
      case Treatment::lacking:
        check_refused(*flag, setting, draft);
        break;
    }
  }
  settle_unknown(framework, unknown, settings.size(), ignore_unknown, program, draft);
}

std::optional<std::int64_t> devices_of(const Launch& launch, const ImportOptions& options,
                                       Draft& draft) {
  std::vector<Setting> sizes;
  for (const auto* size : {&launch.nodes, &launch.devices_per_node, &launch.devices})
    if (*size) sizes.push_back(**size);
  for (const Setting& size : sizes)
    if (size.words.empty() || is_unknown(size.words.front())) return options.devices;
  std::vector<Diagnostic> unasked;  // wrong sizes that give way
  Arguments arguments{sizes, options.devices ? unasked : draft.wrong()};
  constexpr std::int64_t most_devices = 1 << 20;
  const auto size = [&](const std::optional<Setting>& s) {
    return arguments.count_in(s->name, 1, 1, most_devices);
  };
  std::int64_t devices = 0;
  if (launch.devices)
    devices = size(launch.devices);
  else if (launch.nodes && launch.devices_per_node)
    devices = size(launch.nodes) * size(launch.devices_per_node);
  else
    return options.devices;
  if (options.devices) {
    if (devices != *options.devices && unasked.empty())
      draft.note(sizes.front(), "gives way to " + std::to_string(*options.devices) +
                                    " devices as asked; the file has " + std::to_string(devices));
    return options.devices;
  }
  if (devices <= most_devices) return devices;
  arguments.fail(sizes.front(), "makes " + std::to_string(devices) + " devices, allowed: 1 to " +
                                    std::to_string(most_devices));
  return {};
}

}  // namespace stepcast::launch
