#include <algorithm>

#include "shell.hpp"

// Lists, pipelines and what holds other commands.
namespace stepcast::shell {
namespace {

constexpr std::size_t most_steps = 10000;
/// Conditions that nobody can decide copy all that is known.
constexpr std::size_t most_forks = 100;
constexpr std::size_t most_rounds = 1000;
constexpr int deepest_calls = 32;

Truth turned(Truth value) {
  if (value == Truth::unknown) return value;
  return value == Truth::yes ? Truth::no : Truth::yes;
}

bool same(const std::vector<Traced>& a, const std::vector<Traced>& b) {
  return std::ranges::equal(a, b, {}, &Traced::text, &Traced::text);
}

/// Whether two ways lead to the same launch.
bool alike(const State& a, const State& b) {
  const bool variables =
      std::ranges::equal(a.variables, b.variables, [](const auto& x, const auto& y) {
        return x.first == y.first && same(x.second.values, y.second.values);
      });
  const bool files = std::ranges::equal(a.files, b.files, [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.text == y.second.text;
  });
  return variables && files && a.ended.has_value() == b.ended.has_value() &&
         same(a.positional, b.positional) && a.launches.size() == b.launches.size();
}

}  // namespace

void Shell::run(const std::string& path, std::string text) {
  directory_ = std::filesystem::path(path).parent_path();
  std::replace(text.begin(), text.end(), unknown_mark, ' ');
  texts_.push_back(sources_.add(path, std::move(text)));
  lists_.push_back(parse_script(texts_.back(), sources_, documents_));
  run(lists_.back());
}

void Shell::step(std::uint32_t origin) {
  if (++steps_ > most_steps)
    refuse(sources_, origin, "runs on and on, allowed: 10000 commands in all of the script");
}

Truth Shell::run(const List& list) {
  Truth last = Truth::yes;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (state_.ended || state_.returned) return last;
    const Pipeline& pipeline = list[i];
    if (pipeline.joint == Pipeline::Joint::sequence) {
      last = run(pipeline);
      continue;
    }
    const bool wanted = pipeline.joint == Pipeline::Joint::on_success;
    if (last == Truth::unknown) {
      const List right{Pipeline{Pipeline::Joint::sequence, pipeline.negated, pipeline.commands}};
      last = run_either(pipeline.commands.front().origin, &right, nullptr);
    } else if ((last == Truth::yes) == wanted) {
      last = run(pipeline);
    }
  }
  return last;
}

Truth Shell::run(const Pipeline& pipeline) {
  Truth last = Truth::yes;
  for (const Command& command : pipeline.commands) last = run(command);
  return pipeline.negated ? turned(last) : last;
}

Truth Shell::run_either(std::uint32_t origin, const List* one, const List* other) {
  if (++forks_ > most_forks)
    refuse(sources_, origin, "has too many conditions that cannot be decided, allowed: 100");
  const State before = state_;
  if (one != nullptr) run(*one);
  State first = std::exchange(state_, before);
  if (other != nullptr) run(*other);
  // A way that leaves the script is not the one that trains.
  if (first.ended && !state_.ended) return Truth::unknown;
  if (state_.ended && !first.ended) {
    state_ = std::move(first);
    return Truth::unknown;
  }
  if (!alike(first, state_))
    refuse(sources_, origin,
           "depends on a condition that cannot be decided without running commands, and changes "
           "what is launched; set its variables in the script");
  return Truth::unknown;
}

Truth Shell::run(const Command& command) {
  step(command.origin);
  using Kind = Command::Kind;
  switch (command.kind) {
    case Kind::simple:
      return run_simple(command);
    case Kind::test:
      return run_test(command);
    case Kind::arithmetic: {
      const Traced text = single(command.words.front());
      const auto value = evaluate(text, command.origin);
      if (!value) return Truth::unknown;
      return *value != 0 ? Truth::yes : Truth::no;
    }
    case Kind::condition:
      return run_condition(command);
    case Kind::selection:
      return run_selection(command);
    case Kind::each:
      return run_each(command);
    case Kind::loop:
      return run_loop(command);
    case Kind::function:
      functions_[command.name] = &command.branches.front().body;
      return Truth::yes;
    case Kind::group:
      return run(command.branches.front().body);
    case Kind::subshell: {
      const State before = state_;
      if (++forks_ > most_forks)
        refuse(sources_, command.origin, "has too many subshells, allowed: 100");
      const Truth last = run(command.branches.front().body);
      State inside = std::exchange(state_, before);
      state_.launches = std::move(inside.launches);
      state_.files = std::move(inside.files);
      return last;
    }
  }
  return Truth::unknown;
}

