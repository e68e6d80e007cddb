#include <algorithm>

#include "orders.hpp"

namespace stepcast {

StageOrder one_f_one_b_order(const PipelineShape& shape, Stage stage) {
  const auto count = static_cast<std::uint32_t>(shape.micro_batches);
  const auto stages = static_cast<std::uint32_t>(shape.stages);
  const std::uint32_t warm_up = std::min(count, stages - 1 - stage.value);
  StageOrder order;
  order.reserve(2 * count);
  for (std::uint32_t i = 0; i < warm_up; ++i) order.push_back({UnitKind::forward, {i}, {0}});
  for (std::uint32_t i = warm_up; i < count; ++i) {
    order.push_back({UnitKind::forward, {i}, {0}});
    order.push_back({UnitKind::backward, {i - warm_up}, {0}});
  }
  for (std::uint32_t i = count - warm_up; i < count; ++i) {
    order.push_back({UnitKind::backward, {i}, {0}});
  }
  return order;
}

std::string plain_rule(const PipelineShape& shape) {
  if (shape.chunks == 1) return {};
  return "runs one chunk per stage but vpp is " + std::to_string(shape.chunks) +
         ", allowed: vpp 1 or an interleaved schedule";
}

}  // namespace stepcast
