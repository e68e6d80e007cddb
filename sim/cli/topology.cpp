#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "stepcast/base/report_table.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/report/lines.hpp"
#include "stepcast/topology/bill.hpp"
#include "stepcast/topology/fabric_graph.hpp"
#include "stepcast/topology/platform.hpp"

namespace stepcast::cli {
namespace {

using Json = nlohmann::ordered_json;

struct LinkSummary {
  std::uint64_t count = 0;
  Link example;
};

/// Links of one kind are all alike, but for the speed of wires: count them, keep one.
std::map<std::pair<LinkKind, double>, LinkSummary> by_kind(const Fabric& fabric) {
  std::map<std::pair<LinkKind, double>, LinkSummary> kinds;
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const Link link = fabric.link(LinkId{i});
    LinkSummary& summary =
        kinds[{link.kind, link.kind == LinkKind::wire ? -link.bandwidth.value() : 0}];
    if (summary.count++ == 0) summary.example = link;
  }
  return kinds;
}

/// One row per locality that occurs from device 0 on: the route to its first such device.
struct Route {
  Locality locality;
  std::uint32_t device;
  Seconds latency;
  std::vector<std::string> links;
};

std::vector<Route> routes_from_first(const Fabric& fabric) {
  std::vector<Route> routes;
  // One route per kind of distance: the first device that is farther than all before.
  Locality last = Locality::device;
  for (std::uint32_t d = 1; d < fabric.devices(); ++d) {
    const Locality now = fabric.locality(DeviceId{0}, DeviceId{d});
    if (now <= last) continue;
    last = now;
    Route route{now, d, fabric.route_latency(DeviceId{0}, DeviceId{d}), {}};
    for (const LinkId id : fabric.route(DeviceId{0}, DeviceId{d}))
      route.links.push_back(fabric.link_name(id));
    routes.push_back(std::move(route));
  }
  return routes;
}

std::string route_rows(const Fabric& fabric) {
  std::string text = "  routes from device 0\n";
  for (const Route& route : routes_from_first(fabric)) {
    text += fmt::format("    {:<12} device:{:<7} {:>9}   {}\n", name(route.locality), route.device,
                        human(route.latency), fmt::join(route.links, " -> "));
  }
  return text;
}

Json bill_json(const Bill& bill, const std::string& currency) {
  Json parts = Json::array();
  for (const BillRow& row : bill.rows)
    parts.push_back({{"part", row.part},
                     {"count", row.count},
                     {"price", row.price},
                     {"total", row.total()},
                     {"power_w", row.watts()}});
  return {{"currency", currency},
          {"parts", parts},
          {"facility", bill.facility},
          {"price", bill.price()},
          {"power_w", bill.power()}};
}

std::string bill_text(const Bill& bill, const std::string& currency) {
  ReportTable table({text_column("bill"), number_column("count"), number_column(currency + " each"),
                     number_column(currency), number_column("kW")});
  const auto kilowatts = [](double watts) { return fmt::format("{:.5g}", watts / 1e3); };
  for (const BillRow& row : bill.rows)
    table.add({row.part, fmt::format("{:.0f}", row.count), fmt::format("{:.6g}", row.price),
               fmt::format("{:.8g}", row.total()), kilowatts(row.watts())});
  // Power of the building is a part of the sum and no machine.
  if (bill.facility > 1)
    table.add({"facility", "", "", "", kilowatts(bill.power() * (1 - 1 / bill.facility))});
  table.add({"all", "", "", fmt::format("{:.8g}", bill.price()), kilowatts(bill.power())});
  return "\n" + table.text("  ");
}

std::string as_json(const Fabric& fabric, const Bisection& cut) {
  const ClusterSpec& cluster = fabric.cluster();
  Json links = Json::array(), routes = Json::array();
  for (const auto& [key, summary] : by_kind(fabric)) {
    links.push_back({{"link", name(key.first)},
                     {"count", summary.count},
                     {"bandwidth_bytes_per_s", summary.example.bandwidth.value()},
                     {"latency_s", summary.example.latency.value()}});
  }
  for (const Route& route : routes_from_first(fabric)) {
    routes.push_back({{"locality", name(route.locality)},
                      {"device", route.device},
                      {"latency_s", route.latency.value()},
                      {"links", route.links}});
  }
  Json json{{"cluster", cluster.name},
            {"device", cluster.device.name},
            {"devices", fabric.devices()},
            {"nodes", fabric.nodes()},
            {"leaves", fabric.leaves()},
            {"pods", fabric.pods()},
            {"links", links},
            {"bisection_bytes_per_s", cut.bandwidth.value()},
            {"bisection_devices", cut.smaller},
            {"bisection_bytes_per_s_per_device", cut.per_device().value()},
            {"oversubscription", cluster.network.oversubscription},
            {"pod_oversubscription", cluster.network.pod_oversubscription},
            {"routes", routes}};
  if (cluster.costs) json["bill"] = bill_json(bill_of(fabric), cluster.costs->currency);
  return json.dump(2) + "\n";
}

/// A drawing takes about 300 bytes of memory per link; no program draws as many as these.
void check_drawing(const Fabric& fabric) {
  constexpr std::uint32_t most_links = 1 << 20;
  constexpr double bytes_per_link = 300;
  if (fabric.link_count() <= most_links) return;
  bad_option("--dot",
             fmt::format("would draw {} links, which takes about {} of memory, allowed: at most {} "
                         "links, give fewer --devices",
                         fabric.link_count(), human(Bytes{bytes_per_link * fabric.link_count()}),
                         most_links));
}

}  // namespace

