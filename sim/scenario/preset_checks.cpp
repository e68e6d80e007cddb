#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/topology/bill.hpp"
#include "stepcast/topology/node_wires.hpp"

namespace stepcast {
namespace {

/// Cores of the host count with what each of them moves.
void check_host_cores(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  const auto key = [&](const char* name) { return prefix + name; };
  checks.require(cluster.host.cores > 0 || cluster.host.core_bandwidth.value() <= 0,
                 key("host.cores.bandwidth"),
                 "is given but host.cores.count is 0, allowed: 0B/s, or a count");
  checks.require(cluster.host.cores == 0 || cluster.host.core_bandwidth.value() > 0 ||
                     checks.given(key("host.cores.bandwidth")),
                 key("host.cores.count"),
                 "is " + count_text(cluster.host.cores) +
                     " but counts only with host.cores.bandwidth, allowed: 0, or with it");
}

/// `collectives.cores` of a cluster against the cores of a device: some have to be left to what is
/// computed meanwhile.
void check_held_cores(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  check_host_cores(cluster, prefix, checks);
  const HeldCores& cores = cluster.collectives.cores;
  const std::string at = prefix + "collectives.cores.";
  const auto fits = [&](const char* name, double held) {
    checks.require(held < static_cast<double>(cluster.device.cube_cores), at + name,
                   "is " + shortest(held) + ", allowed: less than the " +
                       count_text(cluster.device.cube_cores) + " of device.cores.cube");
  };
  fits("node", cores.node);
  fits("gather_pieces", cores.gather_pieces);
  fits("reduce_pieces", cores.reduce_pieces);
  fits("deepep", cores.deepep);
  fits("hybridep", cores.hybridep);
  checks.require(cores.node > 0 || !(cores.network > 0), at + "network",
                 "is " + shortest(cores.network) +
                     " but never more than collectives.cores.node, which is 0, allowed: 0");
}

/// Switches are counted from the fabric, which has to be possible where they cost anything.
void check_switches(const ClusterSpec& cluster, const std::string& key, Checks& checks) {
  const CostSpec& costs = *cluster.costs;
  const bool priced = !costs.network_switch.free();
  if (!checks.good({key + "switch"}) || cluster.network.platform) return;
  const NetworkParts parts = network_parts(Fabric(cluster), costs.switch_ports);
  const bool known = costs.switch_ports > 0;
  const bool alone = parts.leaves <= static_cast<double>(cluster.network.nic.planes);
  checks.require(known || !priced || alone, key + "switch.ports",
                 "is 0, so that the switches above " + shortest(parts.leaves) +
                     " leaves cannot be counted, allowed: the ports of a switch");
  checks.require(
      !known || parts.leaf_ports <= static_cast<double>(costs.switch_ports), key + "switch.ports",
      "is " + count_text(costs.switch_ports) + ", but a switch with NICs needs " +
          shortest(parts.leaf_ports) +
          " (leaf_ports and their uplinks, or all NICs of a single switch), allowed: at least "
          "those");
}

/// Whether the fabric can be asked: its sizes read well and fit each other.
bool fabric_is_whole(const std::string& prefix, const Checks& checks) {
  return checks.good({prefix + "devices", prefix + "node.devices", prefix + "node.fabric"}) &&
         checks.good_below(prefix + "node.fabric") && checks.good_below(prefix + "network");
}

/// `costs` of a cluster against the parts that the cluster has.
void check_costs(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  const std::string key = prefix + "costs.";
  if (!cluster.costs || !checks.good_below(prefix + "costs")) return;
  const CostSpec& costs = *cluster.costs;
  // Prices are of one node, device and NIC; of several kinds a bill would have to say which.
  checks.require(cluster.kinds.empty(), prefix + "costs",
                 "has one price for nodes of several kinds, allowed: none");
  checks.require(!cluster.device.power || costs.device.power == 0, key + "device.power",
                 "is " + shortest(costs.device.power) +
                     " beside device.power, which says it by what the device does, allowed: 0");
  checks.require(cluster.super_node || costs.super_node.free(), key + "super_node",
                 "has a price without super_node, allowed: nothing");
  // Switches are counted from the fabric, which exists only if its own keys are right.
  if (cluster.kinds.empty() && fabric_is_whole(prefix, checks))
    check_switches(cluster, key, checks);
}

void check_experts(const ModelSpec& model, const std::string& prefix, Checks& checks) {
  const ExpertSpec& moe = *model.moe;
  const auto key = [&](const char* name) { return prefix + "moe." + name; };
  checks.require(moe.first_dense < model.layers, key("first_dense"),
                 "is " + count_text(moe.first_dense) + " of " + count_text(model.layers) +
                     " layers, so that no layer has experts, allowed: 0 to " +
                     count_text(model.layers - 1));
  const bool groups =
      checks.require(moe.experts % moe.groups == 0, key("groups"),
                     "is " + count_text(moe.groups) + ", must divide the " +
                         count_text(moe.experts) + " experts, allowed: " + divisors(moe.experts));
  checks.require(moe.top_groups <= moe.groups, key("top_groups"),
                 "is " + count_text(moe.top_groups) + ", allowed: 1 to groups (" +
                     count_text(moe.groups) + ")");
  // A router with groups picks experts of the best groups alone (DeepSeek-V3, 2.1.2).
  const std::int64_t reachable = groups ? moe.experts / moe.groups * moe.top_groups : moe.experts;
  checks.require(moe.top_k <= reachable, key("top_k"),
                 "is " + count_text(moe.top_k) + ", a token reaches " + count_text(reachable) +
                     " experts, allowed: 1 to " + count_text(reachable));
  checks.require(
      moe.shared_experts == 0 || moe.shared_hidden > 0, key("shared_hidden"),
      "is 0 with " + count_text(moe.shared_experts) + " shared experts, allowed: at least 1");
  checks.require(!moe.shared_gate || moe.shared_experts > 0, key("shared_gate"),
                 "is true but the model has no shared experts, allowed: false");
}

}  // namespace

bool has_dense_layers(const ModelSpec& model) {
  if (!model.moe || model.moe->first_dense > 0) return true;
  return model.moe->period > 1 && model.layers > 1;
}

namespace {

void check_reserve(const DeviceSpec& device, const std::string& memory, Checks& checks) {
  if (!checks.good({memory + "capacity"})) return;
  checks.require(device.memory_reserve < device.memory_capacity, memory + "reserve",
                 "is " + human(device.memory_reserve) + ", allowed: less than the capacity of " +
                     human(device.memory_capacity));
}

void check_quotients(const ClassRange& range, const std::string& prefix, Checks& checks) {
  // Quotients are of rows of the ledger: a class says of which devices they are, and only then
  // whether a wider one stands in.
  const bool told = !range.of.empty();
  checks.require(told || !range.wider, prefix + "wider", "is of a class, allowed: beside class");
  checks.require(told || range.devices.empty(), prefix + "devices", "are of a class, which lacks");
  if (!checks.good({prefix + "low"})) return;
  checks.require(range.low <= range.high, prefix + "high",
                 "is " + shortest(range.high) + ", allowed: at least low = " + shortest(range.low));
}

/// A super-node holds nodes of one kind, and as many in every kind.
void check_super_node(const NodeKind& kind, const ClusterSpec& cluster, const std::string& key,
                      Checks& checks) {
  // Routes count in super-nodes: their borders must be those of the first kind.
  const auto size = [](const std::optional<SuperNodeSpec>& s) { return s ? s->nodes : 0; };
  const std::int64_t wanted = size(cluster.super_node);
  if (!checks.require(size(kind.super_node) == wanted, key + "super_node",
                      (kind.super_node ? "has " + count_text(kind.super_node->nodes) + " nodes"
                                       : "is missing") +
                          ", allowed: " + (wanted > 0 ? count_text(wanted) + " nodes" : "none") +
                          " as the cluster has") ||
      wanted == 0)
    return;
  checks.require(kind.nodes % wanted == 0, key + "nodes",
                 "is " + count_text(kind.nodes) + ", allowed: whole super-nodes of " +
                     count_text(wanted) + " nodes");
}

/// What fails of a plane is the same part on all nodes.
void check_kind_planes(const NodeKind& kind, const NodeKind& first, const std::string& key,
                       Checks& checks) {
  const auto same = [&](std::int64_t planes, std::int64_t wanted, const char* name) {
    checks.require(
        planes == wanted, key + name,
        "is " + count_text(planes) + ", allowed: " + count_text(wanted) + " as in the first kind");
  };
  same(kind.nic.planes, first.nic.planes, "network.nic.planes");
  const auto* ports = std::get_if<SwitchFabric>(&kind.node_fabric);
  const auto* others = std::get_if<SwitchFabric>(&first.node_fabric);
  if (ports != nullptr && others != nullptr)
    same(ports->planes, others->planes, "node.fabric.planes");
  if (kind.super_node && first.super_node)
    same(kind.super_node->fabric.planes, first.super_node->fabric.planes,
         "super_node.fabric.planes");
}

/// As many nodes of each kind in a cluster of another size, or none where they do not divide it.
std::string kinds_instead(const ClusterSpec& cluster, std::int64_t nodes) {
  const std::int64_t whole = cluster.super_node ? cluster.super_node->nodes : 1;
  std::string text;
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k) {
    const std::int64_t share = cluster.kinds[k].nodes * cluster.nodes();
    if (nodes <= 0 || share <= 0 || share % (nodes * whole) != 0)
      return "; all alike: --set cluster.kinds=none";
    text += " --set cluster.kinds." + std::to_string(k) + ".nodes=" + count_text(share / nodes);
  }
  return "; in proportion:" + text;
}

/// Kinds differ in devices, hosts and speeds of links, not in shape.
void check_kinds(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  const std::string list = prefix + "kinds";
  std::int64_t nodes = 0;
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k) {
    const NodeKind& kind = cluster.kinds[k];
    const std::string key = list + "." + std::to_string(k) + ".";
    nodes += kind.nodes;
    // Ranks are placed by arithmetic on the number of devices in a node, which is one for the
    // cluster.
    checks.require(kind.node_devices == cluster.node_devices, key + "node.devices",
                   "is " + count_text(kind.node_devices) +
                       ", allowed: " + count_text(cluster.node_devices) + " as on the other nodes");
    checks.require(kind.node_fabric.index() == cluster.node_fabric.index() &&
                       has_one_link_kind(kind.node_fabric),
                   key + "node.fabric.kind",
                   "must be that of the other nodes, allowed: mesh or switch on all of them");
    checks.require(kind.nic.per == cluster.network.nic.per, key + "network.nic.per",
                   "must be that of the other nodes");
    check_super_node(kind, cluster, key, checks);
    check_kind_planes(kind, cluster.kinds.front(), key, checks);
  }
  checks.require(cluster.kinds.empty() || nodes == cluster.nodes(), list,
                 "have " + count_text(nodes) + " nodes, allowed: the " +
                     count_text(cluster.nodes()) + " of the cluster" +
                     kinds_instead(cluster, nodes));
}

