#include <algorithm>

#include "shell.hpp"

// What commands of the shell change: variables, what functions make their own, options, jumps.
namespace stepcast::shell {
namespace {

bool is_name(const std::string& text) {
  const auto letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !text.empty() && letter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

Traced Shell::unknown_value(std::uint32_t origin) const {
  Traced value;
  value.add(unknown_mark, origin);
  return value;
}

/// The variable of this name, made where it is not there.
Variable& Shell::variable(const std::string& name, std::uint32_t origin) {
  // Words are split at blanks here; with another IFS every one of them could be another.
  if (name == "IFS") refuse(sources_, origin, "changes IFS, which separates words");
  if (state_.fixed.contains(name))
    refuse(sources_, origin, "changes " + name + ", which is readonly");
  if (!state_.variables.contains(name)) state_.order.push_back(name);
  return state_.variables[name];
}

void Shell::assign(const Assignment& assignment) {
  const std::uint32_t origin =
      assignment.value.source == nullptr || assignment.value.source->from.empty()
          ? 0
          : assignment.value.source
                ->from[std::min(assignment.value.begin, assignment.value.source->from.size() - 1)];
  if (!assignment.array) return assign(assignment.name, single(assignment.value), assignment);
  std::vector<Traced> values;
  for (const Word& word : assignment.elements)
    for (Traced& value : fields(word)) values.push_back(std::move(value));
  // Elements were expanded before the variable changes, since they may read it.
  Variable& target = variable(assignment.name, origin);
  if (!assignment.append) target.values.clear();
  target.array = true;
  // Growth is paid for, or a loop could double an array until memory ends.
  spend(target.values.size() + values.size(), origin);
  for (Traced& value : values) target.values.push_back(std::move(value));
}

/// One value: the variable, or one element of it.
void Shell::assign(const std::string& name, Traced value, const Assignment& how) {
  const Word& at = how.index.source != nullptr ? how.index : how.value;
  const std::uint32_t origin =
      at.source == nullptr || at.source->from.empty()
          ? value.origin()
          : at.source->from[std::min(at.begin, at.source->from.size() - 1)];
  std::size_t place = 0;
  if (how.index.source != nullptr) {
    const auto index = evaluate(single(how.index), origin);
    Variable& target = variable(name, origin);
    const auto size = static_cast<std::int64_t>(target.values.size());
    if (!index) refuse(sources_, origin, "sets an element whose place is not known");
    const std::int64_t wanted = *index < 0 ? size + *index : *index;
    // Bash has arrays with holes, which no launch script needs.
    if (wanted < 0 || wanted > size)
      refuse(sources_, origin,
             "sets element " + std::to_string(*index) + " of " + std::to_string(size) +
                 ", allowed: those there are, and the next");
    target.array = true;
    place = static_cast<std::size_t>(wanted);
  }
  Variable& target = variable(name, origin);
  if (place >= target.values.size()) {
    target.values.push_back(std::move(value));
  } else if (how.append) {
    target.values[place].add(value);
    // `A+=$A` grows as fast as `A=$A$A`.
    spend(target.values[place].text.size(), origin);
  } else {
    target.values[place] = std::move(value);
  }
}

/// A name that a function makes its own is not set at first.
void Shell::make_local(const std::string& name, std::uint32_t origin) {
  if (state_.frames.empty())
    refuse(sources_, origin, "is local outside of a function, allowed: within one");
  Frame& frame = state_.frames.back();
  if (frame.contains(name)) return;
  if (state_.fixed.contains(name))
    refuse(sources_, origin, "changes " + name + ", which is readonly");
  const auto found = state_.variables.find(name);
  // Nothing is remembered, too: then the name is not set again when the function ends.
  frame[name] = found == state_.variables.end() ? std::nullopt : std::optional(found->second);
  state_.variables.erase(name);
}

void Shell::restore(Frame frame) {
  for (auto& [name, value] : frame) {
    if (value) {
      // A variable that a function had hidden comes back to the end of the order, where new ones
      // are.
      if (std::ranges::find(state_.order, name) == state_.order.end()) state_.order.push_back(name);
      state_.variables[name] = std::move(*value);
    } else {
      state_.variables.erase(name);
      std::erase(state_.order, name);
    }
  }
  std::erase_if(state_.order,
                [&](const std::string& name) { return !state_.variables.contains(name); });
}

/// `export`, `local`, `declare`, `typeset`, `readonly`: every value is expanded before one is set.
void Shell::declare(const Command& command, const std::vector<Traced>& words) {
  const std::string& first = words.front().text;
  bool global = first == "export" || first == "readonly", fixes = first == "readonly",
       shows = false;
  std::vector<Traced> names;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text.size() < 2 || (text[0] != '-' && text[0] != '+') || !names.empty()) {
      names.push_back(words[i]);
      continue;
    }
    if (text == "--") continue;
    for (const char option : text.substr(1)) {
      if (std::string_view("agrxpfF").find(option) == std::string_view::npos ||
          (text[0] == '+' && option != 'x') || (first == "export" && option == 'a'))
        refuse(sources_, words[i].origin(command.origin),
               first + " has " + text + ", which is not followed");
      global = global || option == 'g';
      fixes = fixes || option == 'r';
      shows = shows || option == 'p' || option == 'f' || option == 'F';
    }
  }
  if (shows) return;
  // `declare` within a function makes a name its own, `export` and `readonly` do not.
  const bool local = first == "local" || (!global && !state_.frames.empty());
  if (first == "local" && state_.frames.empty())
    refuse(sources_, command.origin, "is local outside of a function, allowed: within one");
  struct One {
    Assignment how;
    std::vector<Traced> values;
    bool sets = true;
    std::uint32_t origin = 0;
  };
  std::vector<One> all;
  for (const Assignment& assignment : command.assignments) {
    One one{assignment, {}, true, command.origin};
    if (assignment.array) {
      for (const Word& word : assignment.elements)
        for (Traced& value : fields(word)) one.values.push_back(std::move(value));
    } else {
      one.values.push_back(single(assignment.value));
    }
    all.push_back(std::move(one));
  }
  for (const Traced& word : names) {
    const std::uint32_t origin = word.origin(command.origin);
    std::size_t equals = std::min(word.text.find('='), word.text.size());
    One one{{}, {}, equals != word.text.size(), origin};
    if (one.sets) one.values.push_back(word.part(equals + 1, word.text.size()));
    if (equals > 0 && word.text[equals - 1] == '+') one.how.append = true, --equals;
    one.how.name = word.text.substr(0, equals);
    if (!is_name(one.how.name))
      refuse(sources_, origin, first + " names no variable, allowed: NAME, NAME=value");
    all.push_back(std::move(one));
  }
  for (One& one : all) {
    const std::string& name = one.how.name;
    const bool own = std::ranges::any_of(state_.frames,
                                         [&](const Frame& frame) { return frame.contains(name); });
    if (global && first != "export" && first != "readonly" && own)
      refuse(sources_, one.origin, "sets " + name + " behind a local one, which is not followed");
    if (!local && std::ranges::count(lent_, name) > 0)
      refuse(sources_, one.origin,
             first + " keeps " + name + ", which was given to the command alone");
    if (local) make_local(name, one.origin);
    if (one.sets && one.how.array) {
      Variable& target = variable(name, one.origin);
      if (!one.how.append) target.values.clear();
      target.array = true;
      for (Traced& value : one.values) target.values.push_back(std::move(value));
    } else if (one.sets) {
      assign(name, std::move(one.values.front()), one.how);
    }
    if (fixes) state_.fixed.insert(name);
  }
}

void Shell::unset(const std::vector<Traced>& words, std::uint32_t origin) {
  bool functions = false, variables = true;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& name = words[i].text;
    if (name == "-f" || name == "-v") {
      functions = name == "-f";
      variables = !functions;
      continue;
    }
    if (!is_name(name))
      refuse(sources_, words[i].origin(origin),
             "unsets '" + name + "', allowed: names of variables");
    if (state_.fixed.contains(name))
      refuse(sources_, words[i].origin(origin), "unsets " + name + ", which is readonly");
    // Bash would show what the name was before the call.
    if (std::ranges::find(lent_, name) != lent_.end())
      refuse(sources_, words[i].origin(origin),
             "unsets " + name + ", which the call that does so was given");
    if (variables && !state_.variables.contains(name)) functions = true;
    if (variables) {
      state_.variables.erase(name);
      std::erase(state_.order, name);
    }
    if (functions) state_.functions.erase(name);
  }
}

