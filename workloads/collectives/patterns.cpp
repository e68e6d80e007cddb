#include "patterns.hpp"

#include <array>
#include <bit>

namespace stepcast::collectives {
namespace {

void one_pass(Schedule& schedule, const Sets& sets, Bytes bytes, Pattern pattern,
              Direction direction) {
  switch (pattern) {
    case Pattern::ring:
      return ring_pass(schedule, sets, bytes);
    case Pattern::mesh:
      // Everybody has one part for each other one.
      return full_mesh(schedule, sets, bytes / static_cast<double>(sets.front().size()));
    case Pattern::nhr:
      return nhr_pass(schedule, sets, bytes, direction);
    case Pattern::hd:
      return hd_pass(schedule, sets, bytes, direction);
    case Pattern::dimensions:
      return dimension_pass(schedule, sets, bytes, direction);
  }
}

}  // namespace

const char* name(Pattern pattern) {
  static constexpr std::array<const char*, 5> names{"ring", "mesh", "nhr", "hd", "dimensions"};
  return names[static_cast<std::size_t>(pattern)];
}

/// Halving-doubling folds members beyond a power of two onto others.
bool treats_all_alike(Pattern pattern, std::size_t members) {
  return pattern != Pattern::hd || std::has_single_bit(members);
}

void reduce_scatter(Schedule& schedule, const Sets& sets, Bytes bytes, Pattern pattern) {
  one_pass(schedule, sets, bytes, pattern, Direction::halving);
}

void all_gather(Schedule& schedule, const Sets& sets, Bytes bytes, Pattern pattern) {
  one_pass(schedule, sets, bytes, pattern, Direction::doubling);
}

void all_reduce(Schedule& schedule, const Sets& sets, Bytes bytes, Pattern pattern) {
  // Folded members take the whole result at the end, not in both halves.
  if (pattern == Pattern::hd) return hd_all_reduce(schedule, sets, bytes);
  reduce_scatter(schedule, sets, bytes, pattern);
  all_gather(schedule, sets, bytes, pattern);
}

void broadcast(Schedule& schedule, const Sets& sets, Bytes bytes, Pattern pattern) {
  switch (pattern) {
    case Pattern::ring:
      return ring_broadcast(schedule, sets, bytes);
    case Pattern::hd:
      return hd_broadcast(schedule, sets, bytes);
    case Pattern::mesh:
    case Pattern::dimensions:
      // Scatter and gather move each byte twice, instead of everything to everybody from the root.
      scatter(schedule, sets, bytes);
      break;
    case Pattern::nhr:
      nhr_pass(schedule, sets, bytes, Direction::halving);
      break;
  }
  all_gather(schedule, sets, bytes, pattern);
}

}  // namespace stepcast::collectives
