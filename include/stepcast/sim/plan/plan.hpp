#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/sim/forecast/seeds.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

/// A plan is a search of parallel strategies: an analytic estimate and an admissible bound over the
/// whole space, then the simulation of the best. Method, formulas and what is proven:
/// docs/models/plan.md.
namespace stepcast {

/// Points of a frontier are compared in these; throughput is told in tokens per second.
enum class PlanMeasure { time, throughput, cost, energy, memory, devices };
const std::vector<std::pair<const char*, PlanMeasure>>& plan_measures();
const char* name(PlanMeasure measure);

/// The keys of `plan:`.
struct PlanSpec {
  enum class Objective { step_time, tokens_per_device, pareto, cost, throughput, energy, memory };
  Objective objective = Objective::step_time;
  /// The framework whose launch files have to say the plan.
  enum class RunsIn { any, megatron, mindspeed, mindformers };
  RunsIn runs_in = RunsIn::any;
  std::vector<std::string> frontier;  ///< two names of plan_measures(); empty: by the objective
  Bytes memory_reserve{0};        ///< kept free on each device, next to the cluster's own reserve
  std::int64_t top = 20;          ///< points that are simulated at least
  std::int64_t shortlist = 512;   ///< points that are timed in order, without contention
  std::int64_t simulations = 64;  ///< points simulated at most: for the proof, for the frontier
  std::int64_t placements = 6;    ///< points whose layers are placed by integer programme
  std::int64_t seeds = 0;         ///< that each finalist is run with; 0: stalls decide nothing
  double quantile = 0.9;          ///< of their steps that decides
  std::int64_t finalists = 4;     ///< points that are run with all seeds
  std::string baseline;  ///< file of a scenario that the winner is compared with; may be empty
  bool tensor_in_node = false;  ///< a tensor group stays inside one node
  std::int64_t least_micro_batches = 1;
  std::optional<double> least_parameters, most_parameters;            ///< of the whole model
  std::optional<double> least_flops_per_token, most_flops_per_token;  ///< of training [FLOP]
};
/// The frontier of the plan: two measures that it names; otherwise time and cost where cost is the
/// objective, else time, memory and devices.
std::vector<PlanMeasure> frontier_measures(const PlanSpec& spec);

/// Names the keys of `plan:`; `search` is set to the mapping that stands at the key of that
/// name, if any.
void describe_plan(Visitor& visitor, PlanSpec& spec, const Node*& search);
/// Names the keys of a plan file, for its schema: those of a scenario, some of which take
/// several values, and `plan:`. It describes a draft and throws it away.
void describe_plan_file(Visitor& visitor);

/// A strategy is one point of the space. What is not here is in the scenario of its base.
struct Strategy {
  std::uint32_t base = 0;
  std::uint32_t schedule = 0;  ///< index into PlanSpace::schedules
  std::int64_t tp = 1, pp = 1, vpp = 1, cp = 1, ep = 1, etp = 1, zero = 1, micro_batch = 1;
  bool sequence_parallel = false;
  friend bool operator==(const Strategy&, const Strategy&) = default;
};

/// Values of the keys that are quick to change, all of them each time.
struct PlanDimensions {
  std::vector<std::int64_t> tp, pp, vpp, cp, ep, etp, zero, micro_batch, sequence_parallel;
  std::vector<std::string> schedules;
  /// So many points come per combination of the keys that change a layer or the number of stages.
  double size() const;
};

/// A base is a scenario with one combination of all other keys that have several values: devices,
/// recompute, dispatch, overlap, and the paths of `plan.search`. Its parallel sizes are
/// placeholders.
struct PlanBase {
  Scenario scenario;
  std::vector<std::pair<std::string, std::string>> settings;  ///< (path, value) of those keys
  /// The base that has no key of the framework; itself without a framework.
  std::uint32_t plain = 0;
};

class PointClasses;

/// All points of a plan: bases times dimensions, with what every point of it shares.
struct PlanSpace {
  std::string file;
  std::vector<std::string> overrides;  ///< of the command line, before those of a point
  /// Of a launch file, its scenario, on which points stand; others read the file again.
  std::optional<ScenarioDocument> launched;
  std::vector<std::string> warnings;  ///< of that import
  SearchPath presets;                 ///< where those that the file names are looked for
  std::string baseline;               ///< where spec.baseline was found
  PlanSpec spec;
  std::vector<PlanBase> bases;
  PlanDimensions dimensions;
  StallsSpec stalls;       ///< with seeds: what finalists suffer; the search itself knows none
  PlanDimensions allowed;  ///< what `search` stands for, of every key
  /// The first so many bases have no key of the framework; the others are those with the keys that
  /// it says of a class of points.
  std::uint32_t plain_bases = 0;
  std::vector<std::shared_ptr<const PointClasses>>
      classes;  ///< of plain bases; empty: no framework
  /// (path, value) of keys that the search does not know, against those of the framework.
  std::vector<std::pair<std::string, std::string>> neutral;
  /// Of all values of each size, also where a ruled one leaves out all but one.
  double points() const { return static_cast<double>(plain_bases) * dimensions.size(); }
  /// Sizes that the file leaves to the framework, whose rules give each point its value.
  std::set<std::string> ruled;
  static constexpr std::uint32_t no_base = UINT32_MAX;
  /// The base with the keys that the framework says of a point of its plain base; `no_base` where
  /// it says another value of a ruled size.
  std::uint32_t base_of(const Strategy& strategy) const;
};

/// Reads a scenario in which keys may hold a list of values or the word `search`, and its
/// `plan:`. `devices` replaces cluster.devices (empty: as the file says). Throws InputError with
/// every error of the file at once.
PlanSpace read_plan(const std::string& path, const std::vector<std::string>& overrides,
                    const std::vector<std::int64_t>& devices, const SearchPath& search);
/// The same of a text that is at hand; `path` names it. Its points cannot be read again from a
/// file, so that they can be estimated and not simulated.
PlanSpace read_plan_text(std::string_view text, const std::string& path,
                         const std::vector<std::string>& overrides,
                         const std::vector<std::int64_t>& devices, const SearchPath& search);

/// A placement gives the layers of each chunk of each stage, and how many of them are recomputed,
/// in place of the balance and the recompute mode of the base.
struct PlanPlacement {
  Table layers, recomputed;  ///< [chunk][stage]
  std::string solver, status;
  double gap = 0;  ///< between the placement's pipeline time and what the solver proved
};

/// The scenario of a point, `dp` resolved. Its cross-checks are not made, its hash is not
/// set.
Scenario scenario_of(const PlanSpace& space, const Strategy& strategy,
                     const std::optional<PlanPlacement>& placement = {});
/// Writes `path=value` of all keys of a point, in a fixed order; they make the file an
/// ordinary scenario.
std::vector<std::string> settings_of(const PlanSpace& space, const Strategy& strategy,
                                     const std::optional<PlanPlacement>& placement = {});
/// `tp 8  pp 4  vpp 2 ...`: the point for people, with what differs between bases; of a placement
/// how many of its layers are recomputed (`recompute=15/49`) in place of the base's mode.
std::string strategy_text(const PlanSpace& space, const Strategy& strategy,
                          const std::optional<PlanPlacement>& placement = {});

/// Points that differ from it in the value of one dimension.
std::vector<Strategy> neighbours(const PlanSpace& space, const Strategy& strategy);

/// What a token costs, and what it takes from the mains.
struct PlanCost {
  double token = 0;  ///< [currency]
  double joules = 0;
};

/// What a finalist takes under the stalls of the plan.
struct PlanSeeds {
  Seconds decides{0};  ///< the quantile that the plan asks for
  std::int64_t first_seed = 0;
  Seconds first_step{0};  ///< with that seed, which is what `stepcast run` of the point draws
  Quantiles step_time;
  StepInterval::Bounds interval;  ///< of model and seeds [s], around the median
};

/// What one point is believed to take.
struct PlanPoint {
  Strategy strategy;
  std::optional<PlanPlacement> placement;  ///< nothing: balanced
  std::int64_t devices = 0;
  Seconds bound{0};     ///< no simulation of the point is faster
  Seconds estimate{0};  ///< closed form
  /// Never above `alone`: its units in their order; nothing: not asked for.
  std::optional<Seconds> unit_bound;
  std::optional<Seconds> alone;      ///< replayed without contention: the tight bound
  std::optional<Seconds> simulated;  ///< replayed on the network
  std::optional<PlanSeeds> seeds;    ///< of finalists
  Bytes peak{0};                     ///< of the fullest device
  Bytes capacity{0};
  double tokens = 0;             ///< of a step
  double cost_rate = 0;          ///< a token costs at least this per second of step; 0: no prices
  std::optional<PlanCost> cost;  ///< simulated, on a cluster with prices
  double energy_rate = 0;        ///< a token takes at least this per second of step [J]
  std::optional<double> energy;  ///< of a token [J], simulated, on devices of known power
};

/// The scenario of a point as a user's file would be read, with its document and hash, but
/// without the stalls that only finalists suffer.
Scenario read_point(const PlanSpace& space, const PlanPoint& point, const SearchPath& search);

/// Says why points were left out.
struct PlanCounts {
  double points = 0;                         ///< of the whole space
  std::map<std::string, double> infeasible;  ///< by reason
  double bounded = 0;                        ///< whose bound is above what is kept
  double estimated = 0;                      ///< whose estimate was made
  double unit_bounded = 0;                   ///< whose units were added up in their order
  double timed = 0;                          ///< replayed without contention
  double simulated = 0;
};

/// The nearest point that can run, where nothing of a space can.
struct PlanRelaxation {
  std::string change;    ///< what has to give: `parallel.tp 4 instead of 3`
  std::string settings;  ///< the same for the command line: `, --set 'parallel.tp=4'`
  std::string point;     ///< as strategy_text()
  std::string tightest;  ///< the constraint that alone stands in the way; may be empty
  std::size_t keys = 0;  ///< that leave their lists
  double distance = 0;   ///< of their values from the lists, in doublings
};

/// One forecast, for comparisons.
struct PlanRun {
  std::string strategy;
  std::int64_t devices = 0;
  double tokens = 0;  ///< of a step
  Seconds step_time{0};
  Bytes peak{0};              ///< of the fullest device
  std::vector<double> parts;  ///< by plan_part_names() [s]; they add up to the step time
};
/// breakdown_names() with the optimizer's part of computing apart.
const std::vector<std::string>& plan_part_names();

/// The winner of a plan and a configuration that is known.
struct PlanComparison {
  std::string file;  ///< of the latter
  PlanRun baseline, winner;
  /// Winner minus baseline by plan_part_names(), per token and device, over the baseline's
  /// time.
  std::vector<double> differences() const;
  double difference() const;  ///< their sum: below 0 the winner is faster
};

/// What a search found, and how far that is proven.
struct PlanResult {
  std::vector<PlanMeasure> measures;  ///< of the frontier
  std::vector<PlanPoint> best;        ///< simulated, the best first
  std::vector<PlanPoint> shortlist;   ///< all that were timed, by estimate
  PlanCounts counts;
  bool proven = false;  ///< no point of the space is faster than the best
  /// A lower bound on the objective of all points that were not simulated.
  std::optional<double> least_bound;
  std::optional<double> rank_correlation;    ///< Spearman, estimates of `best` against simulations
  std::vector<PlanPoint> placed;             ///< by integer programme, simulated, the best first
  std::vector<PlanPoint> finalists;          ///< with seeds, the best under stalls first
  std::optional<PlanComparison> comparison;  ///< with the baseline of the plan
  std::optional<PlanPoint> nearest;          ///< when nothing is feasible: the least memory excess
  std::string tightest;                      ///< when nothing is feasible: what stands in the way
  std::optional<PlanRelaxation> relaxed;     ///< when nothing is feasible: what would be
};

/// Searches the space. `workers` processes simulate at a time. When nothing is feasible, `placed`
/// and `best` are empty, `tightest` and `nearest` say why. What was timed, simulated and placed is
/// kept in the file `store` (empty: nowhere), so that the same search by the same build of the
/// program goes on where it was ended, to the same result. Throws EngineError when a point cannot
/// be simulated, InputError when the store cannot be used.
PlanResult search_plan(const PlanSpace& space, const SearchPath& search, int workers,
                       const std::string& store = {});

/// An objective minimises the value: step time [s], devices times step time [s], the time of a
/// token [s], the price or energy [J] of one, which are bounds for times that were not simulated,
/// or memory [B]. Of equal values the lesser `then` is better: with memory the time, otherwise
/// nothing. They are two numbers, because beside some 1e10 bytes a sum has no digits left for
/// milliseconds.
struct PlanScore {
  double value = 0;
  double then = 0;
  friend auto operator<=>(const PlanScore&, const PlanScore&) = default;
};
PlanScore plan_score(const PlanSpec& spec, const PlanPoint& point, Seconds time);
/// Whether two scores are within 0.05 % of each other.
bool ties(const PlanScore& best, const PlanScore& other);

/// The time that is known best of a point: simulated, else alone, else the bound of its units, else
/// estimated.
Seconds best_time(const PlanPoint& point);

/// A measure of a point by its best_time(); less is better.
double measured(PlanMeasure measure, const PlanPoint& point);

/// The space by arithmetic alone: `shortlist` has the points with the least estimates first, and
/// when nothing is feasible `tightest` and `nearest` say why.
PlanResult estimate_plan(const PlanSpace& space);

}  // namespace stepcast
