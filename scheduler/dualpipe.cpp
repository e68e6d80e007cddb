#include <algorithm>
#include <deque>

#include "orders.hpp"
#include "units.hpp"

namespace stepcast {
namespace {

/// One stage's order of two streams of micro-batches as it grows; `first` is the chunk of the
/// stream that enters the pipeline nearer to this stage.
class DualOrder {
 public:
  explicit DualOrder(int first) : first_(first) {}
  void forward(int stream) { add(UnitKind::forward, stream, forwards_[stream]++); }
  void backward(int stream) { add(UnitKind::backward, stream, backwards_[stream]++); }
  /// A backward for the input alone; its weight gradient waits in a queue.
  void input(int stream) {
    put_off_.push_back(unit_of(UnitKind::backward_weight, backwards_[stream], chunk_of(stream)));
    add(UnitKind::backward_input, stream, backwards_[stream]++);
  }
  // Both take one place in the order and count as one backward of the stream.
  void backward_or_input(int stream, bool split) {
    if (split)
      input(stream);
    else
      backward(stream);
  }
  /// The oldest weight gradient that was put off.
  void weight() {
    order_.push_back(put_off_.front());
    put_off_.pop_front();
  }
  /// A forward of one stream and a backward of the other, as one.
  void pair(int stream) {
    forward(stream);
    order_.back().with_next = true;
    backward(1 - stream);
  }
  /// Phase 8: whatever was put off comes last.
  StageOrder finish() {
    while (!put_off_.empty()) weight();
    return std::move(order_);
  }

 private:
  int chunk_of(int stream) const { return stream == 0 ? first_ : 1 - first_; }
  void add(UnitKind kind, int stream, std::int64_t micro_batch) {
    order_.push_back(unit_of(kind, micro_batch, chunk_of(stream)));
  }
  StageOrder order_;
  int first_;
  std::int64_t forwards_[2] = {0, 0}, backwards_[2] = {0, 0};
  std::deque<Unit> put_off_;
};

/// Where a stage stands: `before` stages nearer to where stream 0 enters, `after` stages up to the
/// turning point of the V or the middle of the two directions.
struct Position {
  std::int64_t before, after;
};

/// Backwards of both streams in turn; the second half puts its weight gradients off.
void drain_both(DualOrder& order, std::int64_t rounds) {
  for (std::int64_t i = 0; i < rounds; ++i) {
    order.backward_or_input(1, i > rounds / 2 || (i == rounds / 2 && rounds % 2 == 0));
    order.backward_or_input(0, i >= rounds / 2);
  }
}

/// The eight phases of DualPipe for `main` rounds of the steady phase.
StageOrder eight_phases(DualOrder order, Position at, std::int64_t main) {
  // Phase 1: forwards of the near stream until the far one's first micro-batch arrives.
  for (std::int64_t i = 0; i < 2 * at.after; ++i) order.forward(0);
  // Phase 2: both streams enter in turn.
  for (std::int64_t i = 0; i <= at.before; ++i) {
    order.forward(0);
    order.forward(1);
  }
  // Phase 3: the far stream turns back, split so that its gradients leave early.
  for (std::int64_t i = 0; i < at.after; ++i) {
    order.input(1);
    order.weight();
    order.forward(1);
  }
  // Phase 4: forwards of each stream pair with backwards of the other.
  for (std::int64_t i = 0; i < main; ++i) {
    if (i == 0 && at.after == 0) {  // nothing could hide behind the other yet
      order.forward(0);
      order.backward(1);
    } else {
      order.pair(0);
    }
    order.pair(1);
  }
  // Phase 5: the near stream has no forwards left.
  for (std::int64_t i = 0; i < at.after; ++i) {
    order.backward(1);
    order.pair(1);
  }
  // Phases 6 and 7: backwards alone, with weight gradients where nothing else is there to do.
  drain_both(order, at.before + 1);
  for (std::int64_t i = 0; i < at.after; ++i) {
    order.weight();
    order.input(0);
  }
  return order.finish();
}

}  // namespace

StageOrder dualpipe_order(const PipelineShape& shape, Stage stage) {
  // The pipeline is symmetric about its middle: the far half runs the same with streams exchanged.
  const std::int64_t r = stage.value, mirrored = shape.stages - 1 - r;
  const std::int64_t before = std::min(r, mirrored);
  const Position at{before, shape.stages / 2 - 1 - before};
  // Each direction has half of the micro-batches.
  return eight_phases(DualOrder(r < mirrored ? 0 : 1), at,
                      shape.micro_batches / 2 - shape.stages + before + 1);
}

StageOrder dualpipe_v_order(const PipelineShape& shape, Stage stage) {
  const std::int64_t r = stage.value;
  return eight_phases(DualOrder(0), {r, shape.stages - 1 - r},
                      shape.micro_batches - 2 * shape.stages + r + 1);
}

std::string dualpipe_rule(const PipelineShape& shape) {
  // Stages pair up from both ends, and each direction takes half of the micro-batches (DeepSeek-V3,
  // section 3.2.1).
  if (shape.stages % 2 != 0) {
    return "needs an even number of stages, pp is " + std::to_string(shape.stages) +
           ", allowed: pp 2, 4, 6, ...";
  }
  if (shape.micro_batches % 2 != 0) {
    return "gives half of the micro-batches to each direction, got " +
           std::to_string(shape.micro_batches) + ", allowed: an even number";
  }
  return v_rule(shape);
}

}  // namespace stepcast
