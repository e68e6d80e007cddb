#include <algorithm>
#include <sstream>

#include "placement.hpp"
#include "plan_cost.hpp"
#include "search_steps.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {
namespace {

void write(std::ostream& out, const Table& table) {
  for (const auto& row : table)
    for (const std::int64_t n : row) out << n << ' ';
}

Table read(std::istream& in, const ParallelPlan& plan) {
  Table table(static_cast<std::size_t>(plan.vpp),
              std::vector<std::int64_t>(static_cast<std::size_t>(plan.pp)));
  for (auto& row : table)
    for (std::int64_t& n : row) in >> n;
  return table;
}

/// Solver, status, gap, tables, then what the simulation says; empty when nothing fits.
std::string placed_text(const PlanSpace& space, const SearchPath& search, PlanPoint point) {
  const Scenario scenario = scenario_of(space, point.strategy);
  CollectiveTimes times(scenario.cluster, scenario.workload.communication.algorithms);
  MomentTable moments;
  const PlacementProblem problem =
      placement_problem(scenario, point.capacity.value(), times, moments);
  const PlacementSolution solution = place_layers(problem, {});
  if (!solution.placed) return {};
  point.placement = PlanPlacement{.layers = solution.placed->layers,
                                  .recomputed = solution.placed->recomputed,
                                  .solver = solution.solver,
                                  .status = solution.status,
                                  .gap = solution.gap()};
  std::ostringstream out;
  out << solution.solver << '\n' << solution.status << '\n' << shortest(solution.gap()) << '\n';
  write(out, point.placement->layers);
  write(out, point.placement->recomputed);
  out << '\n' << simulated_text(space, point, search) << '\n';
  return out.str();
}

/// A worker answers in text, since what it changes in memory is lost with its process.
void take(const std::string& text, const ParallelPlan& plan, PlanPoint& point) {
  std::istringstream in(text);
  PlanPlacement placement;
  std::string line;
  std::getline(in, placement.solver);
  std::getline(in, placement.status);
  std::getline(in, line);
  placement.gap = parse_number(line).value_or(0);
  placement.layers = read(in, plan);
  placement.recomputed = read(in, plan);
  std::getline(in, line);
  read_simulated(in, point);
  point.placement = std::move(placement);
}

}  // namespace

/// Recomputation is what the placement decides, so that points that differ in it alone would be
/// placed twice.
bool same_plan(const Strategy& a, const Strategy& b, const PlanSpace& space) {
  Strategy c = a;
  c.base = b.base;
  if (c != b) return false;
  const auto others = [&](const Strategy& s) {
    auto settings = space.bases[s.base].settings;
    std::erase_if(settings, [](const auto& p) { return p.first == "training.recompute"; });
    return settings;
  };
  return others(a) == others(b);
}

/// The objective is that of whole units that run one by one; other schedules have another steady
/// state.
bool places_layers(const PlanSpace& space, const Strategy& strategy) {
  const Scenario& base = space.bases[strategy.base].scenario;
  const PipelineSchedule& schedule =
      pipeline_schedule(space.dimensions.schedules[strategy.schedule]);
  return unit_form(schedule, base) == UnitForm::plain && schedule.slices == CountRange{} &&
         !base.workload.training.offloads_activations();
}

/// The point goes the way of a user's file, through the reader and the forecast.
std::string simulated_text(const PlanSpace& space, const PlanPoint& point,
                           const SearchPath& search) {
  const Scenario scenario = read_point(space, point, search);
  const Forecast result = forecast(scenario);
  Bytes peak{0};
  for (const StageForecast& stage : result.stages)
    if (stage.memory) peak = std::max(peak, stage.memory->peak());
  return shortest(result.step_time.value()) + "\n" + shortest(peak.value()) +
         cost_line(step_cost(scenario, result)) + energy_line(scenario, result);
}

void read_simulated(std::istream& in, PlanPoint& point) {
  std::string line;
  std::getline(in, line);
  point.simulated = Seconds{parse_number(line).value_or(0)};
  std::getline(in, line);
  point.peak = Bytes{parse_number(line).value_or(0)};
  while (std::getline(in, line)) {
    const auto energy = read_energy(line);
    if (energy)
      point.energy = energy;
    else
      point.cost = read_cost(line);
  }
}

/// The solver believes its own memory model, the forecast has the last word.
std::vector<PlanPoint> place_best(const PlanSpace& space, const SearchPath& search, int workers,
                                  const std::vector<PlanPoint>& points, AnswerStore* store,
                                  const std::function<std::string(const PlanPoint&)>& key) {
  std::vector<PlanPoint> placed(points);
  run_kept(
      store, points.size(), workers, [&](std::size_t i) { return key(points[i]); },
      [&](std::size_t i) { return placed_text(space, search, points[i]); },
      [&](const WorkerAnswer& answer) {
        if (answer.failed()) throw_failure("a placement failed", answer);
        PlanPoint& point = placed[answer.index];
        point.simulated.reset();
        if (!answer.text.empty())
          take(answer.text, scenario_of(space, point.strategy).workload.plan, point);
      });
  std::erase_if(placed, [](const PlanPoint& p) { return !p.simulated || p.peak > p.capacity; });
  std::ranges::stable_sort(
      placed, {}, [&](const PlanPoint& p) { return plan_score(space.spec, p, *p.simulated); });
  return placed;
}

}  // namespace stepcast
