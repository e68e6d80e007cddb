#pragma once
#include <algorithm>
#include <boost/heap/d_ary_heap.hpp>
#include <cstddef>
#include <cstdint>
#include <tuple>
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

/// A heap of four children per event. The first few stand apart, so that what comes next is known
/// ahead.
class EventQueue {
 public:
  bool empty() const { return soon_.empty(); }
  const QueuedEvent& top() const { return soon_.back(); }
  /// The first few, the very first last: one at least, unless there is none.
  const std::vector<QueuedEvent>& soon() const { return soon_; }
  void push(const QueuedEvent& event);
  /// Says whether all others of the first few are new among them.
  bool pop();
  std::vector<QueuedEvent> ordered() const;
  void swap(EventQueue& other);
  void clear();

 private:
  static constexpr std::size_t most_soon = 8;
  struct Later {
    bool operator()(const QueuedEvent& a, const QueuedEvent& b) const { return b.before(a); }
  };

  std::vector<QueuedEvent> soon_;
  boost::heap::d_ary_heap<QueuedEvent, boost::heap::arity<4>, boost::heap::compare<Later>>
      later_;  ///< none of them is before one of `soon_`; empty when that is
};

inline void EventQueue::push(const QueuedEvent& event) {
  const bool room = later_.empty() && soon_.size() < most_soon;
  if (!room && !event.before(soon_.front())) {
    later_.push(event);
    return;
  }
  // A handful: those before it move by one place.
  soon_.push_back(event);
  std::size_t place = soon_.size() - 1;
  for (; place > 0 && soon_[place - 1].before(event); --place) soon_[place] = soon_[place - 1];
  soon_[place] = event;
  if (soon_.size() <= most_soon) return;
  later_.push(soon_.front());
  soon_.erase(soon_.begin());
}

inline bool EventQueue::pop() {
  soon_.pop_back();
  if (!soon_.empty()) return false;
  for (; soon_.size() < most_soon && !later_.empty(); later_.pop()) soon_.push_back(later_.top());
  std::ranges::reverse(soon_);
  return true;
}

inline std::vector<QueuedEvent> EventQueue::ordered() const {
  std::vector<QueuedEvent> events(soon_.rbegin(), soon_.rend());
  events.insert(events.end(), later_.ordered_begin(), later_.ordered_end());
  return events;
}

inline void EventQueue::swap(EventQueue& other) {
  soon_.swap(other.soon_);
  later_.swap(other.later_);
}

inline void EventQueue::clear() {
  soon_.clear();
  later_.clear();
}

}  // namespace stepcast
