#include "job_period.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "stepcast/topology/collisions.hpp"

namespace stepcast {
namespace {

ParallelPlan shortened(ParallelPlan plan, std::int64_t copies) {
  // One copy is the job with a part of its replicas.
  plan.dp /= copies;
  return plan;
}

std::size_t position(const ParallelPlan& plan, std::string_view key) {
  return static_cast<std::size_t>(std::ranges::find(plan.order, key) - plan.order.begin());
}

/// Whether a coordinate of that size never changes but when `slow` does, or not at all.
bool runs_before(const ParallelPlan& plan, std::string_view key, std::int64_t size,
                 std::string_view slow) {
  return size == 1 || position(plan, key) < position(plan, slow);
}

/// Stages follow each other as wholes.
bool stages_are_apart(const ParallelPlan& plan) {
  return runs_before(plan, "dp", plan.dp, "pp") && runs_before(plan, "tp", plan.tp, "pp") &&
         runs_before(plan, "cp", plan.cp, "pp");
}

bool skewed(const StageProgram& program) {
  return std::ranges::any_of(program.calls,
                             [](const StageCall& c) { return !c.call.skew.factor.empty(); });
}

/// What tells replicas apart, or has not been thought through.
bool may_repeat(const NetworkMapInput& input) {
  const ParallelPlan& plan = input.placement.plan();
  // Whatever distinguishes replicas by their number, or by more than their place, forbids a period.
  return input.fold == Fold::automatic && input.form == NetworkForm::ports &&
         plan.shard_groups() == 1 && input.fabric.intact() && input.rank_variants.empty() &&
         !input.hash_seed && routing_choices(input.fabric.cluster().network.routing) == 0 &&
         std::ranges::none_of(input.programs, skewed) && runs_before(plan, "tp", plan.tp, "dp") &&
         runs_before(plan, "cp", plan.cp, "dp") && runs_before(plan, "ep", plan.ep, "dp");
}

bool keys_repeat(const NetworkMapInput& input, const JobPeriod& period) {
  // Stalls may name ranks: every rank must start as its first copy does.
  for (std::uint32_t r = 0; r < input.rank_keys.size(); ++r)
    if (input.rank_keys[r] != input.rank_keys[period.in_job(period.own(Rank{r})).value])
      return false;
  return true;
}

std::int64_t leaf_devices(const Fabric& fabric) {
  const NetworkSpec& network = fabric.cluster().network;
  // With rails a leaf holds the i-th NICs of so many nodes, all of whose devices repeat with it.
  const bool rails = network.kind == NetworkSpec::Kind::rail_optimized;
  const bool of_node = network.nic.per == NicSpec::Per::node;
  return network.leaf_ports * (rails || of_node ? fabric.cluster().node_devices : 1);
}

}  // namespace

JobPeriod::JobPeriod(const Placement& job, std::int64_t copies)
    : ranks_{shortened(job.plan(), copies)},
      copies_{static_cast<std::uint32_t>(copies)},
      block_{job.world()},
      own_block_{ranks_.world()} {
  // Where another coordinate runs slower than pp, the whole job is one block.
  if (!stages_are_apart(job.plan())) return;
  block_ /= static_cast<std::uint32_t>(job.plan().pp);
  own_block_ /= static_cast<std::uint32_t>(job.plan().pp);
}

Rank JobPeriod::in_job(Rank own) const {
  // Blocks are stages, or the whole: each begins with the first copy.
  return {own.value / own_block_ * block_ + own.value % own_block_};
}

Rank JobPeriod::own(Rank of_job) const {
  // The copy is what is divided out: place in the block modulo the block of one copy.
  return {of_job.value / block_ * own_block_ + of_job.value % block_ % own_block_};
}

/// What is above the leaves counts where it can hold flows up; latencies do not tell leaves apart.
std::int64_t fabric_period(const Fabric& fabric) {
  const ClusterSpec& cluster = fabric.cluster();
  // Parts of these do not repeat, or not for a whole number of nodes.
  if (fabric.of_platform() || !fabric.dragonfly().empty() || !cluster.allocation.empty())
    return fabric.devices();
  std::int64_t devices = cluster.node_devices;
  if (cluster.super_node) devices *= cluster.super_node->nodes;
  if (!fabric.trunks_can_saturate() && !fabric.pods_can_saturate()) return devices;
  const std::int64_t leaves = fabric.pods_can_saturate() ? cluster.network.pod_leaves : 1;
  const std::int64_t below = leaf_devices(fabric) * leaves;
  const std::int64_t most = fabric.devices();  // what repeats later does not repeat here
  return devices > most || below > most ? most : std::lcm(devices, below);
}

/// Copies are whole parts of the fabric, and expert groups are cut alike in each.
JobPeriod shortest_period(const NetworkMapInput& input) {
  const ParallelPlan& plan = input.placement.plan();
  if (!may_repeat(input)) return JobPeriod(input.placement);
  // Expert groups that are cut at devices must be cut alike in each copy.
  const std::int64_t cut = std::max<std::int64_t>(1, plan.expert_part);
  const std::int64_t unit = std::lcm(fabric_period(input.fabric), cut);
  const std::int64_t block = stages_are_apart(plan) ? plan.stage_ranks() : plan.world();
  const std::int64_t most = std::gcd(plan.dp, plan.edp());
  // Most copies first: the shortest period has the smallest graph.
  for (std::int64_t copies = most; copies > 1; --copies) {
    if (most % copies != 0 || block % (copies * unit) != 0) continue;
    JobPeriod period(input.placement, copies);
    if (keys_repeat(input, period)) return period;
  }
  return JobPeriod(input.placement);
}

}  // namespace stepcast
