#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "stepcast/base/section.hpp"

namespace stepcast {

/// A file that a key names, with one number per line; empty lines and those that begin with # do
/// not count.
struct NumberFile {
  std::string key;   ///< that names it
  std::string path;  ///< as the key has it
  std::string one;   ///< what a line holds: "length"
  std::string line;  ///< what is allowed in a line: "one whole number of tokens per line, 1 to 9"
  std::function<bool(std::string_view)> take;  ///< keeps a number, or says that it is none
};

/// Reads the file beside the one that names it, or on the search path. Reports what is wrong: at
/// the key where the file is missing or holds no number, in the file at each line that is none.
void read_number_file(const Node& root, const SearchPath& search, const NumberFile& numbers,
                      Reading& reading);

}  // namespace stepcast
