#include <algorithm>

#include "orders.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {

const std::vector<PipelineSchedule>& pipeline_schedules() {
  static const std::vector<PipelineSchedule> table{
      {"gpipe", gpipe_order, plain_rule},
      {"1f1b", one_f_one_b_order, plain_rule},
      {"interleaved_1f1b", interleaved_order, interleaved_rule},
  };
  return table;
}

const PipelineSchedule& pipeline_schedule(std::string_view name) {
  const auto& table = pipeline_schedules();
  const auto found = std::ranges::find(table, name, &PipelineSchedule::name);
  expects(found != table.end(), "a schedule of the table");
  return *found;
}

}  // namespace stepcast
