#pragma once
#include <cstddef>

namespace stepcast {

/// How many members a closed enum has: those counted from 0 that have a row, `info(kind)`, with a
/// name. The rows are a switch without `default:`, so the compiler names a member without one.
template <class Kind>
consteval std::size_t count_kinds() {
  std::size_t count = 0;
  while (info(static_cast<Kind>(count)).name != nullptr) ++count;
  return count;
}

}  // namespace stepcast
