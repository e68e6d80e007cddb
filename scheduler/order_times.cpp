#include "stepcast/scheduler/order_times.hpp"

#include "order_run.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

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
