#include <algorithm>

#include "orders.hpp"
#include "units.hpp"

namespace stepcast {

StageOrder one_f_one_b_order(const PipelineShape& shape, Stage stage) {
  const std::int64_t count = shape.micro_batches;
  // The first backward reaches a stage after as many forwards as stages lie behind it.
  const std::int64_t warm_up = std::min(count, shape.stages - 1 - stage.value);
  StageOrder order;
  for (std::int64_t i = 0; i < warm_up; ++i) order.push_back(unit_of(UnitKind::forward, i));
  for (std::int64_t i = warm_up; i < count; ++i) {
    order.push_back(unit_of(UnitKind::forward, i));
    order.push_back(unit_of(UnitKind::backward, i - warm_up));
  }
  for (std::int64_t i = count - warm_up; i < count; ++i)
    order.push_back(unit_of(UnitKind::backward, i));
  return order;
}

std::string plain_rule(const PipelineShape& shape) {
  return first_wrong(shape, {one_chunk, one_slice, standard_warm_up});
}

}  // namespace stepcast
