#include <algorithm>

#include "orders.hpp"

namespace stepcast {
namespace {

struct Visit {
  std::uint32_t micro_batch, chunk;
};

/// Virtual micro-batches in forward order: groups of micro-batches, each group through all chunks.
std::vector<Visit> forward_visits(const PipelineShape& shape) {
  std::vector<Visit> visits;
  visits.reserve(static_cast<std::size_t>(shape.micro_batches * shape.chunks));
  for (std::int64_t low = 0; low < shape.micro_batches; low += shape.group) {
    const std::int64_t high = std::min(low + shape.group, shape.micro_batches);
    for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      for (std::int64_t i = low; i < high; ++i) {
        visits.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(chunk)});
      }
    }
  }
  return visits;
}

}  // namespace

StageOrder interleaved_order(const PipelineShape& shape, Stage stage) {
  const std::vector<Visit> visits = forward_visits(shape);
  const auto last_chunk = static_cast<std::uint32_t>(shape.chunks - 1);
  const auto total = static_cast<std::int64_t>(visits.size());
  const std::int64_t warm_up =
      std::min(total, 2 * (shape.stages - 1 - stage.value) + (shape.chunks - 1) * shape.group);

  StageOrder order;
  order.reserve(2 * visits.size());
  const auto forward = [&](std::int64_t k) {
    const Visit v = visits[static_cast<std::size_t>(k)];
    order.push_back({UnitKind::forward, {v.micro_batch}, {v.chunk}});
  };
  const auto backward = [&](std::int64_t k) {
    const Visit v = visits[static_cast<std::size_t>(k)];
    order.push_back({UnitKind::backward, {v.micro_batch}, {last_chunk - v.chunk}});
  };
  for (std::int64_t k = 0; k < warm_up; ++k) forward(k);
  for (std::int64_t k = 0; k + warm_up < total; ++k) {
    forward(k + warm_up);
    backward(k);
  }
  for (std::int64_t k = total - warm_up; k < total; ++k) backward(k);
  return order;
}

std::string interleaved_rule(const PipelineShape& shape) {
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  if (shape.chunks < 2) {
    return "needs at least 2 chunks per stage, vpp is " + text(shape.chunks) +
           ", allowed: vpp >= 2";
  }
  if (shape.stages < 2) {
    return "needs at least 2 stages, pp is " + text(shape.stages) + ", allowed: pp >= 2";
  }
  if (shape.micro_batches < shape.stages) {
    return "needs at least as many micro-batches as stages, got " + text(shape.micro_batches) +
           " micro-batches on " + text(shape.stages) + " stages";
  }
  if (shape.group < shape.stages || shape.group > shape.micro_batches) {
    return "has group " + text(shape.group) + ", allowed: pp (" + text(shape.stages) +
           ") to the number of micro-batches (" + text(shape.micro_batches) + ")";
  }
  const std::int64_t rest = shape.micro_batches % shape.group;
  if (rest != 0 && rest < shape.stages) {
    return "leaves a last group of " + text(rest) + " micro-batches (" + text(shape.micro_batches) +
           " micro-batches in groups of " + text(shape.group) +
           "), allowed: none or at least pp (" + text(shape.stages) + ")";
  }
  return {};
}

}  // namespace stepcast
