#include "stepcast/workloads/training_spec.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

constexpr Range batch = between(1, 1 << 30);

}  // namespace

const char* name(TrainingSpec::Recompute recompute) {
  static constexpr std::array<const char*, 5> names{"none", "selective", "full", "table",
                                                    "modules"};
  return names[static_cast<std::size_t>(recompute)];
}

void describe(Visitor& visitor, TrainingSpec& spec) {
  visitor.field(
      {"sequence", &spec.sequence, "tokens of one sequence; required with a model", batch});
  visitor.field({"global_batch", &spec.global_batch, "sequences of one step", batch, true});
  visitor.field({"micro_batch", &spec.micro_batch, "sequences of one micro-batch", batch});
  visitor.field({"precision", choice(spec.precision, {{"bf16"}, {"fp16"}, {"fp8_mixed"}}),
                 "of the matrix products"});
  visitor.field(
      {"fp8_recipe",
       choice(spec.fp8_recipe,
              {{"delayed"}, {"tensorwise"}, {"rowwise"}, {"blockwise"}, {"mxfp8"}}),
       "how operands are scaled, of fp8_mixed (docs/models/fp8.md); delayed: by earlier maxima, "
       "with a transposed copy; tensorwise: by their own maximum; rowwise: each operand of each "
       "product anew; blockwise: by tiles of 128; mxfp8: by groups of 32"});
  using Recompute = TrainingSpec::Recompute;
  Choice recompute = choice(spec.recompute, {{name(Recompute::none)},
                                             {name(Recompute::selective)},
                                             {name(Recompute::full)},
                                             {name(Recompute::table)},
                                             {name(Recompute::modules)}});
  recompute.table = &spec.recompute_layers;
  recompute.table_option = static_cast<std::size_t>(TrainingSpec::Recompute::table);
  recompute.set_of_words = {
      "modules", {recompute_modules.begin(), recompute_modules.end()}, &spec.recompute_modules};
  recompute.set_option = static_cast<std::size_t>(TrainingSpec::Recompute::modules);
  visitor.field({"recompute", recompute,
                 "activations computed again in the backward pass: those of the attention core, of "
                 "layers, of the layers of a table, or of parts of every layer",
                 between(0, 100000)});
  visitor.section("offload", "what waits in host memory (docs/models/offload.md)", [&](Visitor& v) {
    v.field({"activations", &spec.offload_activations,
             "part of the activations of each layer, from its forward to its backward",
             between(0, 1)});
    v.field({"optimizer", &spec.offload_optimizer, "master weights and moments of the optimizer"});
    v.field({"optimizer_part", &spec.offload_optimizer_part,
             "part of the parameters whose states are there, with optimizer; the device updates "
             "the others",
             fraction()});
    v.field({"experts", &spec.offload_experts,
             "weights, master weights and moments of the routed experts; a step fetches those that "
             "work in it"});
    v.field({"active_experts", OptionalNumber{&spec.active_experts, "routed"},
             "part of a rank's experts that work in a step, with experts; routed: those that "
             "moe.routing gives a token",
             fraction()});
    v.field({"update", choice(spec.offload_update, {{"device"}, {"host"}}),
             "where states that live on the host are updated; device: they pass by it in 16 parts; "
             "host: gradients go there, its cores update, and weights come back"});
  });
  visitor.field(
      {"cross_entropy", choice(spec.cross_entropy, {{"unfused"}, {"fused"}}),
       "unfused: the loss passes over FP32 logits once per operator; fused: once in BF16"});
  visitor.field({"attention",
                 choice(spec.attention, {{"fused"},
                                         {"flash_1"},
                                         {"flash_2"},
                                         {"flash_3"},
                                         {"cudnn"},
                                         {"flash_triton"},
                                         {"unfused"}}),
                 "fused: one kernel, causal blocks left out, as the device's usual library has it; "
                 "flash_1, flash_2, flash_3, cudnn, flash_triton: that kernel; unfused: products, "
                 "softmax and dropout over the whole matrix of scores"});
  visitor.field({"dropout", &spec.dropout,
                 "what joins the residual stream drops out behind embedding, attention and "
                 "feed-forward part: masks are kept, and backwards have a pass more"});
  visitor.field({"update_memory", choice(spec.update_memory, {{"in_place"}, {"tensor"}, {"flat"}}),
                 "what the optimizer's update allocates (docs/models/memory.md); tensor: an FP32 "
                 "copy of the largest parameter; flat: its gradients, copied and cast"});
  visitor.field(
      {"master_weights",
       choice(spec.master_weights, {{"full"}, {"remainder"}, {"fp16"}, {"stored"}}),
       "full: FP32 beside the half-precision weight; remainder, memory alone: the 2 bytes that the "
       "weight lacks of it; fp16: 2 bytes, held and moved (docs/models/memory.md); stored: weights "
       "are FP32 themselves, gathered so and cast for each product (docs/models/operators.md)"});
  const auto moment = [&](const char* key, TrainingSpec::Moment& of, const char* which) {
    visitor.field({key, choice(of, {{"fp32"}, {"bf16"}, {"fp16"}, {"fp8"}}), which});
  };
  moment("first_moment", spec.first_moment, "precision in which Adam keeps its first moment");
  moment("second_moment", spec.second_moment, "and its second one");
  visitor.field({"attention_head", OptionalCount{&spec.attention_head, "none"},
                 "size to which the heads of latent attention are padded for a fused kernel that "
                 "takes q, k and v of one size, with the copies around it",
                 between(1, 1 << 20)});
}

