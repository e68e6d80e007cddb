#include "order_run.hpp"

#include <algorithm>
#include <utility>

namespace stepcast {

OrderRun::OrderRun(const std::vector<StageOrder>& orders, const PipelineShape& shape,
                   UnitCosts costs)
    : orders_{orders},
      shape_{shape},
      costs_{std::move(costs)},
      place_(orders.size()),
      free_(orders.size()) {
  // One cell for each unit: 0 is a date, so that -1 stands for "not yet".
  const std::int64_t each = shape.chunks * shape.micro_batches * shape.slices;
  done_.assign(3, std::vector<double>(static_cast<std::size_t>(shape.stages * each), missing));
  times_.units.resize(orders.size());
  times_.computing.resize(orders.size());
  // Stages are tried from the first on; afterwards only those whose input has come are tried again.
  for (auto s = static_cast<std::uint32_t>(orders.size()); s > 0; --s) awake_.push_back({s - 1});
  while (!awake_.empty()) {
    const Stage stage = awake_.back();
    awake_.pop_back();
    advance(stage);
  }
}

OrderRun::Product OrderRun::product_of(UnitKind kind) {
  switch (kind) {
    case UnitKind::forward:
      return Product::output;
    // A whole backward sends on its input gradient; the weight's stays on the stage.
    case UnitKind::backward:
    case UnitKind::backward_input:
      return Product::input_gradient;
    case UnitKind::backward_weight:
      break;
  }
  return Product::weight_gradient;
}

double OrderRun::done(Product product, const Unit& unit, Stage stage) const {
  // Each product has a cell per stage, chunk, micro-batch and slice.
  const std::int64_t row = stage.value * shape_.chunks + unit.chunk.value;
  const std::int64_t cell =
      (row * shape_.micro_batches + unit.micro_batch.value) * shape_.slices + unit.slice.value;
  return done_[static_cast<std::size_t>(product)][static_cast<std::size_t>(cell)];
}

double& OrderRun::done(Product product, const Unit& unit, Stage stage) {
  const std::int64_t row = stage.value * shape_.chunks + unit.chunk.value;
  const std::int64_t cell =
      (row * shape_.micro_batches + unit.micro_batch.value) * shape_.slices + unit.slice.value;
  return done_[static_cast<std::size_t>(product)][static_cast<std::size_t>(cell)];
}

void OrderRun::Needs::add(Product product, Unit unit, Seat seat) {
  unit.chunk = seat.chunk;
  list[count++] = {product, unit, seat.stage};
}

OrderRun::Needs OrderRun::needs_of(const Unit& unit, Stage stage) const {
  const Seat here{unit.chunk, stage};
  Needs needs;
  switch (unit.kind) {
    // Keys and values of the slice before, made on the same stage.
    case UnitKind::forward: {
      if (const auto before = seat_before(shape_, here)) needs.add(Product::output, unit, *before);
      Unit earlier = unit;
      if (earlier.slice.value-- > 0) needs.add(Product::output, earlier, here);
      break;
    }
    case UnitKind::backward:
    case UnitKind::backward_input: {
      // A backward reads its own activations, the gradient
      // from the seat after, and gradients of keys and
      // values from the slice behind.
      needs.add(Product::output, unit, here);
      if (const auto after = seat_after(shape_, here))
        needs.add(Product::input_gradient, unit, *after);
      Unit later = unit;
      if (++later.slice.value < shape_.slices) needs.add(Product::input_gradient, later, here);
      break;
    }
    case UnitKind::backward_weight:
      needs.add(Product::input_gradient, unit, here);
  }
  return needs;
}

std::size_t OrderRun::together(Stage stage) const {
  return orders_[stage.value][place_[stage.value]].with_next ? 2 : 1;
}

std::optional<OrderRun::Need> OrderRun::first_missing(Stage stage) const {
  const std::size_t first = place_[stage.value];
  // Halves of a pair start together, so that both need all of their inputs.
  for (std::size_t i = first; i < first + together(stage); ++i) {
    const Needs needs = needs_of(orders_[stage.value][i], stage);
    for (std::size_t n = 0; n < needs.count; ++n) {
      const Need& need = needs.list[n];
      if (done(need.product, need.unit, need.stage) == missing) return need;
    }
  }
  return {};
}

double OrderRun::arrival(const Need& need, Stage stage) const {
  const double end = done(need.product, need.unit, need.stage);
  // Within a stage nothing is sent.
  return need.stage == stage ? end : end + costs_.latency.value();
}

double OrderRun::cost_of(const Unit& unit, Stage stage) const {
  const auto kind = [&] {
    // The first half carries the cost of both.
    if (unit.with_next) return costs_.whole_pair();
    switch (unit.kind) {
      case UnitKind::forward:
        return costs_.forward;
      case UnitKind::backward:
        return costs_.whole_backward();
      case UnitKind::backward_input:
        return costs_.backward_input;
      case UnitKind::backward_weight:
        break;
    }
    return costs_.backward_weight;
  };
  if (costs_.of_part.empty()) return kind().value();
  const std::int64_t part = virtual_stage(shape_, unit.chunk, stage);
  return kind().value() * costs_.of_part[static_cast<std::size_t>(part)];
}

void OrderRun::advance(Stage stage) {
  // A stage never skips a unit: the order is total.
  while (place_[stage.value] < orders_[stage.value].size() && !first_missing(stage))
    run_next(stage);
}

void OrderRun::run_next(Stage stage) {
  const StageOrder& order = orders_[stage.value];
  const std::size_t first = place_[stage.value], count = together(stage);
  double start = free_[stage.value];
  for (std::size_t i = first; i < first + count; ++i) {
    const Needs needs = needs_of(order[i], stage);
    for (std::size_t n = 0; n < needs.count; ++n)
      start = std::max(start, arrival(needs.list[n], stage));
  }
  const double cost = cost_of(order[first], stage), end = start + cost;
  // Both halves of a pair end, and send, at the end of the pair.
  for (std::size_t i = first; i < first + count; ++i) {
    done(product_of(order[i].kind), order[i], stage) = end;
    times_.units[stage.value].push_back({Seconds{start}, Seconds{end}});
    wake_neighbours(order[i], stage);
  }
  free_[stage.value] = end;
  times_.computing[stage.value] += Seconds{cost};
  times_.makespan = std::max(times_.makespan, Seconds{end});
  place_[stage.value] += count;
}

void OrderRun::wake_neighbours(const Unit& unit, Stage stage) {
  // Weight gradients and units at the ends of the model have no reader on another stage.
  std::optional<Seat> reader;
  const Seat here{unit.chunk, stage};
  if (unit.kind == UnitKind::forward) reader = seat_after(shape_, here);
  if (product_of(unit.kind) == Product::input_gradient) reader = seat_before(shape_, here);
  if (reader && reader->stage != stage) awake_.push_back(reader->stage);
}

bool OrderRun::finished() const {
  for (std::size_t s = 0; s < orders_.size(); ++s)
    if (place_[s] < orders_[s].size()) return false;
  return true;
}

std::string OrderRun::text(const Need& need) const {
  // Any kind that makes the product will do: an input gradient comes from B or from b.
  Unit unit = need.unit;
  const auto made_here = [&](const Unit& u) {
    Unit same = u;
    same.kind = unit.kind, same.with_next = unit.with_next;
    return same == unit && product_of(u.kind) == need.product;
  };
  const StageOrder& order = orders_[need.stage.value];
  return to_string(*std::ranges::find_if(order, made_here), shape_);
}

std::string OrderRun::circle() const {
  const auto next = [&](Stage stage) { return first_missing(stage)->stage; };
  Stage stage{0};
  // Begin at a stage that still waits; each waiting stage points at the one it needs.
  while (place_[stage.value] == orders_[stage.value].size()) ++stage.value;
  for (std::size_t i = 0; i < orders_.size(); ++i) stage = next(stage);
  // After as many steps as there are stages, the walk is in the circle; it is told from its first.
  Stage first = stage;
  for (Stage s = next(stage); s != stage; s = next(s)) first = std::min(first, s);
  std::string found = "the stages wait for each other: ";
  stage = first;
  do {
    const Need need = *first_missing(stage);
    if (stage != first) found += ", ";
    found += "stage " + std::to_string(stage.value) + " at " +
             to_string(orders_[stage.value][place_[stage.value]], shape_) + " needs " + text(need) +
             " of stage " + std::to_string(need.stage.value);
    stage = need.stage;
  } while (stage != first);
  return found;
}

OrderTimes OrderRun::times() && {
  for (const StageOrder& order : orders_) times_.peak_in_flight.push_back(peak_in_flight(order));
  return std::move(times_);
}

}  // namespace stepcast
