#include "orders.hpp"
#include "units.hpp"

namespace stepcast {
namespace {

// On one stage the backward can only follow its own forward: running one ahead gives it a partner.
StageOrder one_ahead(std::int64_t micro_batches) {
  StageOrder order;
  for (std::int64_t i = 0; i < micro_batches; ++i) {
    order.push_back(unit_of(UnitKind::forward, i));
    if (i == 0) continue;
    order.back().with_next = true;
    order.push_back(unit_of(UnitKind::backward, i - 1));
  }
  order.push_back(unit_of(UnitKind::backward, micro_batches - 1));
  return order;
}

/// A forward and the backward after it, where they take turns: not the last forward of a warm-up
/// behind which only backwards are left.
void pair_turns(StageOrder& order) {
  const auto is = [&](std::size_t i, UnitKind kind) {
    return i < order.size() && order[i].kind == kind;
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    // Both sides of the turn must be there: a backward before, or a forward behind the backward.
    // Of i = 0 the index wraps around and is out of range, which is() answers with no.
    const bool turns = is(i - 1, UnitKind::backward) || is(i + 2, UnitKind::forward);
    order[i].with_next = turns && is(i, UnitKind::forward) && is(i + 1, UnitKind::backward);
  }
}

bool is_single_stage(const PipelineSchedule& schedule, const PipelineShape& shape) {
  return schedule.turns == Turns::alternating && shape.stages == 1;
}

}  // namespace

std::vector<StageOrder> paired_orders(const PipelineSchedule& schedule,
                                      const PipelineShape& shape) {
  if (is_single_stage(schedule, shape)) return {one_ahead(shape.micro_batches)};
  return exchanging_orders(schedule, shape);
}

std::vector<StageOrder> exchanging_orders(const PipelineSchedule& schedule,
                                          const PipelineShape& shape) {
  std::vector<StageOrder> orders = stage_orders(schedule, shape);
  for (StageOrder& order : orders) pair_turns(order);
  return orders;
}

bool exchanges(const PipelineSchedule& schedule, const PipelineShape& shape) {
  // less_memory waits for the forward's output before the backward, so that no two can go together.
  return schedule.turns == Turns::in_groups && shape.warm_up.kind != WarmUp::Kind::less_memory;
}

std::string pairing_rule(const PipelineSchedule& schedule, const PipelineShape& shape) {
  // One forward more in the warm-up makes forward and backward of a turn independent.
  const bool ahead =
      schedule.turns == Turns::in_groups && shape.warm_up.kind == WarmUp::Kind::extra;
  if (schedule.pairs || ahead || is_single_stage(schedule, shape)) return {};
  return "needs a schedule whose forwards and backwards can run as one, allowed: dualpipe, "
         "dualpipe_v, interleaved_1f1b with warmup extra(1), 1f1b with pp 1";
}

}  // namespace stepcast
