#include <string>
#include <variant>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/feasibility.hpp"

// Keys about what data ranks share out, and the precision in which it is kept and gathered: one
// that changes nothing is refused.
namespace stepcast {
namespace {

using GatherPrecision = CommunicationSpec::GatherPrecision;

void check_replicas(const Scenario& scenario, Checks& checks) {
  const ParallelPlan& plan = scenario.workload.plan;
  // One group that shares out is the usual case.
  if (plan.dp_replicate == 1) return;
  const std::string is = "is " + count_text(plan.dp_replicate);
  const char* const key = "parallel.dp_replicate";
  if (!checks.require(!scenario.synthetic, key,
                      is + " but the workload has no operators, allowed: 1"))
    return;
  if (!checks.require(plan.zero > 0, key, is + " but parallel.zero shards nothing, allowed: 1") ||
      !checks.good({"parallel.dp", "parallel.tp", "parallel.cp", "parallel.ep", "parallel.etp"}))
    return;
  // Divisibility of data ranks first, then that of the experts' replicas, which are fewer.
  if (!checks.require(
          plan.dp % plan.dp_replicate == 0, key,
          is + ", must divide dp = " + count_text(plan.dp) + ", allowed: " + divisors(plan.dp)))
    return;
  checks.require(
      !scenario.workload.model.moe || plan.edp() % plan.dp_replicate == 0, key,
      is + ", must divide the " + count_text(plan.edp()) +
          " replicas of the experts (tp*cp*dp / (etp*ep)), allowed: " + divisors(plan.edp()));
  checks.require(plan.dense_shards() > 1, key,
                 is + ", which leaves one rank to share out with, allowed: less, or zero 0");
}

/// DeepSpeed makes the groups of ranks that follow each other.
void check_second_copy(const Scenario& scenario, Checks& checks) {
  const ParallelPlan& plan = scenario.workload.plan;
  if (plan.hpz == 1) return;
  const std::string is = "is " + count_text(plan.hpz);
  const char* const key = "parallel.hpz";
  if (!checks.require(!scenario.synthetic, key,
                      is + " but the workload has no operators, allowed: 1"))
    return;
  if (!checks.require(plan.zero == 3, key,
                      is + " but parallel.zero is not 3, so that no backward pass gathers, "
                           "allowed: 1") ||
      !checks.good({"parallel.dp", "parallel.cp", "model"}))
    return;
  checks.require(plan.dp_replicate == 1, key, is + " beside dp_replicate, allowed: 1");
  checks.require(!scenario.workload.model.moe, key,
                 is + " but the model has experts, whose second copies are not known, allowed: 1");
  const std::int64_t ranks = plan.dp * plan.cp;
  checks.require(plan.hpz < ranks && ranks % plan.hpz == 0 && plan.hpz % plan.cp == 0, key,
                 is + ", must divide dp*cp = " + count_text(ranks) +
                     ", be less, and be a multiple of cp = " + count_text(plan.cp) +
                     ", allowed: 1, or such a number");
}

void check_gathers(const WorkloadSpec& workload, bool synthetic, Checks& checks) {
  using Recipe = TrainingSpec::Fp8Recipe;
  const CommunicationSpec& spec = workload.communication;
  const TrainingSpec& training = workload.training;
  checks.require_use(!idle_gather_overlap_misfit(spec, workload.plan),
                     "communication.parameter.overlap",
                     "is false, which counts only with parallel.zero 1 or 2, allowed: true");
  if (spec.gather_precision == GatherPrecision::bf16) return;
  const auto require = [&](bool holds, const char* why) {
    checks.require(holds, "communication.parameter.precision",
                   std::string("is fp8 but ") + why + ", allowed: bf16");
  };
  const auto needs = [&](bool holds, const char* why) {
    checks.require_use(holds, "communication.parameter.precision",
                       std::string("is fp8 but ") + why + ", allowed: bf16");
  };
  require(!synthetic, "the workload has no operators");
  needs(!idle_gather_precision_misfit(spec, workload.plan),
        "parallel.zero 0 gathers no parameters");
  if (checks.good({"parallel.dp", "parallel.tp", "parallel.cp", "parallel.ep", "parallel.etp",
                   "parallel.dp_replicate", "model.moe"}))
    needs(!lone_gather_misfit(spec, workload.model, workload.plan),
          "every group that shares parameters out is one rank, which gathers nothing");
  if (!checks.good({"training.precision", "training.fp8_recipe"})) return;
  // FP8 parameters are worth gathering only if products read them as they arrive.
  const bool fp8 = training.precision == TrainingSpec::Precision::fp8_mixed;
  needs(fp8, "training.precision is not fp8_mixed");
  require(!fp8 || (training.fp8_recipe != Recipe::mxfp8 && training.fp8_recipe != Recipe::rowwise),
          "every rank casts rows and columns of BF16 weights itself with training.fp8_recipe mxfp8 "
          "and rowwise");
  require(training.master_weights != TrainingSpec::MasterWeights::remainder,
          "training.master_weights remainder needs the BF16 weight");
  require(training.master_weights != TrainingSpec::MasterWeights::none,
          "training.master_weights none has no other weights than those that are gathered");
  require(!training.offload_experts, "training.offload.experts moves BF16 weights");
}

/// Exchanges tensor by tensor, as DeepSpeed (lists) and InternEvo (broadcast) have them.
void check_exchange(const WorkloadSpec& workload, bool synthetic, Checks& checks) {
  using enum CommunicationSpec::Exchange;
  const CommunicationSpec& spec = workload.communication;
  const ParallelPlan& plan = workload.plan;
  if (spec.exchange == buffer) return;
  // The two forms need other conditions, and messages name the one that is asked for.
  const bool in_lists = spec.exchange == lists;
  checks.require(!in_lists || spec.gradient_overlap, "communication.gradient.overlap",
                 "is false but communication.parameter.exchange is lists, whose host waits for "
                 "every reduction before it gathers what comes next, allowed: true");
  const auto require = [&](bool holds, const char* why) {
    return checks.require(holds, "communication.parameter.exchange",
                          std::string("is ") + (in_lists ? "lists" : "broadcast") + " but " + why +
                              ", allowed: buffer");
  };
  const auto needs = [&](bool holds, const char* why) {
    return checks.require_use(holds, "communication.parameter.exchange",
                              std::string("is ") + (in_lists ? "lists" : "broadcast") + " but " +
                                  why + ", allowed: buffer");
  };
  if (!require(!synthetic, "the workload has no operators")) return;
  needs(plan.zero == (in_lists ? 3 : 1),
        in_lists ? "parallel.zero is not 3" : "parallel.zero is not 1");
  require(spec.gather_precision == GatherPrecision::bf16,
          "communication.parameter.precision casts a buffer");
  require(in_lists || !spec.gradient_overlap || !spec.gather_overlap,
          "owners broadcast behind the update: communication.parameter.overlap false");
  require(workload.runtime.dispatch != RuntimeSpec::Dispatch::graph_sink,
          "runtime.dispatch is graph_sink, whose host issues nothing");
  if (checks.good({"model"})) {
    require(!workload.model.moe, "who owns which expert is not known");
    require(std::holds_alternative<GroupedQueryAttention>(workload.model.attention) &&
                !workload.model.linear,
            "only matrices of attention with grouped queries are counted");
  }
  if (!checks.good({"parallel.dp", "parallel.cp", "parallel.dp_replicate", "parallel.hpz"})) return;
  needs(plan.dense_shards() > 1, "nothing is shared out: one rank");
  require(!in_lists || (plan.dp_replicate == 1 && plan.hpz == 1),
          "lists come from all ranks: dp_replicate and hpz 1");
}

/// FP32 gradients that travel in BF16 to one owner each (MegaScale-MoE).
void check_gradient_exchange(const WorkloadSpec& workload, bool synthetic, Checks& checks) {
  using Exchange = CommunicationSpec::GradientExchange;
  const CommunicationSpec& spec = workload.communication;
  if (spec.gradient_exchange == Exchange::reduce) return;
  const auto require = [&](bool holds, const std::string& why) {
    return checks.require(holds, "communication.gradient.exchange",
                          "is all_to_all but " + why + ", allowed: reduce");
  };
  if (!require(!synthetic, "the workload has no operators")) return;
  require(spec.gradient_precision == CommunicationSpec::GradientPrecision::fp32,
          "communication.gradient.precision is not fp32, in which gradients are kept and added up");
  require(spec.exchange == CommunicationSpec::Exchange::buffer,
          "communication.parameter.exchange has owners of whole tensors");
  if (!checks.good({"parallel.dp", "parallel.cp", "parallel.zero", "parallel.dp_replicate"}))
    return;
  const Misfit misfit = gradient_exchange_misfit(spec, workload.plan);
  if (misfit != nullptr)
    checks.require_use(false, "communication.gradient.exchange",
                       std::string("is all_to_all but ") + misfit + ", allowed: reduce");
}

/// FP32 gradients that are reduced as a BF16 copy of all of them (DeepSpeed).
void check_reduce_copy(const WorkloadSpec& workload, bool synthetic, Checks& checks) {
  const CommunicationSpec& spec = workload.communication;
  if (spec.reduce_copy == CommunicationSpec::ReduceCopy::none || synthetic) return;
  const auto require = [&](bool holds, const char* why) {
    return checks.require(holds, "communication.gradient.reduce_copy",
                          std::string("is bf16 but ") + why + ", allowed: none");
  };
  const auto needs = [&](bool holds, const char* why) {
    return checks.require_use(holds, "communication.gradient.reduce_copy",
                              std::string("is bf16 but ") + why + ", allowed: none");
  };
  needs(spec.gradient_precision == CommunicationSpec::GradientPrecision::fp32,
        "communication.gradient.precision is not fp32");
  require(spec.gradient_exchange == CommunicationSpec::GradientExchange::reduce,
          "communication.gradient.exchange is all_to_all, which has its own");
  if (!checks.good({"parallel.dp", "parallel.cp", "parallel.zero", "parallel.dp_replicate"}))
    return;
  require(workload.plan.zero < 2, "parallel.zero reduces gradients with every micro-batch");
  needs(workload.plan.dense_shards() > 1, "nothing is reduced: one rank");
  // The copy counts beside the gradients that are kept twice.
  if (workload.plan.zero < 2 && checks.good({"communication.gradient.precision"}) &&
      spec.gradient_precision == CommunicationSpec::GradientPrecision::fp32)
    needs(spec.gradients_kept == CommunicationSpec::Kept::both,
          "communication.gradient.kept is not both");
}

/// Autograd is given stand-ins where products add to gradients themselves.
void check_stand_ins(const CommunicationSpec& spec, bool synthetic, Checks& checks) {
  if (spec.stand_ins == CommunicationSpec::StandIns::none || synthetic) return;
  checks.require_use(
      spec.accumulation == CommunicationSpec::Accumulation::fused,
      "communication.gradient.stand_ins",
      "is shapes but communication.gradient.accumulation is not fused, allowed: none");
}

/// Flat gradients are reduced with every micro-batch.
void check_flat(const WorkloadSpec& workload, bool synthetic, Checks& checks) {
  const CommunicationSpec& spec = workload.communication;
  if (spec.accumulation != CommunicationSpec::Accumulation::flat) return;
  const auto require = [&](bool holds, const char* why) {
    return checks.require(holds, "communication.gradient.accumulation",
                          std::string("is flat but ") + why + ", allowed: fused, separate");
  };
  if (!require(!synthetic, "the workload has no operators")) return;
  checks.require_use(workload.plan.zero == 3, "communication.gradient.accumulation",
                     "is flat but parallel.zero is not 3, allowed: fused, separate");
  require(spec.exchange == CommunicationSpec::Exchange::buffer,
          "communication.parameter.exchange is not buffer");
}

/// PyTorch's cross entropy takes whole logits.
void check_metrics(const WorkloadSpec& workload, Checks& checks) {
  checks.require(
      workload.training.cross_entropy != TrainingSpec::CrossEntropy::transformers ||
          workload.plan.tp == 1,
      "training.cross_entropy",
      "is transformers but parallel.tp leaves each rank a part of the logits, allowed: unfused, "
      "fused, one_hot");
  checks.require(workload.training.logit_metrics == 0 || workload.plan.tp == 1,
                 "training.logit_metrics",
                 "is " + count_text(workload.training.logit_metrics) +
                     " but parallel.tp leaves each rank a part of the logits, allowed: 0");
}

/// Whether all passes are over FP32 gradients that the rank updates with, whenever those came.
bool passes_own(const RuntimeSpec& runtime) {
  for (std::size_t i = 0; i < update_passes.size(); ++i) {
    const auto pass = static_cast<UpdatePass>(i);
    const bool own =
        pass == UpdatePass::unscale || pass == UpdatePass::square || pass == UpdatePass::clip;
    if (!own && runtime.passes(pass)) return false;
  }
  return true;
}

/// Layers that run again and end with a sum.
void check_rebuild(const WorkloadSpec& workload, bool synthetic, Checks& checks) {
  using Recompute = TrainingSpec::Recompute;
  const TrainingSpec& training = workload.training;
  if (training.rebuild == TrainingSpec::Rebuild::layer) return;
  const auto require = [&](bool holds, const char* why) {
    return checks.require(holds, "training.rebuild",
                          std::string("is needed but ") + why + ", allowed: layer");
  };
  if (!require(!synthetic, "the workload has no operators")) return;
  checks.require_use(
      training.recompute == Recompute::full || training.recompute == Recompute::table,
      "training.rebuild", "is needed but training.recompute names no layers, allowed: layer");
  require(workload.model.block == ModelSpec::Block::serial,
          "model.block adds up both parts of a layer at once");
  require(workload.runtime.graphs == 0, "runtime.graphs holds parts of layers");
}

/// Where gradients are reduced once a step and the device updates all of them in one kernel.
void check_update(const WorkloadSpec& workload, bool synthetic, Checks& checks) {
  const TrainingSpec& training = workload.training;
  const CommunicationSpec& communication = workload.communication;
  if (workload.runtime.update == 0) return;
  const auto require = [&](bool holds, const char* why) {
    return checks.require(holds, "runtime.update",
                          std::string("has passes but ") + why + ", allowed: alone");
  };
  if (!require(!synthetic, "the workload has no operators")) return;
  require(workload.plan.zero < 2 || passes_own(workload.runtime),
          "parallel.zero reduces gradients with every micro-batch");
  require(workload.runtime.optimizer != RuntimeSpec::OptimizerKernels::per_tensor,
          "runtime.optimizer is per_tensor and has its own");
  require(!training.offload_optimizer && !training.offload_experts,
          "states are offloaded, whose update has its own");
  require(communication.gradient_exchange == CommunicationSpec::GradientExchange::reduce,
          "communication.gradient.exchange is all_to_all, which has its own");
  // Passes over FP32 gradients need FP32 gradients, or the cast that makes them.
  const bool half = communication.gradient_precision == CommunicationSpec::GradientPrecision::bf16;
  checks.require(half || !workload.runtime.passes(UpdatePass::cast), "runtime.update",
                 "names cast but communication.gradient.precision is fp32, allowed: without it");
  for (const UpdatePass pass :
       {UpdatePass::join_fp32, UpdatePass::unscale, UpdatePass::square, UpdatePass::clip})
    checks.require(
        !half || !workload.runtime.passes(pass) || workload.runtime.passes(UpdatePass::cast),
        "runtime.update",
        "names " + std::string(update_passes[static_cast<std::size_t>(pass)]) +
            " of FP32 gradients but communication.gradient.precision is bf16, allowed: with cast");
}

/// The statements of an optimizer that is not fused pass over FP32 states.
void check_states(const WorkloadSpec& workload, bool synthetic, Checks& checks) {
  using Moment = TrainingSpec::Moment;
  const TrainingSpec& training = workload.training;
  using Kernels = RuntimeSpec::OptimizerKernels;
  const bool fused = workload.runtime.optimizer == Kernels::fused;
  const char* const kernels =
      workload.runtime.optimizer == Kernels::per_tensor ? "per_tensor" : "elementwise";
  using Master = TrainingSpec::MasterWeights;
  const bool none = training.master_weights == Master::none;
  // Statements read and write one precision: BF16 of all, too.
  const bool half =
      none && training.first_moment == Moment::bf16 && training.second_moment == Moment::bf16;
  const auto require = [&](bool wide, const char* path, const std::string& neutral) {
    checks.require(wide || !synthetic, path,
                   "is given but the workload has no operators, allowed: " + neutral);
    checks.require(wide || fused || half || synthetic, path,
                   std::string("is below FP32 but runtime.optimizer is ") + kernels +
                       ", allowed: " + neutral + ", or runtime.optimizer fused");
  };
  require(training.first_moment == Moment::fp32, "training.first_moment", "fp32");
  require(training.second_moment == Moment::fp32, "training.second_moment", "fp32");
  require(training.master_weights != Master::fp16 && !none, "training.master_weights", "full");
  if (checks.good({"communication.gradient.precision"}))
    checks.require(!none || workload.communication.gradient_precision ==
                                CommunicationSpec::GradientPrecision::bf16,
                   "training.master_weights",
                   "needs gradients in bf16 with this value, allowed: full, or "
                   "communication.gradient.precision bf16");
  checks.require(!synthetic || training.master_weights != TrainingSpec::MasterWeights::stored,
                 "training.master_weights",
                 "is stored but the workload has no operators, allowed: full");
  checks.require_use(training.offload_optimizer || training.offload_optimizer_part == 1,
                     "training.offload.optimizer_part",
                     "is " + shortest(training.offload_optimizer_part) +
                         " but no optimizer is offloaded, allowed: 1, or optimizer: true");
}

}  // namespace

void check_sharding(const Scenario& scenario, Checks& checks) {
  // Each about one key; their order is that of the reference page.
  const WorkloadSpec& workload = scenario.workload;
  check_replicas(scenario, checks);
  check_second_copy(scenario, checks);
  check_gathers(workload, scenario.synthetic.has_value(), checks);
  check_exchange(workload, scenario.synthetic.has_value(), checks);
  check_reduce_copy(workload, scenario.synthetic.has_value(), checks);
  check_stand_ins(workload.communication, scenario.synthetic.has_value(), checks);
  check_flat(workload, scenario.synthetic.has_value(), checks);
  check_metrics(workload, checks);
  check_update(workload, scenario.synthetic.has_value(), checks);
  check_rebuild(workload, scenario.synthetic.has_value(), checks);
  check_states(workload, scenario.synthetic.has_value(), checks);
  check_gradient_exchange(workload, scenario.synthetic.has_value(), checks);
}

}  // namespace stepcast
