#include <gtest/gtest.h>

#include "errors_of.hpp"
#include "sim/small_scenario.hpp"
#include "temporary_files.hpp"
#include "wrong_adapters.hpp"
#include "wrong_gradients.hpp"
#include "wrong_host.hpp"
#include "wrong_levels.hpp"
#include "wrong_softmax.hpp"

namespace stepcast {
namespace {

using namespace test;

const auto override_name = [](const auto& info) { return std::string(info.param.name); };

class WrongOverrides : public ::testing::TestWithParam<WrongOverride> {};

TEST_P(WrongOverrides, AreRefusedAsTheyWereWritten) {
  const TemporaryFiles files;
  EXPECT_EQ(errors_of(files, files.write("s.yaml", small_scenario), GetParam().overrides),
            GetParam().errors);
}

const WrongOverride wrong_overrides[] = {
    {"no_equals",
     {"training.sequence"},
     "--set training.sequence: has no '=', allowed: --set path.to.key=value"},
    {"no_path",
     {"=3"},
     "--set =3: has no path of keys before '=', allowed: --set path.to.key=value"},
    {"bad_yaml",
     {"training.sequence=[1"},
     "--set training.sequence=[1: training.sequence: is not YAML: end of sequence flow not found, "
     "allowed: a } or ] for each { or [ above"},
    {"no_value",
     {"training.sequence="},
     "--set training.sequence=: training.sequence: is empty, allowed: a whole number such as 8 or "
     "40Mi, 1 to 1073741824"},
    {"wrong_value",
     {"training.sequence=long"},
     "--set training.sequence=long: training.sequence: is 'long', allowed: a whole number such as "
     "8 or 40Mi, 1 to 1073741824"},
    {"no_unit",
     {"cluster.network.nic.bandwidth=100"},
     "--set cluster.network.nic.bandwidth=100: cluster.network.nic.bandwidth: is 100 without a "
     "unit, allowed: a bandwidth such as 400Gbps or 28GB/s"},
    {"misspelt",
     {"training.sequnce=8"},
     "--set training.sequnce=8: training.sequnce: is not a known key; did you mean sequence?"},
    {"all_of_them",
     {"x", "y"},
     "--set x: has no '=', allowed: --set path.to.key=value\n--set y: has no '=', allowed: --set "
     "path.to.key=value"},
    {"ulysses_heads",
     {"parallel.cp=2", "parallel.context_algorithm=ulysses", "model.attention.heads=12",
      "parallel.tp=4"},
     "--set parallel.cp=2: parallel.cp: needs 2 ulysses ranks to divide the 3 heads of a rank "
     "(heads / tp), allowed: 1, 3"},
    {"zigzag",
     {"parallel.cp=2", "training.sequence=2050"},
     "--set training.sequence=2050: training.sequence: is 2050, must be a multiple of 2*cp (two "
     "slices per rank) = 4, allowed: 2048"},
    {"judge_folds",
     {"simulate.engine=simgrid", "simulate.fold=auto"},
     "--set simulate.fold=auto: simulate.fold: is auto, which simulate.engine simgrid does not do, "
     "allowed: off"},
    {"judge_shares_incrementally",
     {"simulate.engine=simgrid", "simulate.sharing=incremental"},
     "--set simulate.sharing=incremental: simulate.sharing: is incremental, which simulate.engine "
     "simgrid does not do, allowed: auto, simgrid"},
    {"recompute_beyond_the_chunk",
     {"parallel.layers_per_chunk=[[2, 2], [3, 1]]", "training.recompute=[[1, 1], [1, 2]]"},
     "--set training.recompute=[[1, 1], [1, 2]]: training.recompute: recomputes 2 layers of chunk "
     "1 on "
     "stage 1, which has 1, allowed: 0 to 1"},
    {"too_many_documents",
     {"schedule.data.documents={distribution: fixed, length: 1}", "training.sequence=1048576"},
     "--set schedule.data.documents={distribution: fixed, length: 1}: schedule.data.documents: "
     "make "
     "about 33554432 documents of one step of 33554432 tokens, allowed: at most 16777216"},
    {"slices_of_a_context_group",
     {"parallel.cp=2", "schedule.pipeline=seqpipe", "schedule.slices=[1024, 1024]"},
     "--set parallel.cp=2: parallel.cp: is 2 but the sequence is cut into 2 slices, allowed: cp 1"},
    {"balanced_slices_without_a_grid",
     {"training.sequence=2018", "schedule.pipeline=seqpipe", "schedule.slices=balanced(3)"},
     "--set schedule.slices=balanced(3): schedule.slices: is balanced(3), which looks for slices "
     "among at most 64 equal steps of the 2018 tokens, and finds no such grid, allowed: fewer "
     "slices, or their tokens as a list"},
    {"active_experts_below_one",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.experts=true",
      "training.offload.active_experts=0.25"},
     "--set training.offload.active_experts=0.25: training.offload.active_experts: is 0.25, less "
     "than one of the 2 experts of a rank, allowed: at least 0.5"},
    {"experts_routed_to_less_than_one",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.experts=true",
      "training.offload.active_experts=routed", "moe.routing.domains=8"},
     "--set training.offload.active_experts=routed: training.offload.active_experts: is routed, "
     "which is 0.125, less than one of the 2 experts of a rank, allowed: at least 0.5"},
    {"experts_routed_but_not_offloaded",
     {"training.offload.active_experts=routed"},
     "--set training.offload.active_experts=routed: training.offload.active_experts: is routed "
     "but no experts are offloaded, allowed: 1, or experts: true"},
    {"domains_without_routed_experts",
     {"moe.routing.domains=4"},
     "--set moe.routing.domains=4: moe.routing.domains: is given but "
     "training.offload.active_experts is not routed, allowed: 1"},
    {"domains_that_do_not_divide",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.experts=true",
      "training.offload.active_experts=routed", "moe.routing.domains=5",
      "moe.routing.domains_per_step=5"},
     "--set moe.routing.domains=5: moe.routing.domains: is 5, must divide the 8 experts, allowed: "
     "1, 2, 4, 8"},
    {"more_domains_in_a_step_than_there_are",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.experts=true",
      "training.offload.active_experts=routed", "moe.routing.domains=2",
      "moe.routing.domains_per_step=3"},
     "--set moe.routing.domains_per_step=3: moe.routing.domains_per_step: is 3, allowed: at most "
     "the 2 of moe.routing.domains"},
    {"an_update_on_a_host_without_states",
     {"cluster.host.memory.bandwidth=400GB/s", "training.offload.update=host"},
     "--set training.offload.update=host: training.offload.update: is host but no states live "
     "there, allowed: device, or optimizer or experts true"},
    {"an_update_on_a_host_of_unknown_memory",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.optimizer=true",
      "training.offload.update=host"},
     "--set training.offload.update=host: training.offload.update: is host but "
     "cluster.host.memory.bandwidth is 0, allowed: device"},
    {"cores_without_a_count",
     {"cluster.host.cores.bandwidth=8GB/s"},
     "--set cluster.host.cores.bandwidth=8GB/s: cluster.host.cores.bandwidth: is given but "
     "host.cores.count is 0, allowed: 0B/s, or a count"},
    {"experts_offloaded_with_zero_3",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.experts=true",
      "parallel.zero=3"},
     "--set training.offload.experts=true: training.offload.experts: is given but parallel.zero 3 "
     "shards the parameters, allowed: with zero 0 to 2"},
    {"activations_offloaded_in_pairs",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.activations=0.5",
      "schedule.pipeline=dualpipe_v"},
     "--set training.offload.activations=0.5: training.offload.activations: does not go with pairs "
     "of forward and backward units, allowed: 0, or moe.overlap fb_pair"},
    {"experts_offloaded_without_experts",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.experts=true",
      "model.moe=none", "parallel.ep=1"},
     "--set training.offload.experts=true: training.offload.experts: is given but the model has no "
     "experts, allowed: false"},
    {"unfused_attention_over_context_ranks",
     {"parallel.cp=2", "training.attention=unfused"},
     "--set training.attention=unfused: training.attention: is unfused, which holds all keys on a "
     "rank, but cp is 2, allowed: fused, or cp 1"},
    {"padded_heads_without_latent_attention",
     {"training.attention_head=256"},
     "--set training.attention_head=256: training.attention_head: is set but the model has no "
     "latent attention, allowed: none"},
    {"padded_heads_that_do_not_fit",
     {"model.attention={kind: mla, heads: 16, kv_lora_rank: 128, nope_dim: 64, rope_dim: 32, "
      "v_dim: 64}",
      "training.attention_head=64"},
     "--set training.attention_head=64: training.attention_head: is 64, less than the heads of the "
     "model, allowed: none, 96 or more"},
    {"indexed_rows_in_one_kernel",
     {"moe.permutation=indexed", "moe.overlap=tiles(2)"},
     "--set moe.permutation=indexed: moe.permutation: is indexed, which is known for dispatch flat "
     "and allgather without tiles(n), allowed: fused"},
    {"sequential_experts_in_one_kernel",
     {"moe.experts=sequential", "moe.overlap=tiles(2)"},
     "--set moe.experts=sequential: moe.experts: is sequential but tiles(n) is one kernel, "
     "allowed: "
     "grouped"},
    {"sequential_experts_of_which_some_work",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.experts=true",
      "training.offload.active_experts=0.5", "moe.experts=sequential"},
     "--set moe.experts=sequential: moe.experts: is sequential but only a part of the experts "
     "works "
     "in a step (training.offload.active_experts), allowed: grouped"},
    {"shared_experts_of_no_width",
     {"model.moe.shared_experts=1"},
     "s.yaml:34:8: model.moe.shared_hidden: is 0 with 1 shared experts, allowed: at least 1"},
    {"pairs_without_an_exchange",
     {"moe.overlap=fb_pair", "schedule.warmup=extra(1)", "parallel.ep=1"},
     "--set moe.overlap=fb_pair: moe.overlap: is fb_pair, which hides the exchange of tokens, "
     "allowed: none, or ep > 1"},
    {"groups_that_do_not_divide",
     {"parallel.dp_replicate=3"},
     "--set parallel.dp_replicate=3: parallel.dp_replicate: is 3, must divide dp = "
     "4, allowed: 1, 2, 4"},
    {"groups_that_share_nothing",
     {"parallel.dp_replicate=2", "parallel.zero=0"},
     "--set parallel.dp_replicate=2: parallel.dp_replicate: is 2 but parallel.zero shards nothing, "
     "allowed: 1"},
    {"a_second_copy_that_nothing_reads",
     {"parallel.hpz=2"},
     "--set parallel.hpz=2: parallel.hpz: is 2 but parallel.zero is not 3, so that no backward "
     "pass gathers, allowed: 1"},
    {"gathers_that_are_not_ahead",
     {"communication.parameter.overlap=false", "parallel.zero=3"},
     "--set communication.parameter.overlap=false: communication.parameter.overlap: is false, "
     "which counts only with parallel.zero 1 or 2, allowed: true"},
    {"flat_gradients_of_whole_replicas",
     {"communication.gradient.accumulation=flat"},
     "--set communication.gradient.accumulation=flat: communication.gradient.accumulation: is flat "
     "but parallel.zero is not 3, allowed: fused, separate"},
    {"shifted_copies_of_parts_of_the_logits",
     {"training.cross_entropy=transformers", "parallel.tp=4"},
     "--set training.cross_entropy=transformers: training.cross_entropy: is transformers but "
     "parallel.tp leaves each rank a part of the logits, allowed: unfused, fused, one_hot"},
    {"metrics_of_parts_of_the_logits",
     {"training.logit_metrics=2", "parallel.tp=4"},
     "--set training.logit_metrics=2: training.logit_metrics: is 2 but parallel.tp leaves each "
     "rank a part of the logits, allowed: 0"},
    {"moments_of_single_tensors",
     {"training.second_moment=bf16", "runtime.optimizer=per_tensor"},
     "--set training.second_moment=bf16: training.second_moment: is below FP32 but "
     "runtime.optimizer is per_tensor, allowed: fp32, or runtime.optimizer fused"},
    {"persistent_norms_of_a_device_without",
     {"runtime.kernels.norm=persistent", "model.norm=layer"},
     "--set runtime.kernels.norm=persistent: runtime.kernels.norm: is persistent but the cluster "
     "file has no number for it under device.efficiency.memory, allowed: fused, unfused"},
    {"persistent_norms_of_squares",
     {"runtime.kernels.norm=persistent", "model.norm=rms"},
     "--set runtime.kernels.norm=persistent: runtime.kernels.norm: is persistent but model.norm is "
     "not layer, allowed: fused, unfused"},
    {"triangles_of_one_kernel",
     {"runtime.kernels.softmax=causal"},
     "--set runtime.kernels.softmax=causal: runtime.kernels.softmax: is causal but "
     "training.attention is one kernel, allowed: whole"},
    {"statements_of_no_ring",
     {"runtime.kernels.ring=statements"},
     "--set runtime.kernels.ring=statements: runtime.kernels.ring: is statements but no block goes "
     "round (parallel.cp, parallel.context_algorithm), allowed: fused"},
    {"passes_of_every_micro_batch",
     {"runtime.update={passes: [clip, zero]}", "parallel.zero=2"},
     "--set runtime.update={passes: [clip, zero]}: runtime.update: has passes but parallel.zero "
     "reduces gradients with every micro-batch, allowed: alone"},
    {"rebuilt_layers_of_none",
     {"training.rebuild=needed"},
     "--set training.rebuild=needed: training.rebuild: is needed but training.recompute names no "
     "layers, allowed: layer"},
    {"layer_norms_between_casts",
     {"runtime.kernels.norm=fp32", "model.norm=layer"},
     "--set runtime.kernels.norm=fp32: runtime.kernels.norm: is fp32 but model.norm is layer, "
     "which is always one kernel, allowed: fused, persistent"},
    {"passes_of_statements",
     {"runtime.update={passes: [clip]}", "runtime.optimizer=per_tensor"},
     "--set runtime.update={passes: [clip]}: runtime.update: has passes but runtime.optimizer is "
     "per_tensor and has its own, allowed: alone"},
    {"casts_of_single_precision",
     {"runtime.update={passes: [cast]}", "communication.gradient.precision=fp32"},
     "--set runtime.update={passes: [cast]}: runtime.update: names cast but "
     "communication.gradient.precision is fp32, allowed: without it"},
    {"single_precision_that_nothing_casts",
     {"runtime.update={passes: [unscale]}", "communication.gradient.precision=bf16"},
     "--set runtime.update={passes: [unscale]}: runtime.update: names unscale of FP32 gradients "
     "but "
     "communication.gradient.precision is bf16, allowed: with cast"},
    {"an_unknown_pass",
     {"runtime.update={passes: [norm]}"},
     "--set runtime.update={passes: [norm]}: runtime.update: holds 'norm', allowed: alone, "
     "{passes: [...]} of flatten, divide, unflatten, check, join, cast, join_fp32, unscale, "
     "square, "
     "clip, copy, zero"},
    {"lists_that_are_not_gathered",
     {"communication.parameter.exchange=lists", "parallel.zero=2"},
     "--set communication.parameter.exchange=lists: communication.parameter.exchange: is lists but "
     "parallel.zero is not 3, allowed: buffer"},
    {"owners_that_broadcast_ahead",
     {"communication.parameter.exchange=broadcast"},
     "--set communication.parameter.exchange=broadcast: communication.parameter.exchange: is "
     "broadcast but owners broadcast behind the update: communication.parameter.overlap false, "
     "allowed: buffer"},
    {"gathers_in_fp8_of_bf16",
     {"communication.parameter.precision=fp8"},
     "--set communication.parameter.precision=fp8: communication.parameter.precision: is fp8 but "
     "training.precision is not fp8_mixed, allowed: bf16"},
    {"gathers_in_fp8_of_mxfp8",
     {"communication.parameter.precision=fp8", "cluster.device.matmul_peak_fp8=600TFLOPS",
      "training.precision=fp8_mixed", "training.fp8_recipe=mxfp8"},
     "--set communication.parameter.precision=fp8: communication.parameter.precision: is fp8 but "
     "every rank casts rows and columns of BF16 weights itself with training.fp8_recipe mxfp8 and "
     "rowwise, allowed: bf16"},
    {"scales_of_32_that_products_lack",
     {"cluster.device.matmul_peak_fp8=600TFLOPS", "cluster.device.mxfp8=false",
      "training.precision=fp8_mixed", "training.fp8_recipe=mxfp8"},
     "--set training.fp8_recipe=mxfp8: training.fp8_recipe: is mxfp8 but the products of the "
     "device take no scales of 32 numbers (cluster.device.mxfp8), allowed: delayed, tensorwise, "
     "rowwise, blockwise, deepseek"},
    {"gathers_in_fp8_of_lone_ranks",
     {"communication.parameter.precision=fp8", "cluster.device.matmul_peak_fp8=600TFLOPS",
      "training.precision=fp8_mixed", "parallel.tp=8", "parallel.ep=8"},
     "--set communication.parameter.precision=fp8: communication.parameter.precision: is fp8 but "
     "every group that shares parameters out is one rank, which gathers nothing, allowed: bf16"},
    {"moments_of_statements",
     {"training.first_moment=bf16", "runtime.optimizer=elementwise"},
     "--set training.first_moment=bf16: training.first_moment: is below FP32 but runtime.optimizer "
     "is elementwise, allowed: fp32, or runtime.optimizer fused"},
    {"a_part_of_no_offload",
     {"training.offload.optimizer_part=0.5"},
     "--set training.offload.optimizer_part=0.5: training.offload.optimizer_part: is 0.5 but no "
     "optimizer is offloaded, allowed: 1, or optimizer: true"},
    {"pairs_that_exchange_again",
     {"moe.overlap=fb_pair", "schedule.warmup=extra(1)", "training.recompute={modules: [moe]}"},
     "--set moe.overlap=fb_pair: moe.overlap: is fb_pair, which has no place for exchanging tokens "
     "again, allowed: none, or training.recompute without moe"},
    {"unknown_module",
     {"training.recompute={modules: [mla]}"},
     "--set training.recompute={modules: [mla]}: training.recompute: holds 'mla', allowed: none, "
     "selective, full, a table [chunk][stage] of whole numbers such as [[4, 4], [4, 3]], 0 to "
     "100000, {modules: [...]} of core_attn, mla_up_proj, layernorm, mlp, moe, moe_act, "
     "shared_experts, mlp_act"},
    {"module_twice",
     {"training.recompute={modules: [mlp, mlp]}"},
     "--set training.recompute={modules: [mlp, mlp]}: training.recompute: holds 'mlp' twice, "
     "allowed: once each"},
    {"modules_without_the_list",
     {"training.recompute={module: [mlp]}"},
     "--set training.recompute={module: [mlp]}: training.recompute: is a mapping, allowed: none, "
     "selective, full, a table [chunk][stage] of whole numbers such as [[4, 4], [4, 3]], 0 to "
     "100000, {modules: [...]} of core_attn, mla_up_proj, layernorm, mlp, moe, moe_act, "
     "shared_experts, mlp_act"},
    {"modules_that_the_model_lacks",
     {"training.recompute={modules: [shared_experts]}"},
     "--set training.recompute={modules: [shared_experts]}: training.recompute: names "
     "shared_experts but the model has none, allowed: without them"},
    {"up_projections_of_no_latents",
     {"training.recompute={modules: [mla_up_proj]}"},
     "--set training.recompute={modules: [mla_up_proj]}: training.recompute: names mla_up_proj but "
     "the model has no latent attention, allowed: without it"},
    {"dense_layers_of_a_model_of_experts",
     {"training.recompute={modules: [mlp]}", "model.moe.first_dense=0"},
     "--set training.recompute={modules: [mlp]}: training.recompute: names mlp but every layer of "
     "the model has experts, allowed: moe, moe_act, shared_experts"},
    {"no_master_weights_beside_fp32_gradients",
     {"training.master_weights=none"},
     "--set training.master_weights=none: training.master_weights: needs gradients in bf16 with "
     "this value, allowed: full, or communication.gradient.precision bf16"},
    {"an_activation_of_no_dense_layer",
     {"training.recompute={modules: [mlp_act]}", "model.moe.first_dense=0"},
     "--set training.recompute={modules: [mlp_act]}: training.recompute: names mlp_act but every "
     "layer of the model has experts, allowed: moe_act"},
    {"an_activation_of_what_runs_again",
     {"training.recompute={modules: [mlp, mlp_act]}"},
     "--set training.recompute={modules: [mlp, mlp_act]}: training.recompute: names mlp and "
     "mlp_act, which runs again with it, allowed: one of them"},
    {"attention_that_is_not_kept",
     {"training.recompute=full", "training.offload.activations=attention",
      "cluster.host.device_link.bandwidth=64GB/s"},
     "--set training.offload.activations=attention: training.offload.activations: is attention, "
     "which training.recompute full does not keep, allowed: a part from 0 to 1"},
    {"a_module_inside_another",
     {"training.recompute={modules: [moe, moe_act]}"},
     "--set training.recompute={modules: [moe, moe_act]}: training.recompute: names moe and its "
     "parts, which run again with it, allowed: moe alone, or moe_act and shared_experts"},
    {"parallel_parts_with_experts",
     {"model.block=parallel"},
     "--set model.block=parallel: model.block: is not serial but layers have experts, of which no "
     "such layer is known, allowed: serial"},
    {"joined_products_of_serial_parts",
     {"runtime.kernels.block=joined"},
     "--set runtime.kernels.block=joined: runtime.kernels.block: is joined but the parts of a "
     "layer do not read the same norm (model.block parallel), allowed: apart"},
    {"drives_without_states",
     {"training.offload.store=storage", "cluster.host.storage={read: 8GB/s, write: 4GB/s}"},
     "--set training.offload.store=storage: training.offload.store: is storage but no states live "
     "on the host, allowed: memory, or optimizer or experts true"},
    {"states_without_drives",
     {"training.offload.store=storage", "training.offload.optimizer=true",
      "cluster.host.device_link.bandwidth=32GB/s", "cluster.host.storage.read=8GB/s"},
     "--set training.offload.store=storage: training.offload.store: is storage but "
     "cluster.host.storage.write is 0, allowed: memory"},
    {"full_layers_without_windows",
     {"model.attention.full_every=2"},
     "--set model.attention.full_every=2: model.attention.full_every: is 2 but no layer has a "
     "window, allowed: 0"},
    {"no_layer_with_its_window",
     {"model.attention.window=128", "model.attention.full_every=1"},
     "--set model.attention.full_every=1: model.attention.full_every: is 1, which leaves no layer "
     "its window, allowed: 0, or at least 2"},
    {"a_window_in_a_ring",
     {"model.attention.window=128", "parallel.cp=2", "parallel.context_algorithm=ring"},
     "--set parallel.context_algorithm=ring: parallel.context_algorithm: sends blocks round, but a "
     "window (model.attention.window) sees a few of them, allowed: ulysses, allgather, or cp 1"},
    {"states_in_a_ring",
     {"model.linear_attention={key_heads: 8, value_heads: 8, key_dim: 64, value_dim: 64}",
      "parallel.cp=2", "parallel.context_algorithm=ring"},
     "--set parallel.context_algorithm=ring: parallel.context_algorithm: cuts sequences, but "
     "states "
     "of linear attention (model.linear_attention) go through whole ones, allowed: ulysses, or cp "
     "1"},
    {"pairs_of_sharded_gradients",
     {"moe.overlap=fb_pair", "schedule.warmup=extra(1)", "parallel.zero=2"},
     "--set moe.overlap=fb_pair: moe.overlap: is fb_pair, which keeps whole gradients, allowed: "
     "none, or parallel.zero 0 or 1"},
    {"pairs_on_a_schedule_that_has_none",
     {"moe.overlap=fb_pair"},
     "--set moe.overlap=fb_pair: moe.overlap: is fb_pair, which needs a schedule whose forwards "
     "and "
     "backwards can run as one, allowed: dualpipe, dualpipe_v, interleaved_1f1b with warmup "
     "extra(1), 1f1b with pp 1"},
    {"interleaved_group",
     {"schedule.group=1"},
     "s.yaml:49:13: schedule.pipeline: interleaved_1f1b has group 1, allowed: pp (2) to the number "
     "of "
     "micro-batches (8)"},
};
INSTANTIATE_TEST_SUITE_P(Adapters, WrongOverrides, ::testing::ValuesIn(wrong_adapters),
                         override_name);
INSTANTIATE_TEST_SUITE_P(, WrongOverrides, ::testing::ValuesIn(wrong_overrides), override_name);
INSTANTIATE_TEST_SUITE_P(Gradients, WrongOverrides, ::testing::ValuesIn(wrong_gradients),
                         override_name);
INSTANTIATE_TEST_SUITE_P(Softmax, WrongOverrides, ::testing::ValuesIn(wrong_softmax),
                         override_name);
INSTANTIATE_TEST_SUITE_P(Levels, WrongOverrides, ::testing::ValuesIn(wrong_levels), override_name);
INSTANTIATE_TEST_SUITE_P(Host, WrongOverrides, ::testing::ValuesIn(wrong_host), override_name);

}  // namespace
}  // namespace stepcast
