#include "examine.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "flops.hpp"
#include "scaled.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/step_cost.hpp"

namespace stepcast::laws {
namespace {

/// What the order of sums of thousands of terms moves, as a part of the step.
constexpr double rounding = 1e-9;

std::string part_name(std::size_t exposed) {
  return std::string("exposed ") + name(static_cast<ExposedKind>(exposed));
}

/// One case and its forecasts. All but one share links by our own solver, which may run any number
/// of times in a process.
class Examination {
 public:
  explicit Examination(const ValidCase& c) : case_{c}, base_{run(c.scenario)} {}

  Findings run_all() {
    count(base_.timeline.flows > 0 ? "flows meet" : "flows alone");
    if (base_.timeline.skipped_micro_batches > 0) count("micro-batches skipped");
    if (base_.timeline.classes.size() < base_.timeline.tasks && folded()) count("ranks folded");
    for (const std::string& broken : broken_flops(case_)) fail(broken);
    compiling_is_told();
    measure_rounding();
    everything_scales();
    fold_changes_nothing();
    simgrid_agrees();
    prices_move_no_time();
    faster("link", with_faster_links(case_.scenario, 1.5));
    faster("device", with_faster_devices(case_.scenario, 1.5));
    faster("host", with_faster_hosts(case_.scenario, 1.5));
    return std::move(findings_);
  }

 private:
  static Forecast run(Scenario scenario) {
    if (scenario.simulate.sharing == Sharing::automatic)
      scenario.simulate.sharing = Sharing::incremental;
    return forecast(scenario);
  }
  void fail(const std::string& what) { findings_.broken.push_back(what); }
  void count(const std::string& what) { ++findings_.counts[what]; }
  bool folded() const {
    return std::cmp_less(base_.timeline.classes.size(), case_.scenario.workload.plan.world());
  }

  void equal(const std::string& what, double a, double b, double scale) {
    if (std::abs(a - b) <= tolerance_ * scale) return;
    fail(what + ": " + shortest(a) + " and " + shortest(b));
  }
  void equal_times(const std::string& what, const RankTimes& a, const RankTimes& b) {
    const double step = base_.step_time.value();
    equal(what + " computing", a.computing.value(), b.computing.value(), step);
    for (std::size_t k = 0; k < exposed_kinds; ++k)
      equal(what + " " + part_name(k), a.exposed[k].value(), b.exposed[k].value(), step);
    equal(what + " bubble", a.bubble.value(), b.bubble.value(), step);
    equal(what + " host stall", a.host_stall.value(), b.host_stall.value(), step);
    equal(what + " compile stall", a.compile_stall.value(), b.compile_stall.value(), step);
    equal(what + " other idle", a.other_idle.value(), b.other_idle.value(), step);
    equal(what + " communication", a.communication.value(), b.communication.value(), step);
  }
  void equal_forecasts(const std::string& what, const Forecast& other) {
    equal(what + ": step", base_.step_time.value(), other.step_time.value(),
          base_.step_time.value());
    equal_times(what + ": mean", base_.mean, other.mean);
    for (std::size_t s = 0; s < base_.stages.size(); ++s)
      equal_times(what + ": stage " + std::to_string(s), base_.stages[s].times,
                  other.stages[s].times);
  }
  void equal_collectives(const std::vector<CollectiveUse>& others);

  void compiling_is_told();
  void measure_rounding();
  double largest_difference(const Forecast& other, double factor) const;
  void fold_changes_nothing();
  void simgrid_agrees();
  void everything_scales();
  void prices_move_no_time();
  void faster(const std::string& what, const Scenario& scenario);
  bool same_choices(const Scenario& scenario, const Forecast& other) const;