void check_wires(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  if (!checks.good_below(prefix + "node.fabric") || !checks.good({prefix + "node.devices"})) return;
  std::string at;
  if (const auto wrong = wiring_error(cluster.node_fabric, cluster.node_devices, at)) {
    checks.fail(prefix + "node.fabric." + at, *wrong);
    return;
  }
  // Rings of NCCL are laid over a mesh, groups or a switch; wires with several hops are known to
  // the description of HCCL alone.
  const bool wired = !std::holds_alternative<MeshFabric>(cluster.node_fabric) &&
                     !std::holds_alternative<SwitchFabric>(cluster.node_fabric) &&
                     !std::holds_alternative<GroupFabric>(cluster.node_fabric);
  checks.require(
      !wired || cluster.collectives.library == CollectiveLibrarySpec::Library::hccl,
      prefix + "collectives.library",
      "is nccl, whose rings do not know wires of a torus, full_mesh, graph or platform, allowed: "
      "hccl");
}

/// What hashes flows needs uplinks to hash them onto.
void check_routing(const NetworkSpec& network, const std::string& prefix, Checks& checks) {
  const bool uplinks = network.kind == NetworkSpec::Kind::leaf_spine ||
                       network.kind == NetworkSpec::Kind::rail_optimized;
  const bool ideal = network.routing == NetworkSpec::Routing::ideal;
  const std::string none = network.kind == NetworkSpec::Kind::single_switch
                               ? "but a single switch has no uplinks, allowed: "
                               : "but channels of a dragonfly are loaded evenly, allowed: ";
  const std::string leaves = ", or topology.kind leaf_spine or rail_optimized";
  if (!checks.good({prefix + "network.topology.kind"})) return;
  checks.require(uplinks || ideal, prefix + "network.routing",
                 std::string("is ") +
                     (network.routing == NetworkSpec::Routing::ecmp ? "ecmp " : "adaptive ") +
                     none + "ideal" + leaves);
  checks.require(uplinks || !(network.background > 0), prefix + "network.background",
                 "is " + shortest(network.background) + " " + none + "0" + leaves);
  // Hashing is known for one tier of uplinks; with pods there are two.
  const bool tiers = network.pod_leaves > 0;
  checks.require(!tiers || ideal, prefix + "network.routing",
                 "hashes flows onto the uplinks of leaves, not onto those of pods, allowed: ideal, "
                 "or topology.pod_leaves 0");
  checks.require(!tiers || !(network.background > 0), prefix + "network.background",
                 "takes a part of the uplinks of leaves, not of those of pods, allowed: 0, or "
                 "topology.pod_leaves 0");
  checks.require(!ideal || network.queue_pairs == 1 || !checks.good({prefix + "network.routing"}),
                 prefix + "network.queue_pairs",
                 "is " + count_text(network.queue_pairs) +
                     " but routing ideal hashes nothing, allowed: 1, or routing ecmp or adaptive");
}

