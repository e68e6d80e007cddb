#include <algorithm>

#include "orders.hpp"
#include "units.hpp"

namespace stepcast {
namespace {

/// `level` 1: as many forwards ahead as 1f1b, 2: twice as many. A stage puts its weight gradients
/// off by `level` backwards per stage before it, unless the shape says how many, so that the next
/// backward_input leaves early.
StageOrder zero_bubble_order(const PipelineShape& shape, Stage stage, std::int64_t level) {
  const std::int64_t count = shape.micro_batches;
  const std::int64_t warm_up = std::min(count, level * (shape.stages - 1 - stage.value));
  const std::int64_t put_off = (shape.put_off > 0 ? shape.put_off : level) * stage.value;
  std::int64_t forwards = 0, inputs = 0, weights = 0;
  StageOrder order;
  const auto forward = [&] { order.push_back(unit_of(UnitKind::forward, forwards++)); };
  const auto input = [&] { order.push_back(unit_of(UnitKind::backward_input, inputs++)); };
  const auto weight = [&] { order.push_back(unit_of(UnitKind::backward_weight, weights++)); };

  // Warm-up, then forward, b and w in turn; w lags by `put_off` so that b leaves early.
  while (forwards < warm_up) forward();
  while (forwards < count) {
    forward();
    input();
    if (inputs > put_off) weight();
  }
  // No forwards are left: b and w in turn keep the lag.
  while (inputs < count) {
    input();
    weight();
  }
  // Nobody waits for what was put off: it fills the time in which 1f1b would be idle.
  while (weights < count) weight();
  return order;
}

}  // namespace

StageOrder zb_h1_order(const PipelineShape& shape, Stage stage) {
  return zero_bubble_order(shape, stage, 1);
}

StageOrder zb_h2_order(const PipelineShape& shape, Stage stage) {
  return zero_bubble_order(shape, stage, 2);
}

}  // namespace stepcast
