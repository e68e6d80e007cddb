#include <Cbc_C_Interface.h>

#include <cmath>

#include "placement_columns.hpp"

namespace stepcast {
namespace {

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

  void start_from(const PlacedLayers& placed);
  PlacementSolution solve(const PlacementLimits& limits);

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
  LayerRun ends(int part) const;
  double unit(int r, bool again) const { return run(r).unit + (again ? run(r).recompute : 0); }
  double kept(int r, bool again) const { return again ? run(r).kept_recomputed : run(r).kept; }
  void add_row(const Row& row, char sense, double right) {
    Cbc_addRow(model_, "", static_cast<int>(row.columns.size()), row.columns.data(),
               row.factors.data(), sense, right);
  }
  void add_columns();
  void place_all(int r);
  void hold_one(int part);
  void keep_order(int border);
  void bound_part(int part);
  void wait_between(int chunk);
  void fit_memory(int stage);
  void fit_moment(int stage, const std::vector<int>& moment);
  PlacedLayers read() const;

  const PlacementProblem& problem_;
  int stages_, parts_, runs_;
  Cbc_Model* model_;
  double pass_of_ends_ = 0;
};

/// One virtual stage may have both ends of the model.
LayerRun Programme::ends(int part) const {
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

/// The first chunks also count as the way of one micro-batch through the pipeline.
void Programme::add_columns() {
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
void Programme::place_all(int r) {
  Row row;
  for (int v = 0; v < parts_; ++v)
    for (const bool again : {false, true}) row.add(layers(v, r, again), 1);
  add_row(row, 'E', static_cast<double>(run(r).layers));
}

/// A chunk has at least one layer.
void Programme::hold_one(int part) {
  Row row;
  for (int r = 0; r < runs_; ++r)
    for (const bool again : {false, true}) row.add(layers(part, r, again), 1);
  add_row(row, 'G', 1);
}

/// Up to its border a run may be placed, behind the first stage without it the next run begins.
void Programme::keep_order(int border) {
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
void Programme::bound_part(int part) {
  Row row;
  for (int r = 0; r < runs_; ++r)
    for (const bool again : {false, true}) row.add(layers(part, r, again), unit(r, again));
  row.add(busiest(part / stages_), -1);
  add_row(row, 'L', -ends(part).unit);
}

/// Before a longer chunk, the stages that still have this one.
void Programme::wait_between(int chunk) {
  if (chunks() == 1) return;
  Row row;
  row.add(busiest((chunk + 1) % chunks()), 1);
  row.add(busiest(chunk), -1);
  row.add(wait(chunk), -1);
  add_row(row, 'L', 0);
}

/// Every moment is a row, because the fullest one depends on what is placed.
void Programme::fit_memory(int stage) {
  for (const std::vector<int>& moment : problem_.moments[static_cast<std::size_t>(stage)])
    fit_moment(stage, moment);
}

/// Bytes over the capacity, so that the factors are near one.
void Programme::fit_moment(int stage, const std::vector<int>& moment) {
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

/// A start that is known to fit lets the solver cut from the beginning.
void Programme::start_from(const PlacedLayers& placed) {
  std::vector<double> values(static_cast<std::size_t>(busiest(0)), 0);
  int r = 0;
  std::int64_t left = run(0).layers;
  for (int v = 0; v < parts_; ++v) {
    const auto c = static_cast<std::size_t>(v / stages_), s = static_cast<std::size_t>(v % stages_);
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

/// CBC answers in doubles near whole numbers.
PlacedLayers Programme::read() const {
  const double* values = Cbc_getColSolution(model_);
  PlacedLayers placed;
  placed.layers.assign(static_cast<std::size_t>(problem_.chunks),
                       std::vector<std::int64_t>(static_cast<std::size_t>(stages_)));
  placed.recomputed = placed.layers;
  for (int v = 0; v < parts_; ++v) {
    const auto c = static_cast<std::size_t>(v / stages_), s = static_cast<std::size_t>(v % stages_);
    for (int r = 0; r < runs_; ++r) {
      const auto again = std::lround(values[layers(v, r, true)]);
      placed.layers[c][s] += std::lround(values[layers(v, r, false)]) + again;
      placed.recomputed[c][s] += again;
    }
  }
  return placed;
}

/// The status is told as the solver has it, so that nobody takes a good placement for a proven one.
PlacementSolution Programme::solve(const PlacementLimits& limits) {
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

/// Tables recompute the first layers of a chunk, the programme any of them: the bytes may differ
/// where runs meet.
bool fits(const PlacementProblem& problem, const PlacedLayers& placed) {
  constexpr double rounding = 1e-9;
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
