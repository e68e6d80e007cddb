#pragma once
#include <deque>
#include <filesystem>
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

/// Everything that commands change.
struct State {
  std::map<std::string, Variable> variables;
  std::vector<std::string> order;  ///< of the variables, as they were first assigned
  std::vector<Traced> positional;
  std::map<std::string, Traced> files;  ///< written by here-documents, by their last name
  std::vector<std::vector<Traced>> launches;
  std::optional<std::uint32_t> ended;  ///< at this `exit`
  bool returned = false;               ///< from a function or a sourced file
};

class Shell {
 public:
  /// Follows the script at `path`. Throws InputError with the place of what cannot be followed.
  void run(const std::string& path, std::string text);

  const State& state() const { return state_; }
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
  std::optional<Truth> change_state(const std::vector<Traced>& words, std::uint32_t origin);
  Truth run_text(const Traced& text, std::uint32_t origin);
  Truth run_source(const std::vector<Traced>& words, std::uint32_t origin);
  Truth run_function(const std::vector<Traced>& words);
  /// Both ways of what cannot be decided must come to the same.
  Truth run_either(std::uint32_t origin, const List* one, const List* other);
  void keep_document(const Command& command);
  bool runs_its_text(const Command& command, const std::vector<Traced>& words);
  void assign(const Assignment& assignment);
  Variable& variable(const std::string& name);

  static Truth test(const std::vector<Traced>& words, bool patterns);

  std::vector<Traced> fields(const Word& word);
  Traced single(const Word& word);
  Traced document(const HereDocument& document);
  void expand(const Traced& source, std::size_t begin, std::size_t end, Fields& out, bool quoted);
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
  std::map<std::string, const List*> functions_;
  std::filesystem::path directory_;
  State state_;
  std::vector<Diagnostic> notes_;
  std::size_t spent_ = 0, steps_ = 0, forks_ = 0;
  int depth_ = 0, sourced_ = 0;
};

}  // namespace stepcast::shell
