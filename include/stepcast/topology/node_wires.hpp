#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stepcast/topology/network_spec.hpp"

/// Wires: links of a node that join devices which pass on what is not for them, or switches that
/// the node's file names one by one. Model: docs/models/wired.md.
namespace stepcast {

/// The wires of one node, and the ways over them. Vertices are the devices of the node, then its
/// switches.
class NodeWires {
 public:
  struct Wire {
    std::uint32_t from, to;       ///< vertices
    BytesPerSecond bandwidth{0};  ///< of the data sheet
    Seconds latency{0};
  };

  NodeWires() = default;  ///< none
  /// Throws InputError with what wiring_error() says. A fabric of ports or pairs has no wires.
  /// With a platform file the wires are its links and join `devices` devices of all nodes.
  NodeWires(const NodeFabric& fabric, std::int64_t devices);

  bool empty() const { return wires_.empty(); }
  std::uint32_t count() const { return static_cast<std::uint32_t>(wires_.size()); }
  std::uint32_t devices() const { return devices_; }
  std::uint32_t switches() const { return vertices_ - devices_; }
  const Wire& wire(std::uint32_t index) const { return wires_[index]; }
  const std::vector<std::uint32_t>& wires_of(std::uint32_t vertex) const { return out_[vertex]; }
  std::optional<std::uint32_t> between(std::uint32_t from, std::uint32_t to) const;

  /// Appends the wires from device to device, in order: dimension by dimension on a torus or mesh,
  /// fewest wires on a graph.
  void route(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& wires) const;
  /// Fewest wires from vertex to vertex without the failed ones; empty when there is no way.
  std::vector<std::uint32_t> way_around(std::uint32_t from, std::uint32_t to,
                                        const std::set<std::uint32_t>& failed) const;

  /// Sides of a torus or mesh, the first one changing fastest with the number of the device; empty
  /// for a graph.
  const std::vector<std::uint32_t>& sides() const { return sides_; }
  /// Along a side there are rings (torus) or a wire for each pair (mesh).
  bool rings() const { return rings_; }

  /// Of a platform file, whose wires have names and no ends; nothing otherwise.
  const PlatformTable* platform() const { return platform_.get(); }
  /// The wire is neither the first nor the last one on any way, which only wires of a platform
  /// file are.
  bool between_switches(std::uint32_t wire) const {
    return platform_ != nullptr && between_switches_[wire];
  }
  /// All ways from a device begin with one of two wires, a port and a NIC, so that it sends one
  /// message after another; asked of platform files alone.
  bool one_port() const { return one_port_; }

 private:
  void join(std::uint32_t a, std::uint32_t b, const LinkSpec& link);
  void add_grid(const std::vector<GridDimension>& dimensions);
  void add_graph(const GraphFabric& graph);
  void add_platform(std::shared_ptr<const PlatformTable> table);
  void find_ways();

  std::uint32_t devices_ = 0, vertices_ = 0;
  std::vector<Wire> wires_;
  std::vector<std::vector<std::uint32_t>> out_;  ///< [vertex] its wires
  std::vector<std::uint32_t> sides_;
  bool rings_ = false, one_port_ = false;
  std::shared_ptr<const PlatformTable> platform_;
  std::vector<bool> between_switches_;  ///< [wire]
  std::vector<std::uint32_t> next_;     ///< [vertex * devices + device]: wire to take, of a graph
};

/// What is wrong with the wires of such a node, and what is allowed; nothing when they are in
/// order. `key` gets the key below `node.fabric` that it is about.
std::optional<std::string> wiring_error(const NodeFabric& fabric, std::int64_t devices,
                                        std::string& key);

/// Devices and switches of a graph; the table of its ways grows with their square.
inline constexpr std::int64_t most_graph_vertices = 2048;
/// Of one node.
inline constexpr std::int64_t most_wires = 4'000'000;

}  // namespace stepcast
