#include <algorithm>
#include <deque>

#include "orders.hpp"
#include "units.hpp"

namespace stepcast {
namespace {

/// Sizes of the groups of micro-batches that visit chunk after chunk: as many cycles of `base` as
/// fit, the rest spread one by one over the first ones.
std::vector<std::int64_t> cycles(std::int64_t micro_batches, std::int64_t base) {
  // Fewer micro-batches than a cycle are one cycle.
  if (micro_batches < base) return {micro_batches};
  const std::int64_t count = micro_batches / base;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(count), base);
  for (std::int64_t i = 0; i < micro_batches % base; ++i)
    ++sizes[static_cast<std::size_t>(i % count)];
  return sizes;
}

StageOrder forward_units(const PipelineShape& shape, const std::vector<std::int64_t>& sizes) {
  StageOrder units;
  // A cycle passes chunk after chunk, and in each all of its micro-batches, slices ascending.
  std::int64_t first = 0;
  for (const std::int64_t size : sizes) {
    for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (std::int64_t i = first; i < first + size; ++i)
        for (std::int64_t q = 0; q < shape.slices; ++q)
          units.push_back(unit_of(UnitKind::forward, i, chunk, q));
    first += size;
  }
  return units;
}

/// Backwards in the order of the micro-batches' forwards; within a micro-batch the last forward
/// goes back first.
class Backwards {
 public:
  explicit Backwards(std::int64_t micro_batches) : open_(static_cast<std::size_t>(micro_batches)) {}
  void forwarded(const Unit& unit) {
    turns_.push_back(unit.micro_batch);
    open_[unit.micro_batch.value].push_back(unit);
  }
  bool empty() const { return turns_.empty(); }
  Unit next() {
    StageOrder& open = open_[turns_.front().value];
    turns_.pop_front();
    // Last in, first out within a micro-batch: its last slice of its last chunk holds the loss.
    Unit unit = open.back();
    open.pop_back();
    unit.kind = UnitKind::backward;
    return unit;
  }

 private:
  std::deque<MicroBatch> turns_;
  std::vector<StageOrder> open_;  ///< forwards without backward, by micro-batch
};

/// `bias`: forwards that a stage is further ahead than the stage after it.
StageOrder sliced_order(const PipelineShape& shape, Stage stage, std::int64_t base,
                        std::int64_t bias) {
  const std::vector<std::int64_t> sizes = cycles(shape.micro_batches, base);
  const StageOrder forwards = forward_units(shape, sizes);
  const auto total = static_cast<std::int64_t>(forwards.size());
  // docs/models/pipeline.md: (p-1-r) bias + (v-1) C s + s - 1 forwards before they alternate.
  const std::int64_t ahead = (shape.stages - 1 - stage.value) * bias +
                             (shape.chunks - 1) * sizes.front() * shape.slices + shape.slices - 1;
  // At least one forward must be left to alternate with.
  const std::int64_t warm_up = std::min(total - 1, ahead);
  StageOrder order;
  Backwards backwards(shape.micro_batches);
  for (std::int64_t k = 0; k < total; ++k) {
    order.push_back(forwards[static_cast<std::size_t>(k)]);
    backwards.forwarded(order.back());
    if (k >= warm_up) order.push_back(backwards.next());
  }
  while (!backwards.empty()) order.push_back(backwards.next());
  return order;
}

/// MindSpore: cycles of pp div slices micro-batches must exist and fill the pipeline once.
std::string cycle_rule(const PipelineShape& shape) {
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  if (shape.slices > shape.stages) {
    return "has more slices (" + text(shape.slices) + ") than stages, allowed: slices 1 to pp (" +
           text(shape.stages) + ")";
  }
  if (shape.micro_batches * shape.slices >= shape.stages) return {};
  return "needs at least as many slices in all as stages, got " + text(shape.micro_batches) +
         " micro-batches of " + text(shape.slices) + " slices on " + text(shape.stages) + " stages";
}

std::string several_slices(const PipelineShape& shape) {
  if (shape.slices >= 2) return {};
  return "needs at least 2 slices, slices is " + std::to_string(shape.slices) +
         ", allowed: slices >= 2, or interleaved_1f1b";
}

/// A stage is two forwards ahead of the next one, so a backward may be due on the first stage
/// before a cycle of less than p - 1 slices comes round to the chunk that makes it: stages would
/// wait for each other (found by order_faults() on all shapes of up to 13 stages).
std::string length_rule(const PipelineShape& shape) {
  const std::vector<std::int64_t> sizes = cycles(shape.micro_batches, shape.stages / shape.slices);
  const std::int64_t shortest = *std::ranges::min_element(sizes) * shape.slices;
  if (shortest >= shape.stages - 1) return {};
  return "has cycles of " + std::to_string(shortest) + " slices on " +
         std::to_string(shape.stages) +
         " stages, in which stages would wait for each other, allowed: slices that divide pp, or "
         "seqpipe";
}

}  // namespace

StageOrder seqpipe_order(const PipelineShape& shape, Stage stage) {
  // With one chunk a gradient comes back after one hop per stage, so that one ahead is enough.
  return sliced_order(shape, stage, shape.stages, shape.chunks == 1 ? 1 : 2);
}

StageOrder seqvpp_order(const PipelineShape& shape, Stage stage) {
  return sliced_order(shape, stage, shape.stages / shape.slices, 2);
}

StageOrder seqsmartvpp_order(const PipelineShape& shape, Stage stage) {
  return sliced_order(shape, stage, shape.stages / shape.slices, 1);
}

std::string seqpipe_rule(const PipelineShape& shape) { return standard_warm_up(shape); }

std::string seqvpp_rule(const PipelineShape& shape) {
  return first_wrong(shape,
                     {several_chunks, several_slices, cycle_rule, length_rule, standard_warm_up});
}

std::string seqsmartvpp_rule(const PipelineShape& shape) {
  if (shape.stages % 2 != 0) {
    return "needs an even number of stages, pp is " + std::to_string(shape.stages) +
           ", allowed: pp 2, 4, 6, ...";
  }
  return first_wrong(shape, {cycle_rule, standard_warm_up});
}

}  // namespace stepcast
