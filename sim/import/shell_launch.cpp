#include <algorithm>
#include <array>
#include <sstream>

#include "launch.hpp"
#include "shell.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/base/text.hpp"
#include "unknown_names.hpp"

// The launch of a script: which command trains, its launcher's own options, its flags.
namespace stepcast::launch {
namespace {

using shell::Traced;

using Words = std::vector<Traced>;

bool is_flag(const std::string& word) {
  return word.size() > 2 && word.starts_with("--") &&
         (std::isalpha(static_cast<unsigned char>(word[2])) != 0);
}

/// The place behind the program of a launch: its flags begin there. It is the first file of Python
/// or module that launches no other.
std::size_t behind_program(const Words& words) {
  std::size_t launcher = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text.ends_with(".py") && text.find('=') == std::string::npos) return i + 1;
    if (text != "-m" && text != "--module") continue;
    launcher = std::min(i + 2, words.size());
    const std::string module = launcher == i + 2 ? words[i + 1].text : "";
    const bool launches =
        module.starts_with("torch.distributed") || module.find("launch") != std::string::npos;
    if (!launches && module.find_first_not_of("0123456789") != std::string::npos) return launcher;
  }
  if (launcher > 0) return launcher;
  // `swift sft --model ..`
  return words.size() > 2 && !words[0].text.starts_with('-') && words[0].text.ends_with("swift")
             ? 2
             : 0;
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
  struct Options {
    std::optional<Setting> Launch::*target;
    std::string_view names;
  };
  static constexpr Options options[] = {
      {&Launch::devices_per_node,
       "--nproc_per_node --nproc-per-node --local_worker_num --num_gpus --ntasks-per-node "
       "--gpus-per-node -g"},
      {&Launch::nodes, "--nnodes --num_nodes --nodes -N --num_machines"},
      {&Launch::devices, "--num_processes --worker_num --ntasks -n -np"},
      {&Launch::launcher_config, "--config_file"}};
  for (std::size_t i = 0; i < until; ++i) {
    const std::string& text = words[i].text;
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto* found = std::ranges::find_if(
        options, [&](const Options& these) { return is_among(name, these.names); });
    if (found == std::end(options)) continue;
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
    // Arrays are not exported.
    if (variable.values.size() != 1) continue;
    const Traced& value = variable.values.front();
    all.push_back({name, {value.text}, shell.place(value.origin()), false});
  }
  // What was given from outside and not set anew.
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
Words launch_of(const shell::Shell& shell) {
  std::vector<Words> launches = shell.state().launches;
  const auto idle = [](const Words& words) {
    const std::size_t program = behind_program(words);
    return program > 0 && trains_nothing(words[program - 1].text);
  };
  if (!std::ranges::all_of(launches, idle)) std::erase_if(launches, idle);
  const auto most = std::ranges::max_element(launches, {}, [](const Words& w) { return w.size(); });
  for (const Words& other : launches) {
    const auto flags =
        std::ranges::count_if(other, [](const Traced& w) { return is_flag(w.text); });
    if (flags < 8 || same_words(other, *most)) continue;
    refuse_input(shell.place(other.front().origin()), {},
                 "launches a second training with other flags, allowed: one per file");
  }
  return *most;
}

/// What Slurm sets for a script from its own lines: `#SBATCH --nodes=16`.
struct Slurm {
  std::map<std::string, std::string> variables;
  std::string nodes, of_node;

