#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "shell.hpp"

// Simple commands: what the shell itself does, what launches, and what nobody runs.
namespace stepcast::shell {
namespace {

constexpr int deepest_source = 8;
constexpr std::uintmax_t largest_source = 1 << 20;

std::string last_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

bool one_of(const std::string& word, std::initializer_list<std::string_view> all) {
  return std::ranges::find(all, word) != all.end();
}

/// A training script with flags behind it.
bool launches(const std::vector<Traced>& words) {
  const auto is_program = [](const Traced& w) {
    return w.text.ends_with(".py") || w.text == "-m" || w.text == "--module";
  };
  const auto program = std::ranges::find_if(words, is_program);
  return program != words.end() && std::any_of(program, words.end(), [](const Traced& w) {
           return w.text.starts_with("--") && w.text.size() > 2;
         });
}

}  // namespace

Truth Shell::run_simple(const Command& command) {
  keep_document(command);
  if (command.words.empty()) {
    for (const Assignment& assignment : command.assignments) assign(assignment);
    return Truth::yes;
  }
  std::vector<Traced> words;
  for (const Word& word : command.words)
    for (Traced& value : fields(word)) words.push_back(std::move(value));
  if (words.empty()) return Truth::yes;
  const std::string& first = words.front().text;
  // NAME=value in front of a launch is its environment.
  if (one_of(first, {"export", "local", "declare", "readonly", "typeset"}) || launches(words))
    for (const Assignment& assignment : command.assignments) assign(assignment);
  return run_words(command, words);
}

/// Words of the shell that change its state; nothing for others.
std::optional<Truth> Shell::change_state(const std::vector<Traced>& words, std::uint32_t origin) {
  const std::string& first = words.front().text;
  if (first == "unset") {
    for (const Traced& name : words) {
      state_.variables.erase(name.text);
      std::erase(state_.order, name.text);
    }
    return Truth::yes;
  }
  if (first == "shift") {
    if (!state_.positional.empty()) state_.positional.erase(state_.positional.begin());
    return Truth::yes;
  }
  if (first == "set") {
    const auto dashes = std::ranges::find(words, "--", &Traced::text);
    if (dashes != words.end()) state_.positional.assign(dashes + 1, words.end());
    return Truth::yes;
  }
  if (first == "return") {
    state_.returned = true;
    return Truth::yes;
  }
  if (first == "read" || first == "mapfile" || first == "readarray") {
    Traced mark;
    mark.add(unknown_mark, origin);
    for (std::size_t i = 1; i < words.size(); ++i)
      if (!words[i].text.starts_with('-')) variable(words[i].text) = {false, {mark}};
    return Truth::unknown;
  }
  return {};
}

Truth Shell::run_words(const Command& command, const std::vector<Traced>& words) {
  const std::string& first = words.front().text;
  const std::uint32_t origin = command.origin;
  if (functions_.contains(first)) return run_function(words);
  if (first == "[" || first == "test") {
    std::vector<Traced> inner(words.begin() + 1, words.end());
    if (first == "[" && !inner.empty() && inner.back().text == "]") inner.pop_back();
    return test(inner, false);
  }
  if (first == "source" || first == ".") return run_source(words, origin);
  if (const auto changed = change_state(words, origin)) return *changed;
  if (first == "exit" || first == "exec") {
    if (first == "exit") state_.ended = origin;
    if (first == "exit" || words.size() < 2) return Truth::unknown;
    return run_words(command, {words.begin() + 1, words.end()});
  }
  if (first == "eval") {
    Traced text;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (i > 1) text.add(' ', words[i].origin(origin));
      text.add(words[i]);
    }
    return run_text(text, origin);
  }
  if (launches(words)) {
    state_.launches.push_back(words);
    return Truth::unknown;
  }
  if (runs_its_text(command, words)) return Truth::unknown;
  if (one_of(first,
             {"true", ":", "echo", "printf", "export", "local", "declare", "readonly", "typeset",
              "ulimit", "set", "cat", "mkdir", "cd", "pushd", "popd", "sleep", "wait", "tee"}))
    return Truth::yes;
  return first == "false" ? Truth::no : Truth::unknown;
}

/// `bash -c TEXT` behind any launcher, and a document that a shell or a batch system reads.
bool Shell::runs_its_text(const Command& command, const std::vector<Traced>& words) {
  const bool shell = std::ranges::any_of(words, [](const Traced& w) {
    return one_of(last_name(w.text), {"bash", "sh", "sbatch", "srun", "zsh"});
  });
  if (!shell) return false;
  const auto option = std::ranges::find_if(words, [](const Traced& w) {
    return w.text == "-c" || w.text == "-lc" || w.text == "--wrap";
  });
  bool ran = false;
  if (option != words.end() && option + 1 != words.end()) {
    run_text(*(option + 1), command.origin);
    ran = true;
  }
  for (const HereDocument* document : command.here) {
    run_text(this->document(*document), command.origin);
    ran = true;
  }
  return ran;
}

/// `cat <<EOF > file`: what is written there is at hand when something reads it.
void Shell::keep_document(const Command& command) {
  if (command.here.empty() || command.written.empty()) return;
  const Traced name = single(command.written.front());
  state_.files[last_name(name.text)] = document(*command.here.front());
}

Truth Shell::run_source(const std::vector<Traced>& words, std::uint32_t origin) {
  if (words.size() < 2) return Truth::no;
  const std::string name = last_name(words[1].text);
  const std::filesystem::path file = directory_ / name;
  std::error_code failure;
  const bool there = !name.empty() && name.find(unknown_mark) == std::string::npos &&
                     std::filesystem::is_regular_file(file, failure);
  if (!there) {
    notes_.push_back({sources_.place(origin),
                      {},
                      "sources " +
                          (words[1].known() ? words[1].text
                           : name.empty()   ? "a file"
                                            : "'" + name + "'") +
                          ", which is not beside the script and was not read"});
    std::erase(notes_.back().message, unknown_mark);
    return Truth::yes;
  }
  if (sourced_ >= deepest_source)
    refuse(sources_, origin, "sources files more than 8 deep, allowed: 8");
  if (std::filesystem::file_size(file, failure) > largest_source)
    refuse(sources_, origin, "sources '" + name + "', which is larger than 1 MiB");
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  std::string read = text.str();
  std::replace(read.begin(), read.end(), unknown_mark, ' ');
  texts_.push_back(sources_.add(file.string(), std::move(read)));
  lists_.push_back(parse_script(texts_.back(), sources_, documents_));
  ++sourced_;
  const Truth last = run(lists_.back());
  --sourced_;
  state_.returned = false;
  return last;
}

}  // namespace stepcast::shell
