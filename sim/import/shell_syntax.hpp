#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/errors.hpp"

/// What a shell script says, before any of it is expanded, in text that remembers where each
/// character was written.
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

/// A word as written, quotes and variables included.
struct Word {
  const Traced* source = nullptr;
  std::size_t begin = 0, end = 0;
  std::string_view raw() const { return std::string_view(source->text).substr(begin, end - begin); }
  std::uint32_t origin() const { return source->from[begin]; }
};

/// `NAME=value`, `NAME+=value`, `NAME[index]=value`, `NAME=( words )`.
struct Assignment {
  std::string name;
  bool append = false, array = false;
  Word value;
  Word index = {};             ///< of one element; without a source: none
  std::vector<Word> elements;  ///< of an array
};

/// Lines behind `<<END`; `expand` says whether variables count in them.
struct HereDocument {
  std::string end;
  bool expand = true, strip_tabs = false;
  Traced body;
};

struct Command;
/// Commands joined by pipes; `joint` says how it hangs on what stands before it.
struct Pipeline {
  enum class Joint { sequence, on_success, on_failure };
  Joint joint = Joint::sequence;
  bool negated = false;
  std::vector<Command> commands;
};
using List = std::vector<Pipeline>;

/// One arm of an `if` (its condition), a `case` (its patterns) or a loop.
struct Branch {
  List condition;
  std::vector<Word> patterns;
  List body;
  /// How an arm of a `case` ends: `;;`, `;&` goes on with the next body, `;;&` with its patterns.
  enum class Behind { end, body, patterns };
  Behind behind = Behind::end;
};

struct Command {
  enum class Kind {
    simple,
    test,
    arithmetic,
    condition,
    selection,
    each,
    loop,
    function,
    group,
    subshell
  };
  Kind kind = Kind::simple;
  std::uint32_t origin = 0;
  std::vector<Assignment> assignments;
  std::vector<Word> words;  ///< of simple and test; values of `each`; the word of a selection
  std::string name;         ///< of a function, or the variable of `each`
  bool until = false;       ///< of a loop
  bool positional = false;  ///< `for NAME` without words
  bool background = false;  ///< a subshell behind which `&` stands
  std::vector<Branch> branches;
  std::vector<const HereDocument*> here;
  std::vector<Word> written;  ///< files behind > and >>
};

/// Reads one script. `documents` keeps what stands behind `<<`. Throws InputError with the place of
/// what it cannot read.
List parse_script(const Traced& source, const Sources& sources,
                  std::deque<HereDocument>& documents);

/// The end of the word that begins at `at`: quotes, `${ }`, `$( )` and backticks hold together.
/// Throws InputError where one of them has no end.
std::size_t word_end(const Traced& source, std::size_t at, const Sources& sources);
/// The end of `$( )`, `${ }`, `"..."`, `'...'` or `` `...` `` that begins at `at`.
std::size_t group_end(const Traced& source, std::size_t at, const Sources& sources, int depth = 0);

[[noreturn]] void refuse(const Sources& sources, std::uint32_t origin, const std::string& message);

}  // namespace stepcast::shell
