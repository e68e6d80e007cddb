#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/topology/platform.hpp"

namespace stepcast {
namespace {

/// A link that nobody shares, where a way has no link of its own or must be longer than others.
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

/// SimGrid takes the way with the fewest links from device to device, over switches. So that this
/// is the route of the fabric, ways that lead further out are made longer than all of those
/// further in, and whatever ends at a device so much longer that none leads through a device.
class XmlWriter {
 public:
  explicit XmlWriter(const Fabric& fabric)
      : fabric_{fabric},
        size_{static_cast<std::uint32_t>(fabric.devices() / fabric.nodes())},
        sides_{fabric.wires().sides()} {
    std::size_t along = 0;
    for (const std::uint32_t side : sides_) along += side;
    grid_ = !sides_.empty() && along < size_ - 1;
  }

  std::string write() {
    find_leaves();
    check_size();
    if (fabric_.of_platform()) {
      pairs(0, static_cast<std::uint32_t>(fabric_.devices()));
    } else {
      for (std::uint32_t first = 0; first < fabric_.devices(); first += size_)
        grid_ ? along_sides(first) : pairs(first, size_);
      over_super_nodes();
      over_leaves();
    }
    write_all();
    return std::move(text_);
  }

 private:
  using Links = std::vector<LinkId>;
  /// From a device or switch to another one.
  struct Way {
    std::string from, to;
    Links links;
    std::size_t joints = 0;
    bool arrives = false;  ///< at a device
  };

  void find_leaves() {
    if (fabric_.of_platform()) return;
    for (std::uint32_t d = 0; d < fabric_.devices(); ++d) {
      leaves_.resize(std::max<std::size_t>(leaves_.size(), fabric_.leaf_of({d}) + 1));
      leaves_[fabric_.leaf_of({d})].push_back({d});
    }
  }

  void check_size() const {
    const auto all = static_cast<double>(fabric_.devices()), size = static_cast<double>(size_);
    const auto leaves = static_cast<double>(leaves_.size());
    // Routes of each device: to the others of its node, and a few to NIC and leaf; between leaves
    // all pairs. On a grid a device has routes along its sides alone.
    double inside = fabric_.of_platform() ? all - 1 : size - 1;
    if (grid_) {
      inside = 0;
      for (const std::uint32_t side : sides_) inside += side;
    }
    const double routes = all * (inside + 4) + leaves * leaves;
    if (routes > most_xml_routes)
      throw InputError("--platform: the file of " + std::to_string(fabric_.devices()) +
                       " devices would have " + shortest(routes) + " routes, allowed: at most " +
                       shortest(most_xml_routes));
  }

  void pairs(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t a = first; a < first + count; ++a)
      for (std::uint32_t b = first; b < first + count; ++b)
        if (a != b)
          longest_ = std::max(
              longest_, add({device(a), device(b), fabric_.route({a}, {b}), 0, /*arrives=*/true}));
  }

  /// One side after another, each from switches of its own to those of the next: a device has one
  /// way to every other one, and as many routes as its sides are long.
  void along_sides(std::uint32_t first) {
    const auto point = [&](std::uint32_t d, std::size_t side) {
      const bool arrived = side == 0 || side == sides_.size();
      return device(d) + (arrived ? "" : ".side:" + std::to_string(side));
    };
    std::size_t longest = 0;
    std::uint32_t stride = 1;
    for (std::size_t k = 0; k < sides_.size(); ++k) {
      std::size_t farthest = 0;
      for (std::uint32_t d = first; d < first + size_; ++d) {
        if (k > 0) switches_.push_back(point(d, k));
        const std::uint32_t own = (d - first) / stride % sides_[k];
        for (std::uint32_t to = 0; to < sides_[k]; ++to) {
          const std::uint32_t other = d - own * stride + to * stride;
          farthest =
              std::max(farthest, add({point(d, k), point(other, k + 1), fabric_.route({d}, {other}),
                                      0, k + 1 == sides_.size()}));
        }
      }
      longest += farthest;
      stride *= sides_[k];
    }
    longest_ = std::max(longest_, longest);
  }

