#pragma once
#include "wrong_row.hpp"

namespace stepcast::test {

/// Wrong scenarios: stalls that cannot be.
inline constexpr WrongRow wrong_stalls[] = {
    {"stalls_are_a_word", "expect:", "stalls: some\nexpect:",
     "s.yaml:50:9: stalls: is 'some', allowed: a mapping of compute_jitter, slow_devices, "
     "thermal_classes, slow_hosts, throttling, degraded_links, failed_links, gc_pauses, "
     "allocator_pauses, data_loader, checkpoint, failures, host_sync, spread, collisions, or none"},
    {"unknown_stall", "expect:", "stalls: {gc_pause: {duration: 1s, period: 60s}}\nexpect:",
     "s.yaml:50:10: stalls.gc_pause: is not a known key; did you mean gc_pauses?"},
    {"negative_jitter", "expect:", "stalls: {compute_jitter: {sigma: -0.1}}\nexpect:",
     "s.yaml:50:34: stalls.compute_jitter.sigma: is -0.1, allowed: 0 to 3"},
    {"jitter_without_sigma", "expect:", "stalls: {compute_jitter: {seed: 3}}\nexpect:",
     "s.yaml:50:26: stalls.compute_jitter.sigma: is missing (of the logarithm of the factor; its "
     "mean is 1), allowed: a number such as 0.8, 0 to 3"},
    {"fractional_seed", "expect:", "stalls: {compute_jitter: {sigma: 0.1, seed: 1.5}}\nexpect:",
     "s.yaml:50:45: stalls.compute_jitter.seed: is '1.5', allowed: a whole number such as 8 or "
     "40Mi, 0 to 9007199254740992"},
    {"slow_devices_are_no_list",
     "expect:", "stalls: {slow_devices: {devices: [1], factor: 2}}\nexpect:",
     "s.yaml:50:24: stalls.slow_devices: is a mapping, allowed: a list of mappings (devices that "
     "are always slow), none"},
    {"slow_device_without_factor", "expect:", "stalls: {slow_devices: [{devices: [1]}]}\nexpect:",
     "s.yaml:50:25: stalls.slow_devices.0.factor: is missing (on device time; 1.25 takes a quarter "
     "longer), allowed: a number such as 0.8, 0.001 to 1000"},
    {"slow_device_beyond_the_cluster",
     "expect:", "stalls: {slow_devices: [{devices: [3, 16], factor: 1.2}]}\nexpect:",
     "s.yaml:50:35: stalls.slow_devices.0.devices: names device 16 of 16, allowed: 0 to 15"},
    {"slow_device_of_negative_number",
     "expect:", "stalls: {slow_devices: [{devices: [-1], factor: 1.2}]}\nexpect:",
     "s.yaml:50:35: stalls.slow_devices.0.devices: holds '-1', allowed: a list of whole numbers "
     "such as [3, 17], 0 to 1048576"},
    {"slow_device_that_is_a_word",
     "expect:", "stalls: {slow_devices: [{devices: [1, two], factor: 1.2}]}\nexpect:",
     "s.yaml:50:35: stalls.slow_devices.0.devices: holds 'two', allowed: a list of whole numbers "
     "such as [3, 17], 0 to 1048576"},
    {"slow_device_without_a_list",
     "expect:", "stalls: {slow_devices: [{devices: 3, factor: 1.2}]}\nexpect:",
     "s.yaml:50:35: stalls.slow_devices.0.devices: is '3', allowed: a list of whole numbers such "
     "as [3, 17], 0 to 1048576"},
    {"thermal_slot_beyond_the_node",
     "expect:", "stalls: {thermal_classes: [{slots: [8], clock: 0.9}]}\nexpect:",
     "s.yaml:50:36: stalls.thermal_classes.0.slots: names slot 8 of 8, allowed: 0 to 7"},
    {"thermal_clock_above_one",
     "expect:", "stalls: {thermal_classes: [{slots: [7], clock: 1.1}]}\nexpect:",
     "s.yaml:50:48: stalls.thermal_classes.0.clock: is 1.1, allowed: 0.05 to 1"},
    {"no_slow_device", "expect:", "stalls: {slow_devices: [{devices: [], factor: 1.2}]}\nexpect:",
     "s.yaml:50:35: stalls.slow_devices.0.devices: is an empty list, allowed: a list of whole "
     "numbers such as [3, 17], 0 to 1048576"},
    {"slow_device_twice",
     "expect:", "stalls: {slow_devices: [{devices: [3, 3], factor: 1.2}]}\nexpect:",
     "s.yaml:50:35: stalls.slow_devices.0.devices: names device 3 twice, allowed: each device "
     "once"},
    {"slow_device_in_two_entries", "expect:",
     "stalls: {slow_devices: [{devices: [3], factor: 1.2}, {devices: [1, 3], factor: "
     "1.3}]}\nexpect:",
     "s.yaml:50:64: stalls.slow_devices.1.devices: names device 3, which stalls.slow_devices.0 "
     "names too, allowed: each device once"},
    {"device_of_no_speed",
     "expect:", "stalls: {slow_devices: [{devices: [3], factor: 0}]}\nexpect:",
     "s.yaml:50:48: stalls.slow_devices.0.factor: is 0, allowed: 0.001 to 1000"},
    {"device_of_negative_speed",
     "expect:", "stalls: {slow_devices: [{devices: [3], factor: -2}]}\nexpect:",
     "s.yaml:50:48: stalls.slow_devices.0.factor: is -2, allowed: 0.001 to 1000"},
    {"device_of_infinite_slowness",
     "expect:", "stalls: {slow_devices: [{devices: [3], factor: 1e300}]}\nexpect:",
     "s.yaml:50:48: stalls.slow_devices.0.factor: is 1e300, allowed: 0.001 to 1000"},
    {"slow_host_beyond_the_cluster",
     "expect:", "stalls: {slow_hosts: [{nodes: [2], factor: 2}]}\nexpect:",
     "s.yaml:50:31: stalls.slow_hosts.0.nodes: names node 2 of 2, allowed: 0 to 1"},
    {"slow_host_in_two_entries",
     "expect:", "stalls: {slow_hosts: [{nodes: [1], factor: 2}, {nodes: [1], factor: 3}]}\nexpect:",
     "s.yaml:50:56: stalls.slow_hosts.1.nodes: names node 1, which stalls.slow_hosts.0 names too, "
     "allowed: each node once"},
    {"slow_host_with_factor_and_affinity",
     "expect:", "stalls: {slow_hosts: [{nodes: [1], factor: 2, affinity: unbound}]}\nexpect:",
     "s.yaml:50:47: stalls.slow_hosts.0.affinity: does not go with factor, allowed: exactly one of "
     "factor, affinity"},
    {"slow_host_with_neither", "expect:", "stalls: {slow_hosts: [{nodes: [1]}]}\nexpect:",
     "s.yaml:50:23: stalls.slow_hosts.0: has none of factor, affinity, allowed: exactly one of "
     "them"},
    {"affinity_that_is_none",
     "expect:", "stalls: {slow_hosts: [{nodes: [1], affinity: none}]}\nexpect:",
     "s.yaml:50:46: stalls.slow_hosts.0.affinity: is 'none', allowed: unbound, cross_numa"},
    {"affinity_of_unknown_cost",
     "expect:", "stalls: {slow_hosts: [{nodes: [1], affinity: cross_numa}]}\nexpect:",
     "s.yaml:50:46: stalls.slow_hosts.0.affinity: is cross_numa but the cluster has no "
     "host.affinity.cross_numa, allowed: give that, or a factor here"},
    {"throttling_that_ends_first",
     "expect:", "stalls: {throttling: [{devices: [1], factor: 2, from: 3s, until: 3s}]}\nexpect:",
     "s.yaml:50:66: stalls.throttling.0.until: is not after from, from 3s to 3s, allowed: more "
     "than 3s"},
    {"throttling_without_end",
     "expect:", "stalls: {throttling: [{devices: [1], factor: 2, from: 3s}]}\nexpect:",
     "s.yaml:50:23: stalls.throttling.0.until: is missing (date at which it ends), allowed: a time "
     "such as 1.5us or 12.3s, 0s to 1000000s"},
    {"throttling_longer_than_its_period", "expect:",
     "stalls: {throttling: [{devices: [1], factor: 2, from: 3s, until: 5s, period: 2s}]}\nexpect:",
     "s.yaml:50:78: stalls.throttling.0.period: is 2s, not longer than the 2s that it throttles, "
     "allowed: more than 2s, none"},
    {"throttling_beyond_the_cluster",
     "expect:", "stalls: {throttling: [{devices: [16], factor: 2, from: 3s, until: 5s}]}\nexpect:",
     "s.yaml:50:33: stalls.throttling.0.devices: names device 16 of 16, allowed: 0 to 15"},
    {"throttling_twice_at_once", "expect:",
     "stalls: {throttling: [{devices: [1], factor: 2, from: 3s, until: 5s}, {devices: [1], factor: "
     "3, from: 4s, until: 6s}]}\nexpect:",
     "s.yaml:50:81: stalls.throttling.1.devices: names device 1, which stalls.throttling.0 names "
     "too, at dates that overlap (3s to 5s, 4s to 6s), allowed: one interval at a time"},
    {"throttling_beside_one_that_repeats", "expect:",
     "stalls: {throttling: [{devices: [1], factor: 2, from: 3s, until: 5s, period: 1min}, "
     "{devices: [1], factor: 3, from: 8s, until: 9s}]}\nexpect:",
     "s.yaml:50:95: stalls.throttling.1.devices: names device 1, which stalls.throttling.0 names "
     "too, and one of them repeats, allowed: a period for a device with no other throttling"},
    {"throttling_of_no_speed",
     "expect:", "stalls: {throttling: [{devices: [1], factor: 0, from: 3s, until: 5s}]}\nexpect:",
     "s.yaml:50:46: stalls.throttling.0.factor: is 0, allowed: 0.001 to 1000"},
    {"link_of_no_name",
     "expect:", "stalls: {degraded_links: [{link: nic, bandwidth_factor: 0.5}]}\nexpect:",
     "s.yaml:50:34: stalls.degraded_links.0.link: is 'nic', which the fabric does not have, "
     "allowed: hccs:0-1 to hccs:15-14, nic:0 to nic:15, leaf:0 to leaf:7"},
    {"link_beyond_the_cluster",
     "expect:", "stalls: {degraded_links: [{link: \"nic:16\", bandwidth_factor: 0.5}]}\nexpect:",
     "s.yaml:50:34: stalls.degraded_links.0.link: is 'nic:16', which the fabric does not have, "
     "allowed: hccs:0-1 to hccs:15-14, nic:0 to nic:15, leaf:0 to leaf:7"},
    {"link_of_two_nodes",
     "expect:", "stalls: {degraded_links: [{link: \"hccs:7-8\", bandwidth_factor: 0.5}]}\nexpect:",
     "s.yaml:50:34: stalls.degraded_links.0.link: is 'hccs:7-8', which the fabric does not have, "
     "allowed: hccs:0-1 to hccs:15-14, nic:0 to nic:15, leaf:0 to leaf:7"},
    {"link_degraded_to_nothing",
     "expect:", "stalls: {degraded_links: [{link: \"nic:1\", bandwidth_factor: 0}]}\nexpect:",
     "s.yaml:50:61: stalls.degraded_links.0.bandwidth_factor: is 0, allowed: 1e-06 to 1; a link "
     "that carries nothing goes under failed_links"},
    {"link_faster_than_new",
     "expect:", "stalls: {degraded_links: [{link: \"nic:1\", bandwidth_factor: 2}]}\nexpect:",
     "s.yaml:50:61: stalls.degraded_links.0.bandwidth_factor: is 2, allowed: 0 to 1"},
    {"link_degraded_twice", "expect:",
     "stalls: {degraded_links: [{link: \"nic:1\", bandwidth_factor: 0.5}, {link: \"nic:1.up\", "
     "bandwidth_factor: 0.5}]}\nexpect:",
     "s.yaml:50:74: stalls.degraded_links.1.link: is nic:1.up, which stalls.degraded_links.0 names "
     "too, allowed: each link once"},
    {"pair_degraded_twice", "expect:",
     "stalls: {degraded_links: [{link: \"hccs:1-2\", bandwidth_factor: 0.5}, {link: \"hccs:2-1\", "
     "bandwidth_factor: 0.5}]}\nexpect:",
     "s.yaml:50:77: stalls.degraded_links.1.link: is hccs:2-1, which stalls.degraded_links.0 names "
     "too, allowed: each link once"},
    {"link_degraded_and_failed", "expect:",
     "stalls: {degraded_links: [{link: \"nic:1\", bandwidth_factor: 0.5}], failed_links: [{link: "
     "\"nic:1.down\"}]}\nexpect:",
     "s.yaml:50:90: stalls.failed_links.0.link: is nic:1.down, which stalls.degraded_links.0 names "
     "too, allowed: each link once"},
    {"leaf_without_uplinks",
     "expect:", "stalls: {failed_links: [{link: \"leaf:1.up\", ports: 64}]}\nexpect:",
     "s.yaml:50:52: stalls.failed_links.0.ports: is 64 of the 64 uplinks of a leaf (leaf_ports / "
     "oversubscription), allowed: fewer than all of them, or nothing reaches the spine"},
    {"ports_of_a_single_link",
     "expect:", "stalls: {failed_links: [{link: \"nic:1\", ports: 2}]}\nexpect:",
     "s.yaml:50:48: stalls.failed_links.0.ports: is 2 of a single link, allowed: 1"},
    {"all_nics_of_a_node", "expect:",
     "stalls: {failed_links: [{link: \"nic:0.up\"}, {link: \"nic:1.up\"}, {link: \"nic:2.up\"}, "
     "{link: \"nic:3.up\"}, {link: \"nic:4.up\"}, {link: \"nic:5.up\"}, {link: \"nic:6.up\"}, "
     "{link: \"nic:7.up\"}]}\nexpect:",
     "s.yaml:50:32: stalls.failed_links.0.link: is nic:0.up, which has no way around, allowed: "
     "hccs pairs and nics of devices with a neighbour that works, leaf:N with ports\ns.yaml:50:52: "
     "stalls.failed_links.1.link: is nic:1.up, which has no way around, allowed: hccs pairs and "
     "nics of devices with a neighbour that works, leaf:N with ports\ns.yaml:50:72: "
     "stalls.failed_links.2.link: is nic:2.up, which has no way around, allowed: hccs pairs and "
     "nics of devices with a neighbour that works, leaf:N with ports\ns.yaml:50:92: "
     "stalls.failed_links.3.link: is nic:3.up, which has no way around, allowed: hccs pairs and "
     "nics of devices with a neighbour that works, leaf:N with ports\ns.yaml:50:112: "
     "stalls.failed_links.4.link: is nic:4.up, which has no way around, allowed: hccs pairs and "
     "nics of devices with a neighbour that works, leaf:N with ports\ns.yaml:50:132: "
     "stalls.failed_links.5.link: is nic:5.up, which has no way around, allowed: hccs pairs and "
     "nics of devices with a neighbour that works, leaf:N with ports\ns.yaml:50:152: "
     "stalls.failed_links.6.link: is nic:6.up, which has no way around, allowed: hccs pairs and "
     "nics of devices with a neighbour that works, leaf:N with ports\ns.yaml:50:172: "
     "stalls.failed_links.7.link: is nic:7.up, which has no way around, allowed: hccs pairs and "
     "nics of devices with a neighbour that works, leaf:N with ports"},
    {"collections_longer_than_their_period",
     "expect:", "stalls: {gc_pauses: {duration: 60s, period: 60s}}\nexpect:",
     "s.yaml:50:32: stalls.gc_pauses.duration: is 60s, not less than the period, allowed: less "
     "than 60s"},
    {"collections_without_period", "expect:", "stalls: {gc_pauses: {duration: 60s}}\nexpect:",
     "s.yaml:50:21: stalls.gc_pauses.period: is missing (from one to the next), allowed: a time "
     "such as 1.5us or 12.3s, 1e-06s to 1000000s"},
    {"collections_all_the_time",
     "expect:", "stalls: {gc_pauses: {duration: 0s, period: 0s}}\nexpect:",
     "s.yaml:50:44: stalls.gc_pauses.period: is 0s, allowed: 1e-06s to 1000000s"},
    {"pause_for_ever",
     "expect:", "stalls: {allocator_pauses: {duration: 1e9h, probability: 0.1}}\nexpect:",
     "s.yaml:50:39: stalls.allocator_pauses.duration: is 1e9h, allowed: 0s to 1000000s"},
    {"probability_above_one",
     "expect:", "stalls: {allocator_pauses: {duration: 1ms, probability: 1.5}}\nexpect:",
     "s.yaml:50:57: stalls.allocator_pauses.probability: is 1.5, allowed: 0 to 1"},
    {"loading_in_no_unit", "expect:", "stalls: {data_loader: {time_per_step: 50}}\nexpect:",
     "s.yaml:50:39: stalls.data_loader.time_per_step: is 50 without a unit, allowed: a time such "
     "as 1.5us or 12.3s"},
    {"negative_prefetch",
     "expect:", "stalls: {data_loader: {time_per_step: 50ms, prefetch: -1}}\nexpect:",
     "s.yaml:50:55: stalls.data_loader.prefetch: is -1, allowed: 0 to 1000000"},
    {"checkpoint_after_no_step",
     "expect:", "stalls: {checkpoint: {every_steps: 0, blocking_time: 30s}}\nexpect:",
     "s.yaml:50:36: stalls.checkpoint.every_steps: is 0, allowed: 1 to 1000000000"},
    {"failures_all_the_time",
     "expect:", "stalls: {failures: {device_mtbf: 0h, restart: 15min}}\nexpect:",
     "s.yaml:50:34: stalls.failures.device_mtbf: is 0h, allowed: 1s to 1000000000000s"},
    {"spread_of_negative_sigma", "expect:", "stalls: {spread: {device: {sigma: -0.01}}}\nexpect:",
     "s.yaml:50:35: stalls.spread.device.sigma: is -0.01, allowed: 0 to 0.5"},
    {"spread_too_wide", "expect:", "stalls: {spread: {device: {sigma: 0.6}}}\nexpect:",
     "s.yaml:50:35: stalls.spread.device.sigma: is 0.6, allowed: 0 to 0.5"},
    {"normal_spread_that_could_be_negative",
     "expect:", "stalls: {spread: {host: {law: normal, sigma: 0.2}}}\nexpect:",
     "s.yaml:50:46: stalls.spread.host.sigma: is 0.2, allowed: 0 to 0.1"},
    {"slow_node_that_is_fast",
     "expect:", "stalls: {spread: {node: {slow_share: 0.1, slow_factor: 0.9}}}\nexpect:",
     "s.yaml:50:56: stalls.spread.node.slow_factor: is 0.9, allowed: 1 to 1000"},
    {"share_above_one", "expect:", "stalls: {spread: {node: {slow_share: 1.5}}}\nexpect:",
     "s.yaml:50:38: stalls.spread.node.slow_share: is 1.5, allowed: 0 to 1"},
    {"correlation_above_one",
     "expect:", "stalls: {spread: {device: {sigma: 0.1, node_correlation: 2}}}\nexpect:",
     "s.yaml:50:58: stalls.spread.device.node_correlation: is 2, allowed: 0 to 1"},
    {"empirical_law_without_its_file",
     "expect:", "stalls: {spread: {link: {law: empirical, file: nowhere.txt}}}\nexpect:",
     "s.yaml:50:48: stalls.spread.link.file: names 'nowhere.txt', which does not exist, allowed: "
     "the path of a file with one factor per line"},
    {"host_sync_at_unknown_places", "expect:", "stalls: {host_sync: layer}\nexpect:",
     "s.yaml:50:21: stalls.host_sync: is 'layer', allowed: none, step, unit"},
};

}  // namespace stepcast::test
