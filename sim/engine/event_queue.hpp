#pragma once
#include <boost/heap/d_ary_heap.hpp>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace stepcast {

/// An event of the client, or the end of a flow that is alone on its links.
struct QueuedEvent {
  enum class Kind : std::uint8_t { flow_end, event };
  double time;
  Kind kind;
  std::uint64_t order;  ///< tag of a flow, posting number of an event
  std::uint64_t value;  ///< index of a flow and its generation, tag of an event

  /// At equal times flow ends by tag, then events in posting order, so that no two are equal that
  /// both count. Most times differ, and one comparison settles those.
  bool before(const QueuedEvent& other) const {
    if (time != other.time) return time < other.time;
    return std::tie(kind, order) < std::tie(other.kind, other.order);
  }
};

/// A heap of four children per event.
class EventQueue {
 public:
  bool empty() const { return events_.empty(); }
  const QueuedEvent& top() const { return events_.top(); }
  void push(const QueuedEvent& event) { events_.push(event); }
  void pop() { events_.pop(); }
  std::vector<QueuedEvent> ordered() const {
    return {events_.ordered_begin(), events_.ordered_end()};
  }
  void swap(EventQueue& other) { events_.swap(other.events_); }
  void clear() { events_.clear(); }

 private:
  struct Later {
    bool operator()(const QueuedEvent& a, const QueuedEvent& b) const { return b.before(a); }
  };
  boost::heap::d_ary_heap<QueuedEvent, boost::heap::arity<4>, boost::heap::compare<Later>> events_;
};

}  // namespace stepcast
