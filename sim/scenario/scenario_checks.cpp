#include <algorithm>
#include <numeric>
#include <string_view>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/feasibility.hpp"

// Checks between keys. Each names the guilty key, the numbers and what is allowed.
namespace stepcast {
namespace {

void check_order(const ParallelPlan& plan, Checks& checks) {
  std::vector<std::string> sorted = plan.order;
  std::ranges::sort(sorted);
  checks.require(
      sorted == std::vector<std::string>{"cp", "dp", "ep", "pp", "tp"}, "parallel.order",
      "must name tp, cp, ep, dp, pp once each, allowed: [tp, cp, ep, dp, pp] in any order");
}

// Every kind of attention has heads, which tensor ranks share out.
std::int64_t heads_of(const Scenario& scenario) {
  return std::visit([](const auto& a) { return a.heads; }, scenario.workload.model.attention);
}

/// Tensor ranks that divide the devices and, where there is a model, its heads: one list for both
/// refusals, so that whoever follows the first does not meet the second.
std::string tensor_ranks(const Scenario& scenario) {
  const std::int64_t devices = scenario.cluster.devices;
  return divisors(scenario.synthetic ? devices : std::gcd(devices, heads_of(scenario)));
}

/// The first of tp, cp and pp with which their product no longer divides the devices. The sizes are
/// at most 2^20 each, so that no product here overflows.
void fail_devices(const Scenario& scenario, Checks& checks) {
  const ParallelPlan& plan = scenario.workload.plan;
  const std::int64_t devices = scenario.cluster.devices;
  const struct {
    const char* key;
    std::int64_t size;
  } sizes[] = {{"tp", plan.tp}, {"cp", plan.cp}, {"pp", plan.pp}};
  std::int64_t product = 1;
  std::string factors;
  for (const auto& [key, size] : sizes) {
    const std::int64_t left = devices / product;
    product *= size;
    factors += (factors.empty() ? "" : "*") + std::string(key);
    // What is left for this size is what the ones before it did not use, so that its divisors are
    // the values that work.
    if (devices % product == 0) continue;
    checks.fail("parallel." + std::string(key),
                "is " + count_text(size) + ", " + factors + " = " + count_text(product) +
                    " must divide the " + count_text(devices) + " devices, allowed: " +
                    (std::string_view(key) == "tp" ? tensor_ranks(scenario) : divisors(left)));
    return checks.skip("parallel.dp");
  }
}

/// tp*cp*pp*dp = devices.
void check_data_parallel(const Scenario& scenario, Checks& checks) {
  const ParallelPlan& plan = scenario.workload.plan;
  const std::int64_t devices = scenario.cluster.devices, product = plan.tp * plan.cp * plan.pp;
  if (devices_misfit(devices, plan)) return fail_devices(scenario, checks);
  checks.require(plan.dp_given.value_or(plan.dp) == plan.dp, "parallel.dp",
                 "is " + count_text(plan.dp_given.value_or(0)) +
                     ", must be devices / (tp*cp*pp) = " + count_text(devices) + " / " +
                     count_text(product) + ", allowed: " + count_text(plan.dp) + ", auto");
}

/// Keys about experts that a model without them leaves at their defaults.
void check_no_expert_keys(const MoeSpec& moe, Checks& checks) {
  // Defaults of the spec are what a model without experts may say: a key that is written out at its
  // default does nothing, too.
  const MoeSpec neutral;
  const std::string why = " but the model has no experts, allowed: ";
  checks.require_use(moe.dispatch == neutral.dispatch, "moe.dispatch", "is set" + why + "flat");
  checks.require_use(moe.overlap == neutral.overlap, "moe.overlap", "is set" + why + "none");
  checks.require_use(moe.inner == neutral.inner, "moe.inner", "is set" + why + "auto");
  checks.require_use(moe.routing.distribution == neutral.routing.distribution,
                     "moe.routing.distribution", "is set" + why + "uniform");
  checks.require_use(!moe.capacity_factor, "moe.capacity_factor", "is set" + why + "none");
  checks.require_use(!moe.capacity_pad, "moe.capacity_pad", "is true" + why + "false");
  checks.require_use(moe.group_wise_a2a, "moe.group_wise_a2a", "is false" + why + "true");
  checks.require_use(!moe.pads_rows, "moe.row_padding", "is copies" + why + "none");
  checks.require_use(moe.placement == neutral.placement, "moe.placement",
                     "is balanced" + why + "contiguous");
  checks.require_use(moe.wire == neutral.wire, "moe.wire_precision", "is fp8" + why + "bf16");
  checks.require_use(moe.combine == neutral.combine, "moe.combine_precision",
                     "is fp8" + why + "bf16");
  checks.require_use(moe.permutation == neutral.permutation, "moe.permutation",
                     "is indexed" + why + "fused");
  checks.require_use(moe.products == neutral.products, "moe.experts", "is set" + why + "grouped");
  checks.require_use(moe.dispatcher == neutral.dispatcher, "moe.dispatcher",
                     "is set" + why + "default");
  checks.require_use(moe.router.score == neutral.router.score, "moe.router.score",
                     "is sigmoid" + why + "softmax");
  checks.require_use(!moe.router.aux_loss, "moe.router.aux_loss", "is true" + why + "false");
  checks.require_use(!moe.router.z_loss, "moe.router.z_loss", "is true" + why + "false");
  checks.require_use(moe.router.precision == neutral.router.precision, "moe.router.precision",
                     "is fp32" + why + "bf16");
}

/// Kernels of the framework stand for one way to move rows, and for whole experts on the rank.
void check_expert_kernels(const WorkloadSpec& workload, Checks& checks) {
  using Dispatch = MoeSpec::Dispatch;
  const MoeSpec& moe = workload.moe;
  // A tile kernel moves rows and multiplies in one launch: there is no permutation or product
  // beside it that could be another kernel.
  const bool tiles = moe.overlap == MoeSpec::Overlap::tiles;
  const bool plain = moe.dispatch == Dispatch::flat || moe.dispatch == Dispatch::allgather;
  checks.require(moe.permutation == MoeSpec::Permutation::fused || (plain && !tiles),
                 "moe.permutation",
                 "is indexed, which is known for dispatch flat and allgather without tiles(n), "
                 "allowed: fused");
  const bool grouped = moe.products != MoeSpec::Products::sequential;
  checks.require(grouped || !tiles, "moe.experts",
                 "is sequential but tiles(n) is one kernel, allowed: grouped");
  // One batched product has the same number of rows for each expert, which only padding to the
  // capacity gives.
  const bool batched = moe.products == MoeSpec::Products::batched;
  checks.require(!batched || (moe.capacity_pad && !tiles), "moe.experts",
                 "is batched but experts have unlike rows, allowed: grouped, multi_stream, "
                 "sequential, or capacity_pad without tiles(n)");
  const bool mxfp8 = workload.training.precision == TrainingSpec::Precision::fp8_mixed &&
                     workload.training.fp8_recipe == TrainingSpec::Fp8Recipe::mxfp8;
  const bool fused = moe.products == MoeSpec::Products::fused;
  checks.require(!fused || (mxfp8 && !tiles), "moe.experts",
                 "is fused, which is a kernel with casts to MXFP8, allowed: grouped, multi_stream, "
                 "sequential, or training.fp8_recipe mxfp8 without tiles(n)");
  checks.require(grouped || workload.training.active_experts == 1.0, "moe.experts",
                 "is sequential but only a part of the experts works in a step "
                 "(training.offload.active_experts), allowed: grouped");
}

/// Whoever sets one of these expects an effect.
void check_idle_expert_keys(const MoeSpec& moe, const ParallelPlan& plan, Checks& checks) {
  const auto check = [&](Misfit misfit, const char* key, const char* neutral) {
    checks.require_use(!misfit, key,
                       std::string("is set but ep is 1: no token leaves its rank, allowed: ") +
                           neutral + ", or ep > 1");
  };
  check(idle_dispatch_misfit(moe, plan), "moe.dispatch", "flat");
  check(idle_overlap_misfit(moe, plan), "moe.overlap", "none");
  check(idle_placement_misfit(moe, plan), "moe.placement", "contiguous");
  check(idle_wire_misfit(moe, plan), "moe.wire_precision", "bf16");
  if (const Misfit misfit = combine_misfit(moe, plan))
    checks.require_use(false, "moe.combine_precision",
                       std::string("is fp8 but ") + misfit + ", allowed: bf16");
}

void check_experts(const Scenario& scenario, Checks& checks) {
  const ParallelPlan& plan = scenario.workload.plan;
  const bool experts = !scenario.synthetic && scenario.workload.model.moe.has_value();
  if (!experts) {
    const std::string why = " but the model has no experts, allowed: 1";
    checks.require(plan.ep == 1, "parallel.ep", "is " + count_text(plan.ep) + why);
    checks.require(plan.etp == 1, "parallel.etp", "is " + count_text(plan.etp) + why);
    check_no_expert_keys(scenario.workload.moe, checks);
    // Loads and keys of experts are refused by themselves, so that each names its own line of the
    // file.
    check_no_loads(scenario.workload.moe, checks);
    return;
  }
  check_expert_kernels(scenario.workload, checks);
  if (checks.good({"parallel.ep"})) check_dispatcher(scenario.workload, checks);
  // Sizes are compared only where they were read: a size that is no number would name a second
  // error for the same line.
  const ExpertSpec& moe = *scenario.workload.model.moe;
  const bool placed =
      checks.good({"parallel.tp", "parallel.cp", "parallel.pp", "parallel.dp", "parallel.etp"});
  // Experts are spread over the ranks of one stage, whatever dimension the dense layers use them
  // for. What is allowed divides both.
  const std::int64_t ranks = placed ? plan.stage_ranks() : 0;
  const std::int64_t room = placed && ranks % plan.etp == 0 ? ranks / plan.etp : ranks;
  const std::string allowed = ", allowed: " + divisors(std::gcd(moe.experts, room));
  checks.require(!experts_misfit(moe, plan), "parallel.ep",
                 "is " + count_text(plan.ep) + ", must divide the " + count_text(moe.experts) +
                     " experts" + allowed);
  checks.require(!expert_width_misfit(moe, plan), "parallel.etp",
                 "is " + count_text(plan.etp) + ", must divide the hidden width of an expert (" +
                     count_text(moe.expert_hidden) + "), allowed: " + divisors(moe.expert_hidden));
  if (placed && checks.good({"parallel.etp"}))
    checks.require(!expert_ranks_misfit(plan), "parallel.ep",
                   "is " + count_text(plan.ep) + ", etp*ep = " + count_text(plan.etp * plan.ep) +
                       " must divide the tp*cp*dp = " + count_text(ranks) + " ranks of a stage" +
                       allowed);
  checks.require_use(
      scenario.workload.moe.overlap != MoeSpec::Overlap::shared_expert || moe.shared_experts > 0,
      "moe.overlap",
      "is shared_expert but the model has no shared experts, allowed: none, chunks(n), tiles(n), "
      "fb_pair");
  checks.require(!tiles_misfit(scenario.workload.moe, plan), "moe.overlap",
                 "is tiles, whose kernel holds whole experts, but etp is " + count_text(plan.etp) +
                     ", allowed: none, shared_expert, chunks(n), or etp 1");
  if (checks.good({"parallel.ep", "parallel.etp"}))
    check_idle_expert_keys(scenario.workload.moe, plan, checks);
  if (checks.good({"parallel.ep"})) check_loads(scenario.workload, checks);
}

/// A dispatch with an inner and an outer hop needs groups that nodes cut into equal parts.
void check_expert_parts(const Scenario& scenario, Checks& checks) {
  const MoeSpec& moe = scenario.workload.moe;
  const bool known = !scenario.synthetic && scenario.workload.model.moe && moe.cuts_groups() &&
                     checks.good({"cluster", "parallel", "moe.dispatch", "moe.inner"});
  const ClusterSpec& cluster = scenario.cluster;
  if (!known || !checks.good_below("cluster") || !checks.good_below("parallel")) return;
  if (!checks.require(moe.inner != MoeSpec::Inner::super_node || cluster.super_node, "moe.inner",
                      "is super_node but the cluster has none, allowed: auto, node"))
    return;
  const ParallelPlan& plan = scenario.workload.plan;
  // The inner hop stays inside a part. Parts of unlike size would give ranks of one group unlike
  // exchanges, which one class of ranks cannot have.
  const char* const part = plan.expert_part > cluster.node_devices ? "super-node" : "node";
  checks.require(!expert_parts_misfit(plan), "moe.dispatch",
                 "needs equally many ranks of an expert group in each " + std::string(part) +
                     " of " + count_text(plan.expert_part) +
                     " devices, allowed: flat, allgather, or another ep or order");
}

void check_heads(const Scenario& scenario, Checks& checks) {
  using Algorithm = ParallelPlan::ContextAlgorithm;
  const ParallelPlan& plan = scenario.workload.plan;
  const AttentionSpec& attention = scenario.workload.model.attention;
  const auto* gqa = std::get_if<GroupedQueryAttention>(&attention);
  const std::int64_t heads = heads_of(scenario);
  if (!checks.good({"parallel.tp", "model.attention.heads", "model.attention.kv_heads"})) return;
  if (!checks.require(!heads_misfit(scenario.workload.model, plan), "parallel.tp",
                      "is " + count_text(plan.tp) + ", must divide the " + count_text(heads) +
                          " attention heads, allowed: " + tensor_ranks(scenario))) {
    return;
  }
  if (checks.good({"model.qk_norm"}))
    checks.require(
        scenario.workload.model.qk_norm != ModelSpec::QkNorm::full || plan.tp == 1, "parallel.tp",
        "is " + count_text(plan.tp) +
            " beside qk_norm full, whose sums over all heads cross no ranks, allowed: 1");
  if (gqa != nullptr) {
    checks.require(
        !key_value_misfit(scenario.workload.model, plan), "parallel.tp",
        "is " + count_text(plan.tp) + ", must divide the " + count_text(gqa->kv_heads) +
            " key and value heads or be a multiple of them, allowed: " + divisors(gqa->kv_heads));
  }
  // Ulysses exchanges heads for slices of the sequence, so that its ranks share out the heads that
  // tensor parallelism left; a ring shares out the sequence alone.
  const bool hybrid = plan.context_algorithm == Algorithm::hybrid;
  const std::int64_t degree = hybrid                                         ? plan.ulysses_degree
                              : plan.context_algorithm == Algorithm::ulysses ? plan.cp
                                                                             : 1;
  const std::string key = hybrid ? "parallel.context_algorithm" : "parallel.cp";
  checks.require(plan.cp % degree == 0, key,
                 "is hybrid(" + count_text(degree) + "), must divide cp = " + count_text(plan.cp) +
                     ", allowed: " + divisors(plan.cp));
  checks.require(heads / plan.tp % degree == 0, key,
                 "needs " + count_text(degree) + " ulysses ranks to divide the " +
                     count_text(heads / plan.tp) +
                     " heads of a rank (heads / tp), allowed: " + divisors(heads / plan.tp));
}

void check_sequence(const Scenario& scenario, Checks& checks) {
  const ParallelPlan& plan = scenario.workload.plan;
  const ModelSpec& model = scenario.workload.model;
  const std::int64_t sequence = scenario.workload.training.sequence;
  if (!checks.require(sequence > 0, "training.sequence",
                      "is missing, allowed: a whole number of tokens such as 4096")) {
    return;
  }
  checks.require(model.position != ModelSpec::Position::learned || sequence <= model.positions,
                 "training.sequence",
                 "is " + count_text(sequence) + " but the model has " +
                     count_text(model.positions) + " learned positions, allowed: 1 to " +
                     count_text(model.positions));
  if (!checks.good({"parallel.cp", "parallel.tp", "training.sequence"})) return;
  // A causal mask gives late slices more keys than early ones; a rank with one of each works as
  // long as the others.
  const bool zigzag = parts_per_context_rank(plan) == 2;
  const std::int64_t parts = parts_per_context_rank(plan) * plan.cp;
  checks.require(
      !context_misfit(scenario.workload.training, plan), "training.sequence",
      "is " + count_text(sequence) + ", must be a multiple of " +
          (zigzag ? "2*cp (two slices per rank) = " : "cp = ") + count_text(parts) +
          ", allowed: " + count_text(std::max(sequence / parts, std::int64_t{1}) * parts));
  checks.require(
      plan.cp == 1 || scenario.workload.training.attention != TrainingSpec::Attention::unfused,
      "training.attention",
      "is unfused, which holds all keys on a rank, but cp is " + count_text(plan.cp) +
          ", allowed: fused, or cp 1");
  const std::int64_t both = plan.cp * plan.tp;
  checks.require(!sequence_parallel_misfit(scenario.workload.training, plan), "training.sequence",
                 "is " + count_text(sequence) +
                     ", sequence_parallel needs a multiple of cp*tp = " + count_text(both) +
                     ", allowed: " + count_text(std::max(sequence / both, std::int64_t{1}) * both));
}

/// Whether the table has one row per chunk and one column per stage. `words`: of the key, which
/// fit every plan.
bool check_shape(const Table& table, const std::string& path, const char* words,
                 const ParallelPlan& plan, Checks& checks) {
  const auto columns = static_cast<std::size_t>(plan.pp);
  const bool shape =
      table.size() == static_cast<std::size_t>(plan.vpp) &&
      std::ranges::all_of(table, [&](const auto& row) { return row.size() == columns; });
  return checks.require(shape, path,
                        "must have " + count_text(plan.vpp) + " rows (vpp) of " +
                            count_text(plan.pp) + " numbers (pp), allowed: " + words +
                            ", or such a table [chunk][stage]");
}

/// How many layers each chunk has to compute again is known once the layers are assigned.
void check_recompute(const WorkloadSpec& workload, Checks& checks) {
  const bool table = workload.training.recompute == TrainingSpec::Recompute::table;
  if (!table || !checks.good({"parallel.pp", "parallel.vpp", "training.recompute"})) return;
  check_shape(workload.training.recompute_layers, "training.recompute", "none, selective, full",
              workload.plan, checks);
}

/// Two directions: the second row of the table is the first one backwards.
void check_mirrored(const ParallelPlan& plan, std::int64_t layers, Checks& checks) {
  const auto& row = plan.layers_per_chunk[0];
  std::int64_t sum = 0;
  for (const std::int64_t n : row) sum += n;
  const bool mirrored =
      std::ranges::equal(row, std::vector<std::int64_t>(plan.layers_per_chunk[1].rbegin(),
                                                        plan.layers_per_chunk[1].rend()));
  checks.require(sum == layers && mirrored, "parallel.layers_per_chunk",
                 "holds " + count_text(sum) + " layers in its first row, allowed: the " +
                     count_text(layers) +
                     " of the model, and the same row backwards as the second");
}

void check_layers(const Scenario& scenario, Checks& checks) {
  const ParallelPlan& plan = scenario.workload.plan;
  const std::int64_t layers = scenario.workload.model.layers;
  if (!checks.good({"model.layers", "parallel.pp", "parallel.vpp", "parallel.layers_per_chunk"}))
    return;
  if (plan.layers != ParallelPlan::Layers::table) {
    // Named after the key that is too large by itself.
    const std::string key = plan.pp > layers ? "parallel.pp" : "parallel.vpp";
    const std::int64_t parts = plan.chunk_map().virtual_stages();
    checks.require(!chunks_misfit(scenario.workload.model, plan.chunk_map()), key,
                   "gives pp*vpp = " + count_text(parts) + " chunks for " + count_text(layers) +
                       " layers, allowed: at most one chunk per layer");
    return;
  }
  if (!check_shape(plan.layers_per_chunk, "parallel.layers_per_chunk", "auto, even", plan, checks))
    return;
  if (plan.chunk_placement == ChunkPlacement::bidirectional)
    return check_mirrored(plan, layers, checks);
  // Chunks share all layers out: none may be left over and none be there twice.
  std::int64_t sum = 0;
  for (const auto& row : plan.layers_per_chunk) {
    for (const std::int64_t n : row) sum += n;
  }
  checks.require(
      sum == layers, "parallel.layers_per_chunk",
      "holds " + count_text(sum) + " layers, allowed: the " + count_text(layers) + " of the model");
}

/// Of the device at `path`, which multiplies in FP8.
void check_fp8_peak(const DeviceSpec& device, const std::string& path, Checks& checks) {
  checks.require(
      device.matmul_peak_fp8.value() > 0 || !checks.good({path}), "training.precision",
      "is fp8_mixed but the device has no " + path + ".matmul_peak_fp8, allowed: bf16, fp16");
}

void check_width(const Scenario& scenario, Checks& checks) {
  const WorkloadSpec& spec = scenario.workload;
  if (checks.good({"model.ffn", "parallel.tp"})) {
    checks.require(
        !width_misfit(spec.model, spec.plan), "parallel.tp",
        "is " + count_text(spec.plan.tp) + ", must divide the hidden width of a dense layer (" +
            count_text(spec.model.ffn.hidden) + "), allowed: " + divisors(spec.model.ffn.hidden));
  }
  // Several kinds of nodes need the peak each.
  if (spec.training.precision == TrainingSpec::Precision::fp8_mixed) {
    check_fp8_peak(scenario.cluster.device, "cluster.device", checks);
    const std::vector<NodeKind>& kinds = scenario.cluster.kinds;
    for (std::size_t k = 0; k < kinds.size(); ++k)
      check_fp8_peak(kinds[k].device, "cluster.kinds." + std::to_string(k) + ".device", checks);
  }
  checks.require_use(
      spec.communication.tensor_chunks == 1 || spec.plan.tp > 1 || !checks.good({"parallel.tp"}),
      "communication.tensor.overlap",
      "is chunks but tp is 1: there is no collective to hide, allowed: none, or tp > 1");
  checks.require_use(
      spec.communication.tensor_backward == CommunicationSpec::TensorBackward::overlapped ||
          spec.plan.tp > 1 || !checks.good({"parallel.tp"}),
      "communication.tensor.backward",
      "is serial but tp is 1: nothing is reduced, allowed: overlapped, or tp > 1");
}

void check_algorithms(const CollectiveChoice& choice, Checks& checks) {
  // Any algorithm of the table may stand there as a word, whereas each makes some kinds of
  // collectives only.
  for (std::size_t k = 0; k < chosen_kinds; ++k) {
    const auto kind = static_cast<CollectiveKind>(k);
    std::vector<std::string> usable{"auto"};
    for (const NamedAlgorithm& known : collective_algorithms())
      if (known.serves[k]) usable.emplace_back(known.name);
    checks.require(std::ranges::find(usable, choice.algorithm[k]) != usable.end(),
                   std::string("communication.algorithm.") + name(kind),
                   "is " + choice.algorithm[k] + ", which makes no " + name(kind) +
                       ", allowed: " + joined(usable));
  }
}

}  // namespace

void check_without_sizes(const Scenario& scenario, Checks& checks) {
  check_order(scenario.workload.plan, checks);
  check_algorithms(scenario.workload.communication.algorithms, checks);
}

void check_scenario(const Scenario& scenario, Checks& checks) {
  check_cluster(scenario.cluster, "cluster.", checks);
  check_without_sizes(scenario, checks);
  // Sizes that fit each other come first: all behind divides by them.
  const bool sizes = checks.good({"cluster.devices", "parallel.tp", "parallel.cp", "parallel.pp"});
  if (sizes) {
    check_data_parallel(scenario, checks);
  } else {
    checks.skip("parallel.dp");
  }
  // Given times have no model: what asks for one is left out.
  if (scenario.synthetic) {
    check_experts(scenario, checks);
    check_synthetic(scenario, checks);
    checks.require(!scenario.cluster.device.power_cap, "cluster.device.power_cap",
                   "is set, but times do not say what their work draws, allowed: none");
  } else if (checks.good({"model"})) {
    check_model(scenario.workload.model, "model.", checks);
    if (checks.good({"model.moe.experts", "model.moe.expert_hidden"}))
      check_experts(scenario, checks);
    check_expert_parts(scenario, checks);
    check_heads(scenario, checks);
    check_attention_kernel(scenario, checks);
    check_sequence(scenario, checks);
    check_layers(scenario, checks);
    check_width(scenario, checks);
    check_recompute(scenario.workload, checks);
    check_kernels(scenario, checks);
    if (checks.good({"training.recompute"})) check_modules(scenario.workload, checks);
  }
  // Schedules count micro-batches, which follow from the sizes.
  if (sizes) check_schedule(scenario, checks);
  check_sharding(scenario, checks);
  check_adapters(scenario, checks);
  check_data(scenario, checks);
  check_host(scenario, checks);
  check_stalls(scenario, checks);
  check_step_engine(scenario, checks);
}

std::string reader_finding(const Scenario& scenario) {
  const Node nowhere;
  Reading reading;
  Checks checks{nowhere, reading};
  check_scenario(scenario, checks);
  if (reading.diagnostics.empty()) return {};
  const Diagnostic& first = reading.diagnostics.front();
  return first.path + ": " + first.message;
}

}  // namespace stepcast
