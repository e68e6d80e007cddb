#include "column_master.hpp"

#include <Cbc_C_Interface.h>

#include <algorithm>

namespace stepcast {
namespace {

constexpr double rounding = 1 + 1e-9;

/// Slices with the same layers of each run are one column, because nothing else of them counts.
std::vector<int> counts_of(const PlacementProblem& problem, std::size_t first, std::size_t end) {
  std::vector<int> counts;
  std::size_t begin = 0;
  for (const LayerRun& run : problem.runs) {
    const std::size_t next = begin + static_cast<std::size_t>(run.layers);
    // What of the slice lies in this run.
    const std::size_t from = std::max(begin, first), to = std::min(next, end);
    counts.push_back(to > from ? static_cast<int>(to - from) : 0);
    begin = next;
  }
  return counts;
}

}  // namespace

/// A slice that cannot be part of any full placement would only make columns, so that both ends are
/// followed first.
StageWindows::StageWindows(const PlacementProblem& problem, const LayerSums& sums,
                           const std::vector<double>& periods) {
  const auto stages = static_cast<std::size_t>(problem.stages);
  const std::size_t parts = stages * periods.size();
  const auto layers = static_cast<std::size_t>(problem.layers());
  begins_.assign(parts + 1, std::vector<bool>(layers + 1, false));
  // Forwards: where a virtual stage can begin at all when those before it are full slices.
  auto reached = begins_;
  const auto holds = [&](std::size_t part, std::size_t first, std::size_t end) {
    return ends_of(problem, part).unit + slice_unit(sums, {first, end, 0}) <=
           periods[part / stages] * rounding;
  };
  reached[0][0] = true;
  // Times grow with the end of the slice, so that the first one that is too long ends the search.
  for (std::size_t part = 0; part < parts; ++part)
    for (std::size_t first = part; first < layers; ++first)
      for (std::size_t end = first + 1;
           reached[part][first] && end <= layers && holds(part, first, end); ++end)
        reached[part + 1][end] = true;
  if (!reached[parts][layers]) return;
  begins_[parts][layers] = true;
  // Backwards: of those, the beginnings from which the end can be reached.
  for (std::size_t part = parts; part-- > 0;)
    for (std::size_t first = part; first < layers; ++first)
      for (std::size_t end = first + 1;
           reached[part][first] && end <= layers && holds(part, first, end); ++end)
        if (begins_[part + 1][end]) begins_[part][first] = true;
  // The first chunks hold at least what lies before the earliest begin of the second ones.
  for (std::size_t stage = 0; stage < stages; ++stage) least_pass_ += ends_of(problem, stage).unit;
  const auto first = std::ranges::find(begins_[stages], true);
  least_pass_ += sums.unit[static_cast<std::size_t>(first - begins_[stages].begin())];
}

ColumnMaster::ColumnMaster(const PlacementProblem& problem, const LayerSums& sums,
                           const std::vector<double>& periods)
    : problem_{problem},
      sums_{sums},
      periods_{periods},
      stages_{static_cast<std::size_t>(problem.stages)},
      chunks_{periods.size()} {
  const StageWindows windows(problem, sums, periods);
  open_ = windows.open();
  // Without any placement there are no columns to count.
  if (!open_) return;
  for (std::size_t v = 0; v < stages_ * chunks_; ++v) parts_.push_back(parts_of(v, windows));
  // Counted, not made: too many combinations are another method's.
  for (std::size_t s = 0; s < stages_; ++s) {
    double combinations = 1;
    for (std::size_t c = 0; c < chunks_; ++c)
      combinations *= static_cast<double>(parts_[c * stages_ + s].size());
    combinations_ += combinations;
  }
}

/// Only slices between two reachable places are listed.
std::vector<ColumnMaster::Part> ColumnMaster::parts_of(std::size_t v,
                                                       const StageWindows& windows) const {
  std::vector<Part> parts;
  const double ends = ends_of(problem_, v).unit, most = periods_[v / stages_] * rounding;
  for (std::size_t first = v; first + 1 < sums_.unit.size(); ++first)
    for (std::size_t end = first + 1; windows.begins(v, first) && end < sums_.unit.size(); ++end) {
      if (ends + slice_unit(sums_, {first, end, 0}) > most) break;
      if (!windows.begins(v + 1, end)) continue;
      std::vector<int> counts = counts_of(problem_, first, end);
      // One slice stands for all with the same numbers of layers in each run.
      if (std::ranges::find(parts, counts, &Part::counts) == parts.end())
        parts.push_back({std::move(counts), {first, end, 0}});
    }
  return parts;
}

/// Both ends of the model count here, so that the first and the last stage get fewer layers.
double ColumnMaster::unit(std::size_t stage, const Column& column, std::size_t chunk) const {
  LayerSlice slice = part(stage, column, chunk).slice;
  slice.recomputed = column.recomputed[chunk];
  return ends_of(problem_, chunk * stages_ + stage).unit + slice_unit(sums_, slice);
}

/// Every moment counts, because no single one is the fullest for all slices.
bool ColumnMaster::fits(std::size_t stage, const Column& column) const {
  double states = 0;
  std::vector<double> kept;
  for (std::size_t c = 0; c < chunks_; ++c) {
    LayerSlice slice = part(stage, column, c).slice;
    slice.recomputed = column.recomputed[c];
    const LayerRun ends = ends_of(problem_, c * stages_ + stage);
    states += sums_.states[slice.end] - sums_.states[slice.first] + ends.states;
    kept.push_back(slice_kept(sums_, slice) + ends.kept);
  }
  // Chunks differ in bytes, so that no one moment is the fullest for all slices.
  return std::ranges::all_of(problem_.moments[stage], [&](const std::vector<int>& moment) {
    double bytes = states;
    for (std::size_t c = 0; c < chunks_; ++c) bytes += moment[c] * kept[c];
    return bytes <= problem_.capacity * rounding;
  });
}

/// All combinations of the slices of the stage's chunks.
void ColumnMaster::add_columns(std::size_t stage) {
  Column column;
  column.parts.assign(chunks_, 0);
  column.recomputed.assign(chunks_, 0);
  // Counts up like a number whose digits are the slices of the chunks.
  const auto next = [&] {
    for (std::size_t c = 0; c < chunks_; ++c) {
      if (++column.parts[c] < parts_[c * stages_ + stage].size()) return true;
      column.parts[c] = 0;
    }
    return false;
  };
  // A chunk without any slice leaves the stage without columns.
  for (std::size_t c = 0; c < chunks_; ++c)
    if (parts_[c * stages_ + stage].empty()) return;
  do add_column(stage, column);
  while (next());
}

/// With the fewest recomputed layers of the first chunk with which it fits, then of the others.
void ColumnMaster::add_column(std::size_t stage, Column column) {
  const auto layers = [&](std::size_t c) {
    const LayerSlice& slice = part(stage, column, c).slice;
    return slice.end - slice.first;
  };
  const auto in_time = [&](std::size_t c) {
    return unit(stage, column, c) <= periods_[c] * rounding;
  };
  // Later chunks recompute as many layers as their period allows, so that the first needs least.
  for (std::size_t c = 1; c < chunks_; ++c) {
    column.recomputed[c] = layers(c);
    while (!in_time(c)) --column.recomputed[c];
  }
  while (!fits(stage, column)) {
    if (column.recomputed[0] == layers(0)) return;
    ++column.recomputed[0];
    if (!in_time(0)) return;
  }
  // What was given too much comes back, chunk by chunk, as long as the stage still fits.
  for (std::size_t c = 1; c < chunks_; ++c) {
    while (column.recomputed[c] > 0) {
      --column.recomputed[c];
      if (fits(stage, column)) continue;
      ++column.recomputed[c];
      break;
    }
  }
  // The objective is one micro-batch through the first chunks: periods are fixed.
  column.pass = unit(stage, column, 0);
  columns_[stage].push_back(std::move(column));
}

/// Exactly one column of a stage is one; the largest value is it, whatever rounding left.
PlacedLayers ColumnMaster::read(const double* values) const {
  PlacedLayers placed;
  placed.layers.assign(chunks_, std::vector<std::int64_t>(stages_));
  placed.recomputed = placed.layers;
  for (std::size_t s = 0; s < stages_; ++s) {
    // Values are 0 and 1 but for rounding.
    const auto chosen = std::max_element(values, values + columns_[s].size()) - values;
    const Column& column = columns_[s][static_cast<std::size_t>(chosen)];
    for (std::size_t c = 0; c < chunks_; ++c) {
      const LayerSlice& slice = part(s, column, c).slice;
      placed.layers[c][s] = static_cast<std::int64_t>(slice.end - slice.first);
      placed.recomputed[c][s] = static_cast<std::int64_t>(column.recomputed[c]);
    }
    values += columns_[s].size();
  }
  return placed;
}

/// One column per stage, every layer once, and the runs in their order: up to its border a run may
/// be on a virtual stage, behind the first one without it the next run begins.
class ColumnMaster::Model {
 public:
  /// Columns come before the rows, because a row names its columns.
  explicit Model(const ColumnMaster& master)
      : master_{master},
        runs_{master.problem_.runs.size()},
        virtual_stages_{master.stages_ * master.chunks_},
        all_(runs_),
        one_(master.stages_),
        up_to_(virtual_stages_ * (runs_ - 1)),
        behind_(up_to_.size()),
        cbc_{Cbc_newModel()} {
    // Silent: its words would mix with the answer.
    Cbc_setLogLevel(cbc_, 0);
    // Least pass time.
    Cbc_setObjSense(cbc_, 1);
    for (std::size_t s = 0; s < master.stages_; ++s)
      for (const Column& column : master.columns_[s]) add_column(s, column);
    for (std::size_t i = 0; i < up_to_.size(); ++i) add_binary(0);
    // Each stage takes one column, and each run is placed once.
    for (const Row& row : one_) add_row(row, 'E', 1);
    for (std::size_t r = 0; r < runs_; ++r)
      add_row(all_[r], 'E', static_cast<double>(master.problem_.runs[r].layers));
    for (std::size_t part = 0; part < virtual_stages_; ++part)
      for (std::size_t border = 0; border + 1 < runs_; ++border) keep_order(part, border);
  }

