#include "stepcast/scheduler/order_times.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

/// Runs orders of which each unit is there once, as far as they go.
class OrderRun {
 public:
  OrderRun(const std::vector<StageOrder>& orders, const PipelineShape& shape, UnitCosts costs)
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
    // Stages are tried from the first on; afterwards only those whose input has come are tried
    // again.
    for (auto s = static_cast<std::uint32_t>(orders.size()); s > 0; --s) awake_.push_back({s - 1});
    while (!awake_.empty()) {
      const Stage stage = awake_.back();
      awake_.pop_back();
      advance(stage);
    }
  }

  bool finished() const {
    for (std::size_t s = 0; s < orders_.size(); ++s)
      if (place_[s] < orders_[s].size()) return false;
    return true;
  }

  /// The stages that wait for each other in a circle. Only when not finished.
  std::string circle() const {
    const auto next = [&](Stage stage) { return first_missing(stage)->stage; };
    Stage stage{0};
    // Begin at a stage that still waits; each waiting stage points at the one it needs.
    while (place_[stage.value] == orders_[stage.value].size()) ++stage.value;
    for (std::size_t i = 0; i < orders_.size(); ++i) stage = next(stage);
    // After as many steps as there are stages, the walk is in the circle; it is told from its
    // first.
    Stage first = stage;
    for (Stage s = next(stage); s != stage; s = next(s)) first = std::min(first, s);
    std::string found = "the stages wait for each other: ";
    stage = first;
    do {
      const Need need = *first_missing(stage);
      if (stage != first) found += ", ";
      found += "stage " + std::to_string(stage.value) + " at " +
               to_string(orders_[stage.value][place_[stage.value]], shape_) + " needs " +
               text(need) + " of stage " + std::to_string(need.stage.value);
      stage = need.stage;
    } while (stage != first);
    return found;
  }

  OrderTimes times() && {
    for (const StageOrder& order : orders_) times_.peak_in_flight.push_back(peak_in_flight(order));
    return std::move(times_);
  }

 private:
  /// What a unit leaves behind: its output, the gradient of its input, or that of its weights.
  enum class Product : std::uint8_t { output, input_gradient, weight_gradient };
  static constexpr double missing = -1;
  struct Need {
    Product product;
    Unit unit;  ///< its kind is not looked at
    Stage stage;
  };
  struct Needs {
    std::array<Need, 3> list;
    std::size_t count = 0;
    void add(Product product, Unit unit, Seat seat) {
      unit.chunk = seat.chunk;
      list[count++] = {product, unit, seat.stage};
    }
  };

  static Product product_of(UnitKind kind) {
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

  double& done(Product product, const Unit& unit, Stage stage) {
    const std::int64_t row = stage.value * shape_.chunks + unit.chunk.value;
    const std::int64_t cell =
        (row * shape_.micro_batches + unit.micro_batch.value) * shape_.slices + unit.slice.value;
    return done_[static_cast<std::size_t>(product)][static_cast<std::size_t>(cell)];
  }

  double done(Product product, const Unit& unit, Stage stage) const {
    // Each product has a cell per stage, chunk, micro-batch and slice.
    const std::int64_t row = stage.value * shape_.chunks + unit.chunk.value;
    const std::int64_t cell =
        (row * shape_.micro_batches + unit.micro_batch.value) * shape_.slices + unit.slice.value;
    return done_[static_cast<std::size_t>(product)][static_cast<std::size_t>(cell)];
  }

  Needs needs_of(const Unit& unit, Stage stage) const {
    const Seat here{unit.chunk, stage};
    Needs needs;
    switch (unit.kind) {
      // Keys and values of the slice before, made on the same stage.
      case UnitKind::forward: {
        if (const auto before = seat_before(shape_, here))
          needs.add(Product::output, unit, *before);
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

  /// Units that start together at this stage's place: two for a pair.
  std::size_t together(Stage stage) const {
    return orders_[stage.value][place_[stage.value]].with_next ? 2 : 1;
  }

  std::optional<Need> first_missing(Stage stage) const {
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

  double arrival(const Need& need, Stage stage) const {
    const double end = done(need.product, need.unit, need.stage);
    // Within a stage nothing is sent.
    return need.stage == stage ? end : end + costs_.latency.value();
  }

  void advance(Stage stage) {
    // A stage never skips a unit: the order is total.
    while (place_[stage.value] < orders_[stage.value].size() && !first_missing(stage))
      run_next(stage);
  }

  void run_next(Stage stage) {
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

  void wake_neighbours(const Unit& unit, Stage stage) {
    // Weight gradients and units at the ends of the model have no reader on another stage.
    std::optional<Seat> reader;
    const Seat here{unit.chunk, stage};
    if (unit.kind == UnitKind::forward) reader = seat_after(shape_, here);
    if (product_of(unit.kind) == Product::input_gradient) reader = seat_before(shape_, here);
    if (reader && reader->stage != stage) awake_.push_back(reader->stage);
  }

  double cost_of(const Unit& unit, Stage stage) const {
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

  std::string text(const Need& need) const {
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

  const std::vector<StageOrder>& orders_;
  PipelineShape shape_;
  UnitCosts costs_;
  std::vector<std::vector<double>> done_;  ///< [product][stage, chunk, micro-batch, slice]
  std::vector<std::size_t> place_;         ///< next unit, by stage
  std::vector<double> free_;               ///< end of the last unit, by stage
  std::vector<Stage> awake_;
  OrderTimes times_;
};

/// Counts what one stage's order holds of each unit of the shape.
class UnitCensus {
 public:
  UnitCensus(const PipelineShape& shape, Stage stage)
      : shape_{shape}, stage_{stage}, per_chunk_{micro_batches_per_chunk(shape)} {
    // With two directions each chunk sees only half of the micro-batches.
    const std::int64_t units = shape.chunks * per_chunk_ * shape.slices;
    counts_.assign(static_cast<std::size_t>(units) * kinds, 0);
  }
  std::vector<std::string> faults(const StageOrder& order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (!count(order[i])) continue;
      if (!order[i].with_next) continue;
      // A pair is a forward directly before a whole backward that begins no pair itself.
      const bool pair = i + 1 < order.size() && order[i].kind == UnitKind::forward &&
                        order[i + 1].kind == UnitKind::backward && !order[i + 1].with_next;
      if (!pair) add(order[i], "is half of a pair, allowed: a forward and then a backward");
    }
    for (std::size_t unit = 0; unit < counts_.size(); unit += kinds) check(unit);
    return std::move(faults_);
  }

 private:
  static constexpr std::size_t kinds = 4;

  bool count(const Unit& unit) {
    if (unit.chunk.value >= shape_.chunks || unit.micro_batch.value >= per_chunk_ ||
        unit.slice.value >= shape_.slices) {
      add(unit, "is not of this pipeline of " + std::to_string(per_chunk_) + " micro-batches, " +
                    std::to_string(shape_.chunks) + " chunks and " + std::to_string(shape_.slices) +
                    " slices");
      return false;
    }
    const std::int64_t row = unit.chunk.value * per_chunk_ + unit.micro_batch.value;
    const auto at = static_cast<std::size_t>(row * shape_.slices + unit.slice.value);
    // Told once per unit, at its second time.
    if (++counts_[at * kinds + static_cast<std::size_t>(unit.kind)] == 2)
      add(unit, "is there more than once");
    return true;
  }
  void check(std::size_t at) {
    const auto has = [&](UnitKind kind) {
      return counts_[at + static_cast<std::size_t>(kind)] > 0;
    };
    // A backward is whole, or both of its parts are there.
    const bool whole = has(UnitKind::backward), input = has(UnitKind::backward_input),
               weight = has(UnitKind::backward_weight);
    if (!has(UnitKind::forward)) add(unit_at(at, UnitKind::forward), "is missing");
    if (whole && (input || weight))
      add(unit_at(at, UnitKind::backward), "is there as a whole and in parts");
    if (whole) return;
    if (!input && !weight) return add(unit_at(at, UnitKind::backward), "is missing");
    if (!input) add(unit_at(at, UnitKind::backward_input), "is missing");
    if (!weight) add(unit_at(at, UnitKind::backward_weight), "is missing");
  }
  Unit unit_at(std::size_t at, UnitKind kind) const {
    // The inverse of the index in count().
    const auto unit = static_cast<std::int64_t>(at / kinds);
    const std::int64_t row = unit / shape_.slices;
    return {kind,
            {static_cast<std::uint32_t>(row % per_chunk_)},
            {static_cast<std::uint32_t>(row / per_chunk_)},
            {static_cast<std::uint32_t>(unit % shape_.slices)}};
  }
  void add(const Unit& unit, const std::string& what) {
    faults_.push_back("stage " + std::to_string(stage_.value) + ": " + to_string(unit, shape_) +
                      " " + what);
  }

  const PipelineShape& shape_;
  Stage stage_;
  std::int64_t per_chunk_;
  std::vector<std::uint32_t> counts_;  ///< [chunk, micro-batch, slice, kind]
  std::vector<std::string> faults_;
};

std::vector<std::string> missing_units(const std::vector<StageOrder>& orders,
                                       const PipelineShape& shape) {
  if (static_cast<std::int64_t>(orders.size()) != shape.stages) {
    return {"there are orders for " + std::to_string(orders.size()) +
            " stages, allowed: " + std::to_string(shape.stages)};
  }
  std::vector<std::string> all;
  for (std::uint32_t s = 0; s < orders.size(); ++s) {
    const std::vector<std::string> faults = UnitCensus(shape, Stage{s}).faults(orders[s]);
    all.insert(all.end(), faults.begin(), faults.end());
  }
  return all;
}

}  // namespace

std::vector<std::string> order_faults(const std::vector<StageOrder>& orders,
                                      const PipelineShape& shape) {
  // A run needs all units: circles are looked for only when none is missing.
  std::vector<std::string> faults = missing_units(orders, shape);
  if (!faults.empty()) return faults;
  // Costs do not matter to a circle: any do.
  const OrderRun run(orders, shape, {});
  if (!run.finished()) faults.push_back(run.circle());
  return faults;
}

OrderTimes time_orders(const std::vector<StageOrder>& orders, const PipelineShape& shape,
                       const UnitCosts& costs) {
  std::vector<Diagnostic> wrong;
  for (std::string& fault : missing_units(orders, shape))
    wrong.push_back({{}, {}, std::move(fault)});
  if (!wrong.empty()) throw InputError(std::move(wrong));
  OrderRun run(orders, shape, costs);
  if (!run.finished()) throw InputError(run.circle());
  return std::move(run).times();
}

Seconds OrderTimes::idle_inside(Stage stage) const {
  const std::vector<UnitTime>& list = units[stage.value];
  if (list.empty()) return Seconds{0};
  // A stage works without pause but for waits, so that the rest between its ends is idle.
  return list.back().end - list.front().start - computing[stage.value];
}

double OrderTimes::bubble_ratio() const {
  if (makespan <= Seconds{0}) return 0;
  Seconds idle_time{0};
  for (std::uint32_t s = 0; s < units.size(); ++s) idle_time += idle(Stage{s});
  return idle_time / (makespan * static_cast<double>(units.size()));
}

}  // namespace stepcast
