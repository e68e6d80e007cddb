#include <algorithm>

#include "orders.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {

const std::vector<PipelineSchedule>& pipeline_schedules() {
  using enum ChunkPlacement;
  constexpr CountRange two{2, 2}, several{2, any_count}, any{1, any_count};
  // `rule` refuses shapes that an order does not have, `turns` says how forwards and backwards
  // follow each other, `pairs` that a forward and a backward run at once.
  static const std::vector<PipelineSchedule> table{
      {.name = "gpipe", .order = gpipe_order, .rule = plain_rule, .turns = Turns::apart},
      {.name = "1f1b", .order = one_f_one_b_order, .rule = plain_rule, .turns = Turns::alternating},
      {.name = "interleaved_1f1b",
       .order = interleaved_order,
       .rule = interleaved_rule,
       .chunks = several,
       .groups = true,
       .turns = Turns::in_groups},
      {.name = "terapipe",
       .order = terapipe_order,
       .rule = terapipe_rule,
       .slices = any,
       .turns = Turns::apart},
      {.name = "seqpipe",
       .order = seqpipe_order,
       .rule = seqpipe_rule,
       .chunks = any,
       .slices = any},
      {.name = "seqvpp",
       .order = seqvpp_order,
       .rule = seqvpp_rule,
       .chunks = several,
       .slices = several},
      {.name = "seqsmartvpp",
       .order = seqsmartvpp_order,
       .rule = seqsmartvpp_rule,
       .chunks = several,
       .slices = any},
      {.name = "zb_h1",
       .order = zb_h1_order,
       .rule = plain_rule,
       .splits_backward = true,
       .puts_off = true},
      {.name = "zb_h2",
       .order = zb_h2_order,
       .rule = plain_rule,
       .splits_backward = true,
       .puts_off = true},
      {.name = "zb_v",
       .order = zb_v_order,
       .rule = v_rule,
       .placement = v_shape,
       .chunks = two,
       .splits_backward = true},
      {.name = "v_half",
       .order = v_half_order,
       .rule = v_planned_rule,
       .placement = v_shape,
       .chunks = two,
       .splits_backward = true,
       .orders = v_half_orders},
      {.name = "v_min",
       .order = v_min_order,
       .rule = v_planned_rule,
       .placement = v_shape,
       .chunks = two,
       .splits_backward = true,
       .orders = v_min_orders},
      {.name = "dualpipe",
       .order = dualpipe_order,
       .rule = dualpipe_rule,
       .placement = bidirectional,
       .chunks = two,
       .splits_backward = true,
       .pairs = true},
      {.name = "dualpipe_v",
       .order = dualpipe_v_order,
       .rule = v_rule,
       .placement = v_shape,
       .chunks = two,
       .splits_backward = true,
       .pairs = true},
  };
  return table;
}

const PipelineSchedule& pipeline_schedule(std::string_view name) {
  // Fifteen rows: looking through them is as fast as any map and keeps the order of the table.
  const auto& table = pipeline_schedules();
  const auto found = std::ranges::find(table, name, &PipelineSchedule::name);
  expects(found != table.end(), "a schedule of the table");
  return *found;
}

std::vector<StageOrder> stage_orders(const PipelineSchedule& schedule, const PipelineShape& shape) {
  // Planned schedules place all stages together; one by one would plan the whole each time.
  if (schedule.orders != nullptr) return schedule.orders(shape);
  std::vector<StageOrder> orders;
  for (std::uint32_t s = 0; s < shape.stages; ++s) orders.push_back(schedule.order(shape, {s}));
  return orders;
}

}  // namespace stepcast
