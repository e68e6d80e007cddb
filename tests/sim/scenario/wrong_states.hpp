#pragma once
#include "wrong_row.hpp"

namespace stepcast::test {

/// Wrong scenarios: how flows find uplinks, clocks that fall, power, barriers.
inline constexpr WrongRow wrong_states[] = {
    {"ecmp_on_a_single_switch",
     "    topology: {kind: rail_optimized, leaf_ports: 64, oversubscription: 1}",
     "    topology: {kind: single_switch}\n    routing: ecmp",
     "s.yaml:26:14: cluster.network.routing: is ecmp but a single switch has no uplinks, allowed: "
     "ideal, or topology.kind leaf_spine or rail_optimized"},
    {"background_on_a_single_switch",
     "    topology: {kind: rail_optimized, leaf_ports: 64, oversubscription: 1}",
     "    topology: {kind: single_switch}\n    background: 0.2",
     "s.yaml:26:17: cluster.network.background: is 0.2 but a single switch has no uplinks, "
     "allowed: 0, or topology.kind leaf_spine or rail_optimized"},
    {"queue_pairs_of_nobody", "oversubscription: 1}", "oversubscription: 1}\n    queue_pairs: 4",
     "s.yaml:26:18: cluster.network.queue_pairs: is 4 but routing ideal hashes nothing, allowed: "
     "1, or routing ecmp or adaptive"},
    {"no_queue_pairs", "oversubscription: 1}",
     "oversubscription: 1}\n    routing: ecmp\n    queue_pairs: 0",
     "s.yaml:27:18: cluster.network.queue_pairs: is 0, allowed: 1 to 1024"},
    {"unknown_routing_of_flows", "oversubscription: 1}",
     "oversubscription: 1}\n    routing: hashed",
     "s.yaml:26:14: cluster.network.routing: is 'hashed', allowed: ideal, ecmp, adaptive"},
    {"uplinks_of_other_jobs", "oversubscription: 1}", "oversubscription: 1}\n    background: 1",
     "s.yaml:26:17: cluster.network.background: is 1, allowed: 0 to 0.99"},
    {"hash_of_no_flows", "expect:", "stalls: {collisions: {seed: 2}}\nexpect:",
     "s.yaml:50:22: stalls.collisions: is given but cluster.network.routing is ideal and hashes "
     "nothing, allowed: none, or routing ecmp or adaptive"},
    {"idle_clock_above_the_running_one", "  host:\n",
     "    idle_clock: {speed: 1.5, hold: 10ms, ramp: 2ms}\n  host:\n",
     "s.yaml:16:25: cluster.device.idle_clock.speed: is 1.5, allowed: 0.01 to 1"},
    {"idle_clock_without_ramp", "  host:\n", "    idle_clock: {speed: 0.5, hold: 10ms}\n  host:\n",
     "s.yaml:16:17: cluster.device.idle_clock.ramp: is missing (time at the idle clock after work "
     "comes back), allowed: a time such as 1.5us or 12.3s, 0s to 1000000s"},
    {"idle_clock_that_changes_nothing", "  host:\n",
     "    idle_clock: {speed: 1, hold: 10ms, ramp: 2ms}\n  host:\n",
     "s.yaml:16:17: cluster.device.idle_clock: changes nothing, allowed: none, or speed below 1, "
     "core_share and ramp above 0"},
    {"idle_power_above_that_of_work", "  host:\n",
     "    power: {idle: 300, computing: 270, communicating: 400}\n  host:\n",
     "s.yaml:16:19: cluster.device.power.idle: is 300, more than at work, allowed: at most "
     "computing and communicating"},
    {"barriers_without_wait_for_all", "  pipeline: interleaved_1f1b",
     "  pipeline: interleaved_1f1b\n  post_validation: true\nruntime: {barriers: {step_end: true}}",
     "s.yaml:51:32: runtime.barriers.step_end: is given but with schedule.post_validation no rank "
     "waits for all, allowed: false"},
};

}  // namespace stepcast::test
