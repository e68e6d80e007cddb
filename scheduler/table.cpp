#include <algorithm>

#include "orders.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {

const std::vector<PipelineSchedule>& pipeline_schedules() {
  using enum ChunkPlacement;
  constexpr CountRange one{1, 1}, two{2, 2}, several{2, any_count}, any{1, any_count};
  constexpr bool whole = false, split = true, alone = false, paired = true;
  static const std::vector<PipelineSchedule> table{
      {"gpipe", gpipe_order, plain_rule, loop, one, one, whole, alone, true},
      {"1f1b", one_f_one_b_order, plain_rule, loop, one, one, whole, alone, true},
      {"interleaved_1f1b", interleaved_order, interleaved_rule, loop, several, one, whole, alone,
       true},
      {"terapipe", terapipe_order, terapipe_rule, loop, one, any, whole, alone},
      {"seqpipe", seqpipe_order, seqpipe_rule, loop, any, any, whole, alone},
      {"seqvpp", seqvpp_order, seqvpp_rule, loop, several, any, whole, alone},
      {"seqsmartvpp", seqsmartvpp_order, seqsmartvpp_rule, loop, several, any, whole, alone},
      {"zb_h1", zb_h1_order, plain_rule, loop, one, one, split, alone},
      {"zb_h2", zb_h2_order, plain_rule, loop, one, one, split, alone},
      {"zb_v", zb_v_order, v_rule, v_shape, two, one, split, alone},
      {"v_half", v_half_order, v_planned_rule, v_shape, two, one, split, alone},
      {"v_min", v_min_order, v_planned_rule, v_shape, two, one, split, alone},
      {"dualpipe", dualpipe_order, dualpipe_rule, bidirectional, two, one, split, paired},
      {"dualpipe_v", dualpipe_v_order, v_rule, v_shape, two, one, split, paired},
  };
  return table;
}

const PipelineSchedule& pipeline_schedule(std::string_view name) {
  const auto& table = pipeline_schedules();
  const auto found = std::ranges::find(table, name, &PipelineSchedule::name);
  expects(found != table.end(), "a schedule of the table");
  return *found;
}

std::vector<StageOrder> stage_orders(const PipelineSchedule& schedule, const PipelineShape& shape) {
  std::vector<StageOrder> orders;
  for (std::uint32_t s = 0; s < shape.stages; ++s) orders.push_back(schedule.order(shape, {s}));
  return orders;
}

}  // namespace stepcast
