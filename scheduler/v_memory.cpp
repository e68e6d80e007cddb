#include <algorithm>
#include <array>
#include <deque>

#include "orders.hpp"
#include "units.hpp"

// V-Half and V-Min: a pattern of six slots per micro-batch that repeats on each stage and fixes how
// long activations live, run as early as possible in slots of f = b = w.
namespace stepcast {
namespace {

/// What one micro-batch does on a stage, in the order of its way through the V.
enum Step : std::size_t { down, up, back_down, back_up, steps };
constexpr std::int64_t period = 6;  ///< slots per micro-batch: the four steps and two weight units

using Offsets = std::array<std::int64_t, steps>;  ///< slot of each step of micro-batch 0

bool is_forward(Step step) { return step < back_down; }

/// Offsets of Qi et al. 2024; `d` keeps the steps of one stage in different slots.
Offsets v_min_offsets(std::int64_t p, std::int64_t i) {
  const std::int64_t d = p % 3 == 0 ? 2 : 0;
  return {i, 2 * p - i - 1, 2 * p + d + i, 4 * p + d - i - 1};
}
Offsets v_half_offsets(std::int64_t p, std::int64_t i) {
  const std::int64_t d = p % 2 == 0 ? 3 : 0;
  return {2 * i, 3 * p - i - 2, 3 * p + d + 2 * i - 1, 6 * p + d - i - 2};
}

/// Activations held after each slot of the pattern, weight gradients in its first free slots.
std::vector<int> held_in(const Offsets& offsets, std::int64_t micro_batches) {
  // Long enough for the last micro-batch's last step.
  const auto length = static_cast<std::size_t>(offsets[back_up] + period * micro_batches);
  std::vector<int> change(length), held(length);
  std::vector<bool> weight_due(length), busy(length);
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::int64_t i = 0; i < micro_batches; ++i) {
      const auto slot = static_cast<std::size_t>(offsets[step] + period * i);
      // Steps of one stage fall into different slots of the period, so that none is overwritten.
      busy[slot] = true;
      weight_due[slot] = !is_forward(Step{step});
      change[slot] = is_forward(Step{step}) ? 1 : 0;
    }
  }
  // A slot without a step runs the oldest weight gradient, which frees one micro-batch's chunk.
  int now = 0, due = 0;
  for (std::size_t slot = 0; slot < length; ++slot) {
    now += change[slot];
    if (weight_due[slot]) ++due;
    if (!busy[slot] && due > 0) --due, --now;
    held[slot] = now;
  }
  return held;
}

struct StageState {
  Offsets offsets;
  std::vector<int> held_in_pattern;
  std::array<std::int64_t, steps> next = {};  ///< micro-batch that takes each step next
  int held = 0;
  std::deque<Unit> weights;  ///< deferred
  StageOrder order = {};
};

class Planner {
 public:
  Planner(const PipelineShape& shape, Offsets (*offsets)(std::int64_t, std::int64_t))
      : micro_batches_{shape.micro_batches} {
    for (std::int64_t s = 0; s < shape.stages; ++s) {
      const Offsets own = offsets(shape.stages, s);
      stages_.push_back({own, held_in(own, micro_batches_)});
      const auto& held = stages_.back().held_in_pattern;
      // The fullest stage sets the memory of all: others may use what it needs anyway.
      most_held_ = std::max(most_held_, *std::ranges::max_element(held));
    }
    // Between the first gradient on stage 0 and its last forward the pattern is the steady state.
    warm_up_end_ = stages_[0].offsets[back_up];
    cool_down_begin_ = stages_[0].offsets[down] + period * (micro_batches_ - 1);
  }
  // All stages choose on the state before the slot, and only then do they run: nobody sees ahead.
  std::vector<StageOrder> orders() && {
    std::vector<Step> picks(stages_.size());
    // The unit that is earliest in the pattern can always run, so each slot makes progress.
    while (!finished()) {
      for (std::size_t s = 0; s < stages_.size(); ++s) picks[s] = pick(s);
      for (std::size_t s = 0; s < stages_.size(); ++s) run(stages_[s], picks[s]);
    }
    std::vector<StageOrder> all;
    for (StageState& at : stages_) all.push_back(std::move(at.order));
    return all;
  }

 private:
  bool finished() const {
    // Four steps and two weight gradients for each micro-batch.
    const auto units = static_cast<std::size_t>(period * micro_batches_);
    return std::ranges::all_of(stages_,
                               [&](const StageState& at) { return at.order.size() == units; });
  }
  std::int64_t slot(const StageState& at, Step step) const {
    return at.offsets[step] + period * at.next[step];
  }
  bool left(const StageState& at, Step step) const { return at.next[step] < micro_batches_; }

