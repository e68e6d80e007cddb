#include "stepcast/sim/scenario/key_units.hpp"

#include <algorithm>
#include <map>

#include "stepcast/base/text.hpp"
#include "stepcast/base/whole_visitor.hpp"
#include "stepcast/sim/scenario/draft.hpp"

namespace stepcast {
namespace {

enum class KeyUnit { none, time, size, bandwidth, flops };

/// The unit of every key, whichever alternatives a scenario takes; entries of lists are `*`.
using KeyUnits = std::map<std::string, KeyUnit, std::less<>>;

class KeyUnitCollector : public WholeVisitor {
 public:
  KeyUnitCollector(std::string prefix, KeyUnits& units)
      : prefix_{std::move(prefix)}, units_{units} {}

  void field(const Field& field) override {
    const auto unit = std::visit(
        [](const auto& target) {
          using Target = std::decay_t<decltype(target)>;
          if constexpr (std::is_same_v<Target, Seconds*> || std::is_same_v<Target, OptionalTime>)
            return KeyUnit::time;
          if constexpr (std::is_same_v<Target, Bytes*>) return KeyUnit::size;
          if constexpr (std::is_same_v<Target, BytesPerSecond*>) return KeyUnit::bandwidth;
          if constexpr (std::is_same_v<Target, FlopsPerSecond*>) return KeyUnit::flops;
          return KeyUnit::none;
        },
        field.target);
    // Alternatives may have the same key; its unit is the same in all of them.
    units_.try_emplace(prefix_ + std::string(field.key), unit);
  }
  void section(std::string_view key, std::string_view, const Body& body) override {
    KeyUnitCollector inner{prefix_ + std::string(key) + ".", units_};
    body(inner);
  }
  void list(std::string_view key, std::string_view doc, std::size_t, const Resize& resize,
            const Entry& body) override {
    // One entry is enough to see the keys of all.
    resize(1);
    section(std::string(key) + ".*", doc, [&](Visitor& v) { body(v, 0); });
  }

 private:
  std::string prefix_;
  KeyUnits& units_;
};

const KeyUnits& key_units() {
  // Collected from the descriptions once, so that no second list of units can fall behind them.
  static const KeyUnits all = [] {
    KeyUnits units;
    KeyUnitCollector collector{{}, units};
    ScenarioDraft draft;
    describe_content(collector, draft);
    return units;
  }();
  return all;
}

/// `stalls.throttling.0.from` -> `stalls.throttling.*.from`
std::string with_stars(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    // Positions in a list say nothing about the unit.
    const bool entry = part.find_first_not_of("0123456789") == std::string_view::npos;
    out += (out.empty() ? "" : ".") + (entry ? std::string("*") : std::string(part));
  }
  return out;
}

}  // namespace

std::string value_with_unit(std::string_view path, const std::string& value, Digits digits) {
  const auto number = parse_number(value);
  if (!number) return value;
  // Entries of lists share one unit: numbers in a path are stars there.
  const auto found = key_units().find(with_stars(path));
  const KeyUnit unit = found == key_units().end() ? KeyUnit::none : found->second;
  const bool few = digits == Digits::few;
  switch (unit) {
    case KeyUnit::time:
      return few ? human(Seconds{*number}) : value + " s";
    case KeyUnit::size:
      return few ? human(Bytes{*number}) : value + " B";
    case KeyUnit::bandwidth:
      return few ? human(BytesPerSecond{*number}) : value + " B/s";
    case KeyUnit::flops:
      return few ? human(FlopsPerSecond{*number}) : value + " FLOPS";
    case KeyUnit::none:
      break;
  }
  return value;
}

}  // namespace stepcast
