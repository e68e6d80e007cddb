#include "stepcast/topology/node_wires.hpp"

#include <algorithm>
#include <deque>

#include "narrow.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/topology/platform_table.hpp"

namespace stepcast {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

}  // namespace

NodeWires::NodeWires(const NodeFabric& fabric, std::int64_t devices) {
  // The reader has checked this with a place in the file; others build specs by hand.
  std::string key;
  if (const auto wrong = wiring_error(fabric, devices, key))
    throw InputError("node.fabric." + key + ": " + *wrong);
  devices_ = vertices_ = narrow(devices);
  // One of these is the fabric, and only its wires are added.
  if (const auto* platform = std::get_if<PlatformFabric>(&fabric)) add_platform(platform->table);
  const auto* torus = std::get_if<TorusFabric>(&fabric);
  rings_ = torus != nullptr;
  if (torus) add_grid(torus->dimensions);
  if (const auto* mesh = std::get_if<FullMeshFabric>(&fabric)) add_grid(mesh->dimensions);
  if (const auto* graph = std::get_if<GraphFabric>(&fabric)) add_graph(*graph);
}

void NodeWires::join(std::uint32_t a, std::uint32_t b, const LinkSpec& link) {
  // Directions are wires of their own: each has its bandwidth.
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    out_[from].push_back(count());
    wires_.push_back({from, to, link.bandwidth, link.latency});
  }
}

/// A ring of two has one wire each way.
void NodeWires::add_grid(const std::vector<GridDimension>& dimensions) {
  out_.resize(vertices_);
  for (const GridDimension& dimension : dimensions) sides_.push_back(narrow(dimension.size));
  for (std::uint32_t v = 0; v < vertices_; ++v) {
    std::uint32_t stride = 1;
    // Along each side a device has wires to those of its line; `stride` devices lie between them.
    for (std::size_t k = 0; k < sides_.size(); ++k) {
      const std::uint32_t own = v / stride % sides_[k], first = v - own * stride;
      for (std::uint32_t other = own + 1; other < sides_[k]; ++other) {
        // A ring joins neighbours and its two ends; a full
        // mesh joins all. Each pair once, from below.
        const bool neighbour = other == own + 1 || other - own == sides_[k] - 1;
        if (!rings_ || neighbour) join(v, first + other * stride, dimensions[k].link);
      }
      stride *= sides_[k];
    }
  }
}

void NodeWires::add_graph(const GraphFabric& graph) {
  vertices_ += narrow(graph.switches);
  out_.resize(vertices_);
  for (const GraphLink& link : graph.links)
    join(narrow(link.between[0]), narrow(link.between[1]), link.link);
  // Grids know their ways by arithmetic; a graph needs a table.
  find_ways();
}

/// Its wires lead from nowhere to nowhere: only its routes are known.
void NodeWires::add_platform(std::shared_ptr<const PlatformTable> table) {
  // Programs that never read a platform file leave the table empty.
  if (table == nullptr || table->devices() < devices_)
    throw InputError(
        "network.platform: is a file that this command does not read, allowed: "
        "node.fabric and network.nic");
  platform_ = std::move(table);
  for (const PlatformTable::Link& link : platform_->links)
    wires_.push_back({none, none, link.bandwidth, link.latency});
  // The first and the last link of a route touch a device; what no route begins or ends with is
  // between switches and shared by many.
  between_switches_.assign(wires_.size(), true);
  out_.resize(devices_);
  for (std::uint32_t a = 0; a < devices_; ++a)
    for (std::uint32_t b = 0; b < devices_; ++b) {
      if (a == b) continue;
      const auto way = platform_->route(a, b);
      between_switches_[way.front()] = between_switches_[way.back()] = false;
      if (std::ranges::find(out_[a], way.front()) == out_[a].end()) out_[a].push_back(way.front());
    }
  // A device whose routes begin with at most two links, a port and a NIC, sends one message after
  // another (docs/models/platform.md).
  one_port_ = std::ranges::all_of(out_, [](const auto& first) { return first.size() <= 2; });
}

