#include "placement_columns.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "column_master.hpp"

namespace stepcast {
namespace {

constexpr double rounding = 1e-9;
constexpr std::size_t most_combinations = 1'000;
constexpr double most_columns = 60'000;

/// Periods of all chunks but the last, and a range of the last one's.
struct Range {
  std::size_t outer = 0, low = 0, high = 0;
  double pass = 0;   ///< one micro-batch through the first chunks takes no less
  double bound = 0;  ///< no placement with a period in the range is faster
  bool operator<(const Range& other) const {
    return std::tie(bound, outer, low) > std::tie(other.bound, other.outer, other.low);
  }
};

class PeriodSearch {
 public:
  PeriodSearch(const PlacementProblem& problem, const PlacementLimits& limits)
      : problem_{problem},
        sums_{problem},
        limits_{limits},
        rounds_{static_cast<double>(problem.micro_batches) -
                1.0 / static_cast<double>(problem.chunks)},
        nodes_left_{limits.nodes} {}
  std::optional<PlacementSolution> solve(const std::optional<PlacedLayers>& start);

 private:
  void take(const PlacedLayers& placed);
  std::vector<double> periods_of(std::size_t chunk) const;
  void list_outer(std::vector<double> some);
  std::vector<double> periods(const Range& range, std::size_t last) const;
  void push(Range range);
  bool probe(const Range& range);

