#include "patterns.hpp"

namespace stepcast::collectives {

void ring_pass(Schedule& schedule, const Sets& sets, Bytes bytes) {
  const std::size_t size = sets.front().size();
  Step step = schedule.step();
  for (const Members& ring : sets)
    for (std::size_t i = 0; i < size; ++i)
      step.send(ring[i], ring[(i + 1) % size], bytes / static_cast<double>(size));
  // Every step loads the same links by as much: one step, p - 1 times.
  schedule.then(step, static_cast<double>(size - 1));
}

void ring_broadcast(Schedule& schedule, const Sets& sets, Bytes bytes) {
  Step step = schedule.step();
  // Hop by hop: the next one sends only what has come.
  for (std::size_t i = 1; i < sets.front().size(); ++i) {
    step.clear();
    for (const Members& ring : sets) step.send(ring[i - 1], ring[i], bytes);
    schedule.then(step);
  }
}

}  // namespace stepcast::collectives
