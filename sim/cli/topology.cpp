#include <fmt/format.h>

#include <map>

#include "commands.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario.hpp"
#include "stepcast/topology/fabric.hpp"

namespace stepcast::cli {
namespace {

struct LinkSummary {
  std::uint64_t count = 0;
  Link example;
};

/// Links of one kind are all alike: count them, keep one.
std::map<LinkKind, LinkSummary> by_kind(const Fabric& fabric) {
  std::map<LinkKind, LinkSummary> kinds;
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const Link link = fabric.link(LinkId{i});
    LinkSummary& summary = kinds[link.kind];
    if (summary.count++ == 0) summary.example = link;
  }
  return kinds;
}

/// One row per locality that occurs from device 0 on: the route to its first such device.
std::string route_rows(const Fabric& fabric) {
  std::string text = "  routes from device 0\n";
  Locality last = Locality::device;
  for (std::uint32_t d = 1; d < fabric.devices(); ++d) {
    const Locality now = fabric.locality(DeviceId{0}, DeviceId{d});
    if (now <= last) continue;
    last = now;
    std::string links;
    for (const LinkId id : fabric.route(DeviceId{0}, DeviceId{d})) {
      links += (links.empty() ? "" : " -> ") + fabric.link_name(id);
    }
    text += fmt::format("    {:<12} device:{:<7} {:>9}   {}\n", name(now), d,
                        human(fabric.route_latency(DeviceId{0}, DeviceId{d})), links);
  }
  return text;
}

}  // namespace

Outcome topology(const TopologyOptions& options) {
  std::vector<std::string> overrides;
  if (!options.devices.empty()) overrides.push_back("devices=" + options.devices);
  const ClusterSpec cluster =
      read_cluster(options.cluster, overrides, default_search_path(options.presets));
  const Fabric fabric(cluster);
  std::string text = fmt::format("{}: {} devices of {} in {} nodes", cluster.name, fabric.devices(),
                                 cluster.device.name, fabric.nodes());
  if (fabric.leaves() > 0) text += fmt::format(", {} leaves", fabric.leaves());
  text += fmt::format("\n\n  {:<14}{:>10}  {:>14}  {:>10}\n", "link", "count", "usable each",
                      "latency");
  for (const auto& [kind, summary] : by_kind(fabric)) {
    text += fmt::format("  {:<14}{:>10}  {:>14}  {:>10}\n", name(kind), summary.count,
                        human(summary.example.bandwidth), human(summary.example.latency));
  }
  const BytesPerSecond bisection = bisection_bandwidth(fabric);
  text += fmt::format("\n  bisection bandwidth   {} ({} per device)\n", human(bisection),
                      human(bisection / (static_cast<double>(fabric.devices()) / 2)));
  text += fmt::format("  oversubscription      {:g}\n\n", cluster.network.oversubscription);
  text += route_rows(fabric);
  if (!options.dot.empty()) {
    if (options.dot == "-") return {fabric_dot(fabric)};
    write_file(options.dot, fabric_dot(fabric));
  }
  return {text};
}

}  // namespace stepcast::cli
