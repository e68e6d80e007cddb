#pragma once
#include "wrong_row.hpp"

namespace stepcast::test {

/// Wrong scenarios: values that do not go together.
inline constexpr WrongRow wrong_plans[] = {
    {"devices_no_whole_nodes", "\n  devices: 16", "\n  devices: 12",
     "s.yaml:27:12: cluster.devices: is 12, must be a whole number of nodes of 8 devices "
     "(cluster.node.devices), allowed: "
     "8, 16"},
    {"less_than_a_node", "\n  devices: 16", "\n  devices: 4",
     "s.yaml:27:12: cluster.devices: is 4, must be a whole number of nodes of 8 devices "
     "(cluster.node.devices), allowed: "
     "8"},
    {"tp_does_not_divide", "  tp: 2", "  tp: 3",
     "s.yaml:37:7: parallel.tp: is 3, tp = 3 must divide the 16 devices, allowed: 1, 2, 4, 8, 16"},
    {"pp_does_not_divide", "  pp: 2", "  pp: 3",
     "s.yaml:38:7: parallel.pp: is 3, tp*cp*pp = 6 must divide the 16 devices, allowed: 1, 2, 4, "
     "8"},
    {"product_would_overflow", "  tp: 2\n  pp: 2\n  vpp: 2\n  cp: 1",
     "  tp: 1048576\n  pp: 1048576\n  vpp: 2\n  cp: 1048576",
     "s.yaml:37:7: parallel.tp: is 1048576, tp = 1048576 must divide the 16 devices, allowed: 1, "
     "2, 4, 8, 16\n"
     "s.yaml:38:7: parallel.pp: gives pp*vpp = 2097152 chunks for 8 layers, allowed: at most one "
     "chunk per layer"},
    {"dp_does_not_fit", "dp: auto", "dp: 3",
     "s.yaml:42:7: parallel.dp: is 3, must be devices / (tp*cp*pp) = 16 / 4, allowed: 4, auto"},
    {"ep_does_not_divide_experts", "  ep: 4", "  ep: 3",
     "s.yaml:41:7: parallel.ep: is 3, must divide the 8 experts, allowed: 1, 2, 4, 8"},
    {"ep_does_not_fit_stage", "  ep: 4", "  ep: 8\n  etp: 2",
     "s.yaml:41:7: parallel.ep: is 8, etp*ep = 16 must divide the tp*cp*dp = 8 ranks of a stage, "
     "allowed: 1, 2, 4"},
    {"ep_without_experts", "  moe: {first_dense: 1, experts: 8, top_k: 2, expert_hidden: 512}\n",
     "", "s.yaml:40:7: parallel.ep: is 4 but the model has no experts, allowed: 1"},
    {"etp_does_not_divide", "  ep: 4", "  ep: 2\n  etp: 3",
     "s.yaml:42:8: parallel.etp: is 3, must divide the hidden width of an expert (512), allowed: "
     "1, 2, 4, 8, 16, 32, 64, 128, 256, 512"},
    {"heads_on_tp", "heads: 16, kv_heads: 4", "heads: 15, kv_heads: 5",
     "s.yaml:37:7: parallel.tp: is 2, must divide the 15 attention heads, allowed: 1"},
    {"kv_heads_on_tp", "heads: 16, kv_heads: 4", "heads: 18, kv_heads: 3",
     "s.yaml:37:7: parallel.tp: is 2, must divide the 3 key and value heads or be a multiple of "
     "them, allowed: 1, 3"},
    {"kv_heads_do_not_divide", "kv_heads: 4", "kv_heads: 5",
     "s.yaml:32:47: model.attention.kv_heads: is 5, must divide the 16 heads, allowed: 1, 2, 4, 8, "
     "16"},
    {"hybrid_does_not_divide", "  cp: 1", "  cp: 1\n  context_algorithm: hybrid(3)",
     "s.yaml:41:22: parallel.context_algorithm: is hybrid(3), must divide cp = 1, allowed: 1"},
    {"too_few_layers", "layers: 8", "layers: 3",
     "s.yaml:39:8: parallel.vpp: gives pp*vpp = 4 chunks for 3 layers, allowed: at most one chunk "
     "per layer"},
    {"table_of_wrong_shape", "  cp: 1", "  cp: 1\n  layers_per_chunk: [[4, 4]]",
     "s.yaml:41:21: parallel.layers_per_chunk: must have 2 rows (vpp) of 2 numbers (pp), allowed: "
     "auto, even, or such a table [chunk][stage]"},
    {"table_of_wrong_sum", "  cp: 1", "  cp: 1\n  layers_per_chunk: [[2, 2], [2, 3]]",
     "s.yaml:41:21: parallel.layers_per_chunk: holds 9 layers, allowed: the 8 of the model"},
    {"recompute_of_wrong_shape", "micro_batch: 1", "micro_batch: 1\n  recompute: [[1, 1], [1]]",
     "s.yaml:48:14: training.recompute: must have 2 rows (vpp) of 2 numbers (pp), allowed: none, "
     "selective, full, or such a table [chunk][stage]"},
    {"slices_without_a_schedule", "interleaved_1f1b", "interleaved_1f1b\n  slices: 2",
     "s.yaml:49:13: schedule.pipeline: interleaved_1f1b does not slice the sequence but slices is "
     "2, allowed: slices 1, or terapipe, seqpipe, seqvpp, seqsmartvpp"},
    {"slices_that_do_not_divide", "interleaved_1f1b", "seqpipe\n  slices: 3",
     "s.yaml:50:11: schedule.slices: is 3, the 2048 tokens of a sequence must be a multiple of "
     "slices*tp = 6"},
    {"slices_of_another_sum", "interleaved_1f1b", "seqpipe\n  slices: [1024, 512]",
     "s.yaml:50:11: schedule.slices: hold 1536 tokens, allowed: the 2048 of training.sequence"},
    {"slices_of_odd_tokens", "interleaved_1f1b", "seqpipe\n  slices: [1025, 1023]",
     "s.yaml:50:11: schedule.slices: hold 1025 tokens, sequence_parallel needs a multiple of tp = "
     "2, allowed: 1026"},
    {"chunks_without_interleaving", "pipeline: interleaved_1f1b", "pipeline: 1f1b",
     "s.yaml:49:13: schedule.pipeline: 1f1b runs one chunk per stage but vpp is 2, allowed: vpp 1 "
     "or interleaved_1f1b"},
    {"interleaving_without_chunks", "  vpp: 2", "  vpp: 1",
     "s.yaml:49:13: schedule.pipeline: interleaved_1f1b needs at least 2 chunks per stage, vpp is "
     "1, allowed: vpp >= 2, or 1f1b"},
    {"batch_does_not_divide", "global_batch: 32", "global_batch: 30",
     "s.yaml:46:17: training.global_batch: is 30, must be a multiple of micro_batch*dp = 1*4 = 4, "
     "allowed: 28, 32"},
    {"too_few_micro_batches", "global_batch: 32", "global_batch: 4",
     "s.yaml:49:13: schedule.pipeline: interleaved_1f1b needs at least as many micro-batches as "
     "stages, got 1 micro-batches on 2 stages, allowed: a larger global batch, "
     "smaller micro-batches, or fewer stages or replicas, such as --set training.global_batch=8"},
    {"too_many_micro_batches", "global_batch: 32", "global_batch: 536870912",
     "s.yaml:46:17: training.global_batch: gives 134217728 micro-batches, allowed: at most "
     "1000000"},
    {"sequence_on_cp", "  sequence: 2048", "  sequence: 2049",
     "s.yaml:45:13: training.sequence: is 2049, sequence_parallel needs a multiple of cp*tp = 2, "
     "allowed: 2048"},
    {"top_k_beyond_experts", "top_k: 2", "top_k: 9",
     "s.yaml:34:44: model.moe.top_k: is 9, a token reaches 8 experts, allowed: 1 to 8"},
    {"no_expert_layer", "first_dense: 1", "first_dense: 8",
     "s.yaml:34:22: model.moe.first_dense: is 8 of 8 layers, so that no layer has experts, "
     "allowed: 0 to 7"},
    {"ffn_on_tp", "kind: swiglu, hidden: 4096", "kind: swiglu, hidden: 4095",
     "s.yaml:37:7: parallel.tp: is 2, must divide the hidden width of a dense layer (4095), "
     "allowed: 1, 3, 5, 7, 9, 13, 15, 21, 35, 39, 45, 63, 65, 91, 105, 117, ..."},
    {"ffn_missing", "  ffn: {kind: swiglu, hidden: 4096}\n", "",
     "s.yaml:29:3: model.ffn.hidden: is missing although the model has dense layers, allowed: at "
     "least 1"},
    {"fp8_without_peak", "micro_batch: 1", "micro_batch: 1\n  precision: fp8_mixed",
     "s.yaml:48:14: training.precision: is fp8_mixed but the device has no "
     "cluster.device.matmul_peak_fp8, allowed: bf16, fp16"},
    {"learned_positions_too_few", "vocabulary: 32000",
     "vocabulary: 32000\n  position: learned(1024)",
     "s.yaml:46:13: training.sequence: is 2048 but the model has 1024 learned positions, allowed: "
     "1 to 1024"},
    {"groups_do_not_divide", "kind: mesh, link",
     "kind: groups, size: 3, bridge: {bandwidth: 10GB/s}, link",
     "s.yaml:21:34: cluster.node.fabric.size: is 3, must divide the 8 devices of a node, allowed: "
     "1, 2, 4, 8"},
    {"sides_of_another_product", "kind: mesh, link: {bandwidth: 28GB/s, latency: 0.5us}",
     "kind: torus, dimensions: [{size: 4, bandwidth: 50GB/s}, {size: 4, bandwidth: 50GB/s}]",
     "s.yaml:21:39: cluster.node.fabric.dimensions: make 4 x 4 = 16 devices, allowed: sides whose "
     "product is node.devices (8)"},
    {"an_end_that_is_no_device", "kind: mesh, link: {bandwidth: 28GB/s, latency: 0.5us}",
     "kind: graph, links: [{between: [0, 8], bandwidth: 50GB/s}]",
     "s.yaml:21:45: cluster.node.fabric.links.0.between: is [0, 8], allowed: two of 0 to 7 (the 8 "
     "devices of a node, then its switches)"},
    {"wires_under_nccl",
     "kind: mesh, link: {bandwidth: 28GB/s, latency: 0.5us}, efficiency: 0.8}\n"
     "  super_node: none\n"
     "  network:\n"
     "    nic: {per: device, bandwidth: 200Gbps, latency: 1.5us, efficiency: 0.9}\n"
     "    topology: {kind: rail_optimized, leaf_ports: 64, oversubscription: 1}\n"
     "  collectives: {library: hccl,",
     "kind: torus, dimensions: [{size: 8, bandwidth: 50GB/s}]}\n"
     "  network: {nic: {bandwidth: 200Gbps}, topology: {kind: single_switch}}\n"
     "  collectives: {library: nccl,",
     "s.yaml:23:26: cluster.collectives.library: is nccl, whose rings do not know wires of a "
     "torus, "
     "full_mesh, graph or platform, allowed: hccl"},
    {"pipelined_exchange_under_nccl", "collectives: {library: hccl,",
     "collectives: {all_to_all: pipeline, library: nccl,",
     "s.yaml:26:29: cluster.collectives.all_to_all: is pipeline but collectives.library is nccl, "
     "allowed: staged"},
    {"pipelined_exchange_with_a_small_buffer", "collectives: {library: hccl, buffer: 200MiB,",
     "collectives: {all_to_all: pipeline, library: hccl, buffer: 79MiB,",
     "s.yaml:26:29: cluster.collectives.all_to_all: is pipeline but HCCL takes it where "
     "collectives.buffer holds 80 MiB, allowed: staged"},
    {"pods_without_leaves", "kind: rail_optimized, leaf_ports: 64, oversubscription: 1",
     "kind: leaf_spine, pod_oversubscription: 7",
     "s.yaml:25:56: cluster.network.topology.pod_oversubscription: is 7 without pods, allowed: 1, "
     "or with pod_leaves"},
    {"shared_expert_overlap_of_a_dense_model",
     "  moe: {first_dense: 1, experts: 8, top_k: 2, expert_hidden: 512}\n"
     "  vocabulary: 32000\nparallel:\n  tp: 2\n  pp: 2\n  vpp: 2\n  cp: 1\n  ep: 4\n",
     "  vocabulary: 32000\nmoe: {overlap: shared_expert}\nparallel:\n  tp: 2\n  pp: 2\n  vpp: 2\n",
     "s.yaml:35:16: moe.overlap: is set but the model has no experts, allowed: none"},
    {"expert_keys_of_a_dense_model",
     "  moe: {first_dense: 1, experts: 8, top_k: 2, expert_hidden: 512}\n"
     "  vocabulary: 32000\nparallel:\n  tp: 2\n  pp: 2\n  vpp: 2\n  cp: 1\n  ep: 4\n",
     "  vocabulary: 32000\n"
     "moe: {dispatch: two_hop, routing: {distribution: zipf}, capacity_factor: 1,\n"
     "  placement: balanced, wire_precision: fp8}\n"
     "parallel:\n  tp: 2\n  pp: 2\n  vpp: 2\n",
     "s.yaml:35:17: moe.dispatch: is set but the model has no experts, allowed: flat\n"
     "s.yaml:35:50: moe.routing.distribution: is set but the model has no experts, allowed: "
     "uniform\n"
     "s.yaml:35:74: moe.capacity_factor: is set but the model has no experts, allowed: none\n"
     "s.yaml:36:14: moe.placement: is balanced but the model has no experts, allowed: contiguous\n"
     "s.yaml:36:40: moe.wire_precision: is fp8 but the model has no experts, allowed: bf16"},
    {"expert_keys_without_ep",
     "vocabulary: 32000\nparallel:\n  tp: 2\n  pp: 2\n  vpp: 2\n  cp: 1\n  ep: 4\n",
     "vocabulary: 32000\n"
     "moe: {dispatch: two_hop, overlap: chunks(4), placement: balanced, wire_precision: fp8}\n"
     "parallel:\n  tp: 2\n  pp: 2\n  vpp: 2\n",
     "s.yaml:36:17: moe.dispatch: is set but ep is 1: no token leaves its rank, allowed: flat, or "
     "ep > 1\n"
     "s.yaml:36:35: moe.overlap: is set but ep is 1: no token leaves its rank, allowed: none, or "
     "ep > 1\n"
     "s.yaml:36:57: moe.placement: is set but ep is 1: no token leaves its rank, allowed: "
     "contiguous, or ep > 1\n"
     "s.yaml:36:83: moe.wire_precision: is set but ep is 1: no token leaves its rank, allowed: "
     "bf16, or ep > 1"},
    {"loads_that_never_change", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {routing: {distribution: zipf, layers: own, step: 3},\n"
     "  placement: balanced, relocation: {every: 5}}",
     "s.yaml:36:56: moe.routing.step: is 3 but loads are the same in every step, allowed: 0, or "
     "zipf with a lifetime, random, or a file of several steps\n"
     "s.yaml:37:44: moe.relocation.every: is given but loads are the same in every step, allowed: "
     "never, or zipf with a lifetime, random, or a file of several steps"},
    {"placement_of_uniform_loads", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {placement: balanced}",
     "s.yaml:36:18: moe.placement: is balanced but all experts are loaded alike, allowed: "
     "contiguous, or moe.routing with distribution zipf with an exponent above 0, random or file"},
    {"idle_keys_of_loads", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {routing: {layers: own},\n"
     "  spare_experts: 1, relocation: {history: 4}}",
     "s.yaml:36:25: moe.routing.layers: is own but all experts are loaded alike, allowed: shared, "
     "or distribution zipf, random or file\n"
     "s.yaml:37:18: moe.spare_experts: is 1 but all experts are loaded alike (moe.routing), "
     "allowed: 0\n"
     "s.yaml:37:43: moe.relocation.history: is 4 but moe.relocation.every is never, allowed: 1"},
    {"loads_of_lone_experts",
     "vocabulary: 32000\nparallel:\n  tp: 2\n  pp: 2\n  vpp: 2\n  cp: 1\n  ep: 4\n",
     "vocabulary: 32000\n"
     "moe: {routing: {distribution: zipf, lifetime: 5, layers: own, step: 3}}\n"
     "parallel:\n  tp: 2\n  pp: 2\n  vpp: 2\n",
     "s.yaml:36:47: moe.routing.lifetime: is given but ep is 1: a rank computes the tokens of all "
     "experts, allowed: none, or ep > 1, moe.capacity_factor or training.offload.active_experts "
     "routed\n"
     "s.yaml:36:58: moe.routing.layers: is own but ep is 1: a rank computes the tokens of all "
     "experts, allowed: shared, or ep > 1, moe.capacity_factor or training.offload.active_experts "
     "routed\n"
     "s.yaml:36:69: moe.routing.step: is 3 but ep is 1: a rank computes the tokens of all experts, "
     "allowed: 0, or ep > 1, moe.capacity_factor or training.offload.active_experts routed"},
    {"too_many_copies", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {routing: {distribution: zipf, exponent: 0, lifetime: 4},\n"
     "  spare_experts: 7, relocation: {every: 4}}",
     "s.yaml:36:60: moe.routing.lifetime: is given but exponent 0 makes all experts alike, "
     "allowed: "
     "none\n"
     "s.yaml:37:18: moe.spare_experts: is 7 but other ranks hold 6 experts, allowed: at most so "
     "many\n"
     "s.yaml:37:41: moe.relocation.every: is given but loads are the same in every step, allowed: "
     "never, or zipf with a lifetime, random, or a file of several steps"},
    {"relocation_of_nothing", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {routing: {distribution: random}, relocation: {every: 4}}",
     "s.yaml:36:60: moe.relocation.every: is given but nothing is placed by its load, allowed: "
     "never, or placement balanced or spare_experts, and ep > 1"},
    {"allgather_of_lone_experts",
     "vocabulary: 32000\nparallel:\n  tp: 2\n  pp: 2\n  vpp: 2\n  cp: 1\n  ep: 4\n",
     "vocabulary: 32000\nmoe: {dispatch: allgather}\n"
     "parallel:\n  tp: 2\n  pp: 2\n  vpp: 2\n",
     "s.yaml:36:17: moe.dispatch: is set but ep is 1: no token leaves its rank, allowed: flat, or "
     "ep > 1"},
    {"allgather_of_shared_experts",
     "vocabulary: 32000\nparallel:\n  tp: 2\n  pp: 2\n  vpp: 2\n  cp: 1\n  ep: 4\n",
     "vocabulary: 32000\nmoe: {dispatch: allgather, wire_precision: fp8}\n"
     "parallel:\n  tp: 2\n  pp: 2\n  vpp: 2\n  etp: 2\n",
     "no error"},
    {"tensor_overlap_without_tp", "parallel:\n  tp: 2",
     "communication: {tensor: {overlap: chunks(4)}}\nparallel:\n  tp: 1",
     "s.yaml:36:35: communication.tensor.overlap: is chunks but tp is 1: there is no collective to "
     "hide, allowed: none, or tp > 1"},
    {"serial_tensor_backward_without_tp", "parallel:\n  tp: 2",
     "communication: {tensor: {backward: serial}}\nparallel:\n  tp: 1",
     "s.yaml:36:36: communication.tensor.backward: is serial but tp is 1: nothing is reduced, "
     "allowed: overlapped, or tp > 1"},
    {"batched_experts_with_unlike_rows",
     "vocabulary: 32000\nparallel:", "vocabulary: 32000\nmoe: {experts: batched}\nparallel:",
     "s.yaml:36:16: moe.experts: is batched but experts have unlike rows, allowed: grouped, "
     "multi_stream, sequential, or capacity_pad without tiles(n)"},
    {"scatter_gather_without_pp",
     "parallel:\n  tp: 2\n  pp: 2\n  vpp: 2\n  cp: 1\n  ep: 4\n  dp: auto\n"
     "  sequence_parallel: true\ntraining:\n  sequence: 2048\n  global_batch: 32\n"
     "  micro_batch: 1\nschedule:\n  pipeline: interleaved_1f1b\n",
     "communication: {pipeline: {scatter_gather: true}}\nparallel: {tp: 2}\n"
     "training: {sequence: 2048, global_batch: 32}\nschedule: {pipeline: 1f1b}\n",
     "s.yaml:36:44: communication.pipeline.scatter_gather: is true, but pp is 1: nothing is sent, "
     "allowed: false"},
    {"tiles_of_cut_experts", "vocabulary: 32000\nparallel:",
     "vocabulary: 32000\nmoe: {overlap: tiles(4)}\nparallel:\n  etp: 2",
     "s.yaml:36:16: moe.overlap: is tiles, whose kernel holds whole experts, but etp is 2, "
     "allowed: none, shared_expert, chunks(n), or etp 1"},
    {"inner_of_whole_groups", "vocabulary: 32000", "vocabulary: 32000\nmoe: {inner: node}",
     "s.yaml:36:14: moe.inner: is set but moe.dispatch cuts expert groups into no parts, allowed: "
     "auto, or dispatch two_hop, two_hop_dedup, hierarchical_allgather"},
    {"inner_super_node_without_one", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {dispatch: two_hop, inner: super_node}",
     "s.yaml:36:33: moe.inner: is super_node but the cluster has none, allowed: auto, node"},
    {"algorithm_of_another_collective", "vocabulary: 32000",
     "vocabulary: 32000\ncommunication:\n"
     "  algorithm: {all_to_all: tree, broadcast: tree, all_reduce: ring}",
     "s.yaml:37:27: communication.algorithm.all_to_all: is tree, which makes no all_to_all, "
     "allowed: auto, ring, mesh, pairwise, one_sided, pipeline, hierarchical, dimensions\n"
     "s.yaml:37:44: communication.algorithm.broadcast: is tree, which makes no broadcast, allowed: "
     "auto, ring, mesh, nhr, nb, hd, hierarchical, dimensions"},
    {"shared_expert_overlap_without_one", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {overlap: shared_expert}",
     "s.yaml:36:16: moe.overlap: is shared_expert but the model has no shared experts, allowed: "
     "none, chunks(n), tiles(n), fb_pair"},
    {"scatter_gather_with_sequence_parallel", "vocabulary: 32000",
     "vocabulary: 32000\ncommunication: {pipeline: {scatter_gather: true}}",
     "s.yaml:36:44: communication.pipeline.scatter_gather: is true, but with sequence_parallel "
     "each "
     "rank sends its own part anyway, allowed: false"},
    {"scatter_gather_without_tp", "parallel:\n  tp: 2",
     "communication: {pipeline: {scatter_gather: true}}\nparallel:\n  tp: 1",
     "s.yaml:36:44: communication.pipeline.scatter_gather: is true, but tp is 1, allowed: false"},
    {"put_off_of_whole_backwards", "interleaved_1f1b", "interleaved_1f1b\n  put_off: 3",
     "s.yaml:50:12: schedule.put_off: is 3, but interleaved_1f1b says itself when weight gradients "
     "run, allowed: auto, or zb_h1, zb_h2"},
    {"put_off_nothing", "interleaved_1f1b", "interleaved_1f1b\n  put_off: 0",
     "s.yaml:50:12: schedule.put_off: is 0, allowed: 1 to 1048576"},
    {"post_validation_of_one_stage",
     "  pp: 2\n  vpp: 2\n  cp: 1\n  ep: 4\n  dp: auto\n  sequence_parallel: true\ntraining:\n"
     "  sequence: 2048\n  global_batch: 32\n  micro_batch: 1\nschedule:\n"
     "  pipeline: interleaved_1f1b",
     "  ep: 4\n  sequence_parallel: true\ntraining:\n"
     "  sequence: 2048\n  global_batch: 32\n  micro_batch: 1\nschedule:\n  post_validation: true",
     "s.yaml:45:20: schedule.post_validation: is true, but pp is 1: there is no other stage to "
     "wait "
     "for, allowed: false"},
    {"post_validation_is_a_word", "interleaved_1f1b", "interleaved_1f1b\n  post_validation: yes",
     "s.yaml:50:20: schedule.post_validation: is 'yes', allowed: true, false"},
};

}  // namespace stepcast::test
