#include <algorithm>
#include <cmath>
#include <string_view>

#include "stepcast/sim/plan/plan.hpp"

namespace stepcast {
namespace {

/// Whole bytes, so that equal memory is equal although sums of doubles end in other digits. What is
/// not simulated counts a quarter of a byte less: the forecast adds in another order, and where
/// that rounds down, the bound must not be above it.
double whole_bytes(const PlanPoint& point) {
  constexpr double slack = 0.25;
  return std::round(point.peak.value() - (point.simulated ? 0 : slack));
}

/// What was simulated is known, anything else is bounded by its rate.
double of_token(const PlanPoint& point, Seconds time, const std::optional<double>& known,
                double rate) {
  return known && point.simulated == time ? *known : rate * time.value();
}

std::optional<double> price(const PlanPoint& point) {
  if (!point.cost) return {};
  return point.cost->token;
}

}  // namespace

const std::vector<std::pair<const char*, PlanMeasure>>& plan_measures() {
  static const std::vector<std::pair<const char*, PlanMeasure>> measures{
      {"time", PlanMeasure::time},     {"throughput", PlanMeasure::throughput},
      {"cost", PlanMeasure::cost},     {"energy", PlanMeasure::energy},
      {"memory", PlanMeasure::memory}, {"devices", PlanMeasure::devices}};
  return measures;
}

const char* name(PlanMeasure measure) {
  return std::ranges::find(plan_measures(), measure, [](const auto& m) { return m.second; })->first;
}

std::vector<PlanMeasure> frontier_measures(const PlanSpec& spec) {
  std::vector<PlanMeasure> measures;
  for (const std::string& named : spec.frontier) {
    const auto found = std::ranges::find(plan_measures(), std::string_view(named),
                                         [](const auto& m) { return std::string_view(m.first); });
    if (found != plan_measures().end()) measures.push_back(found->second);
  }
  // A frontier without names follows the objective: prices fall with memory and devices already in
  // them.
  if (!measures.empty()) return measures;
  if (spec.objective == PlanSpec::Objective::cost) return {PlanMeasure::time, PlanMeasure::cost};
  return {PlanMeasure::time, PlanMeasure::memory, PlanMeasure::devices};
}

/// The product is a double, because a space may be larger than any integer type.
double PlanDimensions::size() const {
  auto size = static_cast<double>(schedules.size());
  for (const auto* values :
       {&tp, &pp, &vpp, &cp, &ep, &etp, &zero, &micro_batch, &sequence_parallel})
    size *= static_cast<double>(values->size());
  return size;
}

/// Devices times time is the price of a step, which compares sizes of a cluster without prices.
/// What the reader refuses when it is timed takes forever, and is the worst whatever the objective.
PlanScore plan_score(const PlanSpec& spec, const PlanPoint& point, Seconds time) {
  if (std::isinf(time.value())) return {time.value()};
  switch (spec.objective) {
    case PlanSpec::Objective::step_time:
    case PlanSpec::Objective::pareto:
      break;
    case PlanSpec::Objective::tokens_per_device:
      return {time.value() * static_cast<double>(point.devices)};
    case PlanSpec::Objective::cost:
      return {of_token(point, time, price(point), point.cost_rate)};
    case PlanSpec::Objective::throughput:
      return {time.value() / point.tokens};
    case PlanSpec::Objective::energy:
      return {of_token(point, time, point.energy, point.energy_rate)};
    case PlanSpec::Objective::memory:
      return {whole_bytes(point), time.value()};
  }
  return {time.value()};
}

bool ties(const PlanScore& best, const PlanScore& other) {
  constexpr double rounding = 5e-4;
  const auto near = [](double a, double b) { return std::abs(b - a) <= rounding * std::abs(a); };
  return near(best.value, other.value) && near(best.then, other.then);
}

Seconds best_time(const PlanPoint& point) {
  for (const std::optional<Seconds>& time : {point.simulated, point.alone, point.unit_bound})
    if (time) return *time;
  return point.estimate;
}

double measured(PlanMeasure measure, const PlanPoint& point) {
  const Seconds time = best_time(point);
  // Less is better in each measure, so that frontiers and scores compare with one sign.
  switch (measure) {
    case PlanMeasure::time:
      break;
    case PlanMeasure::throughput:
      return time.value() / point.tokens;
    case PlanMeasure::cost:
      return of_token(point, time, price(point), point.cost_rate);
    case PlanMeasure::energy:
      return of_token(point, time, point.energy, point.energy_rate);
    case PlanMeasure::memory:
      return point.peak.value();
    case PlanMeasure::devices:
      return static_cast<double>(point.devices);
  }
  return time.value();
}

}  // namespace stepcast