/// The limit holds some product, and the clock has one state.
void check_power_cap(const DeviceSpec& device, const std::string& key, Checks& checks) {
  if (!device.power_cap) return;
  const std::string cap = key + "device.power_cap";
  const EfficiencySpec& efficiency = device.efficiency;
  // A device at its power limit slows products that draw more than it: those with a sustained rate
  // below the one at full clock.
  const auto held = [](const std::optional<MatmulEfficiency>& e) { return e && e->sustained < 1; };
  checks.require(efficiency.matmul.sustained < 1 || efficiency.grouped_matmul.sustained < 1 ||
                     held(efficiency.matmul_fp8) || held(efficiency.grouped_matmul_fp8),
                 cap, "changes nothing where no efficiency.*.sustained is below 1, allowed: none");
  checks.require(!device.idle_clock, cap, "is set beside idle_clock, allowed: one of them");
  checks.require(device.step_clock == 1, cap,
                 "is set beside step_clock " + shortest(device.step_clock) +
                     ", which is the clock that busy devices leave already, allowed: none, or "
                     "step_clock 1");
  if (checks.good_below(cap))
    checks.require(device.power_cap->window > Seconds{0}, cap + ".window",
                   "is 0, so that nothing is saved up, allowed: above 0s");
}

/// Clocks and power are those of one kind of device.
void check_states(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  const auto check = [&](const DeviceSpec& device, const std::string& key) {
    if (device.idle_clock && checks.good_below(key + "device.idle_clock"))
      checks.require(
          device.idle_clock->slowness() > 1 && device.idle_clock->ramp > Seconds{0},
          key + "device.idle_clock",
          "changes nothing, allowed: none, or speed below 1, core_share and ramp above 0");
    check_power_cap(device, key, checks);
    if (device.power && checks.good_below(key + "device.power"))
      checks.require(device.power->idle <= device.power->computing &&
                         device.power->idle <= device.power->communicating,
                     key + "device.power.idle",
                     "is " + shortest(device.power->idle) +
                         ", more than at work, allowed: at most computing and communicating");
  };
  // A clock that depends on what a device did is followed for one kind of device alone.
  check(cluster.device, prefix);
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k) {
    const std::string key = prefix + "kinds." + std::to_string(k) + ".";
    const DeviceSpec& device = cluster.kinds[k].device;
    checks.require(!device.idle_clock, key + "device.idle_clock",
                   "is given in a cluster of several kinds of nodes, allowed: none");
    checks.require(!device.power_cap, key + "device.power_cap",
                   "is given in a cluster of several kinds of nodes, allowed: none");
    checks.require(!device.power, key + "device.power",
                   "is given in a cluster of several kinds of nodes, allowed: none");
  }
}

