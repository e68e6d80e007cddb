#include <string>
#include <variant>

#include "stepcast/sim/scenario/checks.hpp"

// `training.adapters`: what they do not go with, and keys of them that change nothing.
namespace stepcast {
namespace {

using AdapterTarget = AdapterSpec::Target;

const std::string adapters_key = "training.adapters.";

void check_no_adapters(const AdapterSpec& adapters, Checks& checks) {
  const AdapterSpec plain;
  const auto idle = [&](const char* key, bool holds) {
    checks.require_use(
        holds, adapters_key + key,
        "is given but training.adapters.rank is 0, so that no adapter exists, allowed: "
        "a rank, or without it");
  };
  // A key that only an adapter would read is refused rather than ignored, since a step would take
  // as long with it as without.
  idle("targets", adapters.targets == plain.targets);
  idle("products", adapters.products == plain.products);
  idle("split", adapters.split == plain.split);
  idle("dropout", !adapters.dropout);
  idle("frozen", adapters.frozen == plain.frozen);
}

/// What the model has for them to stand beside.
void check_adapted_model(const WorkloadSpec& workload, Checks& checks) {
  const ModelSpec& model = workload.model;
  const AdapterSpec& adapters = workload.training.adapters;
  const auto lacks = [&](bool holds, const std::string& what) {
    checks.require(holds, adapters_key + "rank", "is given but " + what);
  };
  lacks(std::holds_alternative<GroupedQueryAttention>(model.attention),
        "adapters of latent attention are not known, allowed: grouped_query attention, or 0");
  lacks(!model.linear,
        "adapters of linear attention are not known, allowed: a model without, or 0");
  lacks(model.mtp_layers == 0,
        "what of MTP modules is frozen is not known, allowed: model.mtp_layers 0, or 0");
  if (!model.moe) return;
  const bool inner = adapters.at(AdapterTarget::gate) || adapters.at(AdapterTarget::up) ||
                     adapters.at(AdapterTarget::down);
  checks.require(!inner, adapters_key + "targets",
                 "has products of feed-forward parts but the model has experts, whose adapters are "
                 "not known, allowed: {modules: [query, key, value, attention_out]}");
  checks.require(adapters.frozen == AdapterSpec::Frozen::bf16, adapters_key + "frozen",
                 "packs weights but the model has experts, whose kernels read BF16, allowed: bf16");
}

/// Keys of the file that need gradients, or new values, of weights that stay as they are.
void check_frozen(const Scenario& scenario, Checks& checks) {
  const WorkloadSpec& w = scenario.workload;
  const CommunicationSpec& communication = w.communication;
  const std::string frozen = " but training.adapters leaves weights as they are, allowed: ";
  checks.require(!w.training.offload_experts, "training.offload.experts",
                 "is true" + frozen + "false");
  checks.require(w.moe.spare_experts == 0, "moe.spare_experts",
                 "gives experts copies" + frozen + "0");
  checks.require(communication.exchange == CommunicationSpec::Exchange::buffer,
                 "communication.parameter.exchange", "goes tensor by tensor" + frozen + "buffer");
  checks.require(communication.gather_precision == CommunicationSpec::GatherPrecision::bf16,
                 "communication.parameter.precision", "is fp8" + frozen + "bf16");
  checks.require_use(communication.stand_ins == CommunicationSpec::StandIns::none,
                     "communication.gradient.stand_ins", "is shapes" + frozen + "none");
  checks.require_use(communication.tensor_backward == CommunicationSpec::TensorBackward::overlapped,
                     "communication.tensor.backward",
                     "is serial, before products for weights," + frozen + "overlapped");
  checks.require(w.runtime.kernels.block == KernelSpec::Block::apart, "runtime.kernels.block",
                 "is joined but adapters have products of their own, allowed: apart");
}

void check_packed(const WorkloadSpec& workload, Checks& checks) {
  const AdapterSpec& adapters = workload.training.adapters;
  if (adapters.frozen == AdapterSpec::Frozen::bf16) return;
  const std::string key = adapters_key + "frozen";
  // Only zero 3 gathers weights; below it each rank holds its packed weights whole.
  checks.require(workload.plan.zero < 3, key,
                 "packs weights but parallel.zero is 3, and how they are gathered is not known, "
                 "allowed: bf16");
  checks.require(workload.training.precision != TrainingSpec::Precision::fp8_mixed, key,
                 "packs weights but products read FP8 (training.precision), allowed: bf16");
}

/// What is one product has one adapter, unless they are apart.
void check_targets(const WorkloadSpec& workload, Checks& checks) {
  const AdapterSpec& adapters = workload.training.adapters;
  const bool gated = workload.model.ffn.kind == FeedForwardSpec::Kind::swiglu;
  // Counts of named targets: one product has all of its targets or none.
  const auto at = [&](AdapterTarget target) { return adapters.at(target) ? 1 : 0; };
  const int heads = at(AdapterTarget::query) + at(AdapterTarget::key) + at(AdapterTarget::value);
  const int inner = at(AdapterTarget::gate) + at(AdapterTarget::up);
  const bool named = adapters.targets == AdapterSpec::Targets::modules;
  const std::string key = adapters_key + "targets";
  if (named && !gated &&
      !checks.require(!adapters.at(AdapterTarget::gate), key,
                      "names gate but the activation has none, allowed: without gate"))
    return;
  if (adapters.products == AdapterSpec::Products::joined) {
    checks.require(
        heads == 0 || heads == 3, key,
        "names a part of query, key and value, which have one adapter together, allowed: "
        "all three, none, or products: apart");
    checks.require(
        !gated || inner != 1, key,
        "names one of gate and up, which have one adapter together, allowed: both, none, "
        "or products: apart");
    return;
  }
  checks.require_use(heads > 0 || (gated && inner > 0), adapters_key + "products",
                     "is apart but no target is made of several products, allowed: joined, or "
                     "targets such as query");
}

}  // namespace

void check_adapters(const Scenario& scenario, Checks& checks) {
  const WorkloadSpec& workload = scenario.workload;
  const AdapterSpec& adapters = workload.training.adapters;
  if (!checks.good_below("training.adapters")) return;
  if (!adapters.any()) return check_no_adapters(adapters, checks);
  if (!checks.require(!scenario.synthetic, adapters_key + "rank",
                      "is given but the workload has no operators, allowed: 0"))
    return;
  if (checks.good_below("model")) check_adapted_model(workload, checks);
  check_frozen(scenario, checks);
  check_packed(workload, checks);
  check_targets(workload, checks);
  // What follows divides by tp: where it did not read, nothing more is said.
  if (!checks.good({"parallel.tp"})) return;
  const std::int64_t tp = workload.plan.tp;
  checks.require_use(adapters.split == AdapterSpec::Split::both || tp > 1, adapters_key + "split",
                     "is one but parallel.tp is 1, so that nothing is split, allowed: both");
  checks.require(
      adapters.split == AdapterSpec::Split::one || adapters.rank % tp == 0, adapters_key + "rank",
      "is " + count_text(adapters.rank) + ", must be a multiple of tp = " + count_text(tp) +
          ", over which it is split, allowed: such a rank, or split: one");
}

}  // namespace stepcast
