#pragma once
#include "wrong_row.hpp"

namespace stepcast::test {

/// Wrong `schedule.data`.
inline constexpr WrongRow wrong_data[] = {
    {"packing_without_documents", "interleaved_1f1b",
     "interleaved_1f1b\n  data: {packing: best_fit, mask: document, context_split: per_document}",
     "s.yaml:50:19: schedule.data.packing: is best_fit but there are no schedule.data.documents, "
     "allowed: none\n"
     "s.yaml:50:35: schedule.data.mask: is document but there are no schedule.data.documents, "
     "allowed: causal\n"
     "s.yaml:50:60: schedule.data.context_split: is per_document but there are no "
     "schedule.data.documents, allowed: zigzag"},
    {"levelling_of_equal_work", "interleaved_1f1b",
     "interleaved_1f1b\n  data: {documents: {distribution: fixed, length: 96}, packing: "
     "attention_aware}",
     "s.yaml:50:65: schedule.data.packing: is attention_aware but the causal mask makes all "
     "sequences the same work, allowed: none, sequential, best_fit, or mask: document"},
    {"slots_of_equal_work", "interleaved_1f1b",
     "interleaved_1f1b\n  data: {documents: {distribution: fixed, length: 96}, packing: "
     "slot_balanced, mask: causal}",
     "s.yaml:50:65: schedule.data.packing: is slot_balanced but the causal mask makes all "
     "sequences the same work, allowed: none, sequential, best_fit, or mask: document"},
    {"split_of_equal_work", "interleaved_1f1b",
     "interleaved_1f1b\n  data: {documents: {distribution: fixed, length: 96}, context_split: "
     "per_document}",
     "s.yaml:50:71: schedule.data.context_split: is per_document but under the causal mask every "
     "context rank has the same work, allowed: zigzag, or mask: document"},
    {"packing_of_no_name", "interleaved_1f1b", "interleaved_1f1b\n  data: {packing: worst_fit}",
     "s.yaml:50:19: schedule.data.packing: is 'worst_fit', allowed: none, sequential, best_fit, "
     "attention_aware, slot_balanced; did you mean best_fit?"},
    {"documents_of_no_length", "interleaved_1f1b",
     "interleaved_1f1b\n  data: {documents: {distribution: fixed, length: 0}}",
     "s.yaml:50:51: schedule.data.documents.length: is 0, allowed: 1 to 1073741824"},
    {"documents_without_mean", "interleaved_1f1b",
     "interleaved_1f1b\n  data: {documents: {distribution: lognormal}}",
     "s.yaml:50:21: schedule.data.documents.mean: is missing (mean length [tokens]), allowed: a "
     "number such as 0.8, 1 to 1073741824"},
    {"documents_in_two_directions", "interleaved_1f1b",
     "dualpipe\n  data: {documents: {distribution: fixed, length: 512}}",
     "s.yaml:50:21: schedule.data.documents: are not known in pairs, slices and two "
     "directions, allowed: none, or a schedule without them"},
    {"documents_in_pairs", "interleaved_1f1b",
     "dualpipe_v\n  data: {documents: {distribution: fixed, length: 512}}",
     "s.yaml:50:21: schedule.data.documents: are not known in pairs, slices and two "
     "directions, allowed: none, or a schedule without them"},
    {"documents_in_slices", "interleaved_1f1b",
     "seqpipe\n  slices: 2\n  data: {documents: {distribution: fixed, length: 512}}",
     "s.yaml:51:21: schedule.data.documents: are not known in pairs, slices and two "
     "directions, allowed: none, or a schedule without them"},
    {"documents_of_a_missing_file", "interleaved_1f1b",
     "interleaved_1f1b\n  data: {documents: {distribution: file, file: none.csv}}",
     "s.yaml:50:48: schedule.data.documents.file: names 'none.csv', which does not exist, allowed: "
     "the path of a file with one length per line"},
    {"offload_without_link", "  micro_batch: 1",
     "  micro_batch: 1\n  offload: {activations: 0.5, optimizer: true}",
     "s.yaml:48:26: training.offload.activations: is given but "
     "cluster.host.device_link.bandwidth is 0, allowed: 0\n"
     "s.yaml:48:42: training.offload.optimizer: is given but cluster.host.device_link.bandwidth is "
     "0, allowed: false"},
    {"offload_of_too_much", "  micro_batch: 1", "  micro_batch: 1\n  offload: {activations: 1.5}",
     "s.yaml:48:26: training.offload.activations: is 1.5, allowed: 0 to 1"},
    {"experts_offloaded_without_link", "  micro_batch: 1",
     "  micro_batch: 1\n  offload: {experts: true}",
     "s.yaml:48:22: training.offload.experts: is given but cluster.host.device_link.bandwidth is "
     "0, allowed: false"},
    {"active_experts_without_offload", "  micro_batch: 1",
     "  micro_batch: 1\n  offload: {active_experts: 0.5}",
     "s.yaml:48:29: training.offload.active_experts: is 0.5 but no experts are offloaded, allowed: "
     "1, or experts: true"},
    {"devices_of_a_shared_link", "    queue_depth: 1024",
     "    device_link: {bandwidth: 64GB/s, shared: {bandwidth: 80GB/s, devices: 16}}",
     "s.yaml:18:75: cluster.host.device_link.shared.devices: is 16, allowed: at most the 8 devices "
     "of a node"},
    {"shared_link_without_unit", "    queue_depth: 1024",
     "    device_link: {bandwidth: 64GB/s, shared: {bandwidth: 80}}",
     "s.yaml:18:58: cluster.host.device_link.shared.bandwidth: is 80 without a unit, allowed: a "
     "bandwidth such as 400Gbps or 28GB/s"},
    {"compile_without_cost", "expect:", "runtime: {compile: {misses: 0.5}}\nexpect:",
     "s.yaml:50:29: runtime.compile.misses: is 0.5 but cluster.host.compile.kernel is 0s, allowed: "
     "0"},
    {"compile_bytecode_without_cost",
     "expect:", "runtime: {fusion: dvm, compile: {misses: 0.5}}\nexpect:",
     "s.yaml:50:42: runtime.compile.misses: is 0.5 but cluster.host.compile.bytecode is 0s, "
     "allowed: 0"},
    {"compile_of_padded_experts", "expect:",
     "moe: {capacity_factor: 1, capacity_pad: true}\nruntime: {compile: {misses: 0.5}}\nexpect:",
     "s.yaml:51:29: runtime.compile.misses: is 0.5 but moe.capacity_pad makes all shapes the same, "
     "allowed: 0"},
    {"fusion_of_no_name", "expect:", "runtime: {fusion: all}\nexpect:",
     "s.yaml:50:19: runtime.fusion: is 'all', allowed: none, pattern, dvm"},
};

}  // namespace stepcast::test
