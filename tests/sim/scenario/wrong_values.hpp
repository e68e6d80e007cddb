#pragma once
#include "wrong_row.hpp"

namespace stepcast::test {

/// Wrong scenarios: values that a key cannot hold.
inline constexpr WrongRow wrong_values[] = {
    {"slices_of_no_word", "interleaved_1f1b", "seqpipe\n  slices: even(4)",
     "s.yaml:50:11: schedule.slices: is 'even(4)', allowed: a whole number such as 8 or 40Mi, 1 to "
     "65536, balanced(n), or a list of whole numbers such as [2048, 1024]"},
    {"slices_of_nothing", "interleaved_1f1b", "seqpipe\n  slices: []",
     "s.yaml:50:11: schedule.slices: is an empty list, allowed: a list of whole numbers such as "
     "[3, 17], 1 to 1073741824"},
    {"slices_of_no_tokens", "interleaved_1f1b", "seqpipe\n  slices: [2048, 0]",
     "s.yaml:50:11: schedule.slices: holds '0', allowed: a list of whole numbers such as [3, 17], "
     "1 to 1073741824"},
    {"slices_too_many", "interleaved_1f1b", "seqpipe\n  slices: balanced(70000)",
     "s.yaml:50:11: schedule.slices: is balanced(70000), allowed: 1 to 65536"},
    {"version_of_the_future", "stepcast: 1", "stepcast: 2",
     "s.yaml:2:11: stepcast: is 2, allowed: 1"},
    {"version_missing", "stepcast: 1\n", "",
     "s.yaml:2:1: stepcast: is missing (version of the file format), allowed: 1"},
    {"name_with_blank", "name: small", "name: Small Scenario",
     "s.yaml:3:7: name: is 'Small Scenario', allowed: a name of lower-case letters, digits and . _ "
     "-"},
    {"name_is_a_list", "name: small", "name: [small]",
     "s.yaml:3:7: name: is a list, allowed: a name of lower-case letters, digits and . _ -; one "
     "value is wanted, small: several are for plans and sweeps"},
    {"bare_bandwidth", "bandwidth: 200Gbps", "bandwidth: 200",
     "s.yaml:24:35: cluster.network.nic.bandwidth: is 200 without a unit, allowed: a bandwidth "
     "such as 400Gbps or 28GB/s"},
    {"bandwidth_in_a_time_unit", "bandwidth: 200Gbps", "bandwidth: 200us",
     "s.yaml:24:35: cluster.network.nic.bandwidth: is '200us', allowed: a bandwidth such as "
     "400Gbps or 28GB/s, 1B/s to 1e+24B/s"},
    {"bandwidth_in_a_wrong_case", "bandwidth: 200Gbps", "bandwidth: 200gbps",
     "s.yaml:24:35: cluster.network.nic.bandwidth: is '200gbps', allowed: a bandwidth such as "
     "400Gbps or 28GB/s, 1B/s to 1e+24B/s"},
    {"negative_bandwidth", "bandwidth: 200Gbps", "bandwidth: -200Gbps",
     "s.yaml:24:35: cluster.network.nic.bandwidth: is -200Gbps, allowed: 1B/s to 1e+24B/s"},
    {"zero_bandwidth", "bandwidth: 28GB/s", "bandwidth: 0GB/s",
     "s.yaml:21:44: cluster.node.fabric.link.bandwidth: is 0GB/s, allowed: 1B/s to 1e+24B/s"},
    {"nan_efficiency", "efficiency: 0.8", "efficiency: nan",
     "s.yaml:21:81: cluster.node.fabric.efficiency: is 'nan', allowed: a number such as 0.8, 1e-06 "
     "to 1"},
    {"infinite_efficiency", "efficiency: 0.8", "efficiency: .inf",
     "s.yaml:21:81: cluster.node.fabric.efficiency: is '.inf', allowed: a number such as 0.8, "
     "1e-06 to 1"},
    {"efficiency_above_one", "efficiency: 0.8", "efficiency: 80",
     "s.yaml:21:81: cluster.node.fabric.efficiency: is 80, allowed: 1e-06 to 1"},
    {"hexadecimal_count", "queue_depth: 1024", "queue_depth: 0x400",
     "s.yaml:18:18: cluster.host.queue_depth: is '0x400', allowed: a whole number such as 8 or "
     "40Mi, 1 to 1000000000"},
    {"decimal_comma", "latency: 0.5us", "latency: \"0,5us\"",
     "s.yaml:21:61: cluster.node.fabric.link.latency: is the quoted text '0,5us', allowed: a time "
     "such as 1.5us or 12.3s, 0s to 1000000s"},
    {"bare_zero_latency", "latency: 1.5us", "latency: 0",
     "s.yaml:24:53: cluster.network.nic.latency: is 0 without a unit, allowed: a time such as "
     "1.5us or 12.3s"},
    {"latency_beyond_all_doubles", "latency: 1.5us", "latency: 1e400s",
     "s.yaml:24:53: cluster.network.nic.latency: is '1e400s', allowed: a time such as 1.5us or "
     "12.3s, 0s to 1000000s"},
    {"absurd_latency", "latency: 1.5us", "latency: 1e9h",
     "s.yaml:24:53: cluster.network.nic.latency: is 1e9h, allowed: 0s to 1000000s"},
    {"bare_memory", "capacity: 64GiB", "capacity: 64",
     "s.yaml:11:24: cluster.device.memory.capacity: is 64 without a unit, allowed: a size such as "
     "64GiB or 200MB"},
    {"memory_in_gigabit_per_second", "capacity: 64GiB", "capacity: 64Gbps",
     "s.yaml:11:24: cluster.device.memory.capacity: is '64Gbps', allowed: a size such as 64GiB or "
     "200MB, 1B to 1e+18B"},
    {"no_memory", "capacity: 64GiB, ", "",
     "s.yaml:11:13: cluster.device.memory.capacity: is missing (size of the device memory), "
     "allowed: a size such as 64GiB or 200MB, 1B to 1e+18B"},
    {"peak_without_dimension", "vector_peak: 20TFLOPS", "vector_peak: 20T",
     "s.yaml:9:18: cluster.device.vector_peak: is '20T', allowed: a compute rate such as "
     "376TFLOPS, 1FLOPS to 1e+24FLOPS"},
    {"source_that_is_none", "source: assumed", "source: guessed",
     "s.yaml:14:36: cluster.device.efficiency.vector.source: is 'guessed', allowed: datasheet, "
     "measured, fitted, derived, assumed"},
    {"source_missing", "{value: 0.7, source: assumed}", "{value: 0.7}",
     "s.yaml:14:15: cluster.device.efficiency.vector.source: is missing (where the number comes "
     "from), allowed: datasheet, measured, fitted, derived, assumed"},
    {"value_missing", "{value: 0.7, source: assumed}", "{source: assumed}",
     "s.yaml:14:15: cluster.device.efficiency.vector: is a mapping without value, allowed: {value, "
     "source, note}"},
    {"wrong_value_with_source", "{value: 0.7, source: assumed}", "{value: 7, source: assumed}",
     "s.yaml:14:23: cluster.device.efficiency.vector: is 7, allowed: 1e-06 to 1"},
    {"absurd_devices", "\n  devices: 16", "\n  devices: 1e9",
     "s.yaml:27:12: cluster.devices: is 1e9, allowed: 1 to 1048576"},
    {"no_devices", "\n  devices: 16", "\n  devices: 0",
     "s.yaml:27:12: cluster.devices: is 0, allowed: 1 to 1048576"},
    {"negative_devices", "\n  devices: 16", "\n  devices: -8",
     "s.yaml:27:12: cluster.devices: is -8, allowed: 1 to 1048576"},
    {"fraction_of_a_device", "\n  devices: 16", "\n  devices: 16.5",
     "s.yaml:27:12: cluster.devices: is '16.5', allowed: a whole number such as 8 or 40Mi, 1 to "
     "1048576"},
    {"quoted_number", "\n  devices: 16", "\n  devices: \"16\"",
     "s.yaml:27:12: cluster.devices: is the quoted text '16', allowed: a whole number such as 8 or "
     "40Mi, 1 to 1048576"},
    {"zero_layers", "layers: 8", "layers: 0",
     "s.yaml:30:11: model.layers: is 0, allowed: 1 to 100000"},
    {"layers_are_text", "layers: 8", "layers: eight",
     "s.yaml:30:11: model.layers: is 'eight', allowed: a whole number such as 8 or 40Mi, 1 to "
     "100000"},
    {"boolean_of_another_language", "sequence_parallel: true", "sequence_parallel: yes",
     "s.yaml:43:22: parallel.sequence_parallel: is 'yes', allowed: true, false"},
    {"boolean_in_capitals", "sequence_parallel: true", "sequence_parallel: TRUE",
     "s.yaml:43:22: parallel.sequence_parallel: is 'TRUE', allowed: true, false"},
    {"expectation_without_percent", "tolerance: 1%", "tolerance: 0.01",
     "s.yaml:51:39: expect.step_time.tolerance: is '0.01', allowed: a percentage such as 1%, or a "
     "time such as 50ms"},
    {"expectation_without_unit", "value: 1.5s", "value: 1.5",
     "s.yaml:51:22: expect.step_time.value: is 1.5 without a unit, allowed: a time such as 1.5us "
     "or 12.3s"},
    {"expectation_is_a_number", "step_time: {value: 1.5s, tolerance: 1%}", "step_time: 1.5s",
     "s.yaml:51:14: expect.step_time: is '1.5s', allowed: a mapping of value, tolerance, or none"},
};

}  // namespace stepcast::test
