#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
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
class NumberVisitor : public Visitor {
 public:
  using Found = std::function<void(const std::string&, const Number&, const Range&)>;
  NumberVisitor(std::string path, const Found& found) : path_{std::move(path)}, found_{found} {}

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
  void section(std::string_view key, std::string_view, const Body& body) override {
    NumberVisitor inner{child(key), found_};
    body(inner);
  }
  void optional_section(std::string_view key, std::string_view doc, bool& present,
                        const Body& body) override {
    if (present) section(key, doc, body);
  }
  void alternatives(std::string_view, std::string_view, std::size_t& current,
                    const std::vector<Alternative>& bodies) override {
    bodies[current].body(*this);
  }
  void one_of(std::size_t& current, const std::vector<Alternative>& bodies) override {
    bodies[current].body(*this);
  }
  void list(std::string_view key, std::string_view doc, std::size_t size,
            const std::function<void(std::size_t)>&,
            const std::function<void(Visitor&, std::size_t)>& body) override {
    for (std::size_t i = 0; i < size; ++i)
      section(std::string(key) + "." + std::to_string(i), doc, [&](Visitor& v) { body(v, i); });
  }
  void optional_list(std::string_view key, std::string_view doc, std::size_t size,
                     const std::function<void(std::size_t)>& resize,
                     const std::function<void(Visitor&, std::size_t)>& body) override {
    list(key, doc, size, resize, body);
  }
  void paths(std::string_view, std::string_view, const PathMap&) override {}

 private:
  std::string child(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }

  std::string path_;
  const Found& found_;
};

void visit_numbers(ScenarioDraft& draft, const NumberVisitor::Found& found) {
  NumberVisitor visitor{{}, found};
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
    if (at != path) return;
    number.set(factor * number.value);
    known = true;
  });
  expects(known, "a parameter is a number of the scenario");
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
