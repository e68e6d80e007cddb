#include <algorithm>

#include "shell.hpp"
#include "stepcast/base/confined_files.hpp"

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

/// A training script with flags behind it or three words `key=value`, or the program of ms-swift.
bool launches(const std::vector<Traced>& words) {
  if (words.size() > 2 && last_name(words[0].text) == "swift" &&
      one_of(words[1].text, {"sft", "pt"}))
    return true;
  const auto is_program = [](const Traced& w) {
    return w.text.ends_with(".py") || w.text == "-m" || w.text == "--module";
  };
  const auto program = std::ranges::find_if(words, is_program);
  if (program == words.end()) return false;
  const auto pairs = std::count_if(program, words.end(), [](const Traced& w) {
    return !w.text.starts_with('-') && w.text.find('=') != std::string::npos;
  });
  // `python setup.py install` has neither flags nor pairs.
  return pairs >= 3 || std::any_of(program, words.end(), [](const Traced& w) {
           return w.text.starts_with("--") && w.text.size() > 2;
         });
}

}  // namespace

/// The commands of the shell that set what nobody follows.
void Shell::check_builtin(const std::vector<Traced>& words, std::uint32_t origin) {
  const std::string& first = words.front().text;
  const auto given = [&](const std::string& option) {
    return std::ranges::any_of(words, [&](const Traced& w) { return w.text == option; });
  };
  if (first == "alias" && words.size() > 1)
    refuse(sources_, origin, "sets an alias, which is not followed");
  if (first == "shopt" && (given("-s") || given("-u")))
    for (std::size_t i = 1; i < words.size(); ++i)
      if (!one_of(words[i].text, {"-s", "-u", "-q", "checkwinsize", "histappend", "globstar",
                                  "dotglob", "inherit_errexit", "cmdhist", "nullglob"}))
        refuse(sources_, words[i].origin(origin),
               "changes the shell by shopt " + words[i].text + ", which is not followed");
  if (first == "enable" || first == "trap") {
    // A trap at the exit could launch; one that cleans up may stand.
    const bool action = words.size() > 2 && !words[1].text.empty() && words[1].text != "-";
    const bool always =
        given("EXIT") || given("0") || given("DEBUG") || given("RETURN") || given("ERR");
    const bool does = words.size() > 1 && words[1].text.find("--") != std::string::npos;
    if (first == "enable" || (action && always && does))
      refuse(sources_, origin, "has " + first + ", which is not followed");
  }
}

Truth Shell::run_simple(const Command& command) {
  keep_document(command);
  if (command.words.empty()) {
    for (const Assignment& assignment : command.assignments) assign(assignment);
    return Truth::yes;
  }
  std::vector<Traced> words;
  for (const Word& word : command.words)
    for (Traced& value : fields(word)) words.push_back(std::move(value));
  if (words.empty()) {
    for (const Assignment& assignment : command.assignments) assign(assignment);
    return Truth::yes;
  }
  const std::string& first = words.front().text;
  // Their assignments are words of the command, and set the variable all the same.
  const bool declares = one_of(first, {"export", "local", "declare", "readonly", "typeset"});
  if (declares && !state_.functions.contains(first)) {
    declare(command, words);
    return Truth::yes;
  }
  if (first == "read" && read_document(command, words)) return Truth::no;  // no delimiter was met
  if (command.assignments.empty()) return run_words(command, words);
  return run_within(command, words);
}

/// `read -r -d '' name <<EOF` takes the whole document.
bool Shell::read_document(const Command& command, const std::vector<Traced>& words) {
  bool whole = false, raw = false;
  std::vector<std::string> names;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (!word.starts_with('-')) {
      names.push_back(word);
      continue;
    }
    raw = raw || word.find('r') != std::string::npos;
    if (!word.ends_with('d')) continue;
    if (++i >= words.size() || !words[i].text.empty()) return false;
    whole = true;
  }
  if (!whole || names.size() != 1 || command.here.empty()) return false;
  const Traced text = document(*command.here.back());
  if (!raw && text.text.find('\\') != std::string::npos) return false;
  constexpr std::string_view blanks = " \t\n";
  const std::size_t begin = std::min(text.text.find_first_not_of(blanks), text.text.size());
  const std::size_t end = std::max(begin, text.text.find_last_not_of(blanks) + 1);
  variable(names.front(), command.origin) = {false, {text.part(begin, end)}};
  return true;
}

Truth Shell::run_within(const Command& command, const std::vector<Traced>& words) {
  const std::string& first = words.front().text;
  // `A=1 torchrun ...`: the environment of that program alone.
  if (launches(words) && !state_.functions.contains(first)) {
    for (const Assignment& assignment : command.assignments)
      if (!assignment.array) state_.environment[assignment.name] = single(assignment.value);
    return run_words(command, words);
  }
  // Commands of others see them alone.
  if (!state_.functions.contains(first) && !one_of(first, {"eval", "source", "."}))
    return run_words(command, words);
  Frame frame;
  for (const Assignment& assignment : command.assignments) {
    const auto found = state_.variables.find(assignment.name);
    frame.emplace(assignment.name,
                  found == state_.variables.end() ? std::nullopt : std::optional(found->second));
    assign(assignment);
  }
  const std::size_t lent = lent_.size();
  for (const auto& [name, value] : frame) lent_.push_back(name);
  const Truth last = run_words(command, words);
  lent_.resize(lent);
  restore(std::move(frame));
  return last;
}

