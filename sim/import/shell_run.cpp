#include <algorithm>
#include <utility>

#include "shell.hpp"

// Lists, pipelines and what holds other commands.
namespace stepcast::shell {
namespace {

// A script that needs more does something else than launch.
constexpr std::size_t most_steps = 10000;
/// Conditions that nobody can decide copy all that is known.
constexpr std::size_t most_forks = 100;
constexpr std::size_t most_copied = 256U << 20U;
constexpr std::size_t most_rounds = 1000;
constexpr int deepest_calls = 32;

Truth turned(Truth value) {
  if (value == Truth::unknown) return value;
  return value == Truth::yes ? Truth::no : Truth::yes;
}

Truth both(Truth a, Truth b) {
  if (a == Truth::no || b == Truth::no) return Truth::no;
  return a == Truth::yes && b == Truth::yes ? Truth::yes : Truth::unknown;
}

bool same(const std::vector<Traced>& a, const std::vector<Traced>& b) {
  return std::ranges::equal(a, b, {}, &Traced::text, &Traced::text);
}

/// Whether two ways lead to the same launch.
bool alike(const State& a, const State& b) {
  // Places may differ: the same words from two branches launch the same.
  const bool variables =
      std::ranges::equal(a.variables, b.variables, [](const auto& x, const auto& y) {
        return x.first == y.first && same(x.second.values, y.second.values);
      });
  const bool files = std::ranges::equal(a.files, b.files, [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.text == y.second.text;
  });
  const bool launches = std::ranges::equal(a.launches, b.launches,
                                           [](const auto& x, const auto& y) { return same(x, y); });
  const bool frames = std::ranges::equal(
      a.frames, b.frames, [](const Frame& x, const Frame& y) { return x.size() == y.size(); });
  return variables && files && launches && frames && a.ended.has_value() == b.ended.has_value() &&
         a.returned == b.returned && a.jump.levels == b.jump.levels &&
         a.jump.again == b.jump.again && a.functions == b.functions && a.fixed == b.fixed &&
         a.failure_ends == b.failure_ends && a.unset_ends == b.unset_ends &&
         same(a.positional, b.positional);
}

}  // namespace

std::size_t State::weight() const {
  constexpr std::size_t of_a_value = 128;
  // Texts count by their length, with what a copy of them may cost, since an unknown condition
  // copies the whole state.
  std::size_t all = 0;
  const auto add = [&](const std::vector<Traced>& values) {
    for (const Traced& value : values) all += of_a_value + 5 * value.text.size();
  };
  for (const auto& [name, variable] : variables) add(variable.values), all += of_a_value;
  for (const Frame& frame : frames)
    for (const auto& [name, variable] : frame)
      if (variable) add(variable->values);
  for (const auto& words : launches) add(words);
  for (const auto& [name, text] : files) add({text});
  add(positional);
  return all;
}

void Shell::give(const std::vector<std::string>& arguments,
                 const std::map<std::string, std::string>& environment) {
  for (const std::string& argument : arguments)
    state_.positional.push_back(sources_.add("--", argument));
  for (const auto& [name, value] : environment) {
    state_.variables[name] = {false, {sources_.add("--env " + name, value)}};
    state_.order.push_back(name);
  }
}

void Shell::run(const std::string& path, std::string text) {
  directory_ = std::filesystem::path(path).parent_path();
  // The mark of what is not known must not come from the file itself.
  std::replace(text.begin(), text.end(), unknown_mark, ' ');
  // Texts and lists live as long as the shell, since words and functions point into them.
  texts_.push_back(sources_.add(path, std::move(text)));
  lists_.push_back(parse_script(texts_.back(), sources_, documents_));
  run(lists_.back());
}

void Shell::step(std::uint32_t origin) {
  if (++steps_ > most_steps)
    refuse(sources_, origin, "runs on and on, allowed: 10000 commands in all of the script");
}

/// With `set -e` a command that fails ends the script, unless something asks for its success.
Truth Shell::run(const List& list) {
  Truth last = Truth::yes;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (state_.leaves()) return last;
    const Pipeline& pipeline = list[i];
    // In `a && b` the success of a is asked for, so that its failure ends nothing.
    const bool asked = i + 1 < list.size() && list[i + 1].joint != Pipeline::Joint::sequence;
    tested_ += asked ? 1 : 0;
    bool ran = true;
    if (pipeline.joint == Pipeline::Joint::sequence) {
      last = run(pipeline);
    } else if (last == Truth::unknown) {
      const List right{Pipeline{Pipeline::Joint::sequence, pipeline.negated, pipeline.commands}};
      last = run_either(pipeline.commands.front().origin, &right, nullptr);
    } else if ((last == Truth::yes) == (pipeline.joint == Pipeline::Joint::on_success)) {
      last = run(pipeline);
    } else {
      ran = false;
    }
    tested_ -= asked ? 1 : 0;
    last_ = last;
    const bool fails = ran && !asked && !pipeline.negated && last == Truth::no;
    if (fails && state_.failure_ends && tested_ == 0 && !state_.leaves())
      state_.ended = pipeline.commands.front().origin;
  }
  return last;
}

