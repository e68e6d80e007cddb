#include <algorithm>
#include <optional>
#include <span>

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
    const bool zones = fabric_.nodes() > 1 && nodes_are_zones();
    check_size(zones);
    text_ =
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
        "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n";
    text_ += "<zone id=\"" + escaped(fabric_.cluster().name) + "\" routing=\"Full\">\n";
    text_ +=
        R"(<prop id="stepcast.devices" value=")" + std::to_string(fabric_.devices()) + "\"/>\n";
    zones ? write_zones() : write_flat();
    return text_ + "</zone>\n</platform>\n";
  }

 private:
  /// The way up of a device towards another node, and the way down at the other end.
  using Ends = std::pair<std::vector<LinkId>, std::vector<LinkId>>;

  bool nodes_are_zones() const;
  void check_size(bool zones) const;
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

void XmlWriter::check_size(bool zones) const {
  const auto nodes = static_cast<double>(fabric_.nodes()), size = static_cast<double>(size_);
  const auto all = static_cast<double>(fabric_.devices());
  // With zones: pairs of nodes, and in each node pairs of devices and ways to up to two gateways.
  const double routes = zones ? nodes * (nodes - 1) + nodes * size * (size + 3) : all * (all - 1);
  if (routes > most_xml_routes)
    throw InputError("--platform: the file of " + std::to_string(fabric_.devices()) +
                     " devices would have " + shortest(routes) + " routes, allowed: at most " +
                     shortest(most_xml_routes) + (zones ? "" : " where a node's ways out differ"));
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
  text_ += std::string("<") + tag + " " + head + " symmetrical=\"NO\">";
  for (const LinkId id : links)
    text_ += "<link_ctn id=\"" + escaped(fabric_.link_name(id)) + "\"/>";
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

void XmlWriter::write_zones() {
  const auto nodes = static_cast<std::uint32_t>(fabric_.nodes());
  sort_links();
  for (std::uint32_t n = 0; n < nodes; ++n) write_node(n);
  // FATPIPE shares nothing: every transfer gets all of a bandwidth that no link reaches.
  text_ += "<link id=\"" + std::string(joint) +
           "\" bandwidth=\"1e18Bps\" latency=\"0s\" sharing_policy=\"FATPIPE\"/>\n";
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