  void take(const std::string& option, const std::string& value) {
    if (option == "--nodes" || option == "-N") {
      nodes = value;
      variables["SLURM_NNODES"] = variables["SLURM_JOB_NUM_NODES"] = value;
    } else if (option == "--ntasks-per-node") {
      of_node = value;
      variables["SLURM_NTASKS_PER_NODE"] = value;
    } else if (option == "--gpus-per-node" || option == "--gres") {
      const std::string count = value.substr(value.rfind(':') + 1);
      variables["SLURM_GPUS_ON_NODE"] = count;
      if (option == "--gpus-per-node") variables["SLURM_GPUS_PER_NODE"] = count;
      if (of_node.empty() || of_node == "1") of_node = count;
    } else if (option == "--ntasks" || option == "-n") {
      variables["SLURM_NTASKS"] = value;
    }
  }
};

Slurm read_slurm(const std::string& text) {
  Slurm slurm;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#SBATCH")) continue;
    std::istringstream words(line.substr(7));
    // Behind # stands a comment.
    for (std::string word; words >> word && !word.starts_with('#');) {
      const std::size_t equals = word.find('=');
      std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
      if (equals == std::string::npos && !(words >> value)) break;
      slurm.take(word.substr(0, equals), value);
    }
  }
  // Slurm sets the total as well, and scripts compute with it.
  const auto tasks = parse_count(slurm.variables["SLURM_NTASKS_PER_NODE"]);
  const auto nodes = parse_count(slurm.nodes);
  if (tasks && nodes && !slurm.variables.contains("SLURM_NTASKS"))
    slurm.variables["SLURM_NTASKS"] = std::to_string(static_cast<std::int64_t>(*tasks * *nodes));
  // An empty value would look set.
  std::erase_if(slurm.variables, [](const auto& entry) { return entry.second.empty(); });
  return slurm;
}

/// torchrun starts one node unless it is told of more.
void add_one_node(const Words& words, const Slurm& slurm, Launch& launch) {
  const auto any = [&](auto&& is) { return std::ranges::any_of(words, is, &Traced::text); };
  const bool torch = any([](const std::string& word) {
    return word.ends_with("torchrun") || word.starts_with("torch.distributed.");
  });
  const bool spread = any([](const std::string& word) { return word == "srun"; });
  if (!torch || spread || !launch.devices_per_node || launch.nodes || launch.devices ||
      !slurm.nodes.empty())
    return;
  const Setting& devices = *launch.devices_per_node;
  launch.nodes = Setting{"--nnodes", {"1"}, devices.place, false};
  launch.one_node = Diagnostic{devices.place, devices.name,
                               "is taken for one node, as --nnodes is not given; --devices N says "
                               "another size"};
}

/// ` (not set here: $1 at line 3, NODES at line 7; give ..)`
std::string words_of_missing(const std::vector<std::pair<std::string, Place>>& missing) {
  if (missing.empty()) return {};
  constexpr std::size_t most_named = 8;
  std::string text = "; not set here: ";
  bool arguments = false, variables = false;
  for (std::size_t i = 0; i < std::min(missing.size(), most_named); ++i) {
    const auto& [name, place] = missing[i];
    const bool number = name[0] >= '0' && name[0] <= '9';
    (number ? arguments : variables) = true;
    text += (i > 0 ? ", " : "") + std::string(number ? "$" : "") + name + " (line " +
            std::to_string(place.line) + ")";
  }
  if (arguments) text += "; give arguments of the script after --";
  if (variables) text += "; give variables by --env NAME=VALUE";
  return text;
}

/// `NAME=<path to file> (e.g. /x)`, which no shell takes.
std::string words_of_placeholder(const std::string& text, int line) {
  std::istringstream lines(text);
  std::string read;
  for (int i = 0; i < line && std::getline(lines, read); ++i) continue;
  const std::size_t open = read.find("=<");
  return open == std::string::npos || read.find('>', open) == std::string::npos
             ? ""
             : "; replace the placeholder <..> in this line";
}

/// A comment behind a line that goes on: a shell reads no further.
std::string words_of_comment(const std::string& text) {
  std::istringstream lines(text);
  bool goes_on = false;
  int line = 0;
  for (std::string read; std::getline(lines, read);) {
    ++line;
    const std::string_view shown = trimmed(read);
    if (goes_on && shown.starts_with('#'))
      return " (the comment in line " + std::to_string(line) + " ends the command before it)";
    goes_on = shown.ends_with('\\') && !shown.starts_with('#');
  }
  return {};
}