/// Each command of several runs in a shell of its own.
Truth Shell::run(const Pipeline& pipeline) {
  tested_ += pipeline.negated ? 1 : 0;
  Truth last = Truth::yes;
  if (pipeline.commands.size() == 1) {
    last = run(pipeline.commands.front());
  } else {
    Truth all = Truth::yes;
    for (const Command& command : pipeline.commands) {
      last = run_subshell(command.origin, [&] { return run(command); });
      all = both(all, last);
    }
    // A pipeline succeeds as its last command does; with pipefail all must.
    if (state_.pipes_fail) last = all;
  }
  tested_ -= pipeline.negated ? 1 : 0;
  return pipeline.negated ? turned(last) : last;
}

/// What runs in a shell of its own leaves launches and files, and nothing else.
Truth Shell::run_subshell(std::uint32_t origin, const std::function<Truth()>& body) {
  copied_ += state_.weight();
  if (copied_ > most_copied)
    refuse(sources_, origin, "has subshells that copy too much, allowed: 256 MiB in all");
  const State before = state_;
  const std::int64_t loops = std::exchange(loops_, 0);
  const Truth last = body();
  loops_ = loops;
  State inside = std::exchange(state_, before);
  state_.launches = std::move(inside.launches);
  state_.files = std::move(inside.files);
  state_.environment = std::move(inside.environment);
  return last;
}