  const ValidCase& case_;
  Forecast base_;
  double tolerance_ = rounding;  ///< of another run, as a part of the step
  Findings findings_;
};

void Examination::equal_collectives(const std::vector<CollectiveUse>& others) {
  if (base_.collectives.size() != others.size())
    return fail("fold off: " + std::to_string(base_.collectives.size()) + " and " +
                std::to_string(others.size()) + " collectives");
  for (std::size_t i = 0; i < others.size(); ++i) {
    const CollectiveUse &a = base_.collectives[i], &b = others[i];
    const std::string what = "fold off: collective " + a.name;
    if (a.name != b.name || a.group != b.group || a.algorithm != b.algorithm)
      fail(what + " (" + a.group + ", " + a.algorithm + ") and " + b.name + " (" + b.group + ", " +
           b.algorithm + ")");
    equal(what + " bytes", a.bytes.value(), b.bytes.value(), a.bytes.value());
    equal(what + " alone", a.alone.value(), b.alone.value(), a.alone.value());
  }
}

/// Nothing waits for what is not compiled.
void Examination::compiling_is_told() {
  const RuntimeSpec& runtime = case_.scenario.workload.runtime;
  const double told = base_.mean.compile_stall.value();
  if (runtime.compile_misses > 0) {
    if (told > 0) count("compiling waited for");
    return;
  }
  if (told != 0) fail("nothing is compiled, but " + shortest(told) + " s wait for it");
}

/// Groups that share links without keeping step make small differences larger, until rounding
/// shows. Times and rates times 3 or 5 round otherwise than those of the case, and change nothing
/// else where the layers, which are balanced by sums of times, stay.
void Examination::measure_rounding() {
  if (base_.timeline.flows == 0) return;
  const LayerTable layers = layers_of(case_.scenario);
  double moved = 0;
  for (const double factor : {3.0, 5.0}) {
    Scenario other = scaled(case_.scenario, factor);
    if (other.simulate.sharing == Sharing::automatic) other.simulate.sharing = Sharing::incremental;
    const Forecast forecast = stepcast::forecast(other, Ideal{.layers = &layers});
    moved = std::max(moved, largest_difference(forecast, factor));
  }
  constexpr double solvers = 1000;  // another solver or order rounds more than another factor does
  constexpr double most = 0.05;
  tolerance_ = std::clamp(solvers * moved, rounding, most);
  // Sums of many terms move up to 1e-10 by themselves; what grows moves a hundred thousand times as
  // much.
  if (moved > rounding) count("rounding grows");
}

/// Of all times, `factor` times those of the other forecast, as a part of the step.
double Examination::largest_difference(const Forecast& other, double factor) const {
  const double step = base_.step_time.value();
  double largest = 0;
  const auto see = [&](Seconds own, Seconds others) {
    largest = std::max(largest, std::abs(own.value() - factor * others.value()) / step);
  };
  see(base_.step_time, other.step_time);
  for (std::size_t s = 0; s < base_.stages.size(); ++s) {
    const RankTimes &a = base_.stages[s].times, &b = other.stages[s].times;
    for (const auto part :
         {&RankTimes::computing, &RankTimes::bubble, &RankTimes::host_stall,
          &RankTimes::compile_stall, &RankTimes::other_idle, &RankTimes::communication})
      see(a.*part, b.*part);
    for (std::size_t k = 0; k < exposed_kinds; ++k) see(a.exposed[k], b.exposed[k]);
  }
  return largest;
}

void Examination::fold_changes_nothing() {
  Scenario separate = case_.scenario;
  separate.simulate.fold = Fold::off;
  const Forecast other = run(std::move(separate));
  equal_forecasts("fold off", other);
  equal_collectives(other.collectives);
}

void Examination::simgrid_agrees() {
  Scenario scenario = case_.scenario;
  scenario.simulate.sharing = Sharing::simgrid;
  equal_forecasts("simgrid", run(std::move(scenario)));
}

void Examination::everything_scales() {
  const Forecast twice = run(scaled(case_.scenario, 2));
  equal("twice as fast: step", base_.step_time.value() / 2, twice.step_time.value(),
        base_.step_time.value());
}

/// With everything twice as fast a step takes half of the energy, and writes off as much: the
/// prices are spread over a time that is half as long too.
void Examination::prices_move_no_time() {
  if (!case_.scenario.cluster.costs) return;
  count("costs");
  Scenario free = case_.scenario, twice = scaled(case_.scenario, 2);
  free.cluster.costs.reset();
  equal("without prices: step", base_.step_time.value(), run(std::move(free)).step_time.value(),
        base_.step_time.value());
  const StepCost own = *step_cost(case_.scenario, base_);
  const StepCost fast = *step_cost(twice, run(twice));
  const auto written_off = [&](const StepCost& cost) {
    constexpr double kilowatt_hour = 3.6e6;  // in joules
    return cost.step - cost.joules / kilowatt_hour * case_.scenario.cluster.costs->electricity;
  };
  equal("twice as fast: joules", own.joules / 2, fast.joules, own.joules);
  equal("twice as fast: prices written off", written_off(own), written_off(fast), own.step);
}

/// Whether what is chosen by time (layers, algorithms) is the same in another forecast; orders of
/// layers are not told.
bool Examination::same_choices(const Scenario& scenario, const Forecast& other) const {
  if (scenario.workload.runtime.layer_order != RuntimeSpec::LayerOrder::plain) return false;
  for (std::size_t s = 0; s < base_.stages.size(); ++s)
    if (base_.stages[s].layers != other.stages[s].layers) return false;
  if (base_.collectives.size() != other.collectives.size()) return false;
  for (std::size_t i = 0; i < other.collectives.size(); ++i)
    if (base_.collectives[i].algorithm != other.collectives[i].algorithm) return false;
  // Collections that were missed happen once, and a clock falls further, or saves less, while a
  // faster device waits. Of several steps the first, which is not counted, may gain more than those
  // that then meet the throttled time.
  const DeviceSpec& device = scenario.cluster.device;
  const bool meets_others = !scenario.stalls.throttling.empty() && scenario.simulate.steps > 1;
  return !scenario.stalls.gc_pauses && !device.idle_clock && !device.power_cap && !meets_others;
}

void Examination::faster(const std::string& what, const Scenario& scenario) {
  const Forecast other = run(scenario);
  const double more = other.step_time / base_.step_time - 1;
  const bool alone = base_.timeline.flows == 0 && other.timeline.flows == 0;
  const bool law = alone && same_choices(scenario, other);
  count("faster " + what + (law ? " by law" : " by count"));
  if (more <= rounding) return;
  if (law) return fail("a faster " + what + " takes " + shortest(100 * more) + " % longer");
  count("faster " + what + " takes longer");
  findings_.slower[what] = more;
}

}  // namespace

Findings examine(const ValidCase& c) { return Examination(c).run_all(); }

std::string text_of(const Findings& findings) {
  std::string text;
  for (const std::string& broken : findings.broken) text += "broken\t" + broken + "\n";
  for (const auto& [what, part] : findings.slower)
    text += "slower\t" + what + "\t" + shortest(part) + "\n";
  for (const auto& [what, count] : findings.counts)
    text += "count\t" + what + "\t" + std::to_string(count) + "\n";
  return text;
}

Findings findings_of(const std::string& text) {
  Findings findings;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, what, number;
    std::getline(words, kind, '\t');
    std::getline(words, what, '\t');
    std::getline(words, number, '\t');
    if (kind == "broken") findings.broken.push_back(what);
    if (kind == "slower") findings.slower[what] = parse_number(number).value_or(0);
    if (kind == "count") findings.counts[what] = static_cast<int>(parse_number(number).value_or(0));
  }
  return findings;
}

}  // namespace stepcast::laws