void check_intervals(const ForecastInterval& interval, const std::string& prefix, Checks& checks) {
  check_quotients(interval.steps, prefix, checks);
  if (interval.experts) check_quotients(*interval.experts, prefix + "experts.", checks);
  if (interval.memory) check_quotients(*interval.memory, prefix + "memory.", checks);
}

/// What is counted in nodes, or lies in one.
void check_node(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  const auto key = [&](const char* name) { return prefix + name; };
  const std::int64_t per_node = cluster.node_devices;
  const std::int64_t whole = cluster.devices / per_node * per_node;
  checks.require(cluster.devices % per_node == 0, key("devices"),
                 "is " + count_text(cluster.devices) + ", must be a whole number of nodes of " +
                     count_text(per_node) + " devices (" + key("node.devices") + "), allowed: " +
                     (whole > 0 ? count_text(whole) + ", " : "") + count_text(whole + per_node));
  checks.require(cluster.host.shared_devices <= per_node, key("host.device_link.shared.devices"),
                 "is " + count_text(cluster.host.shared_devices) + ", allowed: at most the " +
                     count_text(per_node) + " devices of a node");
  if (const auto* groups = std::get_if<GroupFabric>(&cluster.node_fabric)) {
    checks.require(per_node % groups->group_size == 0, key("node.fabric.size"),
                   "is " + count_text(groups->group_size) + ", must divide the " +
                       count_text(per_node) + " devices of a node, allowed: " + divisors(per_node));
  }
}