namespace {

/// More pieces than this leave nothing to overlap but start costs.
constexpr Range pieces = between(1, 64);

/// Of which loads are drawn: the last word of a counter has room for them beside the layers.
constexpr double most_steps = 1e6;

void describe(Visitor& visitor, RelocationSpec& spec) {
  visitor.field({"every", OptionalCount{&spec.every, "never"},
                 "steps after which experts and copies are placed by the loads that were seen",
                 between(1, most_steps)});
  visitor.field({"history", &spec.history, "steps before it whose mean loads decide",
                 between(1, most_steps)});
}

void describe(Visitor& visitor, RoutingSpec& spec) {
  auto current = static_cast<std::size_t>(spec.distribution);
  const auto take = [&spec](RoutingSpec::Distribution d) { spec.distribution = d; };
  using Distribution = RoutingSpec::Distribution;
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
       "how tokens reach their experts (docs/models/expert_parallel.md); flat: one "
       "all-to-all"});
  visitor.field({"inner", choice(spec.inner, {{"auto"}, {"node"}, {"super_node"}}),
                 "what the inner hop of two_hop, two_hop_dedup and hierarchical_allgather stays "
                 "in; auto: the super-node where there is one"});
  Choice overlap = choice(
      spec.overlap,
      {{"none"}, {"shared_expert"}, {"chunks", true, true}, {"fb_pair"}, {"tiles", true, true}});
  overlap.number = &spec.pieces;
  visitor.field(
      {"overlap", overlap,
       "what runs while tokens travel; chunks(n): n pieces of the tokens one behind "
       "the other; tiles(n): the same inside one kernel; fb_pair: the backward of another "
       "micro-batch",
       pieces});
  visitor.section("routing", "how many tokens each expert gets",
                  [&](Visitor& v) { describe(v, spec.routing); });
  visitor.field({"capacity_factor", OptionalNumber{&spec.capacity_factor, "none"},
                 "an expert drops what exceeds this many times the mean", between(1e-3, 1e6)});
  visitor.field({"capacity_pad", &spec.capacity_pad,
                 "every rank sends each expert as many rows as capacity_factor allows, padding "
                 "included: sizes are known, and nothing is counted or waited for"});
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
                 "of tokens on their way to the experts; combine stays bf16"});
  visitor.field({"permutation", choice(spec.permutation, {{"fused"}, {"indexed"}}),
                 "how rows of tokens come into the order of their experts and back: one kernel "
                 "each way, or the selections, zeros and sums of the framework"});
  visitor.field(
      {"experts", choice(spec.products, {{"grouped"}, {"multi_stream"}, {"sequential"}}),
       "products of the experts of a rank: in one kernel; a launch for each, side by side "
       "on several streams; or expert by expert with the copies around them"});
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
                                {"deepep"}}),
       "framework and first version whose statements, copies and waits the dispatcher "
       "runs (docs/models/dispatchers.md); deepep: the kernels of that library, whose two "
       "hops are one; default: those of no version"});
  visitor.section("router", "what the router computes beside its product", [&](Visitor& v) {
    v.field({"score", choice(spec.router.score, {{"softmax"}, {"sigmoid"}}), "of the experts"});
    v.field({"aux_loss", &spec.router.aux_loss, "a loss that balances the experts"});
    v.field({"z_loss", &spec.router.z_loss, "a loss on the size of the logits"});
    v.field({"precision", choice(spec.router.precision, {{"bf16"}, {"fp32"}}),
             "of the router's weights; with fp32 newer versions reduce outputs of experts in it"});
  });
}

