#pragma once
#include <boost/heap/d_ary_heap.hpp>
#include <cstdint>
#include <tuple>

namespace stepcast {

struct QueuedEvent {
  double time;
  std::uint64_t sequence;
  std::uint64_t tag;
};

/// Earlier first; equal times in posting order, so that no two events ever compare equal.
struct LaterEvent {
  bool operator()(const QueuedEvent& a, const QueuedEvent& b) const {
    return std::tie(a.time, a.sequence) > std::tie(b.time, b.sequence);
  }
};

using EventQueue =
    boost::heap::d_ary_heap<QueuedEvent, boost::heap::arity<4>, boost::heap::compare<LaterEvent>>;

}  // namespace stepcast