/// Words of the shell that change its state; nothing for others.
std::optional<Truth> Shell::change_state(const std::vector<Traced>& words, std::uint32_t origin) {
  const std::string& first = words.front().text;
  check_builtin(words, origin);
  if (first == "unset") {
    unset(words, origin);
    return Truth::yes;
  }
  if (first == "break" || first == "continue") {
    jump(words, origin);
    return Truth::yes;
  }
  if (first == "let") {
    Truth last = Truth::no;
    for (std::size_t i = 1; i < words.size(); ++i) last = run_arithmetic(words[i], origin);
    return last;
  }
  if (first == "shift") {
    const auto count = words.size() < 2   ? std::optional<std::int64_t>(1)
                       : words[1].known() ? evaluate(words[1], origin)
                                          : std::nullopt;
    const auto size = static_cast<std::int64_t>(state_.positional.size());
    if (!count || *count < 0 || !std::ranges::all_of(state_.positional, &Traced::known))
      refuse(sources_, origin, "shifts by a number that is not known");
    if (*count > size) return Truth::no;
    state_.positional.erase(state_.positional.begin(), state_.positional.begin() + *count);
    return Truth::yes;
  }
  if (first == "set") {
    set_options(words, origin);
    return Truth::yes;
  }
  if (first == "return") return give_back(words, origin);
  const bool reads = one_of(first, {"read", "mapfile", "readarray"});
  if (reads || first == "getopts" ||
      (first == "printf" && words.size() > 2 && words[1].text == "-v")) {
    // What is read comes from outside: from then on the variable is not known.
    const auto lose = [&](const std::string& name) {
      if (!name.empty() && !name.starts_with('-') && name.find(unknown_mark) == std::string::npos)
        variable(name.substr(0, name.find('[')), origin) = {false, {unknown_value(origin)}};
    };
    if (reads)
      for (std::size_t i = 1; i < words.size(); ++i) lose(words[i].text);
    if (reads && words.size() < 2) lose(first == "read" ? "REPLY" : "MAPFILE");
    if (!reads && words.size() > 2) lose(words[2].text);
    if (first == "getopts")
      for (const char* name : {"OPTARG", "OPTIND"}) lose(name);
    return first == "printf" ? Truth::yes : Truth::unknown;
  }
  return {};
}

Truth Shell::run_words(const Command& command, const std::vector<Traced>& words) {
  const std::string& first = words.front().text;
  const std::uint32_t origin = command.origin;
  if (state_.functions.contains(first)) return run_function(words);
  if ((first == "command" || first == "builtin") && words.size() > 1 &&
      !words[1].text.starts_with('-')) {
    if (state_.functions.contains(words[1].text))
      refuse(sources_, origin,
             "has " + first + " before a name of a function, which is not followed");
    return run_words(command, {words.begin() + 1, words.end()});
  }
  if (first == "[" || first == "test") {
    std::vector<Traced> inner(words.begin() + 1, words.end());
    const bool closes = !inner.empty() && inner.back().text == "]";
    if (first == "[" && !closes) return Truth::no;
    if (first == "[") inner.pop_back();
    return test(inner, origin);
  }
  if (first == "source" || first == ".") return run_source(words, origin);
  if (const auto changed = change_state(words, origin)) return *changed;
  if (first == "exit" || first == "exec") {
    if (first == "exit") state_.ended = origin;
    if (first == "exit" || words.size() < 2) return Truth::unknown;
    const Truth last = run_words(command, {words.begin() + 1, words.end()});
    state_.ended = origin;
    return last;
  }
  if (first == "eval") {
    Traced text;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (i > 1) text.add(' ', words[i].origin(origin));
      text.add(words[i]);
    }
    return run_text(text, origin);
  }
  // A command that is printed, `echo $CMD`, launches nothing.
  if (one_of(first, {"true", ":", "echo", "printf", "ulimit", "cat", "mkdir", "cd", "pushd", "popd",
                     "sleep", "wait", "tee"}))
    return Truth::yes;
  if (launches(words)) {
    state_.launches.push_back(words);
    return Truth::unknown;
  }
  if (runs_its_text(command, words)) return Truth::unknown;
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
  // By its last name alone: folders of a cluster are not here, and neither may a script read any
  // file of this machine.
  const std::string name = last_name(words[1].text);
  const std::filesystem::path file = directory_ / name;
  const bool there = !name.empty() && name.find(unknown_mark) == std::string::npos && is_file(file);
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
  // Files may source each other in a circle.
  if (sourced_ >= deepest_source)
    refuse(sources_, origin, "sources files more than 8 deep, allowed: 8");
  if (size_of(file) > largest_source)
    refuse(sources_, origin, "sources '" + name + "', which is larger than 1 MiB");
  std::string read = bytes_of(file).value_or("");
  std::replace(read.begin(), read.end(), unknown_mark, ' ');
  texts_.push_back(sources_.add(file.string(), std::move(read)));
  lists_.push_back(parse_script(texts_.back(), sources_, documents_));
  ++sourced_;
  const Truth last = run(lists_.back());
  --sourced_;
  // A return ends the sourced file and not the script.
  state_.returned = false;
  return last;
}

}  // namespace stepcast::shell