void describe(Visitor& visitor, CollectiveChoice& choice) {
  std::vector<Option> options{{"auto"}};
  for (const NamedAlgorithm& algorithm : collective_algorithms()) {
    const auto chosen = std::span(algorithm.serves).first(chosen_kinds);
    if (std::ranges::find(chosen, true) != chosen.end()) options.push_back({algorithm.name});
  }
  for (std::size_t i = 0; i < chosen_kinds; ++i) {
    std::string& chosen = choice.algorithm[i];
    const Choice names{options,
                       [options, &chosen] {
                         const auto found = std::ranges::find(options, chosen, &Option::name);
                         expects(found != options.end(), "an algorithm of the table");
                         return static_cast<std::size_t>(found - options.begin());
                       },
                       [options, &chosen](std::size_t index) { chosen = options[index].name; }};
    visitor.field({name(static_cast<CollectiveKind>(i)), names, "algorithm of this collective"});
  }
}

void describe(Visitor& visitor, CommunicationSpec& spec) {
  visitor.section("gradient", "gradient reduction", [&](Visitor& v) {
    v.field({"precision", choice(spec.gradient_precision, {{"fp32"}, {"bf16"}}),
             "of gradients, accumulated and sent"});
    v.field({"accumulation", choice(spec.accumulation, {{"fused"}, {"separate"}}),
             "how micro-batches add up: in the product of the weight gradient, or behind it"});
    v.field({"kept", choice(spec.gradients_kept, {{"accumulated"}, {"both"}}),
             "memory alone: both: half-precision gradients of a micro-batch stay until the next "
             "one, beside those that accumulate"});
    v.field(
        {"overlap", &spec.gradient_overlap, "reduce buckets while the backward pass still runs"});
    v.field({"bucket", OptionalCount{&spec.bucket, "auto"},
             "elements of one bucket; auto: more for more replicas (docs/models/data_parallel.md)",
             between(1e6, 1e15)});
  });
  visitor.section("parameter", "gathers of sharded parameters", [&](Visitor& v) {
    v.field({"overlap", &spec.gather_overlap,
             "with gradient.overlap and zero 1 or 2: while the first forward runs; false: behind "
             "the optimizer"});
    v.field(
        {"precision", choice(spec.gather_precision, {{"bf16"}, {"fp8"}}),
         "fp8: weights of FP8 products are cast before they are gathered, and with zero 1 and 2 "
         "kept so (docs/models/fp8.md)"});
    v.field({"exchange", choice(spec.exchange, {{"buffer"}, {"lists"}, {"broadcast"}}),
             "buffer: every rank has a part of all; lists: of each matrix, gathered into a list of "
             "tensors (zero 3; DeepSpeed of 2021); broadcast: whole tensors, which their owners "
             "broadcast (zero 1; InternEvo) (docs/models/data_parallel.md)"});
  });
  visitor.section("tensor", "tensor parallel collectives", [&](Visitor& v) {
    Choice overlap{{{"none"}, {"chunks", true, true}},
                   [&spec] { return std::size_t{spec.tensor_chunks > 1 ? 1U : 0U}; },
                   [&spec](std::size_t i) {
                     if (i == 0) spec.tensor_chunks = 1;
                   }};
    overlap.number = &spec.tensor_chunks;
    v.field({"overlap", overlap,
             "chunks(n): matrix products in n pieces, each beside the collective of the next",
             pieces});
  });
  visitor.section("pipeline", "transfers between stages", [&](Visitor& v) {
    v.field({"scatter_gather", &spec.scatter_gather,
             "without sequence parallelism: each tensor rank sends a part, and the next stage "
             "gathers it"});
  });
  visitor.section("algorithm", "of each collective; auto: the library's own selection",
                  [&](Visitor& v) { describe(v, spec.algorithms); });
}

