#pragma once
#include <algorithm>
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

/// A heap of four children per event, which lie side by side. Events are moved into the place that
/// is free and not swapped: a queue is all that a replay of few ranks does beside its programs.
class EventQueue {
 public:
  bool empty() const { return events_.empty(); }
  const QueuedEvent& top() const { return events_.front(); }

  void push(const QueuedEvent& event) {
    std::size_t place = events_.size();
    events_.push_back(event);
    while (place > 0) {
      const std::size_t parent = (place - 1) / children;
      if (!event.before(events_[parent])) break;
      events_[place] = events_[parent];
      place = parent;
    }
    events_[place] = event;
  }

  void pop() {
    const QueuedEvent last = events_.back();
    events_.pop_back();
    if (events_.empty()) return;
    std::size_t place = 0;
    for (;;) {
      const std::size_t first = children * place + 1;
      if (first >= events_.size()) break;
      const std::size_t end = std::min(first + children, events_.size());
      std::size_t next = first;
      for (std::size_t child = first + 1; child < end; ++child)
        if (events_[child].before(events_[next])) next = child;
      if (!events_[next].before(last)) break;
      events_[place] = events_[next];
      place = next;
    }
    events_[place] = last;
  }

  std::vector<QueuedEvent> ordered() const {
    std::vector<QueuedEvent> events = events_;
    std::ranges::sort(events,
                      [](const QueuedEvent& a, const QueuedEvent& b) { return a.before(b); });
    return events;
  }
  void swap(EventQueue& other) { events_.swap(other.events_); }
  void clear() { events_.clear(); }

 private:
  static constexpr std::size_t children = 4;
  std::vector<QueuedEvent> events_;
};

}  // namespace stepcast
