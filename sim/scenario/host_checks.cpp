#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/workloads/expert_loads.hpp"

namespace stepcast {
namespace {

/// Of the host at `path`, which updates what lives there.
void check_update(const HostSpec& host, const std::string& path, Checks& checks) {
  const std::string key = path + ".memory.bandwidth";
  checks.require(host.memory_bandwidth.value() > 0 || !checks.good({key}),
                 "training.offload.update", "is host but " + key + " is 0, allowed: device");
}

/// Of the host at `path`, on whose drives states live.
void check_drives(const HostSpec& host, const std::string& path, Checks& checks) {
  // States are read and written once in a step, so that both rates count.
  for (const auto& [rate, name] : {std::pair{host.storage_read, ".storage.read"},
                                   std::pair{host.storage_write, ".storage.write"}})
    checks.require(rate.value() > 0 || !checks.good({path + name}), "training.offload.store",
                   "is storage but " + path + name + " is 0, allowed: memory");
}

/// The memory of the host at `path` is shared by the devices of its node at most.
void check_sharing(const HostSpec& host, std::int64_t node_devices, const std::string& path,
                   Checks& checks) {
  // A host of which nothing is known has nothing that devices could share.
  const bool known = host.memory_capacity.value() > 0 || host.memory_bandwidth.value() > 0 ||
                     host.storage_read.value() > 0;
  const bool good = checks.good({"cluster.node.devices", path + ".devices_per_host"});
  checks.require(!known || !good || host.devices_per_host <= node_devices,
                 path + ".devices_per_host",
                 "is " + count_text(host.devices_per_host) + ", allowed: at most the " +
                     count_text(node_devices) + " devices of a node");
}

bool offloads(const TrainingSpec& training) {
  return training.offloads_activations() || training.offload_optimizer || training.offload_experts;
}

/// Devices of every kind of node have a link to their host, without which what `key` copies would
/// never arrive.
void check_links(const ClusterSpec& cluster, const char* key, const std::string& allowed,
                 Checks& checks) {
  const auto check = [&](const HostSpec& host, const std::string& path) {
    checks.require(host.device_link_bandwidth.value() > 0 || !checks.good({path}), key,
                   "is given but " + path + " is 0" + allowed);
  };
  if (cluster.kinds.empty()) check(cluster.host, "cluster.host.device_link.bandwidth");
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k)
    check(cluster.kinds[k].host,
          "cluster.kinds." + std::to_string(k) + ".host.device_link.bandwidth");
}

/// What lives on hosts shares their memory.
void check_hosts(const Scenario& scenario, Checks& checks) {
  const TrainingSpec& training = scenario.workload.training;
  if (!offloads(training) && training.offload_update == TrainingSpec::OffloadUpdate::device) return;
  const ClusterSpec& cluster = scenario.cluster;
  check_sharing(cluster.host, cluster.node_devices, "cluster.host", checks);
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k)
    check_sharing(cluster.kinds[k].host, cluster.kinds[k].node_devices,
                  "cluster.kinds." + std::to_string(k) + ".host", checks);
}

/// Of a layer that runs again whole its input alone is kept; adapters keep inputs of their own.
void check_attention_alone(const TrainingSpec& training, Checks& checks) {
  // A part of all activations is moved then, whatever kept them; the rules below are of attention's
  // alone.
  if (training.offload_activations) return;
  checks.require(
      training.recompute != TrainingSpec::Recompute::full, "training.offload.activations",
      "is attention, which training.recompute full does not keep, allowed: a part from 0 to 1");
  checks.require(!training.adapters.any(), "training.offload.activations",
                 "is attention but training.adapters keep inputs of their own, allowed: a part "
                 "from 0 to 1");
}