namespace {

void describe(Visitor& visitor, KernelSpec& spec) {
  visitor.field({"norm", choice(spec.norm, {{"fused"}, {"unfused"}}),
                 "RMSNorm; a layer norm is always one kernel"});
  visitor.field(
      {"rope", choice(spec.rope, {{"fused"}, {"unfused"}}), "rotation of queries and keys"});
  visitor.field(
      {"activation",
       choice(spec.activation, {{"fused"}, {"unfused"}, {"formula"}, {"clamped"}, {"apart"}}),
       "of the feed-forward; unfused: SwiGLU as silu and product, GELU behind its bias; apart: "
       "silu "
       "and product of what two projections wrote, with no half to copy; "
       "formula: the statements of the tanh approximation of GELU; clamped: gate and value are "
       "clamped and joined before the product, whose offset the host copies"});
  visitor.field({"router", choice(spec.router, {{"fused"}, {"statements"}}),
                 "choice of experts and losses of the router: a kernel each, or the statements of "
                 "the framework (docs/models/dispatchers.md)"});
  visitor.field(
      {"scales", choice(spec.scales, {{"joined"}, {"apart"}, {"zeroed"}}),
       "of MXFP8 operands, brought into the order of products: a kernel for each operand; "
       "for each expert's; and their buffers are set to zero before"});
}

}  // namespace

void describe(Visitor& visitor, RuntimeSpec& spec) {
  visitor.field({"dispatch", choice(spec.dispatch, {{"eager"}, {"task_queue"}, {"graph_sink"}}),
                 "how the host issues operators"});
  visitor.field({"start_order", choice(spec.start_order, {{"by_stream"}, {"as_issued"}}),
                 "as_issued: kernels of all streams start in the order in which the host issued "
                 "them (CUDA_DEVICE_MAX_CONNECTIONS=1; docs/models/replay.md)"});
  Choice graphs{{{"none"}, {"scopes"}},
                [&spec] { return std::size_t{spec.graphs != 0 ? 1U : 0U}; },
                [&spec](std::size_t i) {
                  if (i == 0) spec.graphs = 0;
                }};
  graphs.set_of_words = {"scopes", {graph_scopes.begin(), graph_scopes.end()}, &spec.graphs};
  graphs.set_option = 1;
  visitor.field({"graphs", graphs,
                 "parts of every layer that an eager host launches as a captured graph each"});
  visitor.field({"fusion", choice(spec.fusion, {{"none"}, {"pattern"}, {"dvm"}}),
                 "which chains of vector operators run as one (docs/models/fusion.md)"});
  visitor.section("kernels", "what a layer launches as one kernel (docs/models/operators.md)",
                  [&](Visitor& v) { describe(v, spec.kernels); });
  visitor.field({"optimizer", choice(spec.optimizer, {{"fused"}, {"elementwise"}}),
                 "Adam as one kernel, or as one for each of its arithmetic operations"});
  visitor.section(
      "compile", "kernels of operators whose shape follows from the routing", [&](Visitor& v) {
        v.field(
            {"misses", &spec.compile_misses, "part of them that no cache holds", between(0, 1)});
        v.field({"hidden", &spec.compile_hidden,
                 "whether other threads compile while old kernels serve"});
      });
  visitor.field(
      {"host_speed", &spec.host_speed,
       "host times are divided by it, but those of updates of offloaded optimizer states, which "
       "the host's memory bounds",
       between(1e-6, 1e6)});
  visitor.section(
      "barriers", "where all ranks wait for the last one, once per step (docs/models/barriers.md)",
      [&](Visitor& v) {
        v.field({"gradients", &spec.barriers.gradients,
                 "before gradients that are left are reduced, as where a timer begins"});
        v.field({"optimizer", &spec.barriers.optimizer, "before the optimizer"});
        v.field({"step_end", &spec.barriers.step_end,
                 "when all is done: the loss is averaged, timers stop, a checkpoint may follow"});
      });
}

AttentionGeneration generation_of(TrainingSpec::Attention attention) {
  using Attention = TrainingSpec::Attention;
  switch (attention) {
    case Attention::flash_1:
      return AttentionGeneration::flash_1;
    case Attention::flash_2:
      return AttentionGeneration::flash_2;
    case Attention::flash_3:
      return AttentionGeneration::flash_3;
    case Attention::cudnn:
      return AttentionGeneration::cudnn;
    case Attention::flash_triton:
      return AttentionGeneration::flash_triton;
    case Attention::fused:
    case Attention::unfused:
      break;
  }
  return AttentionGeneration::fused;
}

}  // namespace stepcast