  void over_super_nodes() {
    if (!fabric_.cluster().super_node) return;
    std::size_t up = 0, down = 0;
    const std::size_t joints = longer();
    std::string last;
    for (std::uint32_t d = 0; d < fabric_.devices(); ++d) {
      std::string super = "super:" + std::to_string(fabric_.super_node_of({d}));
      // Devices of a super-node follow each other.
      if (super != last) last = switched(super);
      up = std::max(up, add({device(d), super, super_way(d, true), joints, false}));
      down = std::max(down, add({super, device(d), super_way(d, false), 0, /*arrives=*/true}));
    }
    longest_ = std::max(longest_, up + down);
  }

  void over_leaves() {
    const std::size_t joints = longer();
    const std::size_t between = between_leaves();
    // Nothing leaves the only node or super-node.
    if (between == 0) return;
    std::size_t up = 0, down = 0;
    for (std::size_t l = 0; l < leaves_.size(); ++l) {
      if (leaves_[l].empty()) continue;
      const std::string in = switched(leaf(l, ".in")), out = switched(leaf(l, ".out"));
      for (const DeviceId d : leaves_[l]) {
        const LinkId nic_up = fabric_.device_link(LinkKind::nic_up, d);
        const LinkId nic_down = fabric_.device_link(LinkKind::nic_down, d);
        up = std::max(up, add({device(d.value), in, working({nic_up}), joints, false}));
        down = std::max(down, add({out, device(d.value), working({nic_down}), 0, true}));
      }
    }
    longest_ = std::max(longest_, up + between + down);
  }

  /// What is between the NICs of two leaves; the longest.
  std::size_t between_leaves() {
    std::size_t longest = 0;
    for (std::size_t a = 0; a < leaves_.size(); ++a)
      for (std::size_t b = 0; b < leaves_.size(); ++b) {
        if (leaves_[a].empty() || leaves_[b].empty()) continue;
        // Devices stand in the order of super-nodes: where any two are of different ones, these
        // are.
        for (const auto& [from, to] : {std::pair{leaves_[a].front(), leaves_[b].back()},
                                       std::pair{leaves_[a].back(), leaves_[b].front()}}) {
          if (fabric_.super_node_of(from) == fabric_.super_node_of(to)) continue;
          const Links links = fabric_.intact_route(from, to);
          const Links middle = working({links.begin() + 1, links.end() - 1});
          longest = std::max(longest, add({leaf(a, ".in"), leaf(b, ".out"), middle, 0, false}));
          break;
        }
      }
    return longest;
  }

  /// Its length.
  std::size_t add(Way way) {
    // SimGrid takes no way without links.
    if (way.links.empty() && way.joints == 0) way.joints = 1;
    ways_.push_back(std::move(way));
    return ways_.back().links.size() + ways_.back().joints;
  }

  /// Links that have failed are gone around.
  Links working(const Links& links) const {
    // A failed link is replaced by what its traffic takes instead; an empty detour leaves it out.
    Links all;
    for (const LinkId id : links) {
      const Links* instead = fabric_.detour(id);
      if (instead == nullptr)
        all.push_back(id);
      else
        all.insert(all.end(), instead->begin(), instead->end());
    }
    return all;
  }

  /// Ports come first on the way out and last on the way in.
  Links super_way(std::uint32_t d, bool up) const {
    const bool ports = fabric_.super_behind_ports();
    Links links;
    if (up && ports) links.push_back(fabric_.device_link(LinkKind::port_up, {d}));
    links.push_back(fabric_.device_link(up ? LinkKind::super_up : LinkKind::super_down, {d}));
    if (!up && ports) links.push_back(fabric_.device_link(LinkKind::port_down, {d}));
    return working(links);
  }

  /// Joints for ways over a switch, of two links at least, that are longer than all so far.
  std::size_t longer() const { return std::max<std::size_t>(longest_, 1) - 1; }