  ~Model() { Cbc_deleteModel(cbc_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// A programme without a solution is complete too: it says that these periods are too short.
  Answer solve(const PlacementLimits& limits) {
    // Nodes and not seconds end the search, so that the answer is the same on every machine.
    Cbc_setMaximumNodes(cbc_, std::max(limits.nodes, 1));
    Cbc_solve(cbc_);
    Answer answer;
    answer.nodes = std::max(Cbc_getNodeCount(cbc_), 1);
    const bool found = Cbc_bestSolution(cbc_) != nullptr;
    answer.complete =
        Cbc_isProvenOptimal(cbc_) != 0 || (!found && Cbc_isProvenInfeasible(cbc_) != 0);
    if (!found) return answer;
    answer.placed = master_.read(Cbc_bestSolution(cbc_));
    answer.pass = Cbc_getObjValue(cbc_);
    return answer;
  }

 private:
  struct Row {
    std::vector<int> columns;
    std::vector<double> factors;
    void add(int column, double factor = 1) {
      columns.push_back(column);
      factors.push_back(factor);
    }
  };
  void add_binary(double cost) { Cbc_addCol(cbc_, "", 0, 1, cost, 1, 0, nullptr, nullptr); }
  void add_row(const Row& row, char sense, double right) {
    Cbc_addRow(cbc_, "", static_cast<int>(row.columns.size()), row.columns.data(),
               row.factors.data(), sense, right);
  }

  /// A column is listed at every border on whose side it has layers, which is all that the order
  /// needs to know.
  void add_column(std::size_t stage, const Column& column) {
    add_binary(column.pass);
    one_[stage].add(columns_);
    std::vector<int> sum(runs_, 0);
    const auto some = [](int n) { return n > 0; };
    for (std::size_t c = 0; c < master_.chunks_; ++c) {
      const std::vector<int>& counts = master_.part(stage, column, c).counts;
      for (std::size_t r = 0; r < runs_; ++r) sum[r] += counts[r];
      for (std::size_t border = 0; border + 1 < runs_; ++border) {
        const std::size_t here = place(c * master_.stages_ + stage, border);
        // Layers up to the border, and behind it.
        const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(border) + 1;
        if (std::any_of(counts.begin(), middle, some)) up_to_[here].add(columns_);
        if (std::any_of(middle, counts.end(), some)) behind_[here].add(columns_);
      }
    }
    for (std::size_t r = 0; r < runs_; ++r)
      if (sum[r] > 0) all_[r].add(columns_, sum[r]);
    ++columns_;
  }

  /// Runs of layers stand one behind the other in the model, and a placement must keep that.
  void keep_order(std::size_t part, std::size_t border) {
    // A stage may hold layers up to a border only while that border is open.
    Row& up_to = up_to_[place(part, border)];
    up_to.add(open(part, border), -1);
    add_row(up_to, 'L', 0);
    // Layers behind the border are allowed where the next stage has it closed.
    if (part + 1 == virtual_stages_) return;
    Row& behind = behind_[place(part, border)];
    behind.add(open(part + 1, border));
    add_row(behind, 'L', 1);
    // Once closed, a border stays closed for all later stages.
    Row falls;
    falls.add(open(part + 1, border));
    falls.add(open(part, border), -1);
    add_row(falls, 'L', 0);
  }

  std::size_t place(std::size_t part, std::size_t border) const {
    return part * (runs_ - 1) + border;
  }
  int open(std::size_t part, std::size_t border) const {
    return columns_ + static_cast<int>(place(part, border));
  }

  const ColumnMaster& master_;
  std::size_t runs_, virtual_stages_;
  std::vector<Row> all_, one_;       ///< layers of a run; columns of a stage
  std::vector<Row> up_to_, behind_;  ///< columns with layers on either side of a border
  int columns_ = 0;
  Cbc_Model* cbc_;
};

/// A stage without any column settles the question before the solver is asked.
ColumnMaster::Answer ColumnMaster::solve(const PlacementLimits& limits) {
  Answer infeasible;
  infeasible.complete = true;
  if (!open_) return infeasible;
  columns_.assign(stages_, {});
  for (std::size_t s = 0; s < stages_; ++s) {
    add_columns(s);
    if (columns_[s].empty()) return infeasible;
  }
  return Model(*this).solve(limits);
}

}  // namespace stepcast
