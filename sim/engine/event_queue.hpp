#pragma once
#include <boost/heap/d_ary_heap.hpp>
#include <cstdint>
#include <tuple>

namespace stepcast {

/// An event of the client, or the end of a flow that is alone on its links.
struct QueuedEvent {
  enum class Kind : std::uint8_t { flow_end, event };
  double time;
  Kind kind;
  std::uint64_t order;  ///< tag of a flow, posting number of an event
  std::uint64_t value;  ///< index of a flow and its generation, tag of an event
};

/// Earlier first; at equal times flow ends by tag, then events in posting order, so that no two
/// ever compare equal. Most times differ, and one comparison settles those.
struct LaterEvent {
  bool operator()(const QueuedEvent& a, const QueuedEvent& b) const {
    if (a.time != b.time) return a.time > b.time;
    return std::tie(a.kind, a.order) > std::tie(b.kind, b.order);
  }
};

using EventQueue =
    boost::heap::d_ary_heap<QueuedEvent, boost::heap::arity<4>, boost::heap::compare<LaterEvent>>;

}  // namespace stepcast