  std::string switched(std::string name) {
    switches_.push_back(name);
    return name;
  }

  void write_all() {
    const std::string name = escaped(fabric_.cluster().name);
    text_ =
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
        "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n";
    text_ += "<zone id=\"" + name + "\" routing=\"Full\">\n";
    text_ +=
        R"(<prop id="stepcast.devices" value=")" + std::to_string(fabric_.devices()) + "\"/>\n";
    // Pairs need no search; a zone of its own leaves room for others beside it.
    text_ += "<zone id=\"" + name + " devices\" routing=\"" +
             (fabric_.of_platform() ? "Full" : "DijkstraCache") + "\">\n";
    for (std::uint32_t d = 0; d < fabric_.devices(); ++d) host(d);
    for (const std::string& each : switches_) text_ += "<router id=\"" + each + "\"/>\n";
    for (std::uint32_t l = 0; l < fabric_.link_count(); ++l) link({l});
    // FATPIPE shares nothing: every transfer gets all of a bandwidth that no link reaches.
    text_ += "<link id=\"" + std::string(joint) +
             "\" bandwidth=\"1e18Bps\" latency=\"0s\" sharing_policy=\"FATPIPE\"/>\n";
    for (const Way& way : ways_) write_way(way);
    text_ += "</zone>\n</zone>\n</platform>\n";
  }

  void write_way(const Way& way) {
    // Routes differ by direction, since links are one way.
    text_ += "<route src=\"" + way.from + "\" dst=\"" + way.to + "\" symmetrical=\"NO\">";
    const auto cross = [&](std::string_view id) {
      text_ += "<link_ctn id=\"" + std::string(id) + "\"/>";
    };
    // Where SimGrid searches, it gives the links of each route backwards (3.32 to 4.1).
    Links links = way.links;
    if (!fabric_.of_platform()) std::ranges::reverse(links);
    for (const LinkId id : links) cross(escaped(fabric_.link_name(id)));
    // Through a device a way would arrive twice, and is longer than the longest that arrives once.
    const std::size_t joints = way.joints + (way.arrives ? longest_ - 1 : 0);
    for (std::size_t j = 0; j < joints; ++j) cross(joint);
    text_ += "</route>\n";
  }

  void host(std::uint32_t d) {
    text_ += "<host id=\"" + device(d) + "\" speed=\"" +
             shortest(fabric_.cluster().device.matmul_peak.value()) +
             R"(f"><prop id="node" value=")" + std::to_string(d / size_) +
             R"("/><prop id="super_node" value=")" + std::to_string(fabric_.super_node_of({d})) +
             R"("/><prop id="leaf" value=")" + std::to_string(fabric_.leaf_of({d})) +
             "\"/></host>\n";
  }

  void link(LinkId id) {
    const Link l = fabric_.link(id);
    // Shortest text that reads back as the same double: SimGrid must see our numbers.
    text_ += "<link id=\"" + escaped(fabric_.link_name(id)) + "\" bandwidth=\"" +
             shortest(l.bandwidth.value()) + "Bps\" latency=\"" + shortest(l.latency.value()) +
             R"(s"><prop id="kind" value=")" + name(l.kind) + "\"/></link>\n";
  }

  static std::string device(std::uint32_t d) { return "device:" + std::to_string(d); }
  static std::string leaf(std::size_t l, const char* end) {
    return "leaf:" + std::to_string(l) + end;
  }

  const Fabric& fabric_;
  std::uint32_t size_;                         ///< devices of a node
  const std::vector<std::uint32_t>& sides_;    ///< of the grid of a node
  bool grid_ = false;                          ///< ways inside nodes go side by side
  std::vector<std::vector<DeviceId>> leaves_;  ///< by leaf, its devices
  std::vector<std::string> switches_;
  std::vector<Way> ways_;
  std::size_t longest_ = 0;  ///< of the ways from device to device so far
  std::string text_;
};

}  // namespace

std::string platform_xml(const Fabric& fabric) { return XmlWriter(fabric).write(); }

}  // namespace stepcast