std::vector<std::pair<std::string, Place>> missing_of(const shell::Shell& shell) {
  std::vector<std::pair<std::uint32_t, std::string>> order;
  for (const auto& [name, origin] : shell.missing()) order.emplace_back(origin, name);
  std::ranges::sort(order);
  std::vector<std::pair<std::string, Place>> all;
  for (const auto& [origin, name] : order) all.emplace_back(name, shell.place(origin));
  return all;
}

/// Words behind a program that are no flags and stand in front of all of them, or are `key=value`.
std::size_t other_words_of(const Words& words, std::size_t from) {
  std::size_t count = 0;
  for (std::size_t i = from; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    count += !text.starts_with('-') && text.find('=') != std::string::npos ? 1 : 0;
  }
  return count;
}

bool holds_flags_alone(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\\");
  return first != std::string::npos && text.substr(first, 2) == "--";
}

}  // namespace

bool lacks_arguments(const std::vector<std::pair<std::string, Place>>& missing) {
  constexpr std::ptrdiff_t several = 3;
  return std::ranges::count_if(missing, [](const auto& name) {
           return name.first[0] >= '1' && name.first[0] <= '9';
         }) >= several;
}

bool is_unknown(const std::string& word) {
  return word.find(shell::unknown_mark) != std::string::npos;
}

Launch read_shell(const std::string& path, const std::string& text, const ShellInputs& inputs) {
  shell::Shell shell;
  Launch launch{path, {}, {}, {}, {}, {}};
  const Slurm slurm = read_slurm(text);
  std::map<std::string, std::string> environment = slurm.variables;
  for (const auto& [name, value] : inputs.environment) environment[name] = value;
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
  shell.give(inputs.arguments, environment);
  try {
    shell.run(path, text);
  } catch (const InputError& error) {
    std::vector<Diagnostic> all = error.diagnostics();
    const auto missing = missing_of(shell);
    if (lacks_arguments(missing)) all.front().message = without_arguments;
    for (Diagnostic& d : all)
      d.message += words_of_missing(missing) + words_of_placeholder(text, d.place.line);
    throw InputError(std::move(all));
  }
  launch.missing = missing_of(shell);
  launch.unset = words_of_missing(launch.missing);
  launch.notes = shell.notes();
  launch.environment = environment_of(shell);
  for (const auto& [name, written] : shell.state().files) launch.files[name] = written.text;
  if (shell.state().launches.empty()) {
    const Words words = flags_of_variables(shell.state());
    if (words.empty() && shell.state().ended)
      refuse_input(
          shell.place(*shell.state().ended), {},
          "ends the script before anything is launched; set what it asks for in the script");
    if (words.empty())
      refuse_input({path}, {},
                   "launches nothing" + words_of_comment(text) +
                       ", allowed: a script or a list of arguments of a training");
    read_arguments(shell, words, launch);
    return launch;
  }
  const Words words = launch_of(shell);
  const std::size_t program = behind_program(words);
  read_launcher(shell, words, program, launch);
  if (program > 0) {
    launch.program = words[program - 1].text;
    std::erase(launch.program, shell::unknown_mark);
    if (launch.program.empty()) launch.program = "a program whose name is not known";
  }
  launch.other_words = other_words_of(words, program);
  for (std::size_t i = program; i < words.size() && !words[i].text.starts_with('-'); ++i)
    launch.first_words.push_back(words[i].text);
  const Place batch{path, 1, 1};  // the lines of Slurm
  const bool whole = launch.devices || launch.devices_per_node;
  if (!whole && !slurm.nodes.empty() && !slurm.of_node.empty()) {
    if (!launch.nodes) launch.nodes = Setting{"#SBATCH --nodes", {slurm.nodes}, batch, false};
    launch.devices_per_node = Setting{"#SBATCH --ntasks-per-node", {slurm.of_node}, batch, false};
  }
  add_one_node(words, slurm, launch);
  launch.settings = settings_of(shell, words, program, words.size());
  return launch;
}

}  // namespace stepcast::launch
