#include "scaled.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "stepcast/base/value_visitor.hpp"
#include "stepcast/topology/platform_table.hpp"

namespace stepcast::laws {
namespace {

/// Scales each target whose path begins with one of the prefixes.
class Scaler : public ValueVisitor {
 public:
  Scaler(double factor, std::vector<std::string_view> prefixes)
      : factor_{factor}, prefixes_{std::move(prefixes)} {}

  void field(const Field& field) override {
    const std::string path = child(field.key);
    for (const std::string_view prefix : prefixes_)
      if (path.starts_with(prefix)) return std::visit(*this, field.target);
  }

  void operator()(Seconds* time) const { *time = *time / factor_; }
  void operator()(const OptionalTime& time) const {
    if (*time.given) *time.target = *time.target / factor_;
  }
  void operator()(BytesPerSecond* rate) const { *rate = *rate * factor_; }
  void operator()(FlopsPerSecond* rate) const { *rate = *rate * factor_; }
  template <class Other>
  void operator()(const Other&) const {}

 private:
  double factor_;
  std::vector<std::string_view> prefixes_;
};

/// No key has the links of a platform file.
void scale_platform(ClusterSpec& cluster, double factor) {
  auto* fabric = std::get_if<PlatformFabric>(&cluster.node_fabric);
  if (fabric == nullptr) return;
  PlatformTable table = *fabric->table;
  for (PlatformTable::Link& link : table.links) {
    link.bandwidth = link.bandwidth * factor;
    link.latency = link.latency / factor;
  }
  fabric->table = std::make_shared<const PlatformTable>(std::move(table));
}

void scale(Scenario& scenario, double factor, std::vector<std::string_view> prefixes) {
  Scaler scaler{factor, std::move(prefixes)};
  describe(scaler, scenario.cluster);
}

}  // namespace

Scenario scaled(Scenario scenario, double factor) {
  scale(scenario, factor, {""});
  scale_platform(scenario.cluster, factor);
  Scaler all{factor, {""}};
  describe(all, scenario.stalls);
  if (scenario.synthetic) describe(all, *scenario.synthetic);
  return scenario;
}

Scenario with_faster_links(Scenario scenario, double factor) {
  scale(scenario, factor,
        {"node.", "super_node.", "network.", "collectives.", "kinds.node.", "kinds.super_node.",
         "kinds.network."});
  scale_platform(scenario.cluster, factor);
  return scenario;
}

Scenario with_faster_devices(Scenario scenario, double factor) {
  scale(scenario, factor, {"device.", "kinds.device."});
  return scenario;
}

Scenario with_faster_hosts(Scenario scenario, double factor) {
  scale(scenario, factor, {"host.", "kinds.host."});
  return scenario;
}

}  // namespace stepcast::laws