/// Parts of a fleet that change nothing without another.
void check_fleet(const FleetSpec& fleet, const std::string& prefix, Checks& checks) {
  // Share and factor say one thing together: how many nodes are slow, and by how much.
  const auto needs = [&](bool alone, const char* key, double value, const char* other) {
    checks.require(
        !alone, prefix + key,
        "is " + shortest(value) + " and changes nothing, allowed: with " + prefix + other);
  };
  const auto& slow = fleet.slow_nodes;
  needs(slow.share > 0 && slow.factor == 1, "slow_nodes.share", slow.share,
        "slow_nodes.factor above 1");
  needs(slow.factor > 1 && slow.share == 0, "slow_nodes.factor", slow.factor,
        "slow_nodes.share above 0");
  const auto& events = fleet.throttled;
  needs(events.share > 0 && events.factor == 1, "throttled.share", events.share,
        "throttled.factor above 1");
  needs(events.factor > 1 && events.share == 0, "throttled.factor", events.factor,
        "throttled.share above 0");
  checks.require(
      !fleet.screened || slow.share > 0, prefix + "screened",
      "is true but no node is slow, allowed: with " + prefix + "slow_nodes.share above 0");
}

}  // namespace

void check_cluster(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  const auto key = [&](const char* name) { return prefix + name; };
  check_reserve(cluster.device, key("device.memory."), checks);
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k)
    check_reserve(cluster.kinds[k].device, key("kinds.") + std::to_string(k) + ".device.memory.",
                  checks);
  // First what stands by itself, then what needs a whole number of devices in a node.
  if (cluster.interval) check_intervals(*cluster.interval, key("interval."), checks);
  check_routing(cluster.network, prefix, checks);
  check_states(cluster, prefix, checks);
  if (cluster.fleet) check_fleet(*cluster.fleet, prefix + "fleet.", checks);
  if (!checks.good({key("node.devices")})) return;
  check_node(cluster, prefix, checks);
  check_wires(cluster, prefix, checks);
  check_platform(cluster, prefix, checks);
  check_exchange(cluster, prefix, checks);
  check_held_cores(cluster, prefix, checks);
  check_allocation(cluster, prefix, checks);
  check_planes(cluster, prefix, checks);
  checks.require(cluster.network.pod_leaves > 0 || cluster.network.pod_oversubscription == 1,
                 key("network.topology.pod_oversubscription"),
                 "is " + shortest(cluster.network.pod_oversubscription) +
                     " without pods, allowed: 1, or with pod_leaves");
  // The number of devices and all kinds have to be known to share nodes out.
  if (checks.good({key("devices")}) && checks.good_below(key("kinds")))
    check_kinds(cluster, prefix, checks);
  check_costs(cluster, prefix, checks);
}

/// Layers that see all tokens are those among layers with a window.
void check_windows(const GroupedQueryAttention& attention, const std::string& prefix,
                   Checks& checks) {
  const std::int64_t every = attention.full_every;
  checks.require(attention.window || every == 0, prefix + "attention.full_every",
                 "is " + count_text(every) + " but no layer has a window, allowed: 0");
  checks.require(every != 1, prefix + "attention.full_every",
                 "is 1, which leaves no layer its window, allowed: 0, or at least 2");
}