/// `set -euo pipefail -- WORDS`.
void Shell::set_options(const std::vector<Traced>& words, std::uint32_t origin) {
  std::size_t i = 1;
  for (; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text == "--" || text == "-") break;
    if (text.size() < 2 || (text[0] != '-' && text[0] != '+')) break;
    const bool on = text[0] == '-';
    for (const char option : text.substr(1)) {
      std::string name(1, option);
      if (option == 'o' && i + 1 < words.size()) name = words[++i].text;
      if (name == "e" || name == "errexit") state_.failure_ends = on;
      if (name == "u" || name == "nounset") state_.unset_ends = on;
      if (name == "pipefail") state_.pipes_fail = on;
      // Options that change how all that follows is read.
      if (name == "n" || name == "k" || name == "t" || name == "noexec" || name == "keyword" ||
          name == "onecmd" || name == "posix")
        refuse(sources_, words[i].origin(origin), "sets " + name + ", which is not followed");
    }
  }
  if (i >= words.size()) return;
  const bool dashes = words[i].text == "--" || words[i].text == "-";
  if (words[i].text == "-" && i + 1 >= words.size()) return;
  state_.positional.assign(words.begin() + static_cast<std::ptrdiff_t>(i + (dashes ? 1 : 0)),
                           words.end());
}

void Shell::jump(const std::vector<Traced>& words, std::uint32_t origin) {
  const std::string& first = words.front().text;
  if (loops_ == 0) refuse(sources_, origin, "has " + first + " outside of a loop of its shell");
  std::int64_t levels = 1;
  if (words.size() > 1) {
    const auto count = words[1].known() ? evaluate(words[1], origin) : std::nullopt;
    if (words.size() > 2 || !count || *count < 1)
      refuse(sources_, words[1].origin(origin),
             "is how many loops " + first + " leaves, allowed: a whole number from 1");
    levels = *count;
  }
  // `break 5` in two loops leaves both.
  state_.jump = {std::min(levels, loops_), first == "continue"};
}

Truth Shell::give_back(const std::vector<Traced>& words, std::uint32_t origin) {
  if (calls_ == 0 && sourced_ == 0)
    refuse(sources_, origin, "returns from no function and no sourced file");
  Truth value = last_;
  // The code may hang on what a command prints; then so does what follows.
  if (words.size() > 1) {
    const auto code = words[1].known() ? evaluate(words[1], origin) : std::nullopt;
    value = !code ? Truth::unknown : *code % 256 == 0 ? Truth::yes : Truth::no;
  }
  state_.returned = true;
  return value;
}

}  // namespace stepcast::shell
