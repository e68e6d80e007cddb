#include "orders.hpp"

namespace stepcast {

StageOrder gpipe_order(const PipelineShape& shape, Stage) {
  const auto count = static_cast<std::uint32_t>(shape.micro_batches);
  StageOrder order;
  order.reserve(2 * count);
  for (std::uint32_t i = 0; i < count; ++i) order.push_back({UnitKind::forward, {i}, {0}});
  for (std::uint32_t i = 0; i < count; ++i) order.push_back({UnitKind::backward, {i}, {0}});
  return order;
}

}  // namespace stepcast
