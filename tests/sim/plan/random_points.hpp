#pragma once
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sim/in_child.hpp"
#include "sim/plan/enumerate.hpp"
#include "stepcast/base/quantile.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/step_alone.hpp"
#include "stepcast/sim/scenario/checks.hpp"

/// Estimates and bounds of random feasible points against their simulations.
namespace stepcast::testing {

class RandomPoints {
 public:
  RandomPoints(const PlanSpace& space, std::uint64_t seed) : space_{space}, random_{seed} {
    for (const PlanBase& base : space.bases) costs_.emplace_back(base);
  }

  struct Compared {
    std::vector<double> estimates, simulations;
    std::size_t failed = 0;  ///< not simulated
    /// Points of which a bound is above the time alone, or that above the simulation.
    std::vector<std::string> broken;
    std::vector<double> unit_bounds;  ///< over the time alone
    std::size_t exchanging = 0;       ///< some units of which run in pairs when transfers block
    double drawn = 0;
    double rank_correlation() const { return stepcast::rank_correlation(estimates, simulations); }
    double median_unit_bound() const {
      std::vector<double> sorted(unit_bounds);
      std::ranges::sort(sorted);
      return sorted[sorted.size() / 2];
    }
    /// The largest |estimate / simulation - 1|.
    double worst() const {
      double most = 0;
      for (std::size_t i = 0; i < estimates.size(); ++i)
        most = std::max(most, std::abs(estimates[i] / simulations[i] - 1));
      return most;
    }
  };
  /// Draws each key by itself until so many points are feasible, and simulates those.
  Compared compare(std::size_t points) {
    Compared result;
    constexpr double most_drawn = 1e7;
    while (result.simulations.size() + result.failed < points && result.drawn < most_drawn) {
      ++result.drawn;
      const Strategy strategy = draw();
      const auto point = estimate_point(space_, costs_, strategy);
      if (point && reader_finding(scenario_of(space_, strategy)).empty()) add(*point, result);
    }
    return result;
  }

 private:
  template <class Values>
  const auto& any(const Values& values) {
    return values[random_() % values.size()];
  }

  Strategy draw() {
    const PlanDimensions& d = space_.dimensions;
    Strategy s;
    s.base = static_cast<std::uint32_t>(random_() % space_.bases.size());
    s.schedule = static_cast<std::uint32_t>(random_() % d.schedules.size());
    s.tp = any(d.tp), s.pp = any(d.pp), s.vpp = any(d.vpp), s.cp = any(d.cp);
    s.ep = any(d.ep), s.etp = any(d.etp), s.zero = any(d.zero);
    s.micro_batch = any(d.micro_batch), s.sequence_parallel = any(d.sequence_parallel) == 1;
    return s;
  }

  void add(const PlanPoint& point, Compared& result) {
    const Scenario scenario = scenario_of(space_, point.strategy);
    const auto time =
        in_child([&]() -> std::vector<double> { return {forecast(scenario).step_time.value()}; });
    if (time.size() != 1) {
      ++result.failed;
      return;
    }
    const LoneStep step(scenario, costs_[point.strategy.base].times);
    const double alone = step.replayed().value(), by_units = step.bound().value();
    constexpr double rounding = 1 + 1e-9;
    if (alone > time[0] * rounding || point.bound.value() > alone * rounding || by_units > alone)
      result.broken.push_back(strategy_text(space_, point.strategy));
    result.estimates.push_back(point.estimate.value());
    result.simulations.push_back(time[0]);
    result.unit_bounds.push_back(by_units / alone);
    add_blocking(scenario, point, result);
  }

  /// The same point with transfers that block, which also gives other orders.
  void add_blocking(Scenario scenario, const PlanPoint& point, Compared& result) {
    scenario.schedule.p2p = ScheduleSpec::PointToPoint::blocking;
    if (!reader_finding(scenario).empty()) return;
    const auto pairs = [](const StageOrder& order) {
      return std::ranges::any_of(order, &Unit::with_next);
    };
    result.exchanging += std::ranges::any_of(scenario.orders(), pairs) ? 1 : 0;
    const LoneStep step(scenario, costs_[point.strategy.base].times);
    const double alone = step.replayed().value();
    constexpr double rounding = 1 + 1e-9;
    if (point.bound.value() > alone * rounding || step.bound().value() > alone)
      result.broken.push_back(strategy_text(space_, point.strategy) + " with p2p blocking");
  }

  const PlanSpace& space_;
  std::mt19937_64 random_;
  std::vector<BaseCosts> costs_;
};

}  // namespace stepcast::testing
