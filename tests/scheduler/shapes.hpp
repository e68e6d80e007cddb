#pragma once
#include <rapidcheck.h>

#include <algorithm>

#include "stepcast/scheduler/stage_order.hpp"

namespace stepcast::testing {

/// A shape near those that the schedule serves; its rule may still refuse it.
inline PipelineShape near_shape(const PipelineSchedule& schedule) {
  constexpr int any_size = 100;  // else the first shapes are always the smallest
  const auto count = [](std::int64_t low, std::int64_t high) {
    return *rc::gen::resize(any_size, rc::gen::inRange<std::int64_t>(low, high + 1));
  };
  PipelineShape shape;
  shape.placement = schedule.placement;
  shape.stages = count(1, 11);
  shape.chunks = count(schedule.chunks.low, std::min<std::int64_t>(schedule.chunks.high, 4));
  shape.slices = count(schedule.slices.low, std::min<std::int64_t>(schedule.slices.high, 5));
  shape.micro_batches = count(1, 40);
  shape.group = count(shape.stages, shape.stages + 5);
  if (schedule.name != "interleaved_1f1b") return shape;
  shape.warm_up.kind =
      *rc::gen::element(WarmUp::Kind::standard, WarmUp::Kind::extra, WarmUp::Kind::less_memory);
  if (shape.warm_up.kind == WarmUp::Kind::extra) shape.warm_up.extra = count(1, 6);
  if (shape.warm_up.kind == WarmUp::Kind::less_memory) shape.group = shape.stages;
  const std::int64_t rest = count(shape.stages, shape.group);
  shape.micro_batches = shape.group * count(0, 4) + rest;
  shape.group = std::min(shape.group, shape.micro_batches);
  return shape;
}

/// A shape that the schedule's rule allows.
inline PipelineShape any_shape(const PipelineSchedule& schedule) {
  for (;;) {
    const PipelineShape shape = near_shape(schedule);
    if (schedule.rule(shape).empty()) return shape;
  }
}

/// For the failure message of a property.
inline std::string label(const PipelineSchedule& schedule, const PipelineShape& shape) {
  return std::string(schedule.name) + " p" + std::to_string(shape.stages) + " v" +
         std::to_string(shape.chunks) + " m" + std::to_string(shape.micro_batches) + " s" +
         std::to_string(shape.slices) + " N" + std::to_string(shape.group) + " warm-up " +
         std::to_string(static_cast<int>(shape.warm_up.kind)) + "+" +
         std::to_string(shape.warm_up.extra);
}

}  // namespace stepcast::testing
