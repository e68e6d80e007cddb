#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/errors.hpp"

/// Text of shell scripts that remembers where each character was written.
namespace stepcast::shell {

/// What a command would have printed, which nobody runs: it stands in a text for all of that.
inline constexpr char unknown_mark = '\x01';

/// Text with the origin of each of its bytes, as Sources counts them.
struct Traced {
  std::string text;
  std::vector<std::uint32_t> from;

  void add(char c, std::uint32_t origin) {
    text += c;
    from.push_back(origin);
  }
  void add(std::string_view more, std::uint32_t origin) {
    text += more;
    from.resize(text.size(), origin);
  }
  void add(const Traced& more) {
    text += more.text;
    from.insert(from.end(), more.from.begin(), more.from.end());
  }
  Traced part(std::size_t begin, std::size_t end) const;
  /// Whether its bytes are what bash counts as characters in every locale.
  bool is_ascii() const;
  bool known() const { return text.find(unknown_mark) == std::string::npos; }
  /// Of its first byte; `otherwise` of an empty text.
  std::uint32_t origin(std::uint32_t otherwise = 0) const {
    return from.empty() ? otherwise : from.front();
  }
};

/// Whether fnmatch() tells of a text what bash would, in little time: `?` and `[` stand for a
/// character, which may be several bytes.
bool is_comparable(const std::string& pattern, const Traced& text);

/// The files that were read, one behind the other, so that one number says file, line and column.
class Sources {
 public:
  /// The text of a file, every byte with its origin.
  Traced add(const std::string& name, std::string text);
  Place place(std::uint32_t origin) const;

 private:
  struct File {
    std::string name;
    std::uint32_t begin, size;
    std::vector<std::uint32_t> lines;  ///< where each begins, from the begin of the file
  };
  std::vector<File> files_;
};

}  // namespace stepcast::shell
