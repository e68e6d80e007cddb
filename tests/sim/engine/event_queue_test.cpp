#include "sim/engine/event_queue.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace stepcast {
namespace {

std::vector<QueuedEvent> sorted(std::vector<QueuedEvent> events) {
  std::ranges::sort(events, [](const QueuedEvent& a, const QueuedEvent& b) { return a.before(b); });
  return events;
}

/// Few dates, so that kinds and orders decide often.
RC_GTEST_PROP(EventQueue, GivesTheFirstOfAllThatAreIn, ()) {
  EventQueue queue;
  std::vector<QueuedEvent> plain;  // what a sorted list would hold
  const auto steps = *rc::gen::inRange<std::uint64_t>(1, 200);
  for (std::uint64_t i = 0; i < steps; ++i) {
    if (plain.empty() || *rc::gen::inRange(0, 3) > 0) {
      const auto kind =
          *rc::gen::arbitrary<bool>() ? QueuedEvent::Kind::event : QueuedEvent::Kind::flow_end;
      const QueuedEvent event{static_cast<double>(*rc::gen::inRange(0, 6)), kind, i, 7 * i};
      queue.push(event);
      plain = sorted([&] {
        plain.push_back(event);
        return plain;
      }());
    } else {
      queue.pop();
      plain.erase(plain.begin());
    }
    RC_ASSERT(queue.empty() == plain.empty());
    if (!plain.empty()) RC_ASSERT(queue.top().value == plain.front().value);
    const std::vector<QueuedEvent>& soon = queue.soon();
    RC_ASSERT(soon.empty() == plain.empty());
    RC_ASSERT(soon.size() <= plain.size());
    for (std::size_t n = 0; n < soon.size(); ++n)
      RC_ASSERT(soon[soon.size() - 1 - n].value == plain[n].value);
  }
  const std::vector<QueuedEvent> left = queue.ordered();
  RC_ASSERT(left.size() == plain.size());
  for (std::size_t i = 0; i < left.size(); ++i) RC_ASSERT(left[i].value == plain[i].value);
}

}  // namespace
}  // namespace stepcast
