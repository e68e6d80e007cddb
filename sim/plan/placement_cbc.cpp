#include <Cbc_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <tuple>

#include "column_master.hpp"
#include "placement.hpp"

// For few chunks columns of whole stages under fixed periods, chosen by CBC; else everything at
// once. Method: docs/models/plan.md.
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

  /// The range with the least bound is probed first; when none is below the best placement, that
  /// one is optimal.
  std::optional<PlacementSolution> solve(const std::optional<PlacedLayers>& start) {
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

 private:
  /// Every placement that is found counts, even one that answers another question.
  void take(const PlacedLayers& placed) {
    const double time = placement_time(problem_, placed);
    if (best_.placed && time >= best_.time) return;
    best_.placed = placed;
    best_.time = time;
  }

  /// What a virtual stage of the chunk may take, as far as it is not above what the best one
  /// leaves.
  std::vector<double> periods_of(std::size_t chunk) const {
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
  void list_outer(std::vector<double> some) {
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

  std::vector<double> periods(const Range& range, std::size_t last) const {
    std::vector<double> all = outer_[range.outer];
    all.push_back(candidates_.back()[last]);
    return all;
  }

  /// Keeps what of the range can be better than the best.
  void push(Range range) {
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
  bool probe(const Range& range) {
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

/// The best placement of tables, started from `start`: `optimal` or `infeasible` within the limits;
/// beyond them the best one found, and a bound over all periods that are still open. Nothing when
/// there are too many periods to try, or too many columns.
std::optional<PlacementSolution> place_by_columns(const PlacementProblem& problem,
                                                  const std::optional<PlacedLayers>& start,
                                                  const PlacementLimits& limits) {
  return PeriodSearch(problem, limits).solve(start);
}

/// The integer programme. Columns: layers of each run on each virtual stage, kept or recomputed;
/// for each border between runs and each virtual stage, whether the earlier run may still be there;
/// the time of the busiest stage of each chunk, and what is waited before the next one.
class Programme {
 public:
  explicit Programme(const PlacementProblem& problem)
      : problem_{problem},
        stages_{static_cast<int>(problem.stages)},
        parts_{static_cast<int>(problem.stages * problem.chunks)},
        runs_{static_cast<int>(problem.runs.size())},
        model_{Cbc_newModel()} {
    Cbc_setLogLevel(model_, 0);
    // 1: the least is sought.
    Cbc_setObjSense(model_, 1);
    add_columns();
    for (int r = 0; r < runs_; ++r) place_all(r);
    for (int v = 0; v < parts_; ++v) hold_one(v);
    for (int border = 0; border + 1 < runs_; ++border) keep_order(border);
    for (int v = 0; v < parts_; ++v) bound_part(v);
    for (int c = 0; c < chunks(); ++c) wait_between(c);
    for (int s = 0; s < stages_; ++s) fit_memory(s);
  }
  ~Programme() { Cbc_deleteModel(model_); }
  Programme(const Programme&) = delete;
  Programme& operator=(const Programme&) = delete;

  /// A start that is known to fit lets the solver cut from the beginning.
  void start_from(const PlacedLayers& placed) {
    std::vector<double> values(static_cast<std::size_t>(busiest(0)), 0);
    int r = 0;
    std::int64_t left = run(0).layers;
    for (int v = 0; v < parts_; ++v) {
      const auto c = static_cast<std::size_t>(v / stages_),
                 s = static_cast<std::size_t>(v % stages_);
      for (std::int64_t i = 0; i < placed.layers[c][s]; ++i) {
        while (left == 0) left = run(++r).layers;
        values[static_cast<std::size_t>(layers(v, r, i < placed.recomputed[c][s]))] += 1;
        --left;
        for (int border = r; border + 1 < runs_; ++border)
          values[static_cast<std::size_t>(open(v, border))] = 1;
      }
    }
    std::vector<int> columns;
    std::vector<double> whole;
    for (int column = 0; column < busiest(0); ++column) {
      columns.push_back(column);
      whole.push_back(values[static_cast<std::size_t>(column)]);
    }
    Cbc_setMIPStartI(model_, static_cast<int>(columns.size()), columns.data(), whole.data());
  }

  /// The status is told as the solver has it, so that nobody takes a good placement for a proven
  /// one.
  PlacementSolution solve(const PlacementLimits& limits) {
    Cbc_setMaximumNodes(model_, limits.nodes);
    Cbc_solve(model_);
    PlacementSolution solution;
    solution.solver = "cbc";
    solution.bound = Cbc_getBestPossibleObjValue(model_) + pass_of_ends_;
    const bool found = Cbc_bestSolution(model_) != nullptr;
    if (found) solution.placed = read();
    solution.status = Cbc_isProvenOptimal(model_) != 0      ? "optimal"
                      : Cbc_isProvenInfeasible(model_) != 0 ? "infeasible"
                                                            : limit_text(limits);
    return solution;
  }

 private:
  struct Row {
    std::vector<int> columns;
    std::vector<double> factors;
    void add(int column, double factor) {
      columns.push_back(column);
      factors.push_back(factor);
    }
  };
  /// Numbers of columns, in the order in which add_columns() makes them.
  int layers(int part, int run, bool again) const {
    return (part * runs_ + run) * 2 + (again ? 1 : 0);
  }
  int open(int part, int border) const { return parts_ * runs_ * 2 + part * (runs_ - 1) + border; }
  int busiest(int chunk) const { return parts_ * runs_ * 2 + parts_ * (runs_ - 1) + chunk; }
  int chunks() const { return parts_ / stages_; }
  int wait(int chunk) const { return busiest(chunks()) + chunk; }
  const LayerRun& run(int r) const { return problem_.runs[static_cast<std::size_t>(r)]; }

  /// One virtual stage may have both ends of the model.
  LayerRun ends(int part) const {
    LayerRun sum;
    for (const auto& [here, end] :
         {std::pair{part == 0, &problem_.first}, std::pair{part + 1 == parts_, &problem_.last}}) {
      if (!here) continue;
      sum.unit += end->unit;
      sum.states += end->states;
      sum.kept += end->kept;
    }
    return sum;
  }

  double unit(int r, bool again) const { return run(r).unit + (again ? run(r).recompute : 0); }
  double kept(int r, bool again) const { return again ? run(r).kept_recomputed : run(r).kept; }
  void add_row(const Row& row, char sense, double right) {
    Cbc_addRow(model_, "", static_cast<int>(row.columns.size()), row.columns.data(),
               row.factors.data(), sense, right);
  }

  /// The first chunks also count as the way of one micro-batch through the pipeline.
  void add_columns() {
    const auto column = [&](double high, double cost, bool whole) {
      Cbc_addCol(model_, "", 0, high, cost, whole ? 1 : 0, 0, nullptr, nullptr);
    };
    for (int v = 0; v < parts_; ++v)
      for (int r = 0; r < runs_; ++r)
        for (const bool again : {false, true})
          column(static_cast<double>(run(r).layers), v < stages_ ? unit(r, again) : 0, true);
    for (int v = 0; v < parts_; ++v)
      for (int border = 0; border + 1 < runs_; ++border) column(1, 0, true);
    const double rounds =
        static_cast<double>(problem_.micro_batches) - 1.0 / static_cast<double>(problem_.chunks);
    // 1e30 stands for no limit.
    for (int c = 0; c < chunks(); ++c) column(1e30, rounds, false);
    const double lost = lost_between_chunks * (stages_ - 1) / stages_;
    for (int c = 0; c < chunks(); ++c) column(1e30, rounds * lost, false);
    for (int v = 0; v < stages_; ++v) pass_of_ends_ += ends(v).unit;
  }

  /// A layer is kept or recomputed, never both and never neither.
  void place_all(int r) {
    Row row;
    for (int v = 0; v < parts_; ++v)
      for (const bool again : {false, true}) row.add(layers(v, r, again), 1);
    add_row(row, 'E', static_cast<double>(run(r).layers));
  }

  /// A chunk has at least one layer.
  void hold_one(int part) {
    Row row;
    for (int r = 0; r < runs_; ++r)
      for (const bool again : {false, true}) row.add(layers(part, r, again), 1);
    add_row(row, 'G', 1);
  }

  /// Up to its border a run may be placed, behind the first stage without it the next run begins.
  void keep_order(int border) {
    for (int v = 0; v < parts_; ++v) {
      Row here;
      for (int r = 0; r <= border; ++r)
        for (const bool again : {false, true}) here.add(layers(v, r, again), 1);
      here.add(open(v, border), -static_cast<double>(problem_.layers()));
      add_row(here, 'L', 0);
      if (v == 0) continue;
      Row falls;
      falls.add(open(v, border), 1);
      falls.add(open(v - 1, border), -1);
      add_row(falls, 'L', 0);
      Row before;
      for (int r = border + 1; r < runs_; ++r)
        for (const bool again : {false, true}) before.add(layers(v - 1, r, again), 1);
      before.add(open(v, border), static_cast<double>(problem_.layers()));
      add_row(before, 'L', static_cast<double>(problem_.layers()));
    }
  }

  /// The longest virtual stage of a chunk sets its pace.
  void bound_part(int part) {
    Row row;
    for (int r = 0; r < runs_; ++r)
      for (const bool again : {false, true}) row.add(layers(part, r, again), unit(r, again));
    row.add(busiest(part / stages_), -1);
    add_row(row, 'L', -ends(part).unit);
  }

  /// Before a longer chunk, the stages that still have this one.
  void wait_between(int chunk) {
    if (chunks() == 1) return;
    Row row;
    row.add(busiest((chunk + 1) % chunks()), 1);
    row.add(busiest(chunk), -1);
    row.add(wait(chunk), -1);
    add_row(row, 'L', 0);
  }

  /// Every moment is a row, because the fullest one depends on what is placed.
  void fit_memory(int stage) {
    for (const std::vector<int>& moment : problem_.moments[static_cast<std::size_t>(stage)])
      fit_moment(stage, moment);
  }

  /// Bytes over the capacity, so that the factors are near one.
  void fit_moment(int stage, const std::vector<int>& moment) {
    Row row;
    double fixed = 0;
    for (int v = stage; v < parts_; v += stages_) {
      const int held = moment[static_cast<std::size_t>(v / stages_)];
      fixed += ends(v).states + held * ends(v).kept;
      for (int r = 0; r < runs_; ++r)
        for (const bool again : {false, true})
          row.add(layers(v, r, again), (run(r).states + held * kept(r, again)) / problem_.capacity);
    }
    add_row(row, 'L', 1 - fixed / problem_.capacity);
  }

  /// CBC answers in doubles near whole numbers.
  PlacedLayers read() const {
    const double* values = Cbc_getColSolution(model_);
    PlacedLayers placed;
    placed.layers.assign(static_cast<std::size_t>(problem_.chunks),
                         std::vector<std::int64_t>(static_cast<std::size_t>(stages_)));
    placed.recomputed = placed.layers;
    for (int v = 0; v < parts_; ++v) {
      const auto c = static_cast<std::size_t>(v / stages_),
                 s = static_cast<std::size_t>(v % stages_);
      for (int r = 0; r < runs_; ++r) {
        const auto again = std::lround(values[layers(v, r, true)]);
        placed.layers[c][s] += std::lround(values[layers(v, r, false)]) + again;
        placed.recomputed[c][s] += again;
      }
    }
    return placed;
  }

  const PlacementProblem& problem_;
  int stages_, parts_, runs_;
  Cbc_Model* model_;
  double pass_of_ends_ = 0;
};

/// Tables recompute the first layers of a chunk, the programme any of them: the bytes may differ
/// where runs meet.
bool fits(const PlacementProblem& problem, const PlacedLayers& placed) {
  return placement_memory(problem, placed) <= problem.capacity * (1 + rounding);
}

/// The better one of what the stage programme and the balance of a forecast give.
std::optional<PlacedLayers> start_of(const PlacementProblem& problem) {
  const auto by_stages = place_by_stages(problem), evenly = place_evenly(problem);
  if (!by_stages || !evenly) return by_stages ? by_stages : evenly;
  const bool even = placement_time(problem, *evenly) < placement_time(problem, *by_stages);
  return even ? evenly : by_stages;
}

/// Everything in one programme.
PlacementSolution place_at_once(const PlacementProblem& problem,
                                const std::optional<PlacedLayers>& start,
                                const PlacementLimits& limits) {
  Programme programme(problem);
  if (start) programme.start_from(*start);
  PlacementSolution solution = programme.solve(limits);
  if (solution.placed && !fits(problem, *solution.placed)) solution.placed.reset();
  const bool worse = start && (!solution.placed || placement_time(problem, *start) <
                                                       placement_time(problem, *solution.placed));
  if (worse) {
    solution.placed = start;
    solution.solver = "stage dynamic programme";
    solution.status += ", started from a better one";
  }
  if (solution.placed) solution.time = placement_time(problem, *solution.placed);
  return solution;
}

}  // namespace

/// Columns come first: their relaxation is strong, and where they are too many everything goes at
/// once.
PlacementSolution place_layers(const PlacementProblem& problem, const PlacementLimits& limits) {
  const auto start = start_of(problem);
  if (auto solution = place_by_columns(problem, start, limits)) return *std::move(solution);
  return place_at_once(problem, start, limits);
}

}  // namespace stepcast
