#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/topology/platform.hpp"

namespace stepcast {
namespace {

/// Joins two gateways between which there is no link that anybody shares: SimGrid refuses a route
/// without links.
constexpr std::string_view joint = "joint";

/// For attributes, which stand in double quotes.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

/// How bytes of a node get to another one when that does not depend on the devices.
struct NodeRoute {
  bool super = false;          ///< over the switch of their super-node
  std::vector<LinkId> middle;  ///< between the gateways
};

class XmlWriter {
 public:
  explicit XmlWriter(const Fabric& fabric)
      : fabric_{fabric}, size_{static_cast<std::uint32_t>(fabric.devices() / fabric.nodes())} {}

  std::string write() {
    // Zones keep the file small: routes inside each
    // node and between nodes, not between all devices.
    const bool nodes = fabric_.nodes() > 1 && nodes_are_zones();
    if (!nodes) find_leaves();
    const bool leaves = !nodes && !leaf_routes_.empty() && routes_by_leaves() < routes_by_pairs();
    check_size(nodes ? routes_by_nodes() : leaves ? routes_by_leaves() : routes_by_pairs());
    text_ =
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
        "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n";
    text_ += "<zone id=\"" + escaped(fabric_.cluster().name) + "\" routing=\"Full\">\n";
    text_ +=
        R"(<prop id="stepcast.devices" value=")" + std::to_string(fabric_.devices()) + "\"/>\n";
    nodes ? write_zones() : leaves ? write_leaves() : write_flat();
    return text_ + "</zone>\n</platform>\n";
  }

 private:
  /// The way up of a device towards another node, and the way down at the other end.
  using Ends = std::pair<std::vector<LinkId>, std::vector<LinkId>>;

  bool nodes_are_zones() const;
  double routes_by_nodes() const;
  double routes_by_pairs() const;
  double routes_by_leaves() const;
  void check_size(double routes) const;
  void find_leaves();
  bool find_way(std::uint32_t a, std::uint32_t b);
  void write_leaves();
  void write_leaf(std::size_t leaf);
  void write_joint();
  /// A zone and the way out of it.
  struct Gate {
    std::string zone, router;
  };
  static Gate gate_of_device(std::uint32_t d);
  static Gate gate_of_leaf(std::size_t leaf);
  void zone_route(const Gate& from, const Gate& to, std::span<const LinkId> links, const char* tag);
  void write_flat();
  void write_zones();
  void sort_links();
  void write_node(std::uint32_t node);
  NodeRoute between(std::uint32_t a, std::uint32_t b) const;
  Ends ends_of(std::uint32_t device, bool super) const;
  void host(std::uint32_t device);
  void link(LinkId id);
  void route(const std::string& head, std::span<const LinkId> links, const char* tag);
  std::string gate(std::uint32_t node, bool super) const {
    return "node:" + std::to_string(node) + (super ? ".super" : ".out");
  }
  static std::string device(std::uint32_t d) { return "device:" + std::to_string(d); }

