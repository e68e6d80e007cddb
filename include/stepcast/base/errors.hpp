#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// The text with control characters written out (`\x1b`), which a terminal would obey; line ends
/// stay.
std::string visible(std::string_view text);
/// At most 200 bytes of the text, in whole characters, and `...` where it is longer.
std::string shortened(std::string_view text);

/// A place in an input file. Line and column count from 1; 0 means "the file as a whole".
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

/// A diagnostic is one thing that is wrong with the input.
struct Diagnostic {
  Place place;
  std::string path;     ///< key path such as `cluster.device.memory`, empty for the whole file
  std::string message;  ///< what is wrong, what is allowed; lower case, no full stop
  bool idle = false;    ///< the key changes nothing here, which is no error of who did not write it

  /// The text is `file:line:col: path.to.key: message`; parts that are unknown are left out, long
  /// keys and settings cut, control characters visible.
  std::string text() const;
};

/// The input is bad: this has every error of one reading, in the order file, line, column; what()
/// shows the first 50. The exit code is 2.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<Diagnostic> diagnostics);
  explicit InputError(const std::string& message);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// Throws one diagnostic.
[[noreturn]] void refuse_input(Place place, std::string path, std::string message);

/// The network engine did not do what was asked of it; the text says which task. The exit code is
/// 3.
class EngineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A promise between our own functions is broken, which no file can cause. The exit code is 3.
class ContractError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void contract_broken(const char* what, const char* file, int line);

/// Checks a promise of the caller in every build, and is not for inner loops. The place that
/// it reports is the caller's.
inline void expects(bool promise, const char* what, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  if (!promise) contract_broken(what, file, line);
}

}  // namespace stepcast
