#include "stepcast/scheduler/stage_order.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace stepcast {

std::string to_string(const Unit& unit, std::int64_t chunks) {
  constexpr std::string_view letters = "FBbw";
  // The letters stand in the order of UnitKind; the parser of tables reads the same.
  std::string text(1, letters[static_cast<std::size_t>(unit.kind)]);
  text += std::to_string(unit.micro_batch.value);
  if (chunks > 1) text += "." + std::to_string(unit.chunk.value);
  return text;
}

std::string to_string(const Unit& unit, const PipelineShape& shape) {
  std::string text = to_string(unit, shape.chunks);
  if (shape.slices > 1) text += "/" + std::to_string(unit.slice.value);
  return text;
}

std::string to_string(const StageOrder& order, const PipelineShape& shape) {
  // Braces stay open over one unit: a pair is always two neighbours.
  std::string text;
  bool paired = false;
  for (const Unit& unit : order) {
    if (!text.empty()) text += paired ? "|" : " ";
    if (unit.with_next) text += "{";
    text += to_string(unit, shape);
    if (paired) text += "}";
    paired = unit.with_next;
  }
  return text;
}

std::optional<Seat> source_of(const PipelineShape& shape, const Unit& unit, Stage stage) {
  // Weight gradients stay on their stage: nothing is sent to make them or because of them.
  if (unit.kind == UnitKind::backward_weight) return {};
  const Seat here{unit.chunk, stage};
  return unit.kind == UnitKind::forward ? seat_before(shape, here) : seat_after(shape, here);
}

std::optional<Seat> reader_of(const PipelineShape& shape, const Unit& unit, Stage stage) {
  if (unit.kind == UnitKind::backward_weight) return {};
  const Seat here{unit.chunk, stage};
  return unit.kind == UnitKind::forward ? seat_after(shape, here) : seat_before(shape, here);
}

namespace {

/// A unit's activations live from its forward to the end of its last backward part.
int held_change(UnitKind kind) {
  switch (kind) {
    case UnitKind::forward:
      return 1;
    case UnitKind::backward:
    case UnitKind::backward_weight:
      return -1;
    // A split backward frees at its second half, which still needs the inputs of the products.
    case UnitKind::backward_input:
      return 0;
  }
  return 0;
}

/// Whether what is held behind the unit at `i` is a moment: behind a forward, or behind the whole
/// backward that it runs as one with.
bool is_moment(const StageOrder& order, std::size_t i) {
  // Inside a pair layers alternate, so that the forward's activations take the backward's place.
  const auto in_pair = [&](std::size_t forward) {
    return order[forward].kind == UnitKind::forward && order[forward].with_next &&
           forward + 1 < order.size() && order[forward + 1].kind == UnitKind::backward;
  };
  if (order[i].kind == UnitKind::forward) return !in_pair(i);
  return i > 0 && in_pair(i - 1);
}

}  // namespace

std::vector<int> in_flight(const StageOrder& order, std::int64_t chunks) {
  std::vector<int> held(static_cast<std::size_t>(chunks)), peak(held.size());
  for (const Unit& unit : order) {
    // Activations are kept from a forward to the unit that needs them last; peaks of chunks need
    // not fall together.
    int& now = held[unit.chunk.value];
    now += held_change(unit.kind);
    peak[unit.chunk.value] = std::max(peak[unit.chunk.value], now);
  }
  return peak;
}

std::vector<std::vector<int>> in_flight_moments(const StageOrder& order, std::int64_t chunks) {
  std::vector<int> held(static_cast<std::size_t>(chunks));
  std::set<std::vector<int>> moments{held};
  // Only sets that a forward leaves behind can be the largest; each is kept once.
  for (std::size_t i = 0; i < order.size(); ++i) {
    held[order[i].chunk.value] += held_change(order[i].kind);
    if (is_moment(order, i)) moments.insert(held);
  }
  return {moments.begin(), moments.end()};
}

std::vector<std::vector<double>> in_flight_moments(const StageOrder& order, std::int64_t chunks,
                                                   const std::vector<double>& weights,
                                                   double kept) {
  const std::vector<int> none(weights.size());
  std::vector<std::vector<int>> held(static_cast<std::size_t>(chunks), none), half_freed = held;
  std::set<std::vector<double>> moments{std::vector<double>(held.size())};
  for (std::size_t i = 0; i < order.size(); ++i) {
    // What backward_input frees of a forward is counted apart until backward_weight frees the rest.
    const Unit& unit = order[i];
    held[unit.chunk.value][unit.slice.value] += held_change(unit.kind);
    int& half = half_freed[unit.chunk.value][unit.slice.value];
    if (unit.kind == UnitKind::backward_input) ++half;
    if (unit.kind == UnitKind::backward_weight) --half;
    if (!is_moment(order, i)) continue;
    std::vector<double> now;
    const auto sum = [&](const std::vector<int>& slices) {
      return std::inner_product(slices.begin(), slices.end(), weights.begin(), 0.0);
    };
    for (std::size_t c = 0; c < held.size(); ++c)
      now.push_back(sum(held[c]) - (1 - kept) * sum(half_freed[c]));
    moments.insert(std::move(now));
  }
  return {moments.begin(), moments.end()};
}

int peak_in_flight(const StageOrder& order) {
  int held = 0, peak = 0;
  for (const Unit& unit : order) peak = std::max(peak, held += held_change(unit.kind));
  return peak;
}

}  // namespace stepcast