Truth Shell::run_test(const Command& command) {
  std::vector<Traced> words;
  for (const Word& word : command.words) words.push_back(single(word));
  return test(words, true);
}

Truth Shell::run_condition(const Command& command) {
  for (std::size_t i = 0; i < command.branches.size(); ++i) {
    const Branch& branch = command.branches[i];
    const Truth value = branch.condition.empty() ? Truth::yes : run(branch.condition);
    if (state_.ended) return value;
    if (value == Truth::yes) return run(branch.body);
    if (value == Truth::no) continue;
    const bool has_else = i + 1 < command.branches.size();
    if (has_else && !command.branches[i + 1].condition.empty())
      refuse(sources_, command.origin,
             "has a condition that cannot be decided without running commands");
    return run_either(command.origin, &branch.body,
                      has_else ? &command.branches[i + 1].body : nullptr);
  }
  return Truth::yes;
}

Truth Shell::run_selection(const Command& command) {
  const Traced value = single(command.words.front());
  if (!value.known()) {
    const State before = state_;
    for (const Branch& branch : command.branches) {
      run_either(command.origin, &branch.body, nullptr);
    }
    return Truth::unknown;
  }
  for (const Branch& branch : command.branches) {
    for (const Word& pattern : branch.patterns) {
      const std::vector<Traced> words{
          value, {"==", {command.origin, command.origin}}, single(pattern)};
      if (test(words, true) == Truth::yes) return run(branch.body);
    }
  }
  return Truth::yes;
}

Truth Shell::run_each(const Command& command) {
  std::vector<Traced> values;
  for (const Word& word : command.words)
    for (Traced& value : fields(word)) values.push_back(std::move(value));
  Truth last = Truth::yes;
  for (const Traced& value : values) {
    if (state_.ended || state_.returned) break;
    step(command.origin);
    variable(command.name) = {false, {value}};
    last = run(command.branches.front().body);
  }
  return last;
}

Truth Shell::run_loop(const Command& command) {
  const Branch& branch = command.branches.front();
  for (std::size_t round = 0; !state_.ended && !state_.returned; ++round) {
    if (round > most_rounds)
      refuse(sources_, command.origin, "goes round without an end, allowed: 1000 times");
    const Truth value = run(branch.condition);
    if (value == Truth::unknown)
      refuse(sources_, command.origin,
             "is a loop whose condition cannot be decided without running commands");
    if ((value == Truth::yes) == command.until) return Truth::yes;
    run(branch.body);
  }
  return Truth::yes;
}

Variable& Shell::variable(const std::string& name) {
  if (!state_.variables.contains(name)) state_.order.push_back(name);
  return state_.variables[name];
}

void Shell::assign(const Assignment& assignment) {
  if (assignment.array) {
    std::vector<Traced> values;
    for (const Word& word : assignment.elements)
      for (Traced& value : fields(word)) values.push_back(std::move(value));
    Variable& target = variable(assignment.name);
    if (!assignment.append) target.values.clear();
    target.array = true;
    for (Traced& value : values) target.values.push_back(std::move(value));
    return;
  }
  const Traced value = single(assignment.value);
  Variable& target = variable(assignment.name);
  if (!assignment.append || target.values.empty()) {
    target = {false, {value}};
  } else {
    target.values.front().add(value);
    spend(target.values.front().text.size(),
          assignment.value.source->from.empty() ? 0 : value.origin());
  }
}

Truth Shell::run_function(const std::vector<Traced>& words) {
  if (depth_ >= deepest_calls)
    refuse(sources_, words.front().origin(), "calls itself too deeply, allowed: 32 calls");
  const List* body = functions_.at(words.front().text);
  std::vector<Traced> before =
      std::exchange(state_.positional, std::vector<Traced>(words.begin() + 1, words.end()));
  ++depth_;
  const Truth last = run(*body);
  --depth_;
  state_.positional = std::move(before);
  state_.returned = false;
  return last;
}

/// `eval`, `bash -c` and documents that a shell is given.
Truth Shell::run_text(const Traced& text, std::uint32_t origin) {
  if (depth_ >= deepest_calls) refuse(sources_, origin, "nests scripts too deeply, allowed: 32");
  if (!text.known() && text.text.find("--") == std::string::npos) return Truth::unknown;
  texts_.push_back(text);
  lists_.push_back(parse_script(texts_.back(), sources_, documents_));
  ++depth_;
  const Truth last = run(lists_.back());
  --depth_;
  return last;
}

}  // namespace stepcast::shell
