#pragma once
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shell_syntax.hpp"

/// A reader of launch scripts: it follows variables, conditions and loops as a shell does, and
/// never starts anything. What a command would print is unknown; where something that matters
/// depends on it, that is an error.
namespace stepcast::shell {

enum class Truth { no, yes, unknown };

struct Variable {
  bool array = false;
  std::vector<Traced> values;
};

/// Whether the shell or the machine sets this name, and a file does not say to what.
bool is_of_the_machine(std::string_view name);

/// How a loop is left: `break` and `continue`, through `levels` loops.
struct Jump {
  std::int64_t levels = 0;
  bool again = false;  ///< `continue`: the outermost of them goes on
};

/// What the names that a function made its own were before; nothing: not set.
using Frame = std::map<std::string, std::optional<Variable>>;

/// Everything that commands change.
struct State {
  std::map<std::string, Variable> variables;
  std::vector<std::string> order;  ///< of the variables, as they were first assigned
  std::vector<Traced> positional;
  std::map<std::string, Traced> files;  ///< written by here-documents, by their last name
  std::vector<std::vector<Traced>> launches;
  std::optional<std::uint32_t> ended;  ///< at this `exit`
  bool returned = false;               ///< from a function or a sourced file
  Jump jump;
  std::vector<Frame> frames;    ///< of the functions that run
  std::set<std::string> fixed;  ///< by `readonly`
  std::map<std::string, const List*> functions;
  std::map<std::string, Traced> environment;                          ///< in front of a launch
  bool failure_ends = false, unset_ends = false, pipes_fail = false;  ///< set -e, -u, -o pipefail

  /// Whether the commands behind this one do not run.
  bool leaves() const { return ended || returned || jump.levels > 0; }
  /// About the bytes that a copy takes.
  std::size_t weight() const;
};

/// One word of a test: `bare` says that it may be an operator.
struct TestWord {
  Traced value, pattern;
  bool bare = true;
};

class Shell {
 public:
  /// Arguments and variables of the environment that a script finds.
  void give(const std::vector<std::string>& arguments,
            const std::map<std::string, std::string>& environment);
  /// Follows the script at `path`. Throws InputError with the place of what cannot be followed.
  void run(const std::string& path, std::string text);

  const State& state() const { return state_; }
  /// Names that were asked for and not set, with the first place of each.
  const std::map<std::string, std::uint32_t>& missing() const { return missing_; }
  Place place(std::uint32_t origin) const { return sources_.place(origin); }
  /// Sourced files that are not beside the script, each with its place and what was not read.
  const std::vector<Diagnostic>& notes() const { return notes_; }

 private:
  class Fields;

  Truth run(const List& list);
  Truth run(const Pipeline& pipeline);
  Truth run(const Command& command);
  Truth run_simple(const Command& command);
  Truth run_test(const Command& command);
  Truth run_condition(const Command& command);
  Truth run_selection(const Command& command);
  Truth run_each(const Command& command);
  Truth run_loop(const Command& command);
  Truth run_words(const Command& command, const std::vector<Traced>& words);
  Truth run_subshell(std::uint32_t origin, const std::function<Truth()>& body);
  Truth run_arithmetic(const Traced& expression, std::uint32_t origin);
  /// With the assignments in front of a command, which hold for it alone.
  Truth run_within(const Command& command, const std::vector<Traced>& words);
  /// Whether a loop ends behind its body.
  bool leave_loop();
  std::optional<Truth> change_state(const std::vector<Traced>& words, std::uint32_t origin);
  Truth run_text(const Traced& text, std::uint32_t origin);
  Truth run_source(const std::vector<Traced>& words, std::uint32_t origin);
  Truth run_function(const std::vector<Traced>& words);
  /// Both ways of what cannot be decided must come to the same.
  Truth run_either(std::uint32_t origin, const List* one, const List* other);
  void keep_document(const Command& command);
  bool read_document(const Command& command, const std::vector<Traced>& words);
  bool runs_its_text(const Command& command, const std::vector<Traced>& words);
  void assign(const Assignment& assignment);
  void assign(const std::string& name, Traced value, const Assignment& how);
  void declare(const Command& command, const std::vector<Traced>& words);
  void make_local(const std::string& name, std::uint32_t origin);
  void set_options(const std::vector<Traced>& words, std::uint32_t origin);
  void unset(const std::vector<Traced>& words, std::uint32_t origin);
  void jump(const std::vector<Traced>& words, std::uint32_t origin);
  Truth give_back(const std::vector<Traced>& words, std::uint32_t origin);
  void restore(Frame frame);
  void check_builtin(const std::vector<Traced>& words, std::uint32_t origin);
  Variable& variable(const std::string& name, std::uint32_t origin);
  Traced unknown_value(std::uint32_t origin) const;

  Truth test(const std::vector<Traced>& words, std::uint32_t origin);
  Truth compare(const TestWord& left, const std::string& op, const TestWord& right, bool brackets,
                std::uint32_t origin);

  std::vector<Traced> fields(const Word& word);
  Traced single(const Word& word);
  Traced pattern(const Word& word);
  Traced document(const HereDocument& document);
  void expand(const Traced& source, std::size_t begin, std::size_t end, Fields& out, bool quoted);
  std::optional<std::int64_t> expr_result(const Traced& source, std::size_t begin, std::size_t end);
  std::size_t expand_dollar(const Traced& source, std::size_t at, std::size_t end, Fields& out,
                            bool quoted);
  void expand_parameter(const Traced& source, std::size_t begin, std::size_t end, Fields& out,
                        bool quoted);
  void expand_operator(const Traced& source, std::size_t at, std::size_t end,
                       const std::string& name, std::optional<std::vector<Traced>> values,
                       Fields& out, bool quoted, bool all);
  /// Nothing for a variable that is not set.
  std::optional<std::vector<Traced>> look_up(const std::string& name, const std::string& index,
                                             std::uint32_t origin);
  std::optional<std::int64_t> evaluate(const Traced& expression, std::uint32_t origin);
  void spend(std::size_t bytes, std::uint32_t origin);
  void step(std::uint32_t origin);

  Sources sources_;
  std::deque<Traced> texts_;
  std::deque<HereDocument> documents_;
  std::deque<List> lists_;
  std::filesystem::path directory_;
  State state_;
  std::vector<Diagnostic> notes_;
  std::size_t spent_ = 0, steps_ = 0, forks_ = 0, copied_ = 0;
  int depth_ = 0, sourced_ = 0, calls_ = 0;
  std::int64_t loops_ = 0;  ///< around the command, in its function
  int tested_ = 0;          ///< conditions around it, where a failure ends nothing
  bool joins_ = false;      ///< of the last `${ }`: its values are one word in quotes
  Truth last_ = Truth::yes;
  std::map<std::string, std::uint32_t> missing_;
  std::vector<std::string> lent_;  ///< names in front of the functions that run
  friend struct Condition;
};

}  // namespace stepcast::shell
