#include <deque>

#include "orders.hpp"
#include "units.hpp"

namespace stepcast {
namespace {

/// One stage's order as it grows; each chunk's micro-batches come in turn, weight gradients in the
/// order of their backward_input.
class VOrder {
 public:
  void forward(int chunk) { add(UnitKind::forward, chunk, forwards_[chunk]++); }
  void input(int chunk) {
    put_off_.push_back(unit_of(UnitKind::backward_weight, inputs_[chunk], chunk));
    add(UnitKind::backward_input, chunk, inputs_[chunk]++);
  }
  void weight() {
    order_.push_back(put_off_.front());
    put_off_.pop_front();
  }
  std::int64_t forwards(int chunk) const { return forwards_[chunk]; }
  StageOrder finish() {
    while (!put_off_.empty()) weight();
    return std::move(order_);
  }

 private:
  void add(UnitKind kind, int chunk, std::int64_t micro_batch) {
    order_.push_back(unit_of(kind, micro_batch, chunk));
  }
  StageOrder order_;
  std::int64_t forwards_[2] = {0, 0}, inputs_[2] = {0, 0};
  std::deque<Unit> put_off_;
};

}  // namespace

// The steady state runs F0 b0 w0 F1 b1 w1; the phases around it are those that the published
// planner finds for f = b = w, written down per stage.
StageOrder zb_v_order(const PipelineShape& shape, Stage stage) {
  const std::int64_t p = shape.stages, r = stage.value, m = shape.micro_batches;
  VOrder order;
  // Forwards of chunk 0 until the first micro-batch has been down to the last stage and back.
  for (std::int64_t i = 0; i < 2 * (p - r) - 1; ++i) order.forward(0);
  // The farther from stage 0, the more forwards of both chunks fit before the first gradient.
  for (std::int64_t i = 0; i < r; ++i) {
    order.forward(1);
    order.forward(0);
  }
  order.forward(1);
  // Near the entry gradients of chunk 1 come before those of chunk 0: each takes a forward along.
  for (std::int64_t i = 0; i < p - 1 - r; ++i) {
    order.input(1);
    order.weight();
    order.forward(1);
  }
  // The steady state, F0 b0 w0 F1 b1 w1, until all forwards are done.
  while (order.forwards(1) < m) {
    order.input(1);
    order.weight();
    if (order.forwards(0) < m) order.forward(0);
    order.input(0);
    order.weight();
    order.forward(1);
  }
  // Gradients first: earlier stages wait for them, weights can wait.
  for (std::int64_t i = 0; i < r + 1; ++i) {
    order.input(1);
    order.input(0);
  }
  // Between gradients that are still on their way, weights that were put off.
  for (std::int64_t i = 0; i < p - 1 - r; ++i) {
    order.weight();
    order.input(0);
  }
  return order.finish();
}

std::string v_rule(const PipelineShape& shape) {
  return first_wrong(shape, {two_chunks, two_per_stage, one_slice, standard_warm_up});
}

}  // namespace stepcast
