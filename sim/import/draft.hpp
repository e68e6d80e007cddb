#pragma once
#include <concepts>
#include <set>
#include <string>
#include <string_view>

#include "arguments.hpp"
#include "stepcast/base/document.hpp"

namespace stepcast::launch {

/// One key of the scenario in the making.
struct Entry {
  std::string path, value;
  std::string comment;  ///< the flag behind it
  Place place;
  bool said = false;  ///< by a flag, or by --set: no default of the framework
  bool soft = false;  ///< where nothing needs it, it is left out and the flag is named
};

/// Which framework, in which version, a launch file runs.
struct Identity {
  std::string name;     ///< as framework files have it, `Megatron-Core`; empty: none runs
  std::string version;  ///< which the file says; empty: it says none
  std::string words;    ///< what says it, as the file has it
  std::string file;     ///< `megatron-core-0.14`; empty: no preset
  std::string from;     ///< the first version of that preset

  bool is(std::string_view framework) const { return name == framework; }
  /// Whether the preset is for this version or a later one.
  bool at_least(const std::string& first) const;
  /// Whether products of several experts are launched one by one, side by side on streams:
  /// TEGroupedMLP of Megatron-Core from 0.9 on.
  bool streams_experts() const;
};

/// Of a file of a form: by names with versions, tags of containers, paths, and flags that are gone.
/// `chosen` is the preset that --framework names, empty: none is.
Identity identify(std::string_view form, const std::string& text, const std::string& chosen,
                  const SearchPath& search);

/// The scenario in the making: keys with the flags behind them, what was refused, what is said.
class Draft {
 public:
  explicit Draft(const std::vector<std::string>& overrides);

  /// Sets a key unless --set gives it. `flags` are the settings behind it, none: a default of the
  /// framework, which `words` names.
  void set(const std::string& path, const std::string& value,
           std::initializer_list<const Setting*> flags, const std::string& words = {});
  void set(const std::string& path, const char* value, std::initializer_list<const Setting*> flags,
           const std::string& words = {}) {
    set(path, std::string(value), flags, words);
  }
  void set(const std::string& path, std::integral auto value,
           std::initializer_list<const Setting*> flags, const std::string& words = {}) {
    if constexpr (std::is_same_v<decltype(value), bool>)
      set(path, value ? "true" : "false", flags, words);
    else
      set(path, std::to_string(value), flags, words);
  }
  /// Sets a key that the rest of the scenario may give nothing to do: then it is left out, and the
  /// flags are said to change nothing.
  void set_where_used(const std::string& path, const std::string& value,
                      std::initializer_list<const Setting*> flags, const std::string& words = {});
  /// A key that stands as a default is what this setting says, such as a switch that is off.
  void back(const std::string& path, const Setting& setting);
  /// What stands as a default here follows from other flags: no rule of the framework replaces it.
  void keep(const std::string& path);
  /// Takes a key out; `why` is said of its flag, where there is one and a reason.
  void leave_out(const std::string& path, const std::string& why = {});
  /// Whether --set gives this key, or one below or above it.
  bool given(std::string_view path) const;
  /// Whether a key has this value now, from --set or from flags.
  bool says(std::string_view path, std::string_view value) const;
  /// The value of a key as a whole number, --set before flags.
  std::optional<std::int64_t> count(std::string_view path) const;
  void note(const Setting& setting, const std::string& message);
  /// A setting whose effect stands in keys of other settings, such as the name of a file.
  void use(const Setting& setting) { used_.insert(setting.shown()); }
  /// A setting whose flag has an effect: one that stands behind no key, note or error in the end
  /// is said to change nothing.
  void expect(const Setting& setting) { expected_.push_back({setting.place, setting.shown(), {}}); }
  /// Nothing is said of settings that changed nothing: the file has those without effect, too.
  void expect_nothing() { expected_.clear(); }
  /// Notes the expected settings that changed nothing.
  void settle();
  void note(Diagnostic diagnostic) { notes_.push_back(std::move(diagnostic)); }
  void wrong(Place place, std::string path, std::string message) {
    wrong_.push_back({std::move(place), std::move(path), std::move(message)});
  }
  void wrong(const Setting& setting, std::string message) {
    wrong(setting.place, setting.shown(), std::move(message));
  }

  /// The framework that runs the file.
  const Identity& runs() const { return runs_; }
  void run_by(Identity identity) { runs_ = std::move(identity); }

  std::vector<Diagnostic>& wrong() { return wrong_; }
  const std::vector<Diagnostic>& notes() const { return notes_; }
  const std::vector<Entry>& entries() const { return entries_; }
  /// The keys as YAML, with comments, in the order of the format.
  std::string yaml() const;

 private:
  std::vector<Entry> entries_;
  std::vector<Diagnostic> wrong_, notes_, expected_;
  std::set<std::string> used_;  ///< settings behind keys and notes, as shown
  Identity runs_;
};

}  // namespace stepcast::launch
