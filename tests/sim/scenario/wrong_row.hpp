#pragma once
#include <ostream>
#include <string_view>

namespace stepcast::test {

/// One wrong input and all that must be said about it, place, key path and cure.
struct WrongRow {
  const char* name;
  std::string_view from;  ///< text of the small scenario that is replaced; empty: the whole file
  std::string_view to;
  std::string_view errors;
};

inline void PrintTo(const WrongRow& row, std::ostream* out) { *out << row.name; }

}  // namespace stepcast::test