/// Breadth first from every device. Of several ways with as few wires the number of the receiver
/// takes one, so that a switch spreads receivers over its ways up as D-mod-k does.
void NodeWires::find_ways() {
  next_.assign(std::size_t{vertices_} * devices_, none);
  // From the receiver outwards: wires go both ways, so that distances to it are those from it.
  for (std::uint32_t to = 0; to < devices_; ++to) {
    std::vector<std::uint32_t> distance(vertices_, none);
    distance[to] = 0;
    for (std::deque<std::uint32_t> queue{to}; !queue.empty(); queue.pop_front())
      for (const std::uint32_t w : out_[queue.front()]) {
        const std::uint32_t v = wires_[w].to;
        if (distance[v] != none) continue;
        distance[v] = distance[queue.front()] + 1;
        queue.push_back(v);
      }
    for (std::uint32_t v = 0; v < vertices_; ++v) {
      if (v == to) continue;
      // Every wire that comes one step nearer is as good.
      std::vector<std::uint32_t> best;
      for (const std::uint32_t w : out_[v])
        if (distance[wires_[w].to] + 1 == distance[v]) best.push_back(w);
      if (!best.empty()) next_[std::size_t{v} * devices_ + to] = best[to % best.size()];
    }
  }
}

std::optional<std::uint32_t> NodeWires::between(std::uint32_t from, std::uint32_t to) const {
  if (from >= vertices_ || to >= vertices_ || wires_.empty() || platform_) return std::nullopt;
  for (const std::uint32_t w : out_[from])
    if (wires_[w].to == to) return w;
  return std::nullopt;
}

/// Half-way around a ring senders of even place go up and the others down, which loads both
/// directions alike where the side is a multiple of four.
void NodeWires::route(std::uint32_t from, std::uint32_t to,
                      std::vector<std::uint32_t>& wires) const {
  if (platform_) {
    const auto way = platform_->route(from, to);
    wires.insert(wires.end(), way.begin(), way.end());
    return;
  }
  // A graph: the table has the next wire from each vertex to each device.
  if (sides_.empty()) {
    for (std::uint32_t v = from; v != to; v = wires_[wires.back()].to)
      wires.push_back(next_[std::size_t{v} * devices_ + to]);
    return;
  }
  // A grid: one side after another, the first one first (docs/models/wired.md).
  std::uint32_t stride = 1, at = from;
  const auto go = [&](std::uint32_t vertex) {
    wires.push_back(between(at, vertex).value());
    at = vertex;
  };
  for (const std::uint32_t side : sides_) {
    const std::uint32_t goal = to / stride % side, start = at / stride % side;
    // The shorter way around the ring of this side.
    const std::uint32_t up = (goal + side - start) % side;
    const bool rises = 2 * up < side || (2 * up == side && start % 2 == 0);
    for (std::uint32_t own = start; own != goal;) {
      const std::uint32_t step = rises ? (own + 1) % side : (own + side - 1) % side;
      // A full mesh goes to the goal at once.
      const std::uint32_t next = rings_ ? step : goal;
      go(at - own * stride + next * stride);
      own = next;
    }
    stride *= side;
  }
}

// Platform files have routes and no graph in which another way could be found.
std::vector<std::uint32_t> NodeWires::way_around(std::uint32_t from, std::uint32_t to,
                                                 const std::set<std::uint32_t>& failed) const {
  if (platform_) return {};
  std::vector<std::uint32_t> came(vertices_, none);
  std::deque<std::uint32_t> queue{from};
  // Breadth first, so that the way around has the fewest wires there are.
  for (; !queue.empty() && came[to] == none; queue.pop_front())
    for (const std::uint32_t w : out_[queue.front()]) {
      const std::uint32_t v = wires_[w].to;
      if (v == from || came[v] != none || failed.contains(w)) continue;
      came[v] = w;
      queue.push_back(v);
    }
  std::vector<std::uint32_t> way;
  // Back from the receiver over the wires that reached each vertex; none where nothing reached it.
  for (std::uint32_t v = to; v != from && came[to] != none; v = wires_[came[v]].from)
    way.push_back(came[v]);
  std::ranges::reverse(way);
  return way;
}

}  // namespace stepcast