void check_offload(const Scenario& scenario, Checks& checks) {
  const TrainingSpec& training = scenario.workload.training;
  const auto check = [&](bool wanted, const char* key, const char* neutral) {
    if (!wanted) return;
    const std::string allowed = std::string(", allowed: ") + neutral;
    checks.require(!scenario.synthetic, key,
                   "is given but the workload has no operators" + allowed);
    check_links(scenario.cluster, key, allowed, checks);
  };
  check(training.offloads_activations(), "training.offload.activations", "0");
  check_attention_alone(training, checks);
  const WorkloadSpec& workload = scenario.workload;
  // Copies run beside the unit that needs them next. In a pair two units run as one, so that there
  // is none beside it.
  const bool moves = !workload.pairs || workload.moe.overlap == MoeSpec::Overlap::fb_pair;
  checks.require(!training.offloads_activations() || moves || !checks.good({"schedule.pipeline"}),
                 "training.offload.activations",
                 "does not go with pairs of forward and backward units, allowed: 0, or "
                 "moe.overlap fb_pair");
  check(training.offload_optimizer, "training.offload.optimizer", "false");
  check(training.offload_experts, "training.offload.experts", "false");
  const std::vector<NodeKind>& kinds = scenario.cluster.kinds;
  const auto of_kind = [](std::size_t k) { return "cluster.kinds." + std::to_string(k) + ".host"; };
  if (training.offload_store == TrainingSpec::OffloadStore::storage) {
    checks.require_use(
        training.offload_optimizer || training.offload_experts, "training.offload.store",
        "is storage but no states live on the host, allowed: memory, or optimizer or experts true");
    check_drives(scenario.cluster.host, "cluster.host", checks);
    for (std::size_t k = 0; k < kinds.size(); ++k) check_drives(kinds[k].host, of_kind(k), checks);
  }
  if (training.offload_update == TrainingSpec::OffloadUpdate::device) return;
  checks.require_use(
      training.offload_optimizer || training.offload_experts, "training.offload.update",
      "is host but no states live there, allowed: device, or optimizer or experts true");
  check_update(scenario.cluster.host, "cluster.host", checks);
  for (std::size_t k = 0; k < kinds.size(); ++k) check_update(kinds[k].host, of_kind(k), checks);
}

/// A tree is one of copies of devices, and of NICs that devices have to themselves.
void check_pcie(const Scenario& scenario, Checks& checks) {
  const ClusterSpec& cluster = scenario.cluster;
  const PcieTree& tree = cluster.host.pcie;
  const std::string path = "cluster.host.pcie";
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k)
    checks.require(!tree.known() && !cluster.kinds[k].host.pcie.known(),
                   "cluster.kinds." + std::to_string(k) + ".host.pcie",
                   "is given in a cluster of several kinds of nodes, allowed: none");
  if (!checks.good_below(path)) return;
  if (!tree.known()) {
    const char* why = "is given but switch_bandwidth is 0, allowed: ";
    // Keys of the tree shape it; without the bandwidth of its switches there is no tree.
    checks.require(tree.switch_devices == 1, path + ".switch_devices", why + std::string("1"));
    checks.require(tree.nic == PcieTree::Nic::device, path + ".nic", why + std::string("device"));
    return;
  }
  const std::string key = path + ".switch_bandwidth";
  const std::string none = ", allowed: 0B/s";
  checks.require(cluster.host.device_link_bandwidth.value() > 0 ||
                     !checks.good({"cluster.host.device_link.bandwidth"}),
                 key, "is given but cluster.host.device_link.bandwidth is 0" + none);
  // Both say what devices of a node share on their way to the host: one bandwidth each, or links in
  // which flows meet.
  checks.require(cluster.host.shared_bandwidth.value() <= 0, key,
                 "is given beside cluster.host.device_link.shared, which is an even share of the "
                 "same" +
                     none + ", or shared.bandwidth 0B/s");
  checks.require(!cluster.network.platform, key,
                 "is given but all links are those of cluster.network.platform" + none);
  checks.require(scenario.simulate.engine == StepEngine::fast, key,
                 "is given, which simulate.engine simgrid does not do" + none);
  const bool nics = tree.nic != PcieTree::Nic::device;
  checks.require(!nics || cluster.network.nic.per == NicSpec::Per::device, path + ".nic",
                 "is given but a NIC is that of a node (cluster.network.nic.per), allowed: device");
  // Copies and NICs are all that crosses the tree.
  checks.require(nics || offloads(scenario.workload.training) || !checks.good_below("training"),
                 key, "is given but nothing is offloaded and NICs are not in the tree" + none);
  const std::int64_t node = cluster.node_devices;
  checks.require(!checks.good({"cluster.node.devices"}) || node % tree.switch_devices == 0,
                 path + ".switch_devices",
                 "is " + count_text(tree.switch_devices) + ", must divide the " + count_text(node) +
                     " devices of a node, allowed: " + divisors(node));
}

