#include "stepcast/workloads/training_spec.hpp"

#include <algorithm>
#include <array>

#include "overlap_pieces.hpp"

namespace stepcast {
namespace {

constexpr Range batch = between(1, 1 << 30);

void describe(Visitor& v, AdapterSpec& spec) {
  v.field({"rank", &spec.rank, "of every adapter; 0: no adapters, all weights are trained",
           between(0, 1 << 16)});
  // `all` has no list to keep, `modules` names those that do.
  Choice targets = choice(spec.targets, {{"all"}, {"modules"}});
  targets.set_of_words = {
      "modules", {adapter_targets.begin(), adapter_targets.end()}, &spec.modules};
  targets.set_option = static_cast<std::size_t>(AdapterSpec::Targets::modules);
  v.field({"targets", targets,
           "products that have an adapter: all, or those named; query, key and value, and gate and "
           "up, are one product each"});
  v.field(
      {"products", choice(spec.products, {{"joined"}, {"apart"}}),
       "joined: what is one product has one adapter; apart: query, key and value have one each, "
       "and so have gate and up"});
  v.field(
      {"split", choice(spec.split, {{"both"}, {"one"}}),
       "of an adapter over tensor ranks; both: of both its matrices, whose results are gathered "
       "(Megatron-Bridge); one: the matrix on the side on which the product beside it is split "
       "(peft)"});
  v.field({"dropout", &spec.dropout, "of what adapters read"});
  v.field(
      {"frozen", choice(spec.frozen, {{"bf16"}, {"int8"}, {"nf4"}}),
       "of weights of the layers' products, kept so and made BF16 before each product that reads "
       "them (bitsandbytes)"});
}

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
              {{"delayed"}, {"tensorwise"}, {"rowwise"}, {"blockwise"}, {"mxfp8"}, {"deepseek"}}),
       "how fp8_mixed scales operands (docs/models/fp8.md); delayed: by earlier maxima, with a "
       "transposed copy; tensorwise: by their maximum; rowwise: each operand anew; blockwise: by "
       "tiles of 128, with a transposed copy; mxfp8: by groups of 32; deepseek: by tiles of 128, "
       "each copy when needed"});
  visitor.field({"fp8_head", &spec.fp8_head,
                 "the output head of fp8_mixed multiplies in FP8 too (docs/models/fp8.md)"});
  using Recompute = TrainingSpec::Recompute;
  // Options by name(), which reports use too.
  Choice recompute = choice(spec.recompute, {{name(Recompute::none)},
                                             {name(Recompute::selective)},
                                             {name(Recompute::full)},
                                             {name(Recompute::table)},
                                             {name(Recompute::modules)}});
  recompute.table = &spec.recompute_layers;
  // A table says of each chunk and stage how many layers run again; a set names parts of every
  // layer.
  recompute.table_option = static_cast<std::size_t>(TrainingSpec::Recompute::table);
  recompute.set_of_words = {
      "modules", {recompute_modules.begin(), recompute_modules.end()}, &spec.recompute_modules};
  recompute.set_option = static_cast<std::size_t>(TrainingSpec::Recompute::modules);
  visitor.field({"recompute", recompute,
                 "activations computed again in the backward pass: those of the attention core, of "
                 "layers, of the layers of a table, or of parts of every layer",
                 between(0, 100000)});
  visitor.field({"rebuild", choice(spec.rebuild, {{"layer"}, {"needed"}}),
                 "of a layer that runs again: all that it holds; needed: what its backward pass "
                 "reads, which the last projection and the sum behind it are not (MindSpore)"});
  visitor.section("offload", "what waits in host memory (docs/models/offload.md)", [&](Visitor& v) {
    v.field({"activations", OptionalNumber{&spec.offload_activations, "attention"},
             "part of the activations of each layer, from its forward to its backward; attention: "
             "what the attention of each keeps, with what its projections read",
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
    v.field({"store", choice(spec.offload_store, {{"memory"}, {"storage"}}),
             "where master weights and moments live; storage: on the drives of the host, through "
             "whose memory they pass"});
  });
  visitor.field(
      {"cross_entropy",
       choice(spec.cross_entropy, {{"unfused"}, {"fused"}, {"one_hot"}, {"transformers"}}),
       "unfused: passes over FP32 logits once per operator; fused: once in BF16; one_hot: as "
       "unfused, with a row of zeros and a one per token as labels (MindFormers); transformers: of "
       "shifted copies, beside the FP32 logits that the model returns (Hugging Face's Trainer)"});
  visitor.field({"logit_metrics", &spec.logit_metrics,
                 "cross entropies that the trainer measures beside the loss, each by a log-softmax "
                 "over FP32 logits of every micro-batch (docs/models/operators.md)",
                 between(0, 64)});
  visitor.field(
      {"attention",
       choice(spec.attention, {{"fused"},
                               {"flash_1"},
                               {"flash_2"},
                               {"flash_3"},
                               {"cudnn"},
                               {"flash_triton"},
                               {"cudnn_mxfp8"},
                               {"unfused"}}),
       "fused: one kernel, causal blocks left out, as the device's usual library has it; "
       "flash_1, flash_2, flash_3, cudnn, flash_triton: that kernel; cudnn_mxfp8: cuDNN's in "
       "MXFP8, with casts (docs/models/fp8.md); unfused: products, softmax and dropout over "
       "the whole matrix of scores"});
  visitor.field({"dropout", &spec.dropout,
                 "what joins the residual stream drops out behind embedding, attention and "
                 "feed-forward part: masks are kept, and backwards have a pass more"});
  visitor.field({"update_memory", choice(spec.update_memory, {{"in_place"}, {"tensor"}, {"flat"}}),
                 "what the optimizer's update allocates (docs/models/memory.md); tensor: an FP32 "
                 "copy of the largest parameter; flat: its gradients, copied and cast"});
  visitor.field(
      {"master_weights",
       choice(spec.master_weights, {{"full"}, {"remainder"}, {"fp16"}, {"stored"}, {"none"}}),
       "full: FP32 beside the half-precision weight; remainder, memory alone: the 2 bytes that the "
       "weight lacks; fp16: 2 bytes, held and moved (docs/models/memory.md); stored: weights "
       "are FP32 themselves, gathered so and cast for each product (docs/models/operators.md); "
       "none: the half-precision weight is updated itself"});
  // Both moments, since some frameworks lower only one of them.
  const auto moment = [&](const char* key, TrainingSpec::Moment& of, const char* which) {
    visitor.field({key, choice(of, {{"fp32"}, {"bf16"}, {"fp16"}, {"fp8"}}), which});
  };
  moment("first_moment", spec.first_moment, "precision in which Adam keeps its first moment");
  moment("second_moment", spec.second_moment, "and its second one");
  visitor.field({"attention_head", OptionalCount{&spec.attention_head, "none"},
                 "size to which the heads of latent attention are padded for a fused kernel that "
                 "takes q, k and v of one size, with the copies around it",
                 between(1, 1 << 20)});
  visitor.section("adapters",
                  "LoRA: small products beside weights that are not trained "
                  "(docs/models/adapters.md)",
                  [&](Visitor& v) { describe(v, spec.adapters); });
}

void describe(Visitor& visitor, CollectiveChoice& choice) {
  // Only algorithms of the table that serve one of these kinds: a new algorithm becomes a word of
  // each key by its row there.
  std::vector<Option> options{{"auto"}};
  for (const NamedAlgorithm& algorithm : collective_algorithms()) {
    const auto chosen = std::span(algorithm.serves).first(chosen_kinds);
    if (std::ranges::find(chosen, true) != chosen.end()) options.push_back({algorithm.name});
  }
  for (std::size_t i = 0; i < chosen_kinds; ++i) {
    visitor.field({name(static_cast<CollectiveKind>(i)),
                   choice_of_name(choice.algorithm[i], options), "algorithm of this collective"});
  }
}

void describe(Visitor& visitor, CommunicationSpec& spec) {
  visitor.section("gradient", "gradient reduction", [&](Visitor& v) {
    v.field({"precision", choice(spec.gradient_precision, {{"fp32"}, {"bf16"}}),
             "of gradients, accumulated and sent"});
    v.field({"exchange", choice(spec.gradient_exchange, {{"reduce"}, {"all_to_all"}}),
             "all_to_all: gradients kept in fp32 travel in bf16 to the rank that updates with them "
             "(zero 1), which adds them up in fp32 (docs/models/data_parallel.md)"});
    v.field({"accumulation", choice(spec.accumulation, {{"fused"}, {"separate"}, {"flat"}}),
             "how micro-batches add up: in the product of the weight gradient, or behind it; flat, "
             "with parallel.zero 3: gradients are joined into one tensor, divided and reduced, and "
             "shards add up (PyTorch's first FSDP)"});
    v.field({"kept", choice(spec.gradients_kept, {{"accumulated"}, {"both"}}),
             "memory alone: both: half-precision gradients of a micro-batch stay until the next "
             "one, beside those that accumulate"});
    v.field({"reduce_copy", choice(spec.reduce_copy, {{"none"}, {"bf16"}}),
             "memory alone: bf16: gradients kept in fp32 are all cast at once, the copy is reduced "
             "and copied back (DeepSpeed's optimizer with BF16)"});
    v.field({"stand_ins", choice(spec.stand_ins, {{"none"}, {"shapes"}}),
             "memory alone: shapes: autograd is given an empty tensor for a gradient that its "
             "product has added already, one for each shape of a weight (Transformer Engine)"});
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
    // One piece is no overlap at all.
    Choice overlap{{{"none"}, {"chunks", true, true}},
                   [&spec] { return std::size_t{spec.tensor_chunks > 1 ? 1U : 0U}; },
                   [&spec](std::size_t i) {
                     if (i == 0) spec.tensor_chunks = 1;
                   }};
    overlap.number = &spec.tensor_chunks;
    v.field({"overlap", overlap,
             "chunks(n): matrix products in n pieces, each beside the collective of the next",
             overlap_pieces});
    v.field({"backward", choice(spec.tensor_backward, {{"overlapped"}, {"serial"}}),
             "the reduction of an input's gradient runs beside the product for the weights, or "
             "before it"});
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
  // One key for each kernel that frameworks ship in several forms, with the fused one as default.
  visitor.field({"norm", choice(spec.norm, {{"fused"}, {"unfused"}, {"persistent"}, {"fp32"}}),
                 "RMSNorm; a layer norm is always one kernel, persistent: Apex's FastLayerNorm; "
                 "fp32: the kernel in FP32, between casts (MindFormers)"});
  visitor.field({"rope", choice(spec.rope, {{"fused"}, {"unfused"}, {"fp32"}, {"sliced"}}),
                 "rotation of queries and keys; fp32: in FP32 between casts, halves swapped by a "
                 "product with a mask (MindFormers); sliced: a kernel between slices and a join "
                 "(MindSpeed)"});
  visitor.field(
      {"activation",
       choice(spec.activation, {{"fused"}, {"unfused"}, {"formula"}, {"clamped"}, {"apart"}}),
       "of the feed-forward; unfused: SwiGLU as silu and product, GELU after its bias; apart: silu "
       "and product of two projections, no half to copy; formula: the statements of GELU's tanh "
       "approximation; clamped: gate and value clamped and joined before the product"});
  visitor.field({"router", choice(spec.router, {{"fused"}, {"statements"}}),
                 "choice of experts and losses of the router: a kernel each, or the statements of "
                 "the framework (docs/models/dispatchers.md)"});
  visitor.field(
      {"scales", choice(spec.scales, {{"joined"}, {"apart"}, {"zeroed"}}),
       "of MXFP8 operands, brought into the order of products: a kernel for each operand; "
       "for each expert's; and their buffers are set to zero before"});
  visitor.field({"block", choice(spec.block, {{"apart"}, {"joined"}}),
                 "of layers whose parts read the same norm (model.block parallel): products of "
                 "attention and feed-forward by themselves, or one that reads the norm and one "
                 "that adds up both outputs"});
  visitor.field({"heads", choice(spec.heads, {{"joined"}, {"transposed"}}),
                 "fused attention reads what projections wrote, or queries, keys, values and "
                 "context are transposed around it, each by a kernel (MindFormers)"});
  visitor.field({"softmax", choice(spec.softmax, {{"whole"}, {"causal"}}),
                 "of attention that is not one kernel; causal: Megatron-LM's kernel, which reads "
                 "no score above the diagonal (docs/models/operators.md)"});
  visitor.field({"ring", choice(spec.ring, {{"fused"}, {"statements"}}),
                 "outputs of ring attention, joined with those of the blocks before: by a kernel, "
                 "or by statements in FP32 (MindSpeed; docs/models/context_parallel.md)"});
}

}  // namespace

void describe(Visitor& visitor, RuntimeSpec& spec) {
  visitor.field({"dispatch", choice(spec.dispatch, {{"eager"}, {"task_queue"}, {"graph_sink"}}),
                 "how the host issues operators"});
  visitor.field({"start_order", choice(spec.start_order, {{"by_stream"}, {"as_issued"}}),
                 "as_issued: kernels of all streams start in the order in which the host issued "
                 "them (CUDA_DEVICE_MAX_CONNECTIONS=1; docs/models/replay.md)"});
  visitor.field({"layer_order", choice(spec.layer_order, {{"plain"}, {"overlapped"}}),
                 "overlapped: operators of a layer that do not depend on an exchange run beside "
                 "it (docs/models/layer_order.md)"});
  // No scope is `none`, so that the set itself says which of the two it is.
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
  visitor.field(
      {"optimizer", choice(spec.optimizer, {{"fused"}, {"elementwise"}, {"per_tensor"}}),
       "Adam as one kernel, as one for each of its arithmetic operations, or as PyTorch's "
       "statements for one tensor after the other (docs/models/data_parallel.md)"});
  Choice update{{{"alone"}, {"passes"}},
                [&spec] { return std::size_t{spec.update != 0 ? 1U : 0U}; },
                [&spec](std::size_t i) {
                  if (i == 0) spec.update = 0;
                }};
  update.set_of_words = {"passes", {update_passes.begin(), update_passes.end()}, &spec.update};
  update.set_option = 1;
  visitor.field({"update", update,
                 "passes over gradients and weights that the framework launches beside the fused "
                 "optimizer, once per step (docs/models/data_parallel.md)"});
  visitor.section(
      "compile", "kernels of operators whose shape follows from the routing", [&](Visitor& v) {
        v.field(
            {"misses", &spec.compile_misses, "part of them that no cache holds", between(0, 1)});
      });
  visitor.field({"recompute_statements", &spec.recompute_statements,
                 "statements without a launch that each part of a layer takes the host more where "
                 "it is recomputed (docs/models/host.md)",
                 between(0, 1e6)});
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
  // Unfused attention has no kernel of its own; who asks for its time asks for products and
  // softmax.
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
    case Attention::cudnn_mxfp8:
      return AttentionGeneration::cudnn_mxfp8;
    case Attention::fused:
    case Attention::unfused:
      break;
  }
  return AttentionGeneration::fused;
}

}  // namespace stepcast
