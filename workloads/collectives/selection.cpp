#include <algorithm>
#include <bit>

#include "algorithms.hpp"

/// What the libraries choose: docs/models/collectives.md, "auto".
namespace stepcast::collectives {
namespace {

constexpr double kib = 1024;
// Thresholds of HCCL's selection (public cann-hccl sources).
constexpr Bytes one_shot_limit{256 * kib};             // all-reduce in one server
constexpr Bytes pipeline_part{32 * kib};               // reduce-scatter, all-gather: bytes per rank
constexpr Bytes pipeline_all_reduce_part{1024 * kib};  // all-reduce: bytes per rank
constexpr Bytes small_per_rank_server{1024 * kib};     // switched node: mesh below
constexpr Bytes small_per_rank_super{256 * kib};       // super-node: flat NHR below

bool even(const Fabric& fabric, Group members) {
  return part_size(fabric, members, Level::node) && part_size(fabric, members, Level::super_node);
}

std::string_view in_node(const Fabric& fabric, Group members, const CollectiveCall& call) {
  const bool exchange = call.kind == CollectiveKind::all_to_all;
  // docs/models/wired.md: boxes of a grid go side by side, others over the wires as they are.
  if (!fabric.wires().empty()) {
    if (exchange) return "mesh";
    if (are_boxes(fabric, {Members(members.begin(), members.end())})) return "dimensions";
  }
  if (in_one_mesh(fabric, members)) {
    const bool small = call.kind == CollectiveKind::all_reduce && call.bytes <= one_shot_limit;
    return small ? "one_shot" : "mesh";
  }
  // Meshes joined by bridges: a port per device towards other meshes.
  if (fabric.node_ports() == LinkKind::bridge_up) return exchange ? "pairwise" : "ring";
  const bool small = call.bytes <= small_per_rank_server * static_cast<double>(members.size());
  return exchange || small ? "mesh" : "ring";
}

std::string_view in_super_node(const Fabric& fabric, Group members, const CollectiveCall& call) {
  if (call.kind == CollectiveKind::all_to_all) return "mesh";
  const bool small = call.bytes <= small_per_rank_super * static_cast<double>(members.size());
  if (small) return "nhr";
  // Unequal nodes make no tiers.
  if (!even(fabric, members)) return "ring";
  return part_size(fabric, members, Level::node) > 1 ? "hierarchical" : "nhr";
}

/// Members that share the node of the first one are a mesh.
bool is_mesh_in_node(const Fabric& fabric, Group members) {
  return std::ranges::all_of(members, [&](DeviceId m) {
    return fabric.node_of(members.front()) != fabric.node_of(m) ||
           fabric.same_mesh(members.front(), m);
  });
}

bool prefers_pipeline(const Fabric& fabric, Group members, const CollectiveCall& call) {
  // The pipeline needs a mesh inside each node, and nothing but NICs between nodes.
  if (fabric.cluster().super_node || !is_mesh_in_node(fabric, members)) return false;
  const Bytes part = call.bytes / static_cast<double>(members.size());
  const CollectiveLibrarySpec& library = fabric.cluster().collectives;
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      return part >= pipeline_all_reduce_part;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather:
      return part >= pipeline_part;
    case CollectiveKind::all_to_all:
      // Only who asks for it, and only where the library's buffer is as large as it wants.
      return library.exchange == CollectiveLibrarySpec::Exchange::pipeline &&
             library.buffer >= least_pipelined_exchange_buffer();
    case CollectiveKind::broadcast:
    case CollectiveKind::send_recv:
      break;
  }
  return false;
}

/// Servers that contribute different numbers of devices: one flat ring. Where only the last
/// super-node is smaller, the servers are one tier.
std::string_view uneven(const Fabric& fabric, Group members, const CollectiveCall& call) {
  if (call.kind == CollectiveKind::all_to_all) return "pairwise";
  const auto local = part_size(fabric, members, Level::node);
  if (!local || !has_partial_super_node(fabric)) return "ring";
  // One member each: the nodes are the group, and the pattern between servers is all of it.
  if (local > 1) return "hierarchical";
  return name(server_pattern(fabric, members.size(), call.kind, call.bytes));
}

std::string_view between_servers(const Fabric& fabric, Group members, const CollectiveCall& call) {
  const bool exchange = call.kind == CollectiveKind::all_to_all;
  const auto in_node = part_size(fabric, members, Level::node);
  const auto in_super =
      fabric.cluster().super_node ? part_size(fabric, members, Level::super_node) : in_node;
  if (!in_node || !in_super) return uneven(fabric, members, call);
  // One member in each super-node: the group is flat between them.
  if (in_super == 1) {
    if (exchange) return "pairwise";
    return name(server_pattern(fabric, members.size(), call.kind, call.bytes));
  }
  // Small calls are not worth pieces.
  if (prefers_pipeline(fabric, members, call)) return "pipeline";
  return "hierarchical";
}

// NCCL's own reckoning (src/graph/tuning.cc): trees move 0.92 of what the links do, and half of
// that of an all-reduce, whatever the number of nodes.
constexpr double tree_part = 0.92 / 2;

/// What NCCL takes a tree for: its latencies, and the bytes at a part of the ring's links. Over two
/// nodes trees are faster than that.
Seconds reckoned_tree(const Fabric& fabric, Group members, const CollectiveCall& call,
                      Seconds rings) {
  CollectiveCall start = call;
  start.bytes = Bytes{1};
  const Seconds moving =
      rings - lone_time(fabric, *ring(fabric, members, start, NetworkForm::ports));
  const auto p = static_cast<double>(members.size());
  const double ring_part = p / (2 * (p - 1));
  return lone_time(fabric, *tree(fabric, members, start, NetworkForm::ports)) +
         ring_part / tree_part * moving;
}

std::string_view nccl(const Fabric& fabric, Group members, const CollectiveCall& call) {
  if (call.kind == CollectiveKind::all_to_all) return "pairwise";
  if (call.kind != CollectiveKind::all_reduce) return "ring";
  if (!tree(fabric, members, call, NetworkForm::ports)) return "ring";
  const Seconds rings = lone_time(fabric, *ring(fabric, members, call, NetworkForm::ports));
  return reckoned_tree(fabric, members, call, rings) < rings ? "tree" : "ring";
}

}  // namespace