Truth Shell::run_either(std::uint32_t origin, const List* one, const List* other) {
  if (++forks_ > most_forks)
    refuse(sources_, origin, "has too many conditions that cannot be decided, allowed: 100");
  copied_ += 2 * state_.weight();
  if (copied_ > most_copied)
    refuse(sources_, origin, "copies too much for conditions that cannot be decided");
  const State before = state_;
  // Both ways are taken from the same state. Where they lead to the same launch, which one runs
  // does not matter.
  if (one != nullptr) run(*one);
  State first = std::exchange(state_, before);
  if (other != nullptr) run(*other);
  // A way that leaves the script without a launch is not the one that trains.
  const auto leaves = [&](const State& way) {
    return way.ended && way.launches.size() == before.launches.size();
  };
  // `[ -d "$DATA" ] || exit 1`: whoever trains has passed it.
  if (leaves(first) && !state_.ended) return Truth::unknown;
  if (leaves(state_) && !first.ended) {
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
  // Counted, so that no script runs for ever.
  step(command.origin);
  using Kind = Command::Kind;
  switch (command.kind) {
    case Kind::simple:
      return run_simple(command);
    case Kind::test:
      return run_test(command);
    case Kind::arithmetic:
      return run_arithmetic(single(command.words.front()), command.origin);
    case Kind::condition:
      return run_condition(command);
    case Kind::selection:
      return run_selection(command);
    case Kind::each:
      return run_each(command);
    case Kind::loop:
      return run_loop(command);
    case Kind::function:
      state_.functions[command.name] = &command.branches.front().body;
      return Truth::yes;
    case Kind::group:
      return run(command.branches.front().body);
    case Kind::subshell: {
      const Truth last =
          run_subshell(command.origin, [&] { return run(command.branches.front().body); });
      return command.background ? Truth::yes : last;
    }
  }
  return Truth::unknown;
}

Truth Shell::run_condition(const Command& command) {
  for (std::size_t i = 0; i < command.branches.size(); ++i) {
    const Branch& branch = command.branches[i];
    // A failing condition is no error, whatever `set -e` says.
    ++tested_;
    const Truth value = branch.condition.empty() ? Truth::yes : run(branch.condition);
    --tested_;
    if (state_.leaves()) return value;
    if (value == Truth::yes) return run(branch.body);
    // Undecidable conditions run both ways and keep what both agree on. That works for one branch
    // and an else, not for a chain.
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
  // Each branch may run or not, so that none of them may change the launch.
  if (!value.known()) {
    for (const Branch& branch : command.branches) run_either(command.origin, &branch.body, nullptr);
    return Truth::unknown;
  }
  Truth last = Truth::yes;
  bool through = false;  // `;&` asks for no pattern
  for (const Branch& branch : command.branches) {
    bool fits = through;
    for (const Word& word : branch.patterns) {
      if (fits) break;
      const TestWord shape{{}, pattern(word), false};
      const Truth same = compare({value, {}, false}, "==", shape, true, command.origin);
      if (same == Truth::unknown)
        refuse(sources_, command.origin,
               "is a case with a pattern that cannot be decided without running commands");
      fits = same == Truth::yes;
    }
    if (!fits) continue;
    last = run(branch.body);
    if (state_.leaves() || branch.behind == Branch::Behind::end) return last;
    through = branch.behind == Branch::Behind::body;
  }
  return last;
}

bool Shell::leave_loop() {
  if (state_.ended || state_.returned) return true;
  if (state_.jump.levels == 0) return false;
  const bool here = --state_.jump.levels == 0;
  return !here || !state_.jump.again;
}

Truth Shell::run_each(const Command& command) {
  std::vector<Traced> values;
  for (const Word& word : command.words)
    for (Traced& value : fields(word)) values.push_back(std::move(value));
  if (command.positional) values = state_.positional;
  const List& body = command.branches.front().body;
  // How many words a command prints, nobody knows.
  if (!std::ranges::all_of(values, &Traced::known)) {
    variable(command.name, command.origin) = {false, {unknown_value(command.origin)}};
    return run_either(command.origin, &body, nullptr);
  }
  Truth last = Truth::yes;
  ++loops_;
  for (const Traced& value : values) {
    step(command.origin);
    variable(command.name, command.origin) = {false, {value}};
    last = run(body);
    if (leave_loop()) break;
  }
  --loops_;
  return last;
}

Truth Shell::run_loop(const Command& command) {
  const Branch& branch = command.branches.front();
  const Branch* counts = command.branches.size() > 1 ? &command.branches.back() : nullptr;
  Truth last = Truth::yes;
  ++loops_;
  // A sum that is 0 is no failure here.
  const auto count = [&](const List& sum) {
    ++tested_;
    run(sum);
    --tested_;
  };
  if (counts != nullptr) count(counts->condition);
  for (std::size_t round = 0; !state_.leaves(); ++round) {
    if (round > most_rounds)
      refuse(sources_, command.origin, "goes round without an end, allowed: 1000 times");
    ++tested_;
    const Truth value = run(branch.condition);
    --tested_;
    if (state_.leaves()) {
      if (leave_loop()) break;
      continue;
    }
    // What changes nothing when it runs once may run any number of times.
    if (value == Truth::unknown) {
      last = run_either(command.origin, &branch.body, nullptr);
      break;
    }
    if ((value == Truth::yes) == command.until) break;
    last = run(branch.body);
    if (leave_loop()) break;
    if (counts != nullptr) count(counts->body);
  }
  --loops_;
  return last;
}

Truth Shell::run_function(const std::vector<Traced>& words) {
  if (depth_ >= deepest_calls)
    refuse(sources_, words.front().origin(), "calls itself too deeply, allowed: 32 calls");
  const List* body = state_.functions.at(words.front().text);
  std::vector<Traced> before =
      std::exchange(state_.positional, std::vector<Traced>(words.begin() + 1, words.end()));
  // What `local` hides comes back when the function ends.
  state_.frames.emplace_back();
  const std::int64_t loops = std::exchange(loops_, 0);
  ++depth_, ++calls_;
  const Truth last = run(*body);
  --depth_, --calls_;
  loops_ = loops;
  Frame frame = std::move(state_.frames.back());
  state_.frames.pop_back();
  restore(std::move(frame));
  state_.positional = std::move(before);
  state_.returned = false;
  return last;
}

/// `eval`, `bash -c` and documents that a shell is given.
Truth Shell::run_text(const Traced& text, std::uint32_t origin) {
  if (depth_ >= deepest_calls) refuse(sources_, origin, "nests scripts too deeply, allowed: 32");
  // A text with flags launches something; one without them may be passed over.
  if (!text.known() && text.text.find("--") == std::string::npos) return Truth::unknown;
  texts_.push_back(text);
  lists_.push_back(parse_script(texts_.back(), sources_, documents_));
  ++depth_;
  const Truth last = run(lists_.back());
  --depth_;
  return last;
}

}  // namespace stepcast::shell