/// Updates on the host are one pass of its own, so that kernels of the device update nothing.
void check_optimizer_kernels(const Scenario& scenario, Checks& checks) {
  const TrainingSpec& training = scenario.workload.training;
  // A part that stays on the device is updated there, by the kernels that the key names.
  const bool all_there = training.offload_optimizer && training.offload_optimizer_part >= 1 &&
                         training.offload_update == TrainingSpec::OffloadUpdate::host;
  checks.require_use(
      scenario.workload.runtime.optimizer == RuntimeSpec::OptimizerKernels::fused || !all_there ||
          !checks.good_below("training"),
      "runtime.optimizer",
      "is of the kernels of a device, but training.offload.update host has hosts update "
      "all states, allowed: fused");
}

/// Statements of the wrappers of recomputation need something that is recomputed, and a time.
void check_recompute_statements(const Scenario& scenario, Checks& checks) {
  const char* key = "runtime.recompute_statements";
  if (scenario.workload.runtime.recompute_statements == 0) return;
  if (!checks.good_below("training") || !checks.good_below("cluster.host")) return;
  checks.require_use(scenario.workload.training.recompute != TrainingSpec::Recompute::none, key,
                     "is given but nothing is recomputed, allowed: 0, or training.recompute");
  checks.require_use(scenario.cluster.host.statement.value() > 0, key,
                     "is given but cluster.host.statement is 0, allowed: 0");
}

/// Domains say which experts work in a step, and nothing else.
void check_domains(const Scenario& scenario, Checks& checks) {
  const RoutingSpec& routing = scenario.workload.moe.routing;
  if (routing.domains == 1 && routing.step_domains == 1) return;
  const std::string domains = count_text(routing.domains);
  const char* key = routing.domains > 1 ? "moe.routing.domains" : "moe.routing.domains_per_step";
  if (!checks.good({"model"})) return;
  const auto& moe = scenario.workload.model.moe;
  if (scenario.synthetic || !moe) {
    checks.fail(key, "is given but the model has no experts, allowed: 1");
    return;
  }
  checks.require(!scenario.workload.training.active_experts, key,
                 "is given but training.offload.active_experts is not routed, allowed: 1");
  checks.require(moe->experts % routing.domains == 0, "moe.routing.domains",
                 "is " + domains + ", must divide the " + count_text(moe->experts) +
                     " experts, allowed: " + divisors(moe->experts));
  checks.require(routing.step_domains <= routing.domains, "moe.routing.domains_per_step",
                 "is " + count_text(routing.step_domains) + ", allowed: at most the " + domains +
                     " of moe.routing.domains");
}

void check_expert_offload(const Scenario& scenario, Checks& checks) {
  const TrainingSpec& training = scenario.workload.training;
  const ParallelPlan& plan = scenario.workload.plan;
  const bool routed = !training.active_experts;
  const std::string active = routed ? "routed" : shortest(*training.active_experts);
  checks.require_use(
      training.offload_experts || training.active_experts == 1.0, "training.offload.active_experts",
      "is " + active + " but no experts are offloaded, allowed: 1, or experts: true");
  if (!training.offload_experts || scenario.synthetic || !checks.good({"model", "parallel.ep"}))
    return;
  if (!checks.require(scenario.workload.model.moe.has_value(), "training.offload.experts",
                      "is given but the model has no experts, allowed: false"))
    return;
  checks.require(plan.zero < 3, "training.offload.experts",
                 "is given but parallel.zero 3 shards the parameters, allowed: with zero 0 to 2");
  // The experts that one rank holds, of which at least one must work in a step.
  const double held =
      static_cast<double>(scenario.workload.model.moe->experts) / static_cast<double>(plan.ep);
  if (routed && !(checks.good_below("moe") && checks.good_below("training"))) return;
  const MoeSpec& routing = scenario.workload.moe;
  const double works = active_experts(scenario.workload.model, training, routing);
  constexpr double rounding = 1e-9;  // of an expectation, which is a whole expert at best
  checks.require(held * works >= (routed ? 1 - rounding : 1), "training.offload.active_experts",
                 "is " + active + (routed ? ", which is " + shortest(works) : "") +
                     ", less than one of the " + shortest(held) +
                     " experts of a rank, allowed: at least " + shortest(1 / held));
}

