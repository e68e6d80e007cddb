#include <algorithm>
#include <array>

#include "launch.hpp"
#include "shell.hpp"

// The launch of a script: which command trains, its launcher's own options, its flags.
namespace stepcast::launch {
namespace {

using shell::Traced;

using Words = std::vector<Traced>;

bool is_flag(const std::string& word) {
  return word.size() > 2 && word.starts_with("--") &&
         (std::isalpha(static_cast<unsigned char>(word[2])) != 0);
}

/// The place behind the program of a launch: its flags begin there.
std::size_t behind_program(const Words& words) {
  const auto script =
      std::ranges::find_if(words, [](const Traced& w) { return w.text.ends_with(".py"); });
  if (script != words.end()) return static_cast<std::size_t>(script - words.begin()) + 1;
  // `python -m package.train`, where -m of a launcher is not the last one.
  for (std::size_t i = words.size(); i-- > 0;)
    if (words[i].text == "-m" || words[i].text == "--module") return std::min(i + 2, words.size());
  return 0;
}

/// `--a b c --d=e` as settings. Words before the first flag go nowhere.
std::vector<Setting> settings_of(const shell::Shell& shell, const Words& words, std::size_t from,
                                 std::size_t until) {
  std::vector<Setting> all;
  for (std::size_t i = from; i < until; ++i) {
    const std::string& text = words[i].text;
    if (!is_flag(text)) {
      if (!all.empty()) all.back().words.push_back(text);
      continue;
    }
    const std::size_t equals = text.find('=');
    Setting setting{text.substr(0, equals), {}, shell.place(words[i].origin()), false};
    if (equals != std::string::npos) setting.words.push_back(text.substr(equals + 1));
    all.push_back(std::move(setting));
  }
  return all;
}

/// `-N 4` and the like of a launcher.
void read_launcher(const shell::Shell& shell, const Words& words, std::size_t until,
                   Launch& launch) {
  struct Option {
    std::string_view name;
    std::optional<Setting> Launch::*target;
  };
  static constexpr std::array<Option, 15> options{
      {{"--nproc_per_node", &Launch::devices_per_node},
       {"--nproc-per-node", &Launch::devices_per_node},
       {"--local_worker_num", &Launch::devices_per_node},
       {"--num_gpus", &Launch::devices_per_node},
       {"--ntasks-per-node", &Launch::devices_per_node},
       {"--gpus-per-node", &Launch::devices_per_node},
       {"--nnodes", &Launch::nodes},
       {"--num_nodes", &Launch::nodes},
       {"--nodes", &Launch::nodes},
       {"-N", &Launch::nodes},
       {"--worker_num", &Launch::devices},
       {"--ntasks", &Launch::devices},
       {"-n", &Launch::devices},
       {"-np", &Launch::devices},
       {"-g", &Launch::devices_per_node}}};
  for (std::size_t i = 0; i < until; ++i) {
    const std::string& text = words[i].text;
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto found = std::ranges::find(options, name, &Option::name);
    if (found == options.end()) continue;
    Setting setting{name, {}, shell.place(words[i].origin()), false};
    if (equals != std::string::npos)
      setting.words.push_back(text.substr(equals + 1));
    else if (i + 1 < until)
      setting.words.push_back(words[i + 1].text);
    launch.*(found->target) = std::move(setting);
  }
}

/// Words of variables that hold flags, for files that others source.
Words flags_of_variables(const shell::State& state) {
  Words all;
  for (const std::string& name : state.order) {
    const shell::Variable& variable = state.variables.at(name);
    Words words;
    for (const Traced& value : variable.values) {
      for (std::size_t begin = 0; begin < value.text.size();) {
        begin = value.text.find_first_not_of(" \t\r\n", begin);
        if (begin == std::string::npos) break;
        const std::size_t end =
            std::min(value.text.find_first_of(" \t\r\n", begin), value.text.size());
        words.push_back(value.part(begin, end));
        begin = end;
      }
    }
    if (words.empty() || !is_flag(words.front().text)) continue;
    all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

bool same_words(const Words& a, const Words& b) {
  return std::ranges::equal(a, b, {}, &Traced::text, &Traced::text);
}

std::vector<Setting> environment_of(const shell::Shell& shell) {
  std::vector<Setting> all;
  for (const auto& [name, variable] : shell.state().variables) {
    if (variable.values.size() != 1) continue;
    const Traced& value = variable.values.front();
    all.push_back({name, {value.text}, shell.place(value.origin()), false});
  }
  for (const auto& [name, value] : shell.state().environment)
    if (!shell.state().variables.contains(name))
      all.push_back({name, {value.text}, shell.place(value.origin()), false});
  return all;
}

/// A file without a command: flags alone, or variables that hold them.
void read_arguments(const shell::Shell& shell, const Words& words, Launch& launch) {
  launch.settings = settings_of(shell, words, 0, words.size());
}

/// Of several launches the one with the most flags; two that differ are two questions.
const Words& launch_of(const shell::Shell& shell) {
  const auto& launches = shell.state().launches;
  const auto most = std::ranges::max_element(launches, {}, [](const Words& w) { return w.size(); });
  for (const Words& other : launches) {
    const auto flags =
        std::ranges::count_if(other, [](const Traced& w) { return is_flag(w.text); });
    if (flags < 8 || same_words(other, *most)) continue;
    throw InputError({{shell.place(other.front().origin()),
                       {},
                       "launches a second training with other flags, allowed: one per file"}});
  }
  return *most;
}

bool holds_flags_alone(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\\");
  return first != std::string::npos && text.substr(first, 2) == "--";
}

}  // namespace

bool is_unknown(const std::string& word) {
  return word.find(shell::unknown_mark) != std::string::npos;
}

Launch read_shell(const std::string& path, const std::string& text) {
  shell::Shell shell;
  Launch launch{path, {}, {}, {}, {}, {}};
  if (holds_flags_alone(text)) {
    // A list of arguments is the tail of a command; its places stay those of the file.
    std::string list = text;
    std::ranges::replace(list, '\n', ' ');
    shell.run(path, "set -- " + list);
    const auto& words = shell.state().positional;
    read_arguments(shell, words, launch);
    for (Setting& s : launch.settings) s.place.line = 0, s.place.column = 0;
    return launch;
  }
  shell.run(path, text);
  launch.notes = shell.notes();
  launch.environment = environment_of(shell);
  for (const auto& [name, written] : shell.state().files) launch.files[name] = written.text;
  if (shell.state().launches.empty()) {
    const Words words = flags_of_variables(shell.state());
    if (words.empty() && shell.state().ended)
      throw InputError(
          {{shell.place(*shell.state().ended),
            {},
            "ends the script before anything is launched; set what it asks for in the script"}});
    if (words.empty())
      throw InputError(
          {{{path},
            {},
            "launches nothing, allowed: a script or a list of arguments of a training"}});
    read_arguments(shell, words, launch);
    return launch;
  }
  const Words& words = launch_of(shell);
  const std::size_t program = behind_program(words);
  read_launcher(shell, words, program, launch);
  launch.settings = settings_of(shell, words, program, words.size());
  return launch;
}

}  // namespace stepcast::launch
