#include "flops.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/forecast/forecast_parts.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/stage_programs.hpp"

namespace stepcast::laws {
namespace {

constexpr double summing = 1e-9;  // of sums over all operators

/// FLOPs of one step over all devices, by what they depend on.
struct Executed {
  double passes = 0;  ///< forward and backward of all layers
  double update = 0;  ///< gradient norm and optimizer of what each rank updates
};

Executed executed(const Scenario& scenario) {
  const std::vector<StageProgram> programs = stage_programs(scenario, layers_of(scenario));
  Executed flops;
  for (const StageProgram& program : programs) flops.update += program.update_flops;
  flops.update *= static_cast<double>(scenario.workload.plan.stage_ranks());
  flops.passes = step_flops(scenario, programs, 0, nullptr).executed - flops.update;
  return flops;
}

/// The same draft with more settings; nothing where the reader refuses them.
std::optional<Scenario> with(const Draft& draft, const std::vector<std::string>& more) {
  try {
    return read_draft(draft, more);
  } catch (const InputError&) {
    return {};
  }
}

/// The slices as they were chosen: another order would choose others.
std::string slices_of(const Scenario& scenario) {
  const auto& tokens = scenario.workload.plan.slice_tokens;
  std::string text;
  for (const std::int64_t n : tokens) text += (text.empty() ? "" : ", ") + std::to_string(n);
  if (!tokens.empty()) return "schedule.slices=[" + text + "]";
  return "schedule.slices=" + std::to_string(scenario.workload.plan.slices);
}

/// Ranks of an expert group in one part of the fabric, where the dispatch cuts groups: they sum up
/// partial results. 0: it does not.
std::uint32_t ranks_of_part(const Scenario& scenario) {
  if (scenario.workload.plan.expert_part == 0) return 0;
  return Placement(scenario.workload.plan).group_size(GroupKind::expert_inner);
}

/// A kernel made of statements computes again what would have to be read. Whether that pays, and so
/// its FLOPs, depends on how many tokens come at once.
bool fuses_statements(const Scenario& scenario) {
  return scenario.workload.runtime.fusion == RuntimeSpec::Fusion::dvm;
}

/// What goes with one schedule alone.
std::vector<std::string> plain_schedule(const Scenario& scenario) {
  std::vector<std::string> settings{"schedule.pipeline=gpipe", "parallel.vpp=1",
                                    "schedule.group=auto",     "schedule.warmup=standard",
                                    "schedule.put_off=auto",   "parallel.layers_per_chunk=auto",
                                    "schedule.slices=1",       "simulate.network=ports"};
  if (scenario.workload.moe.overlap == MoeSpec::Overlap::fb_pair)
    settings.emplace_back("moe.overlap=none");
  if (fuses_statements(scenario)) settings.emplace_back("runtime.fusion=none");
  return settings;
}

/// Sums over the slices of a sequence of S tokens: of the tokens before each, and of n (b + n).
struct SliceSums {
  explicit SliceSums(const WorkloadSpec& spec) {
    const auto sequence = static_cast<double>(spec.training.sequence);
    for (std::int64_t k = 0; k < spec.plan.slices; ++k) {
      const double start = spec.plan.slice_start(spec.training.sequence, k);
      const double own = spec.plan.slice_length(spec.training.sequence, k);
      before += start;
      seen += own * (start + own);
    }
    unseen = sequence * sequence - seen;
  }
  double before = 0, seen = 0, unseen = 0;
};

/// Heads of the attention core over all tensor ranks, and its widths.
struct CoreSizes {
  explicit CoreSizes(const WorkloadSpec& spec) {
    if (const auto* a = std::get_if<GroupedQueryAttention>(&spec.model.attention)) {
      heads = static_cast<double>(a->heads);
      qk = v = static_cast<double>(a->head_dim);
      // with more tensor ranks than key and value heads each rank keeps a copy of one
      key_values = 2 * v * static_cast<double>(std::max(a->kv_heads, spec.plan.tp));
      return;
    }
    const auto& a = std::get<LatentAttention>(spec.model.attention);
    heads = static_cast<double>(a.heads);
    qk = static_cast<double>(a.nope_dim + a.rope_dim);
    v = static_cast<double>(a.v_dim);
    if (spec.training.attention_head) qk = v = static_cast<double>(*spec.training.attention_head);
    key_values = heads * (qk + v);
  }
  double heads, qk, v, key_values;
};

/// Layers and MTP modules whose attention core goes backward. With adapters behind it alone the
/// first layer has no gradient to give to its core, unless it runs again: a checkpoint needs an
/// input with a gradient, and so do parts side by side.
double cores_backward(const WorkloadSpec& spec) {
  const auto all = static_cast<double>(spec.model.layers + spec.model.mtp_layers);
  const AdapterSpec& adapters = spec.training.adapters;
  using Target = AdapterSpec::Target;
  const bool before =
      adapters.at(Target::query) || adapters.at(Target::key) || adapters.at(Target::value);
  const bool ends = adapters.any() && !before && spec.model.block == ModelSpec::Block::serial &&
                    spec.training.recompute != TrainingSpec::Recompute::full;
  return ends ? all - 1 : all;
}

/// Layers and MTP modules that run an attention core in a backward again.
double recomputed_cores(const WorkloadSpec& spec) {
  using Recompute = TrainingSpec::Recompute;
  if (spec.training.recompute == Recompute::none) return 0;
  if (spec.training.recompute == Recompute::modules &&
      !spec.training.recomputes(TrainingSpec::Module::core_attn))
    return 0;
  if (spec.training.recompute != Recompute::table) return cores_backward(spec);
  double sum = 0;
  for (const auto& row : spec.training.recompute_layers)
    for (const std::int64_t layers : row) sum += static_cast<double>(layers);
  return sum;
}

/// What slices add: sums of the gradients of earlier keys and values, less the scores behind each
/// slice that an unfused core computes without slices.
double added_by_slices(const WorkloadSpec& spec) {
  const auto sequences = static_cast<double>(spec.training.global_batch);
  const auto cores = static_cast<double>(spec.model.layers + spec.model.mtp_layers);
  const SliceSums slices{spec};
  const CoreSizes core{spec};
  const double sums = sequences * cores_backward(spec) * slices.before * core.key_values;
  if (spec.training.attention != TrainingSpec::Attention::unfused) return sums;
  constexpr double softmax = 5, dropout = 2;  // FLOPs per score, forward and backward alike
  const double once = 2 * (core.qk + core.v) + softmax + dropout;
  const double backward = 4 * (core.qk + core.v) + softmax + dropout;
  const double scores = sequences * core.heads * slices.unseen;
  return sums -
         scores * (once * (cores + recomputed_cores(spec)) + backward * cores_backward(spec));
}

class FlopsLaws {
 public:
  explicit FlopsLaws(const ValidCase& c) : case_{c} {}

