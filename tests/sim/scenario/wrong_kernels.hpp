#pragma once
#include "wrong_row.hpp"

namespace stepcast::test {

/// Wrong scenarios: keys about FP8 operands and captured graphs that would do nothing.
inline constexpr WrongRow wrong_kernels[] = {
    {"recipe_of_bf16", "micro_batch: 1", "micro_batch: 1\n  fp8_recipe: mxfp8",
     "s.yaml:48:15: training.fp8_recipe: is set but training.precision is not fp8_mixed, allowed: "
     "delayed"},
    {"scales_of_bf16", "vocabulary: 32000",
     "vocabulary: 32000\nruntime: {kernels: {scales: zeroed}}",
     "s.yaml:36:29: runtime.kernels.scales: is set but training.fp8_recipe is not mxfp8, allowed: "
     "joined"},
    {"padding_of_bf16", "vocabulary: 32000", "vocabulary: 32000\nmoe: {row_padding: copies}",
     "s.yaml:36:20: moe.row_padding: is copies but no expert multiplies in FP8 "
     "(training.precision fp8_mixed), allowed: none"},
    {"whole_rows_of_any_size", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {group_wise_a2a: false}",
     "s.yaml:36:23: moe.group_wise_a2a: is false, which is known for rows padded to a capacity "
     "(moe.capacity_pad), allowed: true"},
    {"whole_rows_of_whole_experts", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {capacity_factor: 1, capacity_pad: true, group_wise_a2a: false}",
     "s.yaml:36:63: moe.group_wise_a2a: is false, but no tensor ranks share the experts of an "
     "exchange (parallel.etp = tp above 1, ep > 1), allowed: true"},
    {"whole_rows_of_a_version", "vocabulary: 32000",
     "vocabulary: 32000\nmoe:\n  {dispatcher: megatron_0.12, capacity_factor: 1, capacity_pad: "
     "true, group_wise_a2a: false}",
     "s.yaml:37:87: moe.group_wise_a2a: is false, which no version of moe.dispatcher does, "
     "allowed: true"},
    {"blocks_without_padding", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {dispatcher: mindformers_1.3, permutation: indexed}",
     "s.yaml:36:6: moe.capacity_pad: is false, but moe.dispatcher mindformers_1.3 fills every "
     "expert, allowed: true"},
    {"blocks_in_one_kernel", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {dispatcher: mindformers_1.3, capacity_factor: 1, capacity_pad: "
     "true}",
     "s.yaml:36:6: moe.permutation: is fused, which moe.dispatcher mindformers_1.3 does not know, "
     "allowed: indexed"},
    {"stored_weights_and_half_gradients", "micro_batch: 1",
     "micro_batch: 1\n  master_weights: stored\ncommunication: {gradient: {precision: bf16}}",
     "s.yaml:48:19: training.master_weights: is stored but communication.gradient.precision is not "
     "fp32, in which gradients of casts are, allowed: full"},
    {"apart_and_fused", "vocabulary: 32000",
     "vocabulary: 32000\nruntime: {fusion: pattern, kernels: {activation: apart}}",
     "s.yaml:36:19: runtime.fusion: is pattern, which has none for silu and product of two "
     "projections (runtime.kernels.activation apart), allowed: none, dvm"},
    {"clamped_and_fused", "vocabulary: 32000",
     "vocabulary: 32000\nruntime: {fusion: pattern, kernels: {activation: clamped}}",
     "s.yaml:36:19: runtime.fusion: is set, but a host that waits inside the activation "
     "(runtime.kernels.activation clamped) has no fuser, allowed: none"},
    {"graph_of_dynamic_experts", "vocabulary: 32000",
     "vocabulary: 32000\nruntime: {graphs: {scopes: [moe]}}",
     "s.yaml:36:19: runtime.graphs: names moe, but a graph knows the sizes of what it holds "
     "(moe.capacity_pad), allowed: moe_router, moe_preprocess, shared_experts"},
    {"graph_of_experts_and_parts", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {capacity_factor: 1, capacity_pad: true}\n"
     "runtime: {graphs: {scopes: [moe, moe_router]}}",
     "s.yaml:37:19: runtime.graphs: names moe and its parts, allowed: moe alone, or its parts"},
    {"graph_of_missing_experts", "vocabulary: 32000",
     "vocabulary: 32000\nruntime: {graphs: {scopes: [shared_experts]}}",
     "s.yaml:36:19: runtime.graphs: names shared_experts, which the model does not have or "
     "moe.overlap shared_expert takes apart, allowed: without them"},
    {"graph_twice_of_one_part", "vocabulary: 32000",
     "vocabulary: 32000\nruntime: {graphs: {scopes: [attn, attn]}}",
     "s.yaml:36:19: runtime.graphs: holds 'attn' twice, allowed: once each"},
    {"graphs_in_a_sunk_graph", "vocabulary: 32000",
     "vocabulary: 32000\nruntime: {dispatch: graph_sink, graphs: {scopes: [attn]}}",
     "s.yaml:36:41: runtime.graphs: is set but runtime.dispatch is not eager, allowed: none"},
    {"statements_of_layer_norms", "vocabulary: 32000",
     "vocabulary: 32000\n  norm: layer\nruntime: {kernels: {norm: unfused}}",
     "s.yaml:37:27: runtime.kernels.norm: is unfused but all norms are layer norms, which "
     "frameworks launch as one kernel, allowed: fused, persistent"},
    {"statements_of_no_rotation", "vocabulary: 32000",
     "vocabulary: 32000\n  position: none\nruntime: {kernels: {rope: unfused}}",
     "s.yaml:37:27: runtime.kernels.rope: is given but the model rotates nothing "
     "(model.position), allowed: fused"},
    {"start_order_of_a_sunk_graph", "vocabulary: 32000",
     "vocabulary: 32000\nruntime: {dispatch: graph_sink, start_order: as_issued}",
     "s.yaml:36:46: runtime.start_order: is as_issued but runtime.dispatch is not eager, allowed: "
     "by_stream"},
    {"layer_order_of_pairs", "vocabulary: 32000",
     "vocabulary: 32000\nruntime: {layer_order: overlapped}\nmoe: {overlap: fb_pair}",
     "s.yaml:36:24: runtime.layer_order: is overlapped but moe.overlap shared_expert and fb_pair "
     "place the work of a layer themselves, allowed: plain\n"
     "s.yaml:37:16: moe.overlap: is fb_pair, which needs a schedule whose forwards and backwards "
     "can "
     "run as one, allowed: dualpipe, dualpipe_v, interleaved_1f1b with warmup extra(1), 1f1b with "
     "pp 1"},
    {"layer_order_of_graphs", "vocabulary: 32000",
     "vocabulary: 32000\nruntime: {layer_order: overlapped, graphs: {scopes: [attn]}}",
     "s.yaml:36:24: runtime.layer_order: is overlapped but runtime.graphs holds parts of a layer "
     "as "
     "they were written, allowed: plain"},
    {"gradients_in_half_that_are_half", "vocabulary: 32000",
     "vocabulary: 32000\ncommunication: {gradient: {precision: bf16, exchange: all_to_all}}",
     "s.yaml:36:55: communication.gradient.exchange: is all_to_all but "
     "communication.gradient.precision is not fp32, in which gradients are kept and added up, "
     "allowed: reduce"},
    {"combine_precision_of_sums", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {dispatch: allgather, combine_precision: fp8}",
     "s.yaml:36:47: moe.combine_precision: is fp8 but fp8 rows are not added up on their way: "
     "dispatch "
     "flat, two_hop or two_hop_dedup, allowed: bf16"},
    {"combine_precision_of_hybridep", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {dispatch: two_hop_dedup, dispatcher: hybridep, combine_precision: "
     "fp8}",
     "s.yaml:36:73: moe.combine_precision: is fp8 but moe.dispatcher is hybridep, whose combine is "
     "in "
     "bf16, allowed: bf16"},
    {"wire_precision_of_hybridep", "vocabulary: 32000",
     "vocabulary: 32000\nmoe: {dispatch: two_hop_dedup, dispatcher: hybridep, wire_precision: fp8}",
     "s.yaml:36:70: moe.wire_precision: is fp8, in which Megatron-Core does not let hybridep send, "
     "allowed: bf16"},
    {"start_order_without_overlap", "vocabulary: 32000",
     "vocabulary: 32000\nruntime: {start_order: as_issued}\n"
     "communication: {gradient: {overlap: false}}",
     "s.yaml:36:24: runtime.start_order: is as_issued but communication.gradient.overlap is false: "
     "nothing is issued beside a running collective, allowed: by_stream"},
};

}  // namespace stepcast::test