/// Values have as many heads as queries and keys, or several for each.
void check_linear_attention(const ModelSpec& model, const std::string& prefix, Checks& checks) {
  if (!model.linear) return;
  const LinearAttention& a = *model.linear;
  const std::string key = prefix + "linear_attention.";
  if (checks.good({key + "key_heads"}))
    checks.require(a.value_heads % a.key_heads == 0, key + "value_heads",
                   "is " + count_text(a.value_heads) + ", must be a multiple of the " +
                       count_text(a.key_heads) + " key heads");
  checks.require(a.full_every != 1, key + "full_every",
                 "is 1, which leaves no layer its linear attention, allowed: 0, or at least 2");
  checks.require(!model.has_windows(), prefix + "attention.window",
                 "is given beside linear attention, allowed: none");
  checks.require(!model.has_indexer(), prefix + "attention.index_heads",
                 "is given beside linear attention, allowed: 0");
  checks.require(model.bias == ModelSpec::Bias::none, prefix + "bias",
                 "is given beside linear attention, whose projections have none, allowed: none");
}

void check_indexer(const LatentAttention& a, const std::string& prefix, Checks& checks) {
  // Keys at their defaults do nothing, also where they are written out.
  const LatentAttention plain;
  const std::string key = prefix + "attention.";
  checks.require(a.sparse() || a.index_dim == plain.index_dim, key + "index_dim",
                 "is given without index_heads, allowed: with them");
  checks.require(a.sparse() || a.index_top_k == plain.index_top_k, key + "index_top_k",
                 "is given without index_heads, allowed: with them");
  if (!a.sparse()) return;
  // The indexer of sparse attention projects the compressed queries (DeepSeek-V3.2).
  checks.require(a.q_lora_rank > 0, key + "q_lora_rank",
                 "is 0, but the indexer reads the latents of queries, allowed: at least 1");
  checks.require(a.index_dim >= a.rope_dim, key + "index_dim",
                 "is " + count_text(a.index_dim) + ", less than rope_dim, allowed: at least " +
                     count_text(a.rope_dim));
}

/// Parts that read the same are grouped queries and one feed-forward.
void check_block(const ModelSpec& model, const std::string& prefix, Checks& checks) {
  using Block = ModelSpec::Block;
  if (model.block == Block::serial) return;
  const auto require = [&](bool holds, const std::string& key, const char* why) {
    if (checks.good({prefix + key}))
      checks.require(holds, prefix + "block",
                     std::string("is not serial but ") + why + ", allowed: serial");
  };
  require(std::holds_alternative<GroupedQueryAttention>(model.attention), "attention",
          "attention is latent, of which no such layer is known");
  require(!model.linear, "linear_attention",
          "layers have linear attention, of which no such layer is known");
  require(!model.moe, "moe", "layers have experts, of which no such layer is known");
  require(model.norm != ModelSpec::Norm::sandwich, "norm",
          "norm is sandwich, whose norms behind each part have no place in it");
}

void check_model(const ModelSpec& model, const std::string& prefix, Checks& checks) {
  if (!checks.good({prefix + "layers"})) return;
  const auto* gqa = std::get_if<GroupedQueryAttention>(&model.attention);
  if (gqa != nullptr && checks.good({prefix + "attention.heads"})) {
    checks.require(gqa->heads % gqa->kv_heads == 0, prefix + "attention.kv_heads",
                   "is " + count_text(gqa->kv_heads) + ", must divide the " +
                       count_text(gqa->heads) + " heads, allowed: " + divisors(gqa->heads));
  }
  if (gqa != nullptr) check_windows(*gqa, prefix, checks);
  if (gqa == nullptr && checks.good_below(prefix + "attention"))
    check_indexer(std::get<LatentAttention>(model.attention), prefix, checks);
  if (checks.good_below(prefix + "linear_attention")) check_linear_attention(model, prefix, checks);
  checks.require(gqa != nullptr || model.qk_norm == ModelSpec::QkNorm::none, prefix + "qk_norm",
                 "is set beside latent attention, which has norms of its own, allowed: none");
  check_block(model, prefix, checks);
  if (model.moe && checks.good({prefix + "moe", prefix + "moe.experts"}))
    check_experts(model, prefix, checks);
  if (checks.good({prefix + "moe"})) {
    checks.require(!has_dense_layers(model) || model.ffn.hidden > 0, prefix + "ffn.hidden",
                   "is missing although the model has dense layers, allowed: at least 1");
  }
}

}  // namespace stepcast