  bool ready(std::size_t stage, Step step) const {
    const StageState& at = stages_[stage];
    const std::int64_t i = at.next[step];
    // A step of the V follows the one before it on the same stage, and that on the neighbour.
    if (step > down && at.next[step - 1] <= i) return false;
    const bool goes_down = step == down || step == back_down;
    // At the ends of its way a step begins on its own stage: down at the first, up at the last.
    if (goes_down ? stage == 0 : stage + 1 == stages_.size()) return true;
    return stages_[goes_down ? stage - 1 : stage + 1].next[step] > i;
  }
  /// Outside the steady state a step may run before those that the pattern puts first, if the
  /// memory of the pattern allows.
  bool may_overtake(const StageState& at, Step step, std::int64_t first_slot) const {
    // Warm-up and cool-down have slots to spare; in the steady state the pattern is kept as it is.
    const std::int64_t own = slot(at, step);
    const bool warm_up = step == down && own < warm_up_end_;
    if (!warm_up && own <= cool_down_begin_) return false;
    // Backwards hold nothing more and may always go first.
    if (!is_forward(step)) return true;
    // A forward that runs early holds its activations
    // for all slots up to its own: none may be full.
    const auto begin = at.held_in_pattern.begin();
    return at.held < most_held_ && *std::max_element(begin + first_slot, begin + own) < most_held_;
  }
  /// The step that runs now; `steps` stands for a weight unit, or a pause when there is none.
  Step pick(std::size_t stage) const {
    const StageState& at = stages_[stage];
    // Earliest slot of the pattern first; steps without micro-batches left come last.
    std::array<Step, steps> by_slot{down, up, back_down, back_up};
    std::ranges::sort(by_slot, {}, [&](Step step) {
      return std::pair{!left(at, step), slot(at, step)};
    });
    const Step first = by_slot[0];
    if (!left(at, first)) return steps;
    // A forward that finds the memory full gives its slot to a weight gradient, which frees some.
    if (ready(stage, first)) return is_forward(first) && at.held >= most_held_ ? steps : first;
    for (const Step step : by_slot) {
      if (left(at, step) && ready(stage, step) && may_overtake(at, step, slot(at, first)))
        return step;
    }
    return steps;
  }
  void run(StageState& at, Step step) {
    if (step == steps) {
      if (at.weights.empty()) return;
      at.order.push_back(at.weights.front());
      at.weights.pop_front();
      --at.held;
      return;
    }
    // Chunk 1 is the second leg of the V: up, and back down it.
    const std::int64_t chunk = step == up || step == back_down ? 1 : 0;
    const std::int64_t i = at.next[step];
    if (is_forward(step)) {
      claim(at, slot(at, step));
      at.order.push_back(unit_of(UnitKind::forward, i, chunk));
      ++at.held;
    } else {
      at.order.push_back(unit_of(UnitKind::backward_input, i, chunk));
      at.weights.push_back(unit_of(UnitKind::backward_weight, i, chunk));
    }
    ++at.next[step];
  }
  /// A forward that overtakes holds its activations from the slot of the first step on.
  void claim(StageState& at, std::int64_t own) const {
    std::int64_t first = own;
    for (const Step step : {down, up, back_down, back_up})
      if (left(at, step)) first = std::min(first, slot(at, step));
    for (std::int64_t s = first; s < own; ++s) ++at.held_in_pattern[static_cast<std::size_t>(s)];
  }

  std::int64_t micro_batches_;
  std::vector<StageState> stages_;
  int most_held_ = 0;
  std::int64_t warm_up_end_ = 0, cool_down_begin_ = 0;
};

}  // namespace

std::vector<StageOrder> v_half_orders(const PipelineShape& shape) {
  return Planner(shape, v_half_offsets).orders();
}

std::vector<StageOrder> v_min_orders(const PipelineShape& shape) {
  return Planner(shape, v_min_offsets).orders();
}

StageOrder v_half_order(const PipelineShape& shape, Stage stage) {
  return v_half_orders(shape)[stage.value];
}

StageOrder v_min_order(const PipelineShape& shape, Stage stage) {
  return v_min_orders(shape)[stage.value];
}

std::string v_planned_rule(const PipelineShape& shape) {
  return first_wrong(shape, {two_chunks, one_slice, standard_warm_up});
}

}  // namespace stepcast