  const Fabric& fabric_;
  std::uint32_t size_;                         ///< devices of a node
  std::vector<std::vector<LinkId>> links_of_;  ///< by node
  std::vector<LinkId> trunks_;
  /// By leaf, its devices; between two leaves what lies between the NICs; pairs of devices on two
  /// leaves with another route.
  std::vector<std::vector<std::uint32_t>> leaves_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<LinkId>> leaf_routes_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> others_;
  std::set<std::uint32_t> told_;  ///< links that a route has crossed
  std::vector<LinkId> untold_;    ///< of these, those that are not written yet
  bool joined_ = false;           ///< the joint is written
  std::string text_;
};

/// All NICs of a node hang on one leaf, and nothing has failed.
bool XmlWriter::nodes_are_zones() const {
  if (fabric_.of_platform()) return false;
  // A detour depends on the pair of devices, and routes of zones do not know the devices.
  for (std::uint32_t l = 0; l < fabric_.link_count(); ++l)
    if (fabric_.detour({l}) != nullptr) return false;
  // All devices of a node leave it by one leaf, so that what lies between gateways is the same.
  for (std::uint32_t d = 0; d < fabric_.devices(); ++d)
    if (fabric_.leaf_of({d}) != fabric_.leaf_of({d / size_ * size_})) return false;
  return true;
}

/// Pairs of nodes, and in each node pairs of devices and ways to up to two gateways.
double XmlWriter::routes_by_nodes() const {
  const auto nodes = static_cast<double>(fabric_.nodes()), size = static_cast<double>(size_);
  return nodes * (nodes - 1) + nodes * size * (size + 3);
}

double XmlWriter::routes_by_pairs() const {
  const auto all = static_cast<double>(fabric_.devices());
  return all * (all - 1);
}

/// Pairs of leaves, in each leaf pairs of devices and their ways out, and the exceptions.
double XmlWriter::routes_by_leaves() const {
  double routes = static_cast<double>(leaf_routes_.size() + others_.size());
  for (const auto& devices : leaves_) {
    const auto count = static_cast<double>(devices.size());
    routes += count * (count + 1);
  }
  return routes;
}

void XmlWriter::check_size(double routes) const {
  if (routes > most_xml_routes)
    throw InputError("--platform: the file of " + std::to_string(fabric_.devices()) +
                     " devices would have " + shortest(routes) + " routes, allowed: at most " +
                     shortest(most_xml_routes));
}

/// Rails: the devices of a node hang on several leaves, so that a route follows from the two leaves
/// unless the devices have another way to each other.
void XmlWriter::find_leaves() {
  if (fabric_.of_platform()) return;
  for (std::uint32_t d = 0; d < fabric_.devices(); ++d) {
    leaves_.resize(std::max<std::size_t>(leaves_.size(), fabric_.leaf_of({d}) + 1));
    leaves_[fabric_.leaf_of({d})].push_back(d);
  }
  for (std::uint32_t a = 0; a < fabric_.devices(); ++a)
    for (std::uint32_t b = 0; b < fabric_.devices(); ++b)
      if (fabric_.leaf_of({a}) != fabric_.leaf_of({b}) && !find_way(a, b))
        others_.emplace_back(a, b);
}

/// Whether the way is that of all devices of the two leaves; the first such way is.
bool XmlWriter::find_way(std::uint32_t a, std::uint32_t b) {
  const std::vector<LinkId> links = fabric_.route({a}, {b});
  const auto [up, down] = ends_of(a, false);
  const LinkId last = ends_of(b, false).second.front();
  if (links.size() < 2 || links.front() != up.front() || links.back() != last) return false;
  const auto [place, first] =
      leaf_routes_.try_emplace({fabric_.leaf_of({a}), fabric_.leaf_of({b})});
  if (first) place->second.assign(links.begin() + 1, links.end() - 1);
  return std::equal(links.begin() + 1, links.end() - 1, place->second.begin(), place->second.end());
}

void XmlWriter::host(std::uint32_t d) {
  text_ += "<host id=\"" + device(d) + "\" speed=\"" +
           shortest(fabric_.cluster().device.matmul_peak.value()) +
           R"(f"><prop id="node" value=")" + std::to_string(d / size_) +
           R"("/><prop id="super_node" value=")" + std::to_string(fabric_.super_node_of({d})) +
           R"("/><prop id="leaf" value=")" + std::to_string(fabric_.leaf_of({d})) + "\"/></host>\n";
}

void XmlWriter::link(LinkId id) {
  const Link l = fabric_.link(id);
  // Shortest text that reads back as the same double: SimGrid must see our numbers.
  text_ += "<link id=\"" + escaped(fabric_.link_name(id)) + "\" bandwidth=\"" +
           shortest(l.bandwidth.value()) + "Bps\" latency=\"" + shortest(l.latency.value()) +
           R"(s"><prop id="kind" value=")" + name(l.kind) + "\"/></link>\n";
}

void XmlWriter::route(const std::string& head, std::span<const LinkId> links, const char* tag) {
  // Routes differ by direction, since links are one way.
  const bool bypass = std::string_view(tag).starts_with("bypass");
  text_ += std::string("<") + tag + " " + head + (bypass ? ">" : " symmetrical=\"NO\">");
  for (const LinkId id : links) {
    if (told_.insert(id.value).second) untold_.push_back(id);
    text_ += "<link_ctn id=\"" + escaped(fabric_.link_name(id)) + "\"/>";
  }
  if (links.empty()) text_ += "<link_ctn id=\"" + std::string(joint) + "\"/>";
  text_ += std::string("</") + tag + ">\n";
}

void XmlWriter::write_flat() {
  for (std::uint32_t d = 0; d < fabric_.devices(); ++d) host(d);
  for (std::uint32_t l = 0; l < fabric_.link_count(); ++l) link({l});
  for (std::uint32_t a = 0; a < fabric_.devices(); ++a)
    for (std::uint32_t b = 0; b < fabric_.devices(); ++b) {
      if (a == b) continue;
      route("src=\"" + device(a) + "\" dst=\"" + device(b) + "\"", fabric_.route({a}, {b}),
            "route");
    }
}

NodeRoute XmlWriter::between(std::uint32_t a, std::uint32_t b) const {
  const DeviceId from{a * size_}, to{b * size_};
  // A super-node's switch stands between its nodes: nothing but the two ends is on the way.
  if (fabric_.super_node_of(from) == fabric_.super_node_of(to)) return {true, {}};
  const std::vector<LinkId> links = fabric_.route(from, to);
  // NIC up and NIC down belong to the ends; what is left is shared by the devices of the nodes.
  return {false, {links.begin() + 1, links.end() - 1}};
}

XmlWriter::Ends XmlWriter::ends_of(std::uint32_t d, bool super) const {
  const DeviceId own{d};
  if (!super)
    return {{fabric_.device_link(LinkKind::nic_up, own)},
            {fabric_.device_link(LinkKind::nic_down, own)}};
  Ends ends{{fabric_.device_link(LinkKind::super_up, own)},
            {fabric_.device_link(LinkKind::super_down, own)}};
  if (fabric_.super_behind_ports()) {
    // Ports come first on the way out and last on the way in.
    ends.first.insert(ends.first.begin(), fabric_.device_link(LinkKind::port_up, own));
    ends.second.push_back(fabric_.device_link(LinkKind::port_down, own));
  }
  return ends;
}

void XmlWriter::sort_links() {
  const bool per_node = fabric_.cluster().network.nic.per == NicSpec::Per::node;
  links_of_.resize(static_cast<std::size_t>(fabric_.nodes()));
  const HostSpec& host = fabric_.cluster().host;
  for (std::uint32_t l = 0; l < fabric_.link_count(); ++l) {
    const Link link = fabric_.link({l});
    // SimGrid wants links in the zone whose routes use them; trunks belong to the whole.
    switch (info(link.kind).family.owner) {
      case LinkOwner::wire:
        links_of_[fabric_.wire_place({l}).node.value].push_back({l});
        break;
      case LinkOwner::pair:
      case LinkOwner::device:
        links_of_[link.from / size_].push_back({l});
        break;
      case LinkOwner::nic:
        links_of_[per_node ? link.from : link.from / size_].push_back({l});
        break;
      case LinkOwner::pcie_switch:
        links_of_[link.from * host.pcie.switch_devices / size_].push_back({l});
        break;
      case LinkOwner::leaf:
      case LinkOwner::pod:
      case LinkOwner::channel:
        trunks_.push_back({l});
        break;
    }
  }
}

/// A gateway for each way out: the super-node's switch and the NICs.
void XmlWriter::write_node(std::uint32_t node) {
  const std::uint32_t first = node * size_;
  const bool has_super = fabric_.cluster().super_node.has_value();
  text_ += "<zone id=\"node:" + std::to_string(node) + "\" routing=\"Full\">\n";
  for (std::uint32_t d = first; d < first + size_; ++d) host(d);
  text_ += "<router id=\"" + gate(node, false) + "\"/>\n";
  if (has_super) text_ += "<router id=\"" + gate(node, true) + "\"/>\n";
  for (const LinkId l : links_of_[node]) link(l);
  for (std::uint32_t a = first; a < first + size_; ++a) {
    for (std::uint32_t b = first; b < first + size_; ++b)
      if (a != b)
        route("src=\"" + device(a) + "\" dst=\"" + device(b) + "\"", fabric_.route({a}, {b}),
              "route");
    for (const bool super : {false, true}) {
      if (super && !has_super) continue;
      const auto [up, down] = ends_of(a, super);
      route("src=\"" + device(a) + "\" dst=\"" + gate(node, super) + "\"", up, "route");
      route("src=\"" + gate(node, super) + "\" dst=\"" + device(a) + "\"", down, "route");
    }
  }
  text_ += "</zone>\n";
}

void XmlWriter::zone_route(const Gate& from, const Gate& to, std::span<const LinkId> links,
                           const char* tag) {
  route("src=\"" + from.zone + "\" dst=\"" + to.zone + "\" gw_src=\"" + from.router +
            "\" gw_dst=\"" + to.router + "\"",
        links, tag);
}

XmlWriter::Gate XmlWriter::gate_of_device(std::uint32_t d) {
  const std::string name = "at:" + std::to_string(d);
  return {name, name + ".out"};
}

XmlWriter::Gate XmlWriter::gate_of_leaf(std::size_t leaf) {
  const std::string name = "leaf:" + std::to_string(leaf);
  return {name, name + ".out"};
}

/// Every device is a zone: SimGrid makes exceptions between zones alone. Its gateway is not the
/// host, to which SimGrid would go by a loopback.
void XmlWriter::write_leaf(std::size_t leaf) {
  const auto [name, out] = gate_of_leaf(leaf);
  const Gate gate{name + ".gate", out};
  text_ += "<zone id=\"" + name + "\" routing=\"Full\">\n";
  for (const std::uint32_t d : leaves_[leaf]) {
    const Gate own = gate_of_device(d);
    text_ += "<zone id=\"" + own.zone + "\" routing=\"Full\">";
    host(d);
    text_ += "<router id=\"" + own.router + "\"/>\n";
    // Behind the first devices, and before the first route.
    if (!std::exchange(joined_, true)) write_joint();
    route("src=\"" + device(d) + "\" dst=\"" + own.router + "\"", {}, "route");
    route("src=\"" + own.router + "\" dst=\"" + device(d) + "\"", {}, "route");
    text_ += "</zone>\n";
  }
  text_ += "<zone id=\"" + gate.zone + "\" routing=\"Full\"><router id=\"" + out + "\"/></zone>\n";
  // Links stand behind zones and before routes, each where it is used first.
  std::string zones = std::exchange(text_, {});
  for (const std::uint32_t a : leaves_[leaf]) {
    const auto [up, down] = ends_of(a, false);
    zone_route(gate_of_device(a), gate, up, "zoneRoute");
    zone_route(gate, gate_of_device(a), down, "zoneRoute");
    for (const std::uint32_t b : leaves_[leaf])
      if (a != b)
        zone_route(gate_of_device(a), gate_of_device(b), fabric_.route({a}, {b}), "zoneRoute");
  }
  const std::string routes = std::exchange(text_, std::move(zones));
  for (const LinkId l : std::exchange(untold_, {})) link(l);
  text_ += routes;
  text_ += "</zone>\n";
}

void XmlWriter::write_leaves() {
  for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf)
    if (!leaves_[leaf].empty()) write_leaf(leaf);
  for (std::uint32_t l = 0; l < fabric_.link_count(); ++l)
    if (!told_.contains(l)) link({l});
  for (const auto& [pair, middle] : leaf_routes_)
    zone_route(gate_of_leaf(pair.first), gate_of_leaf(pair.second), middle, "zoneRoute");
  for (const auto& [a, b] : others_)
    zone_route(gate_of_device(a), gate_of_device(b), fabric_.route({a}, {b}), "bypassZoneRoute");
}

/// FATPIPE shares nothing: every transfer gets all of a bandwidth that no link reaches.
void XmlWriter::write_joint() {
  text_ += "<link id=\"" + std::string(joint) +
           "\" bandwidth=\"1e18Bps\" latency=\"0s\" sharing_policy=\"FATPIPE\"/>\n";
}

void XmlWriter::write_zones() {
  const auto nodes = static_cast<std::uint32_t>(fabric_.nodes());
  sort_links();
  for (std::uint32_t n = 0; n < nodes; ++n) write_node(n);
  write_joint();
  for (const LinkId l : trunks_) link(l);
  for (std::uint32_t a = 0; a < nodes; ++a)
    for (std::uint32_t b = 0; b < nodes; ++b) {
      if (a == b) continue;
      const NodeRoute way = between(a, b);
      route("src=\"node:" + std::to_string(a) + "\" dst=\"node:" + std::to_string(b) +
                "\" gw_src=\"" + gate(a, way.super) + "\" gw_dst=\"" + gate(b, way.super) + "\"",
            way.middle, "zoneRoute");
    }
}

}  // namespace

std::string platform_xml(const Fabric& fabric) { return XmlWriter(fabric).write(); }

}  // namespace stepcast
