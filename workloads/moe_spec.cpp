
#include "overlap_pieces.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/training_spec.hpp"

namespace stepcast {
namespace {

constexpr auto most_steps = static_cast<double>(last_routing_step);
/// Each is drawn anew in every forecast.
constexpr double most_history = 1000;

void describe(Visitor& visitor, RelocationSpec& spec) {
  visitor.field({"every", OptionalCount{&spec.every, "never"},
                 "steps after which experts and copies are placed by the loads that were seen",
                 between(1, most_steps)});
  visitor.field({"history", &spec.history, "steps before it whose mean loads decide",
                 between(1, most_history)});
}

void describe(Visitor& visitor, RoutingSpec& spec) {
  auto current = static_cast<std::size_t>(spec.distribution);
  const auto take = [&spec](RoutingSpec::Distribution d) { spec.distribution = d; };
  using Distribution = RoutingSpec::Distribution;
  // The same seed draws the same loads in every forecast.
  const auto seed = [&spec](Visitor& v) {
    v.field({"seed", &spec.seed, "of the draws", between(0, 9e15)});
  };
  visitor.alternatives(
      "distribution",
      "uniform: all experts alike; zipf: the i-th most popular gets 1/i^exponent; random: every "
      "token draws its experts; file: a count per expert",
      current,
      {{"uniform", [&](Visitor&) { take(Distribution::uniform); }},
       {"zipf",
        [&](Visitor& v) {
          take(Distribution::zipf);
          v.field({"exponent", &spec.exponent, "0: all alike", between(0, 10)});
          v.field({"lifetime", OptionalCount{&spec.lifetime, "none"},
                   "steps in which the order of popularity becomes another; none: it stays",
                   between(1, most_steps)});
          seed(v);
        }},
       {"random",
        [&](Visitor& v) {
          take(Distribution::random);
          seed(v);
        }},
       {"file", [&](Visitor& v) {
          take(Distribution::file);
          v.field({"file", &spec.file,
                   "path of a text file with one number per expert, separated by commas or space; "
                   "of several layers (layers own) and steps one behind the other",
                   any_number(), true});
        }}});
  visitor.field({"layers", choice(spec.layers, {{"shared"}, {"own"}}),
                 "own: every layer has a popularity of its own, drawn or read"});
  visitor.field({"step", &spec.step, "the step whose loads these are, as they drift or were read",
                 between(0, most_steps)});
  constexpr Range groups = between(1, 1 << 20);
  visitor.field({"domains", &spec.domains,
                 "groups of experts, one per domain of the data (training.offload.active_experts "
                 "routed)",
                 groups});
  visitor.field({"domains_per_step", &spec.step_domains,
                 "of them, that a step has tokens of: the experts of the others do not work in it",
                 groups});
}

}  // namespace

void describe(Visitor& visitor, MoeSpec& spec) {
  visitor.field(
      {"dispatch",
       choice(
           spec.dispatch,
           {{"flat"}, {"two_hop"}, {"two_hop_dedup"}, {"hierarchical_allgather"}, {"allgather"}}),
       "how tokens reach their experts (docs/models/expert_parallel.md); flat: one all-to-all"});
  visitor.field({"inner", choice(spec.inner, {{"auto"}, {"node"}, {"super_node"}}),
                 "what the inner hop of two_hop, two_hop_dedup and hierarchical_allgather stays "
                 "in; auto: the super-node where there is one"});
  // chunks(n) and tiles(n) share their number: a layer is cut one way or the other.
  Choice overlap = choice(
      spec.overlap,
      {{"none"}, {"shared_expert"}, {"chunks", true, true}, {"fb_pair"}, {"tiles", true, true}});
  overlap.number = &spec.pieces;
  visitor.field(
      {"overlap", overlap,
       "what runs while tokens travel; chunks(n): n pieces of the tokens one behind the other; "
       "tiles(n): the same inside one kernel; fb_pair: the backward of another micro-batch",
       overlap_pieces});
  visitor.section("routing", "how many tokens each expert gets",
                  [&](Visitor& v) { describe(v, spec.routing); });
  visitor.field({"capacity_factor", OptionalNumber{&spec.capacity_factor, "none"},
                 "an expert drops what exceeds this many times the mean", between(1e-3, 1e6)});
  visitor.field({"capacity_pad", &spec.capacity_pad,
                 "every rank sends each expert as many rows as capacity_factor allows, padding "
                 "included: sizes are known, and nothing is counted or waited for"});
  visitor.field({"group_wise_a2a", &spec.group_wise_a2a,
                 "tensor ranks that share experts exchange a part of the rows each and gather "
                 "them; false: each exchanges all rows of their tokens (MindFormers)"});
  visitor.field({"row_padding", choice(spec.pads_rows, {{"none"}, {"copies"}}),
                 "of the rows of an expert to what FP8 products take; none: the router or the "
                 "permutation does it; copies: kernels around the experts"});
  visitor.field({"placement", choice(spec.placement, {{"contiguous"}, {"balanced"}}),
                 "which experts a rank holds; balanced: heaviest first to the least loaded rank"});
  visitor.field({"spare_experts", &spec.spare_experts,
                 "places of a rank beside its experts, for copies of popular ones that share their "
                 "tokens",
                 between(0, 1 << 20)});
  visitor.section("relocation", "when experts and copies are placed anew",
                  [&](Visitor& v) { describe(v, spec.relocation); });
  visitor.field({"wire_precision", choice(spec.wire, {{"bf16"}, {"fp8"}}),
                 "of tokens on their way to the experts"});
  visitor.field({"combine_precision", choice(spec.combine, {{"bf16"}, {"fp8"}}),
                 "of rows on their way back: of outputs, and in the backward of gradients"});
  visitor.field({"permutation", choice(spec.permutation, {{"fused"}, {"indexed"}}),
                 "how rows of tokens come into the order of their experts and back: one kernel "
                 "each way, or the selections, zeros and sums of the framework"});
  visitor.field(
      {"experts",
       choice(spec.products,
              {{"grouped"}, {"multi_stream"}, {"sequential"}, {"batched"}, {"fused"}}),
       "products of the experts of a rank; grouped: one kernel; multi_stream: a launch each, on "
       "several streams; sequential: one by one, with copies; batched: the library's product of "
       "batches, with capacity_pad; fused: with activation and casts to MXFP8 "
       "(docs/models/fp8.md)"});
  // Versions and not features, because statements, copies and waits came together with a release;
  // what each has is in form_of().
  visitor.field(
      {"dispatcher",
       choice(spec.dispatcher, {{"default"},
                                {"megatron_0.6"},
                                {"megatron_0.8"},
                                {"megatron_0.9"},
                                {"megatron_0.10"},
                                {"megatron_0.12"},
                                {"megatron_0.14"},
                                {"mindspeed_1.0"},
                                {"mindspeed_2.0"},
                                {"mindspeed_2.3"},
                                {"mindspeed_2.3_seq"},
                                {"mindformers_1.3"},
                                {"deepep"},
                                {"hybridep"}}),
       "framework and first version whose statements, copies and waits the dispatcher "
       "runs (docs/models/dispatchers.md); deepep, hybridep: the kernels of that library, whose "
       "two hops are one; default: those of no version"});
  visitor.section("router", "what the router computes beside its product", [&](Visitor& v) {
    v.field({"score", choice(spec.router.score, {{"softmax"}, {"sigmoid"}}), "of the experts"});
    v.field({"aux_loss", &spec.router.aux_loss, "a loss that balances the experts"});
    v.field({"z_loss", &spec.router.z_loss, "a loss on the size of the logits"});
    v.field({"precision", choice(spec.router.precision, {{"bf16"}, {"fp32"}}),
             "of the router's weights; with fp32 newer versions reduce outputs of experts in it"});
  });
}

}  // namespace stepcast
