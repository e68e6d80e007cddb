#include "scaled.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "stepcast/topology/platform_table.hpp"

namespace stepcast::laws {
namespace {

/// Scales each target whose path begins with one of the prefixes.
class Scaler : public Visitor {
 public:
  Scaler(double factor, std::vector<std::string_view> prefixes)
      : factor_{factor}, prefixes_{std::move(prefixes)} {}

  void field(const Field& field) override {
    const std::string path = path_ + std::string(field.key);
    for (const std::string_view prefix : prefixes_)
      if (path.starts_with(prefix)) return std::visit(*this, field.target);
  }
  void section(std::string_view key, std::string_view, const Body& body) override {
    const std::string outer = path_;
    path_ += std::string(key) + ".";
    body(*this);
    path_ = outer;
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
    for (std::size_t i = 0; i < size; ++i) section(key, doc, [&](Visitor& v) { body(v, i); });
  }
  void optional_list(std::string_view key, std::string_view doc, std::size_t size,
                     const std::function<void(std::size_t)>& resize,
                     const std::function<void(Visitor&, std::size_t)>& body) override {
    list(key, doc, size, resize, body);
  }
  void paths(std::string_view, std::string_view, const PathMap&) override {}

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
  std::string path_;
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