ServerCosts server_costs(const ClusterSpec& cluster, std::size_t servers, Bytes bytes) {
  const NicSpec& nic = cluster.network.nic;
  const auto count = static_cast<double>(servers);
  const CollectiveLibrarySpec& library = cluster.collectives;
  const Seconds latency =
      library.selection_latency_given ? library.selection_latency : library.step_latency;
  // HCCL reckons per loop: at most a buffer full, at the rate of a NIC.
  const Seconds whole = std::min(bytes, library.buffer) / (nic.link.bandwidth * nic.efficiency);
  // S servers pass (S - 1) / S of the bytes.
  const Seconds once = whole * ((count - 1) / count);
  const auto steps = static_cast<double>(std::bit_width(servers - 1));
  const Seconds nhr = latency * steps + once;
  // HD beyond a power of two folds once each way: (2 S - 1) / S of the bytes.
  const Seconds folded = latency * steps + whole * ((2 * count - 1) / count);
  return {latency * (count - 1) + once, nhr, std::has_single_bit(servers) ? nhr : folded};
}

Pattern server_pattern(const Fabric& fabric, std::size_t servers, CollectiveKind kind,
                       Bytes bytes) {
  if (kind == CollectiveKind::broadcast) return Pattern::nhr;
  const ServerCosts costs = server_costs(fabric.cluster(), servers, bytes);
  // Ties go to the ring, then to NHR.
  if (costs.ring <= costs.nhr && costs.ring <= costs.hd) return Pattern::ring;
  return costs.nhr <= costs.hd ? Pattern::nhr : Pattern::hd;
}

std::string_view select(const Fabric& fabric, Group members, const CollectiveCall& call) {
  // Two ranks have nothing to choose from.
  if (call.kind == CollectiveKind::send_recv) return "direct";
  // NCCL chooses by its own estimates of time, HCCL by where the group reaches
  // (docs/models/collectives.md).
  if (fabric.cluster().collectives.library == CollectiveLibrarySpec::Library::nccl)
    return nccl(fabric, members, call);
  switch (reach(fabric, members)) {
    case Locality::device:
    case Locality::node:
      return in_node(fabric, members, call);
    case Locality::super_node:
      return in_super_node(fabric, members, call);
    case Locality::leaf:
    case Locality::spine:
    case Locality::core:
      break;
  }
  return between_servers(fabric, members, call);
}

}  // namespace stepcast::collectives

stepcast::Bytes stepcast::least_pipelined_exchange_buffer() {
  return Bytes{80 * 1024 * 1024};  // IsSatisfyAlltoallPipelineCondition
}