  const PlacementProblem& problem_;
  LayerSums sums_;
  PlacementLimits limits_;
  double rounds_;
  int nodes_left_;
  std::vector<std::vector<double>> candidates_;  ///< [chunk]
  std::vector<std::vector<double>> outer_;       ///< periods of all chunks but the last
  std::priority_queue<Range> open_;
  PlacementSolution best_;
  bool too_many_ = false;
};

/// Every placement that is found counts, even one that answers another question.
void PeriodSearch::take(const PlacedLayers& placed) {
  const double time = placement_time(problem_, placed);
  if (best_.placed && time >= best_.time) return;
  best_.placed = placed;
  best_.time = time;
}

/// What a virtual stage of the chunk may take, as far as it is not above what the best one leaves.
std::vector<double> PeriodSearch::periods_of(std::size_t chunk) const {
  const auto stages = static_cast<std::size_t>(problem_.stages);
  const auto parts = stages * static_cast<std::size_t>(problem_.chunks);
  const auto layers = static_cast<std::size_t>(problem_.layers());
  const double most = best_.time / rounds_;
  std::vector<double> times;
  for (std::size_t v = chunk * stages; v < (chunk + 1) * stages; ++v) {
    const double ends = ends_of(problem_, v).unit;
    // Every virtual stage before and behind keeps a layer at least.
    for (std::size_t first = v; first + (parts - v) <= layers; ++first)
      for (std::size_t end = first + 1; end + (parts - v - 1) <= layers; ++end) {
        if (ends + slice_unit(sums_, {first, end, 0}) > most) break;
        for (std::size_t r = 0; r <= end - first; ++r)
          times.push_back(ends + slice_unit(sums_, {first, end, r}));
      }
  }
  std::ranges::sort(times);
  // Sums in another order differ in the last digit: of such the largest stays, which holds all.
  const auto alike = [](double a, double b) { return b - a <= rounding * b; };
  std::vector<double> distinct;
  for (const double time : times) {
    if (!distinct.empty() && alike(distinct.back(), time)) distinct.pop_back();
    distinct.push_back(time);
  }
  std::erase_if(distinct, [&](double time) { return time > most; });
  return distinct;
}

/// The list stops growing when it is too long to be searched at all; the caller then takes the
/// other way.
void PeriodSearch::list_outer(std::vector<double> some) {
  if (outer_.size() > most_combinations) return;
  if (some.size() + 1 == candidates_.size()) {
    outer_.push_back(std::move(some));
    return;
  }
  for (const double period : candidates_[some.size()]) {
    std::vector<double> more = some;
    more.push_back(period);
    list_outer(std::move(more));
  }
}

std::vector<double> PeriodSearch::periods(const Range& range, std::size_t last) const {
  std::vector<double> all = outer_[range.outer];
  all.push_back(candidates_.back()[last]);
  return all;
}

/// Keeps what of the range can be better than the best.
void PeriodSearch::push(Range range) {
  const auto time = [&](std::size_t last, double pass) {
    return rounds_ * steady_period(problem_.stages, periods(range, last)) + pass;
  };
  const double limit = best_.time * (1 - rounding);
  // Below some period a stage has no slice at all that fits; that border is found by halving.
  for (std::size_t closed = range.high; range.low < closed;) {
    const std::size_t middle = range.low + (closed - range.low) / 2;
    const bool open = StageWindows(problem_, sums_, periods(range, middle)).open();
    (open ? closed : range.low) = open ? middle : middle + 1;
  }
  if (range.low == range.high) return;
  // The loosest period allows the most, so that its least pass bounds those of all others.
  const StageWindows loosest(problem_, sums_, periods(range, range.high - 1));
  range.pass = std::max(range.pass, loosest.least_pass());
  while (range.low < range.high && time(range.high - 1, range.pass) >= limit) --range.high;
  if (range.low == range.high) return;
  range.bound = time(range.low, range.pass);
  open_.push(range);
}

/// The middle of a range: feasible or not tells about one side of it. False at a limit.
bool PeriodSearch::probe(const Range& range) {
  const std::size_t middle = range.low + (range.high - range.low) / 2;
  ColumnMaster master(problem_, sums_, periods(range, middle));
  too_many_ = master.columns() > most_columns;
  if (too_many_) return false;
  const ColumnMaster::Answer answer = master.solve({nodes_left_});
  nodes_left_ -= answer.nodes;
  if (answer.placed) take(*answer.placed);
  // Put back, so that its bound counts in what the search says it has not closed.
  if (!answer.complete) {
    open_.push(range);
    return false;
  }
  Range above = range, below = range;
  above.low = middle + 1;
  // Where the middle is infeasible, so are all shorter periods.
  below.high = answer.placed ? middle : range.low;
  below.pass = std::max(range.pass, answer.pass);
  push(above);
  push(below);
  return true;
}

/// The range with the least bound is probed first; when none is below the best placement, that one
/// is optimal.
std::optional<PlacementSolution> PeriodSearch::solve(const std::optional<PlacedLayers>& start) {
  best_.time = std::numeric_limits<double>::infinity();
  if (start) take(*start);
  best_.solver = "cbc";
  for (std::size_t c = 0; c < static_cast<std::size_t>(problem_.chunks); ++c)
    candidates_.push_back(periods_of(c));
  list_outer({});
  if (outer_.size() > most_combinations) return {};
  for (std::size_t i = 0; i < outer_.size(); ++i) push({i, 0, candidates_.back().size()});
  const double limit = 1 - rounding;
  while (!open_.empty() && open_.top().bound < best_.time * limit) {
    const Range range = open_.top();
    open_.pop();
    // Nodes are the limit and not seconds, so that every machine gives the same answer.
    if (nodes_left_ <= 0) {
      open_.push(range);
      break;
    }
    if (!probe(range)) break;
  }
  if (too_many_) return {};
  const bool done = open_.empty() || open_.top().bound >= best_.time * limit;
  best_.bound = done ? best_.time : open_.top().bound;
  best_.status = !done ? limit_text(limits_) : best_.placed ? "optimal" : "infeasible";
  return best_;
}

}  // namespace

/// Answers nothing where there are too many columns, which the caller takes as a word to go on.
std::optional<PlacementSolution> place_by_columns(const PlacementProblem& problem,
                                                  const std::optional<PlacedLayers>& start,
                                                  const PlacementLimits& limits) {
  return PeriodSearch(problem, limits).solve(start);
}

}  // namespace stepcast