/// Kernels are new where the routing makes their shapes.
void check_compile(const Scenario& scenario, Checks& checks) {
  const RuntimeSpec& runtime = scenario.workload.runtime;
  if (!checks.good_below("runtime.compile") || runtime.compile_misses <= 0) return;
  const char* key = "runtime.compile.misses";
  const std::string is = "is " + shortest(runtime.compile_misses) + " but ";
  const bool experts = !scenario.synthetic && scenario.workload.model.moe.has_value();
  checks.require_use(experts || !checks.good({"model"}), key,
                     is + "the model has no experts, allowed: 0");
  if (!checks.require_use(!scenario.workload.moe.capacity_pad || !checks.good({"moe"}), key,
                          is + "moe.capacity_pad makes all shapes the same, allowed: 0"))
    return;
  const bool bytecode = runtime.fusion == RuntimeSpec::Fusion::dvm;
  const HostSpec& host = scenario.cluster.host;
  const Seconds one = bytecode ? host.compile_bytecode : host.compile_kernel;
  checks.require(
      one > Seconds{0} || !checks.good({"cluster.host.compile"}), key,
      is + "cluster.host.compile." + (bytecode ? "bytecode" : "kernel") + " is 0s, allowed: 0");
}

void check_barriers(const Scenario& scenario, Checks& checks) {
  const BarrierSpec& barriers = scenario.workload.runtime.barriers;
  const std::pair<bool, const char*> all[] = {{barriers.gradients, "runtime.barriers.gradients"},
                                              {barriers.optimizer, "runtime.barriers.optimizer"},
                                              {barriers.step_end, "runtime.barriers.step_end"}};
  // All three barriers need the same: ranks that wait for each other and operators to wait behind.
  for (const auto& [given, key] : all) {
    if (!given) continue;
    checks.require(!scenario.synthetic, key,
                   "is given but the workload has no operators, allowed: false");
    checks.require_use(
        !scenario.schedule.post_validation, key,
        "is given but with schedule.post_validation no rank waits for all, allowed: false");
    checks.require_use(scenario.workload.plan.world() > 1 || !checks.good({"parallel", "cluster"}),
                       key, "is given but the job has one rank, allowed: false");
  }
}

/// HCCL pipelines an exchange only where operators are launched one by one.
void check_sunk_exchange(const Scenario& scenario, Checks& checks) {
  checks.require(
      scenario.cluster.collectives.exchange == CollectiveLibrarySpec::Exchange::staged ||
          scenario.workload.runtime.dispatch != RuntimeSpec::Dispatch::graph_sink,
      "runtime.dispatch",
      "is graph_sink, whose exchanges HCCL runs in stages, but cluster.collectives.all_to_all is "
      "pipeline, allowed: eager, task_queue");
}

}  // namespace

void check_host(const Scenario& scenario, Checks& checks) {
  check_offload(scenario, checks);
  check_hosts(scenario, checks);
  check_pcie(scenario, checks);
  check_optimizer_kernels(scenario, checks);
  check_recompute_statements(scenario, checks);
  check_domains(scenario, checks);
  check_expert_offload(scenario, checks);
  check_compile(scenario, checks);
  check_barriers(scenario, checks);
  check_sunk_exchange(scenario, checks);
}

}  // namespace stepcast
