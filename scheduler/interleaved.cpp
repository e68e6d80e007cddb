#include <algorithm>

#include "orders.hpp"
#include "units.hpp"

namespace stepcast {
namespace {

struct Visit {
  std::int64_t micro_batch, chunk;
};

/// Virtual micro-batches in forward order: groups of micro-batches, each group through all chunks.
std::vector<Visit> forward_visits(const PipelineShape& shape) {
  std::vector<Visit> visits;
  visits.reserve(static_cast<std::size_t>(shape.micro_batches * shape.chunks));
  for (std::int64_t low = 0; low < shape.micro_batches; low += shape.group) {
    const std::int64_t high = std::min(low + shape.group, shape.micro_batches);
    for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (std::int64_t i = low; i < high; ++i) visits.push_back({i, chunk});
  }
  return visits;
}

std::int64_t warm_up_of(const PipelineShape& shape, Stage stage) {
  // The farther from the last stage, the more forwards run before the first backward comes back.
  const std::int64_t below = shape.stages - 1 - stage.value;
  // A chunk is left only when its group is through.
  const std::int64_t first_chunks = (shape.chunks - 1) * shape.group;
  // Without the second round trip a stage holds less and sees every transfer's latency.
  if (shape.warm_up.kind == WarmUp::Kind::less_memory) return below + first_chunks;
  return 2 * below + first_chunks + shape.warm_up.extra;
}

std::string warm_up_rule(const PipelineShape& shape) {
  if (shape.warm_up.kind != WarmUp::Kind::less_memory || shape.group == shape.stages) return {};
  return "has warmup less_memory and group " + std::to_string(shape.group) +
         ", allowed: group pp (" + std::to_string(shape.stages) + ")";
}

std::string group_rule(const PipelineShape& shape) {
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  if (shape.stages < 2) {
    return "needs at least 2 stages, pp is " + text(shape.stages) +
           ", allowed: pp >= 2, or 1f1b with vpp 1";
  }
  if (shape.micro_batches < shape.stages) {
    return "needs at least as many micro-batches as stages, got " + text(shape.micro_batches) +
           " micro-batches on " + text(shape.stages) +
           " stages, allowed: a larger global batch, smaller micro-batches, or fewer stages or "
           "replicas";
  }
  if (shape.group < shape.stages || shape.group > shape.micro_batches) {
    return "has group " + text(shape.group) + ", allowed: pp (" + text(shape.stages) +
           ") to the number of micro-batches (" + text(shape.micro_batches) + ")";
  }
  // A last group smaller than pp would leave stages waiting for a micro-batch that does not exist.
  const std::int64_t rest = shape.micro_batches % shape.group;
  if (rest == 0 || rest >= shape.stages) return {};
  return "leaves a last group of " + text(rest) + " micro-batches (" + text(shape.micro_batches) +
         " micro-batches in groups of " + text(shape.group) + "), allowed: none or at least pp (" +
         text(shape.stages) + "), so a global batch of " + text(shape.micro_batches - rest) +
         " or " + text(shape.micro_batches - rest + shape.group) + " micro-batches for a replica";
}

}  // namespace

StageOrder interleaved_order(const PipelineShape& shape, Stage stage) {
  const std::vector<Visit> visits = forward_visits(shape);
  const auto total = static_cast<std::int64_t>(visits.size());
  const std::int64_t warm_up = std::min(total, warm_up_of(shape, stage));

  StageOrder order;
  const auto forward = [&](std::int64_t k) {
    const Visit v = visits[static_cast<std::size_t>(k)];
    order.push_back(unit_of(UnitKind::forward, v.micro_batch, v.chunk));
  };
  // Backwards visit the same groups in the same order, from the last chunk down.
  const auto backward = [&](std::int64_t k) {
    const Visit v = visits[static_cast<std::size_t>(k)];
    order.push_back(unit_of(UnitKind::backward, v.micro_batch, shape.chunks - 1 - v.chunk));
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
  return first_wrong(shape, {several_chunks, group_rule, one_slice, warm_up_rule});
}

}  // namespace stepcast