Outcome topology(const TopologyOptions& options) {
  if (options.json == "-" && options.dot == "-")
    bad_option("--dot", "is -, as --json is, allowed: stdout for one of them");
  if (options.platform == "-" && (options.json == "-" || options.dot == "-"))
    bad_option("--platform", "is -, as another option is, allowed: stdout for one of them");
  const ClusterSpec cluster = cluster_option(options.cluster, options.devices, options);
  const Fabric fabric(cluster);
  // A drawing is of NICs, leaves and spines.
  if (!options.dot.empty() && fabric.of_platform())
    bad_option("--dot",
               "draws which switches links join, of which a platform file says nothing, "
               "allowed: a cluster that names its NICs");
  if (!options.dot.empty()) check_drawing(fabric);
  std::string text = fmt::format("{}: {} devices of {} in {} nodes", cluster.name, fabric.devices(),
                                 cluster.device.name, fabric.nodes());
  if (fabric.leaves() > 0) text += fmt::format(", {} leaves", fabric.leaves());
  ReportTable links({text_column("link"), number_column("count"), number_column("usable each"),
                     number_column("latency")});
  for (const auto& [key, summary] : by_kind(fabric))
    links.add({std::string(name(key.first)), fmt::format("{}", summary.count),
               human(summary.example.bandwidth), human(summary.example.latency)});
  text += "\n\n" + links.text("  ");
  const Bisection cut = bisection(fabric);
  text += fmt::format("\n  bisection bandwidth   {} ({} per device of {})\n", human(cut.bandwidth),
                      human(cut.per_device()), cut.smaller);
  text += fmt::format("  oversubscription      {:g}", cluster.network.oversubscription);
  if (fabric.pods() > 0)
    text += fmt::format(", of {} pods {:g}", fabric.pods(), cluster.network.pod_oversubscription);
  text += "\n\n";
  text += route_rows(fabric);
  if (cluster.costs) text += bill_text(bill_of(fabric), cluster.costs->currency);
  Outcome outcome = shown(folded(text, lines_width()), options.json,
                          options.json.empty() ? "" : as_json(fabric, cut));
  // The drawing and the platform may replace the text on stdout, each alone.
  if (options.dot == "-") {
    outcome.text = fabric_dot(fabric);
  } else if (!options.dot.empty()) {
    write_file(options.dot, fabric_dot(fabric));
  }
  if (options.platform == "-") {
    outcome.text = platform_xml(fabric);
  } else if (!options.platform.empty()) {
    write_file(options.platform, platform_xml(fabric));
  }
  return outcome;
}

}  // namespace stepcast::cli
