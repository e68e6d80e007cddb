#include <fmt/format.h>

#include <cmath>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/base/value_visitor.hpp"
#include "stepcast/sim/explain/explain.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/draft.hpp"

namespace stepcast {
namespace {

/// A number of a scenario while it is visited.
struct Number {
  Parameter::Nature nature;
  double value;
  std::string text;
  std::function<void(double)> set;
};

/// Calls back for every number with the path of its key.
class NumberVisitor : public ValueVisitor {
 public:
  using Found = std::function<void(const std::string&, const Number&, const Range&)>;
  explicit NumberVisitor(const Found& found) : found_{found} {}

  void field(const Field& field) override {
    const auto quantity = [&]<int T, int B, int F>(Quantity<T, B, F>* target,
                                                   Parameter::Nature nature) {
      found_(child(field.key),
             {nature, target->value(), human(*target),
              [target](double value) { *target = Quantity<T, B, F>{value}; }},
             field.range);
    };
    using Nature = Parameter::Nature;
    if (auto* const* s = std::get_if<Seconds*>(&field.target)) quantity(*s, Nature::time);
    if (const auto* o = std::get_if<OptionalTime>(&field.target); o && *o->given)
      quantity(o->target, Nature::time);
    if (auto* const* b = std::get_if<BytesPerSecond*>(&field.target)) quantity(*b, Nature::rate);
    if (auto* const* f = std::get_if<FlopsPerSecond*>(&field.target)) quantity(*f, Nature::rate);
    double* target = nullptr;
    if (auto* const* d = std::get_if<double*>(&field.target)) target = *d;
    if (const auto* o = std::get_if<OptionalNumber>(&field.target); o && *o->target)
      target = &**o->target;
    if (target != nullptr)
      found_(child(field.key),
             {Nature::plain, *target, fmt::format("{:.4g}", *target),
              [target](double value) { *target = value; }},
             field.range);
  }

 private:
  const Found& found_;
};

void visit_numbers(ScenarioDraft& draft, const NumberVisitor::Found& found) {
  NumberVisitor visitor{found};
  describe_content(visitor, draft);
}

ScenarioDraft draft_of(Scenario scenario) {
  ScenarioDraft draft;
  if (scenario.synthetic) {
    draft.synthetic = *scenario.synthetic;
    draft.source = ScenarioDraft::from_workload;
    draft.workload_source = scenario.graph ? ScenarioDraft::from_graph : ScenarioDraft::from_times;
  }
  draft.scenario = std::move(scenario);
  return draft;
}

}  // namespace

std::vector<Parameter> parameters(const Scenario& scenario) {
  ScenarioDraft draft = draft_of(scenario);
  std::vector<Parameter> found;
  visit_numbers(draft, [&](const std::string& path, const Number& number, const Range& range) {
    // A number of 0 stays 0 whatever its factor, and an infinite one infinite.
    if (number.value == 0 || !std::isfinite(number.value)) return;
    found.push_back({.path = path,
                     .nature = number.nature,
                     .value = number.value,
                     .text = number.text,
                     .range = range});
  });
  return found;
}

Scenario scaled(Scenario scenario, const std::string& path, double factor) {
  ScenarioDraft draft = draft_of(std::move(scenario));
  bool known = false;
  visit_numbers(draft, [&](const std::string& at, const Number& number, const Range&) {
    // Only the number at that path; visiting all of them is the way to reach one by name.
    if (at != path) return;
    number.set(factor * number.value);
    known = true;
  });
  expects(known, "a parameter is a number of the scenario");
  // Synthetic times live in the draft while they are visited.
  if (draft.scenario.synthetic) draft.scenario.synthetic = draft.synthetic;
  return std::move(draft.scenario);
}

std::optional<Scenario> varied(const Scenario& scenario, const Parameter& parameter,
                               double factor) {
  if (!parameter.range.contains(factor * parameter.value)) return {};
  Scenario changed = scaled(scenario, parameter.path, factor);
  if (!reader_finding(changed).empty()) return {};
  return changed;
}

}  // namespace stepcast
