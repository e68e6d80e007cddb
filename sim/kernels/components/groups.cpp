#include <algorithm>
#include <map>
#include <tuple>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/kernels/components.hpp"

namespace stepcast {
namespace {

/// Limits class_between classes of size, ascending, and what they are limits of.
struct SizeClasses {
  OperatorClass of;
  std::string_view what;
  std::vector<double> limits;
  double unit;  ///< that limits are written in
  std::string_view suffix;
};

const SizeClasses* classes_of(OperatorClass of) {
  static const std::vector<SizeClasses> all{{OperatorClass::product, "m ", {1024}, 1, ""},
                                            {OperatorClass::grouped_product, "m ", {512}, 1, ""},
                                            {OperatorClass::vector, "", {1e6, 8e6}, 1e6, " MB"},
                                            {OperatorClass::collective, "", {4e6}, 1e6, " MB"}};
  const auto found = std::ranges::find(all, of, &SizeClasses::of);
  return found == all.end() ? nullptr : &*found;
}

std::string class_between(const SizeClasses& classes, double size) {
  const auto text = [&](double limit) {
    return shortest(limit / classes.unit) + std::string(classes.suffix);
  };
  const auto above = std::ranges::upper_bound(classes.limits, size);
  const std::string what{classes.what};
  if (above == classes.limits.begin()) return what + "< " + text(*above);
  const std::string from = what + ">= " + text(*(above - 1));
  return above == classes.limits.end() ? from : from + ", < " + text(*above);
}

std::string attention_class(const KernelShape& shape) {
  const std::string generation =
      shape.generation == nullptr ? "" : std::string(shape.generation->name) + ", ";
  return generation + "head " + shortest(shape.head_size);
}

/// Rows of a group with what orders it: kinds of a class stand together, the whole class last.
struct ComponentKey {
  std::string device;
  std::size_t of = 0, kind = 0;
  std::string size;
  MeasurementUse use = MeasurementUse::foreign;
  auto operator<=>(const ComponentKey&) const = default;
};
struct ComponentErrors {
  std::vector<double> judged, all;
};

}  // namespace

std::string size_class(const OperatorRequest& request, const OperatorForecaster& cluster) {
  const OperatorClass of = request.kind->of;
  const SizeClasses* classes = classes_of(of);
  if (classes == nullptr) return attention_class(request.shape);
  // Vector kernels are as large as what they move.
  const bool bytes = of == OperatorClass::vector;
  return class_between(*classes, bytes ? cluster.forecast(request).bytes.value() : request.shape.m);
}

std::vector<ComponentGroup> component_groups(const ComponentLedger& ledger) {
  const auto kinds = operator_kinds();
  std::map<ComponentKey, ComponentErrors> errors;
  std::map<std::tuple<std::string, std::size_t>, std::vector<std::size_t>> of_class;
  for (const MeasuredComponent& row : ledger.rows) {
    const auto of = static_cast<std::size_t>(row.kind->of);
    const auto kind = static_cast<std::size_t>(row.kind - kinds.data());
    auto& seen = of_class[{row.device, of}];
    if (std::ranges::find(seen, kind) == seen.end()) seen.push_back(kind);
    // Once with its kind, once with its whole class.
    for (const std::size_t k : {kind, kinds.size()}) {
      ComponentErrors& group = errors[{row.device, of, k, row.size, row.use}];
      group.all.push_back(row.error());
      if (row.exclude.empty()) group.judged.push_back(row.error());
    }
  }
  std::vector<ComponentGroup> groups;
  for (auto& [key, group] : errors) {
    const bool whole = key.kind == kinds.size();
    // A class of one kind would say the same again.
    if (whole && of_class[{key.device, key.of}].size() == 1) continue;
    const std::string label = whole ? std::string("all ") + name(static_cast<OperatorClass>(key.of))
                                    : std::string(kinds[key.kind].name);
    groups.push_back({key.device, label, key.size, key.use, figures(std::move(group.judged)),
                      figures(std::move(group.all))});
  }
  return groups;
}

double ComponentLedger::overall() const {
  double sum = 0, count = 0;
  for (const ComponentGroup& group : component_groups(*this)) {
    // Groups count alike, whatever their number of rows; a whole class would count its kinds again.
    if (group.kind.starts_with("all ") || group.judged.rows == 0) continue;
    sum += group.judged.mean;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace stepcast
