#include <string>

#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/feasibility.hpp"
#include "stepcast/workloads/dispatcher_form.hpp"

// Keys about the statements of dispatchers and routers: each version knows some ways to reach the
// experts, and a key that changes nothing is refused.
namespace stepcast {
namespace {

using Form = DispatcherForm;

/// Megatron-LM's first versions and MindSpeed's, which hand over expert numbers.
bool by_number(const Form* form) {
  return form != nullptr && form->routing == Form::Routing::numbers && !form->fixed();
}

/// DeepEP and HybridEP send a row once to each part and rank, and know neither parts of experts nor
/// pieces.
void check_library(const WorkloadSpec& workload, bool hybrid, Checks& checks) {
  const MoeSpec& moe = workload.moe;
  const std::string name = hybrid ? "hybridep" : "deepep", is = "is " + name + ", which ";
  checks.require(moe.dispatch == MoeSpec::Dispatch::two_hop_dedup, "moe.dispatcher",
                 is + "is known for dispatch two_hop_dedup, allowed: default");
  checks.require(workload.plan.etp == 1, "moe.dispatcher",
                 is + "cuts no experts (parallel.etp), allowed: default");
  checks.require(!moe.in_pieces(), "moe.dispatcher",
                 is + "cuts no tokens in pieces (moe.overlap), allowed: default");
  checks.require(moe.permutation == MoeSpec::Permutation::fused, "moe.permutation",
                 "is indexed, but " + name + " has kernels of its own, allowed: fused");
  checks.require(
      moe.combine == MoeSpec::Wire::bf16, "moe.combine_precision",
      "is fp8 but moe.dispatcher is " + name + ", whose combine is in bf16, allowed: bf16");
  if (!hybrid) return;
  checks.require(moe.wire == MoeSpec::Wire::bf16, "moe.wire_precision",
                 "is fp8, in which Megatron-Core does not let hybridep send, allowed: bf16");
  checks.require(!moe.pads_rows, "moe.row_padding",
                 "is copies, but hybridep pads rows as it puts them in order, allowed: none");
}

/// MoEV2 has blocks of a fixed size and selects rows by index; tensor ranks that share experts
/// exchange the rows of all their tokens.
void check_blocks(const WorkloadSpec& workload, Checks& checks) {
  const MoeSpec& moe = workload.moe;
  checks.require(moe.dispatch == MoeSpec::Dispatch::flat, "moe.dispatcher",
                 "is mindformers_1.3, which is known for dispatch flat, allowed: default");
  checks.require(!moe.in_pieces(), "moe.dispatcher",
                 "is mindformers_1.3, which is known without pieces (moe.overlap), allowed: "
                 "default");
  checks.require(moe.capacity_pad, "moe.capacity_pad",
                 "is false, but moe.dispatcher mindformers_1.3 fills every expert, allowed: true");
  checks.require(moe.permutation == MoeSpec::Permutation::indexed, "moe.permutation",
                 "is fused, which moe.dispatcher mindformers_1.3 does not know, allowed: indexed");
  const bool alone = workload.plan.etp == 1 || workload.plan.ep == 1;
  checks.require(!moe.group_wise_a2a || alone, "moe.group_wise_a2a",
                 "is true with parallel.etp above 1, which moe.dispatcher mindformers_1.3 does "
                 "not model, allowed: false");
}

void check_version(const WorkloadSpec& workload, Checks& checks) {
  const MoeSpec& moe = workload.moe;
  using Dispatch = MoeSpec::Dispatch;
  const Form* form = form_of(moe.dispatcher);
  if (form == nullptr) return;
  if (form->library()) return check_library(workload, form->hybrid, checks);
  if (form->fixed()) return check_blocks(workload, checks);
  checks.require(moe.dispatch == Dispatch::flat || moe.dispatch == Dispatch::allgather,
                 "moe.dispatcher",
                 "is set, which is known for dispatch flat and allgather, allowed: default");
  checks.require(!form->trades_parts || moe.dispatch == Dispatch::flat, "moe.dispatch",
                 "is allgather, but moe.dispatcher mindspeed_2.3_seq exchanges, allowed: flat");
  checks.require(!moe.in_pieces(), "moe.dispatcher",
                 "is set, but its framework cuts no tokens in pieces (moe.overlap), allowed: "
                 "default");
  const bool gathers = moe.dispatch == Dispatch::allgather;
  // MindSpeed fuses the exchange's permutation of numbers, but not that of gathered tokens.
  checks.require(!by_number(form) || (form->npu && !gathers) ||
                     moe.permutation == MoeSpec::Permutation::indexed,
                 "moe.permutation",
                 "is fused, which " + std::string(form->npu ? "the allgather of " : "") +
                     "this moe.dispatcher does not know, allowed: indexed");
}

/// Rows padded to the capacity go where every rank knows how many come.
void check_padding(const MoeSpec& moe, Checks& checks) {
  using Dispatch = MoeSpec::Dispatch;
  if (!moe.capacity_pad) return;
  checks.require_use(moe.capacity_factor.has_value(), "moe.capacity_pad",
                     "is true without a moe.capacity_factor to pad to, allowed: false");
  checks.require(moe.dispatch == Dispatch::flat || moe.dispatch == Dispatch::two_hop,
                 "moe.capacity_pad",
                 "is true, which is known for dispatch flat and two_hop, allowed: false");
  checks.require(!by_number(form_of(moe.dispatcher)), "moe.capacity_pad",
                 "is true, which this moe.dispatcher does not model, allowed: false");
}

/// MindFormers' layer of static sizes, whose experts are cut as the dense layers.
void check_whole_rows(const WorkloadSpec& workload, Checks& checks) {
  const MoeSpec& moe = workload.moe;
  const auto fail = [&](const std::string& why) {
    checks.fail("moe.group_wise_a2a", "is false, " + why + ", allowed: true");
  };
  if (moe.group_wise_a2a) return;
  if (!moe.capacity_pad)
    return fail("which is known for rows padded to a capacity (moe.capacity_pad)");
  const Form* form = form_of(moe.dispatcher);
  if (form != nullptr && !form->fixed()) return fail("which no version of moe.dispatcher does");
  if (checks.good({"parallel.ep", "parallel.etp", "parallel.tp"}) &&
      whole_rows_misfit(moe, workload.plan))
    checks.require_use(false, "moe.group_wise_a2a",
                       "is false, but no tensor ranks share the experts of an exchange "
                       "(parallel.etp = tp above 1, ep > 1), allowed: true");
}

}  // namespace

void check_dispatcher(const WorkloadSpec& workload, Checks& checks) {
  const MoeSpec& moe = workload.moe;
  const RouterSpec& router = moe.router;
  check_version(workload, checks);
  // Versions first: the checks behind ask for what a version has.
  check_padding(moe, checks);
  checks.require_use(moe.inner == MoeSpec::Inner::automatic || moe.cuts_groups() ||
                         !checks.good({"moe.dispatch", "moe.inner"}),
                     "moe.inner",
                     "is set but moe.dispatch cuts expert groups into no parts, allowed: auto, or "
                     "dispatch two_hop, two_hop_dedup, hierarchical_allgather");
  check_whole_rows(workload, checks);
  // Scores and losses change the statements of a router only. A fused kernel reads its scores once,
  // whatever function they go through.
  const bool statements = workload.runtime.kernels.router == KernelSpec::Router::statements;
  const std::string needs =
      ", which only runtime.kernels.router: statements tells apart, allowed: ";
  checks.require_use(statements || router.score == RouterSpec::Score::softmax, "moe.router.score",
                     "is sigmoid" + needs + "softmax");
  checks.require_use(statements || !router.z_loss, "moe.router.z_loss",
                     "is true" + needs + "false");
  checks.require_use(
      form_of(moe.dispatcher) != nullptr || router.precision == RouterSpec::Precision::bf16,
      "moe.router.precision",
      "is fp32, which only a version of moe.dispatcher tells apart, allowed: bf16");
  // Random loads have no router behind them whose work could be described.
  const bool random = moe.routing.distribution == RoutingSpec::Distribution::random;
  checks.require(!random || !(statements || router.aux_loss), "moe.routing.distribution",
                 "is random, without a router that moe.router or runtime.kernels.router could "
                 "describe, allowed: uniform, zipf, file");
  // Several streams need several experts on a rank.
  const std::int64_t local = workload.model.moe->experts / workload.plan.ep;
  checks.require_use(moe.products != MoeSpec::Products::multi_stream || local > 1, "moe.experts",
                     "is multi_stream but a rank has one expert, allowed: grouped");
  checks.require(
      moe.products != MoeSpec::Products::multi_stream || moe.overlap != MoeSpec::Overlap::tiles,
      "moe.experts", "is multi_stream but tiles(n) is one kernel, allowed: grouped");
}

}  // namespace stepcast