  std::vector<std::string> broken() {
    if (case_.scenario.synthetic) return {};
    const Executed own = executed(case_.scenario);
    order(own);
    schedule(own);
    copies(own);
    return std::move(broken_);
  }

 private:
  /// Layers that are balanced by time are other ones in another order, and so are those that a
  /// table recomputes.
  void order(const Executed& own) {
    const auto& settings = case_.draft.settings;
    if (case_.scenario.workload.training.recompute == TrainingSpec::Recompute::table &&
        std::ranges::find(settings, "parallel.layers_per_chunk=auto") != settings.end())
      return;
    const std::string slices = slices_of(case_.scenario);
    for (const char* order : {"[pp, dp, ep, cp, tp]", "[ep, tp, dp, cp, pp]"}) {
      const auto other = with(case_.draft, {std::string("parallel.order=") + order, slices});
      if (!other || ranks_of_part(*other) != ranks_of_part(case_.scenario)) continue;
      const Executed flops = executed(*other);
      equal("rank order", own.passes, flops.passes);
      equal("rank order, of the update", own.update, flops.update);
    }
  }

  /// Recomputed layers of a table belong to its chunks, so that another number of chunks has
  /// others.
  void schedule(const Executed& own) {
    const Scenario& scenario = case_.scenario;
    const WorkloadSpec& spec = scenario.workload;
    if (spec.training.recompute == TrainingSpec::Recompute::table) return;
    const auto plain = with(case_.draft, plain_schedule(scenario));
    if (!plain) return;
    const auto apart = with(case_.draft, {"runtime.fusion=none", slices_of(scenario)});
    const Executed flops = executed(*plain);
    const Executed passed = fuses_statements(scenario) && apart ? executed(*apart) : own;
    double expected = flops.passes + (spec.plan.slices > 1 ? added_by_slices(spec) : 0);
    const auto more = static_cast<double>(spec.plan.slices - 1);
    if (spec.communication.accumulation == CommunicationSpec::Accumulation::separate)
      expected += more * once_each(flops.passes, "communication.gradient.accumulation=fused");
    if (spec.training.adapters.frozen != AdapterSpec::Frozen::bf16)
      expected += more * once_each(flops.passes, "training.adapters.frozen=bf16");
    equal(spec.plan.slices > 1 ? "slices" : "schedule", passed.passes, expected);
    const bool shared = spec.model.tied_embeddings || spec.model.mtp_layers > 0;
    const auto copies = static_cast<double>(spec.plan.chunk_map().copies());
    if (!shared) equal("schedule, of the update", own.update, copies * flops.update);
  }

  /// What launches several operators at once, or brings rows and scales into place, computes
  /// nothing.
  void copies(const Executed& own) {
    const WorkloadSpec& spec = case_.scenario.workload;
    const bool scales = spec.runtime.kernels.scales != KernelSpec::Scales::joined;
    if (spec.runtime.graphs == 0 && !spec.moe.pads_rows && !scales) return;
    if (fuses_statements(case_.scenario)) return;
    const auto plain =
        with(case_.draft, {"runtime.graphs=none", "moe.row_padding=none",
                           "runtime.kernels.scales=joined", slices_of(case_.scenario)});
    if (!plain) {
      broken_.emplace_back("graphs, row padding and scales cannot be left out");
      return;
    }
    const Executed flops = executed(*plain);
    equal("copies", own.passes, flops.passes);
    equal("copies, of the update", own.update, flops.update);
  }

  /// FLOPs of whole micro-batches that `without` does away with, once each: a slice has as many.
  double once_each(double all, const char* without) {
    std::vector<std::string> plain = plain_schedule(case_.scenario);
    plain.emplace_back(without);
    const auto others = with(case_.draft, plain);
    return others ? all - executed(*others).passes : 0;
  }

  void equal(const std::string& what, double own, double other) {
    if (std::abs(own - other) <= summing * own) return;
    broken_.push_back("executed FLOPs and " + what + ": " + shortest(own) + " and " +
                      shortest(other));
  }

  const ValidCase& case_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> broken_flops(const ValidCase& c) { return FlopsLaws(c).broken(); }

}  // namespace stepcast::laws
