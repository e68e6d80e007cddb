#pragma once
#include "wrong_row.hpp"

namespace stepcast::test {

/// Wrong scenarios: keys, words and structure.
inline constexpr WrongRow wrong_keys[] = {
    {"misspelt_key", "  layers: 8", "  layrs: 8",
     "s.yaml:29:3: model: has none of layers, hf_config, allowed: exactly one of them\n"
     "s.yaml:30:3: model.layrs: is not a known key; did you mean layers?"},
    {"misspelt_section", "training:", "trainig:",
     "s.yaml:2:1: training: is missing, allowed: a mapping with global_batch\n"
     "s.yaml:44:1: trainig: is not a known key; did you mean training?"},
    {"unknown_key", "  hidden: 1024", "  hidden: 1024\n  nonsense: 1",
     "s.yaml:32:3: model.nonsense: is not a known key, allowed: stepcast, name, layers, hidden, "
     "attention, linear_attention, ffn, moe, mtp_layers, vocabulary, tied_embeddings, norm, "
     "position, bias, qk_norm, block; another model is --model NAME or extends: NAME, see "
     "stepcast list models"},
    {"repeated_key", "  tp: 2", "  tp: 2\n  tp: 4",
     "s.yaml:38:3: parallel.tp: is given twice, first in line 37, allowed: each key once"},
    {"repeated_key_beside_other_errors", "  tp: 2", "  tp: 2\n  tp: 4\n  ppp: 1",
     "s.yaml:38:3: parallel.tp: is given twice, first in line 37, allowed: each key once\n"
     "s.yaml:39:3: parallel.ppp: is not a known key; did you mean pp?"},
    {"repeated_section", "expect:", "parallel: {tp: 1}\nexpect:",
     "s.yaml:50:1: parallel: is given twice, first in line 36, allowed: each key once"},
    {"misspelt_word", "library: hccl", "library: hcll",
     "s.yaml:26:26: cluster.collectives.library: is 'hcll', allowed: hccl, nccl; did you mean "
     "hccl?"},
    {"unknown_schedule", "interleaved_1f1b", "round_robin",
     "s.yaml:49:13: schedule.pipeline: is 'round_robin', allowed: gpipe, 1f1b, interleaved_1f1b, "
     "terapipe, seqpipe, seqvpp, seqsmartvpp, zb_h1, zb_h2, zb_v, v_half, v_min, dualpipe, "
     "dualpipe_v, {table: FILE}"},
    {"schedule_mapping", "interleaved_1f1b", "{file: my.yaml}",
     "s.yaml:49:13: schedule.pipeline: is a mapping, allowed: gpipe, 1f1b, interleaved_1f1b, "
     "terapipe, seqpipe, seqvpp, seqsmartvpp, zb_h1, zb_h2, zb_v, v_half, v_min, dualpipe, "
     "dualpipe_v, {table: FILE}"},
    {"no_schedule_table", "interleaved_1f1b", "{table: nowhere.yaml}",
     "s.yaml:49:21: schedule.pipeline.table: names 'nowhere.yaml', which does not exist, allowed: "
     "the path of a file of orders"},
    {"unknown_dispatch", "vocabulary: 32000", "vocabulary: 32000\nmoe: {dispatch: two_hops}",
     "s.yaml:36:17: moe.dispatch: is 'two_hops', allowed: flat, two_hop, two_hop_dedup, "
     "hierarchical_allgather, allgather; did you mean two_hop?"},
    {"unknown_routing", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {routing: {distribution: normal}}",
     "s.yaml:36:31: moe.routing.distribution: is 'normal', allowed: uniform, zipf, random, file"},
    {"keys_of_another_routing", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {routing: {distribution: random, exponent: 1}}",
     "s.yaml:36:39: moe.routing.exponent: is not a known key, allowed: distribution, seed, "
     "layers, step, domains, domains_per_step"},
    {"exponent_below_zero", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {routing: {distribution: zipf, exponent: -1}}",
     "s.yaml:36:47: moe.routing.exponent: is -1, allowed: 0 to 10"},
    {"no_seed", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {routing: {distribution: zipf, seed: x}}",
     "s.yaml:36:43: moe.routing.seed: is 'x', allowed: a whole number such as 8 or 40Mi, 0 to "
     "9e+15"},
    {"counts_without_file", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {routing: {distribution: file}}",
     "s.yaml:36:16: moe.routing.file: is missing (path of a text file with one number per expert, "
     "separated by commas or space; of several layers (layers own) and steps one behind the "
     "other), allowed: a text"},
    {"counts_that_do_not_exist", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {routing: {distribution: file, file: gone.csv}}",
     "s.yaml:36:43: moe.routing.file: names 'gone.csv', which does not exist, allowed: the path "
     "of a text file"},
    {"no_capacity", "vocabulary: 32000", "vocabulary: 32000\nmoe: {capacity_factor: 0}",
     "s.yaml:36:24: moe.capacity_factor: is 0, allowed: 0.001 to 1000000"},
    {"unknown_expert_placement", "vocabulary: 32000", "vocabulary: 32000\nmoe: {placement: best}",
     "s.yaml:36:18: moe.placement: is 'best', allowed: contiguous, balanced"},
    {"unknown_wire", "vocabulary: 32000", "vocabulary: 32000\nmoe: {wire_precision: int8}",
     "s.yaml:36:23: moe.wire_precision: is 'int8', allowed: bf16, fp8"},
    {"unknown_inner", "vocabulary: 32000", "vocabulary: 32000\nmoe: {inner: leaf}",
     "s.yaml:36:14: moe.inner: is 'leaf', allowed: auto, node, super_node"},
    {"no_chunks", "vocabulary: 32000", "vocabulary: 32000\nmoe: {overlap: chunks(0)}",
     "s.yaml:36:16: moe.overlap: is 'chunks(0)', allowed: chunks(n) with n 1 to 64"},
    {"too_many_tiles", "vocabulary: 32000", "vocabulary: 32000\nmoe: {overlap: tiles(65)}",
     "s.yaml:36:16: moe.overlap: is 'tiles(65)', allowed: tiles(n) with n 1 to 64"},
    {"tensor_overlap_without_number", "vocabulary: 32000",
     "vocabulary: 32000\ncommunication: {tensor: {overlap: chunks}}",
     "s.yaml:36:35: communication.tensor.overlap: is 'chunks', allowed: none, chunks(n)"},
    {"interference_below_one", "    cores: {cube: 20, vector: 40}",
     "    cores: {cube: 20, vector: 40}\n    interference: {matmul: 0.5}\n    tile_task: 1",
     "s.yaml:11:28: cluster.device.interference.matmul: is 0.5, allowed: 1 to 1000\n"
     "s.yaml:12:16: cluster.device.tile_task: is 1 without a unit, allowed: a time such as "
     "1.5us or 12.3s"},
    {"more_held_cores_than_there_are", "  collectives: {library: hccl,",
     "  collectives: {cores: {node: 20, deepep: 21, hybridep: 5}, library: hccl,",
     "s.yaml:26:31: cluster.collectives.cores.node: is 20, allowed: less than the 20 of "
     "device.cores.cube\n"
     "s.yaml:26:43: cluster.collectives.cores.deepep: is 21, allowed: less than the 20 of "
     "device.cores.cube"},
    {"held_cores_that_never_count", "  collectives: {library: hccl,",
     "  collectives: {cores: {network: 2}, library: hccl,",
     "s.yaml:26:34: cluster.collectives.cores.network: is 2 but never more than "
     "collectives.cores.node, which is 0, allowed: 0"},
    {"no_steps", "expect:", "simulate: {steps: 0}\nexpect:",
     "s.yaml:50:19: simulate.steps: is 0, allowed: 1 to 100000"},
    {"sweep_file", "expect:", "sweep: {base: x.yaml}\nexpect:",
     "s.yaml: is a sweep file, give a scenario; stepcast sweep runs its points"},
    {"plan_file", "expect:", "plan: {top: 4}\nexpect:",
     "s.yaml: is a plan file, give a scenario; stepcast plan searches it"},
    {"listed_as_in_a_plan", "  tp: 2", "  tp: [1, 2]",
     "s.yaml: is a plan file, give a scenario; stepcast plan searches it"},
    {"searched_as_in_a_plan", "  pipeline: interleaved_1f1b", "  pipeline: search",
     "s.yaml: is a plan file, give a scenario; stepcast plan searches it"},
    {"no_plan",
     "expect:", "plan: 4\nexpect:", "s.yaml:50:7: plan: is '4', allowed: a mapping, or none"},
    {"call_without_number", "  cp: 1", "  cp: 1\n  context_algorithm: hybrid",
     "s.yaml:41:22: parallel.context_algorithm: is 'hybrid', allowed: ring, ulysses, allgather, "
     "hybrid(n)"},
    {"call_with_wrong_number", "  cp: 1", "  cp: 1\n  context_algorithm: hybrid(0)",
     "s.yaml:41:22: parallel.context_algorithm: is 'hybrid(0)', allowed: hybrid(n) with n 1 to "
     "1048576"},
    {"call_of_a_plain_word", "  cp: 1", "  cp: 1\n  context_algorithm: ring(2)",
     "s.yaml:41:22: parallel.context_algorithm: is 'ring(2)', allowed: ring, ulysses, allgather, "
     "hybrid(n)"},
    {"fabric_of_unknown_kind", "kind: mesh", "kind: ring",
     "s.yaml:21:20: cluster.node.fabric.kind: is 'ring', allowed: mesh, switch, groups, torus, "
     "full_mesh, graph, platform"},
    {"fabric_keys_of_another_kind", "kind: mesh", "kind: switch",
     "s.yaml:21:13: cluster.node.fabric.port: is missing, allowed: a mapping with bandwidth\n"
     "s.yaml:21:28: cluster.node.fabric.link: is not a known key; did you mean kind?"},
    {"section_is_a_number",
     "    efficiency:\n      matmul: {peak: 0.9, tile_m: 128, tile_n: 256, fill: 64}\n      "
     "vector: {value: 0.7, source: assumed}",
     "    efficiency: 0.8",
     "s.yaml:12:17: cluster.device.efficiency: is '0.8', allowed: a mapping of matmul, matmul_fp8, "
     "grouped_matmul, grouped_matmul_fp8, attention, memory, vector, unaligned"},
    {"section_is_a_list",
     "host:\n    dispatch: {matmul: 8us, vector: 6us, communication: 15us}\n    queue_depth: 1024",
     "host: [1, 2]",
     "s.yaml:16:9: cluster.host: is a list, allowed: a mapping of devices_per_host, dispatch, "
     "blocking, library_launch, statement, task_queue, graph_sink, compile, queue_depth, "
     "synchronise, step_overhead, affinity, device_link, pcie, cores, memory, storage"},
    {"order_is_a_word", "  cp: 1", "  cp: 1\n  order: tp",
     "s.yaml:41:10: parallel.order: is 'tp', allowed: a list of words"},
    {"order_names_a_size_twice", "  cp: 1", "  cp: 1\n  order: [tp, tp, cp, dp, pp]",
     "s.yaml:41:10: parallel.order: must name tp, cp, ep, dp, pp once each, allowed: [tp, cp, ep, "
     "dp, pp] in any order"},
    {"number_is_a_mapping", "micro_batch: 1", "micro_batch: {a: 1}",
     "s.yaml:47:16: training.micro_batch: is a mapping without value, allowed: {value, source, "
     "note}"},
    {"required_key_missing", "  global_batch: 32\n", "",
     "s.yaml:45:3: training.global_batch: is missing (sequences of one step), allowed: a whole "
     "number such as 8 or 40Mi, 1 to 1073741824"},
    {"sequence_missing", "  sequence: 2048\n", "",
     "s.yaml:45:3: training.sequence: is missing, allowed: a whole number of tokens such as 4096"},
    {"required_section_missing",
     "training:\n  sequence: 2048\n  global_batch: 32\n  micro_batch: 1\n", "",
     "s.yaml:2:1: training: is missing, allowed: a mapping with global_batch"},
    {"section_empty", "training:\n  sequence: 2048\n  global_batch: 32\n  micro_batch: 1\n",
     "training:\n", "s.yaml:45:1: training: is empty, allowed: a mapping with global_batch"},
    {"model_and_workload",
     "expect:", "workload: {chunks: [{forward: 1ms, backward_input: 1ms}]}\nexpect:",
     "s.yaml:50:1: workload: does not go with model, allowed: exactly one of model, workload"},
    {"model_keys_and_config", "  name: tiny", "  name: tiny\n  hf_config: config.json",
     "s.yaml:30:14: model.hf_config: names 'config.json', which does not exist, allowed: the path "
     "of a config.json"},
    {"gate_of_missing_experts", "top_k: 2", "top_k: 2, shared_gate: true",
     "s.yaml:34:60: model.moe.shared_gate: is true but the model has no shared experts, allowed: "
     "false"},
    {"table_with_a_word", "  cp: 1", "  cp: 1\n  layers_per_chunk: [[2, two], [2, 2]]",
     "s.yaml:41:21: parallel.layers_per_chunk: holds 'two', allowed: auto, even, a table "
     "[chunk][stage] of whole numbers such as [[4, 4], [4, 3]], 0 to 100000"},
};

}  // namespace stepcast::test
