#include "orders.hpp"
#include "units.hpp"

namespace stepcast {

StageOrder gpipe_order(const PipelineShape& shape, Stage) {
  StageOrder order;
  for (const UnitKind kind : {UnitKind::forward, UnitKind::backward})
    for (std::int64_t i = 0; i < shape.micro_batches; ++i) order.push_back(unit_of(kind, i));
  return order;
}

StageOrder terapipe_order(const PipelineShape& shape, Stage) {
  StageOrder order;
  // A slice reads keys and values of those before it; the backward of them all begins at the last.
  for (std::int64_t i = 0; i < shape.micro_batches; ++i)
    for (std::int64_t q = 0; q < shape.slices; ++q)
      order.push_back(unit_of(UnitKind::forward, i, 0, q));
  for (std::int64_t i = 0; i < shape.micro_batches; ++i)
    for (std::int64_t q = shape.slices - 1; q >= 0; --q)
      order.push_back(unit_of(UnitKind::backward, i, 0, q));
  return order;
}

std::string terapipe_rule(const PipelineShape& shape) {
  return first_wrong(shape, {one_chunk, standard_warm_up});
}

}  // namespace stepcast
