#include <bit>

#include "patterns.hpp"

namespace stepcast::collectives {
namespace {

/// Calls `at` with the exponents 0..steps-1, backwards when doubling.
template <class At>
void each_power(std::size_t steps, Direction direction, const At& at) {
  for (std::size_t i = 0; i < steps; ++i) at(direction == Direction::halving ? i : steps - 1 - i);
}

/// Members beyond the largest power of two hand their part to a neighbour and get theirs back from
/// it.
struct Fold {
  explicit Fold(const Sets& all) {
    // Halving needs a power of two; the others stand behind a neighbour.
    const std::size_t size = all.front().size();
    const std::size_t extra = size - std::bit_floor(size);
    for (const Members& set : all) {
      Members& core = sets.emplace_back();
      for (std::size_t i = 0; i < size; ++i) {
        // Odd members of the first pairs stand back, so that pairs are neighbours.
        const bool folded = i < 2 * extra && i % 2 == 1;
        if (folded)
          pairs.push_back({set[i], set[i - 1]});
        else
          core.push_back(set[i]);
      }
    }
  }
  void out(Schedule& schedule, Bytes bytes) const {
    if (pairs.empty()) return;
    Step step = schedule.step();
    for (const auto& [folded, partner] : pairs) step.send(folded, partner, bytes);
    schedule.then(step);
  }
  void back(Schedule& schedule, Bytes bytes) const {
    if (pairs.empty()) return;
    Step step = schedule.step();
    for (const auto& [folded, partner] : pairs) step.send(partner, folded, bytes);
    schedule.then(step);
  }
  Sets sets;
  std::vector<std::pair<DeviceId, DeviceId>> pairs;
};

/// `doubled` of the first members stand for two, whose parts they pass on; `part` is that of one.
void exchange(Schedule& schedule, const Sets& sets, Bytes part, std::size_t doubled,
              Direction direction) {
  const std::size_t size = sets.front().size();
  // Of a power of two, as Fold leaves it.
  const auto steps = static_cast<std::size_t>(std::countr_zero(size));
  Step step = schedule.step();
  each_power(steps, direction, [&](std::size_t k) {
    step.clear();
    const std::size_t distance = std::size_t{1} << k;
    for (const Members& set : sets)
      for (std::size_t i = 0; i < size; ++i) {
        // The parts of every member on the partner's side: alike in the last k + 1 bits.
        const std::size_t side = (i ^ distance) % (2 * distance);
        // Members that stand for two, counted among those on the partner's side.
        const std::size_t twice =
            doubled > side ? (doubled - side - 1) / (2 * distance) + 1 : std::size_t{0};
        step.send(set[i], set[i ^ distance],
                  part * static_cast<double>(size / (2 * distance) + twice));
      }
    schedule.then(step);
  });
}

}  // namespace

std::size_t nhr_steps(std::size_t members) {
  return static_cast<std::size_t>(std::bit_width(members - 1));
}

std::size_t nhr_parts(std::size_t members, std::size_t k) {
  // Distances from 1 to p - 1 whose lowest set bit is bit k.
  const std::size_t distance = std::size_t{1} << k;
  return (members - 1 + distance) / (2 * distance);
}

void nhr_step(Step& step, const Sets& sets, Bytes bytes, std::size_t k) {
  const std::size_t size = sets.front().size();
  const Bytes sent = bytes * (static_cast<double>(nhr_parts(size, k)) / static_cast<double>(size));
  const std::size_t distance = std::size_t{1} << k;
  for (const Members& set : sets)
    for (std::size_t i = 0; i < size; ++i) {
      // Of few members links are counted: of a message that touches none nothing is asked.
      if (!step.counts(set[i])) continue;
      const DeviceId from = set[(i + size - distance) % size];
      if (!step.counts(from)) step.send(from, set[i], sent);
      step.send(set[i], set[(i + distance) % size], sent);
    }
}

void nhr_pass(Schedule& schedule, const Sets& sets, Bytes bytes, Direction direction) {
  Step step = schedule.step();
  each_power(nhr_steps(sets.front().size()), direction, [&](std::size_t k) {
    step.clear();
    nhr_step(step, sets, bytes, k);
    schedule.then(step);
  });
}

void hd_pass(Schedule& schedule, const Sets& sets, Bytes bytes, Direction direction) {
  const Fold fold(sets);
  // Parts are cut by all members: who has one behind it stands for two of them.
  const Bytes part = bytes / static_cast<double>(sets.front().size());
  // A reduction folds everything onto the partner, a gather only the own part.
  fold.out(schedule, direction == Direction::halving ? bytes : part);
  exchange(schedule, fold.sets, part, sets.front().size() - fold.sets.front().size(), direction);
  fold.back(schedule, direction == Direction::halving ? part : bytes);
}

void hd_all_reduce(Schedule& schedule, const Sets& sets, Bytes bytes) {
  const Fold fold(sets);
  fold.out(schedule, bytes);
  // Here the core alone parts the buffer: whoever is folded away gets the whole result back.
  const Bytes part = bytes / static_cast<double>(fold.sets.front().size());
  exchange(schedule, fold.sets, part, 0, Direction::halving);
  exchange(schedule, fold.sets, part, 0, Direction::doubling);
  fold.back(schedule, bytes);
}

void hd_broadcast(Schedule& schedule, const Sets& sets, Bytes bytes) {
  const std::size_t size = sets.front().size();
  Step step = schedule.step();
  // Whoever has the bytes sends them on: their number doubles with each step.
  for (std::size_t have = 1; have < size; have *= 2) {
    step.clear();
    for (const Members& set : sets)
      for (std::size_t i = 0; i < have && i + have < size; ++i)
        step.send(set[i], set[i + have], bytes);
    schedule.then(step);
  }
}

}  // namespace stepcast::collectives
