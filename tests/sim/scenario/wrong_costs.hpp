#pragma once
#include "wrong_row.hpp"

namespace stepcast::test {

/// Wrong scenarios: prices of a cluster.
inline constexpr WrongRow wrong_costs[] = {
    {"prices_without_amortisation",
     "  devices: 16\nmodel:", "  devices: 16\n  costs: {currency: usd}\nmodel:",
     "s.yaml:28:10: cluster.costs.amortisation: is missing (time over which prices are written "
     "off), allowed: a time such as 1.5us or 12.3s, 1s to 10000000000s"},
    {"negative_price", "  devices: 16\nmodel:",
     "  devices: 16\n  costs: {currency: usd, amortisation: 1000d, nic: {price: -1}}\nmodel:",
     "s.yaml:28:60: cluster.costs.nic.price: is -1, allowed: 0 to 1e+15"},
    {"price_of_no_super_node", "  devices: 16\nmodel:",
     "  devices: 16\n  costs: {currency: usd, amortisation: 1000d, super_node: {price: 5}}\nmodel:",
     "s.yaml:28:59: cluster.costs.super_node: has a price without super_node, allowed: nothing"},
    {"switches_that_cannot_be_counted", "  devices: 16\nmodel:",
     "  devices: 16\n  costs: {currency: usd, amortisation: 1000d, switch: {price: 5}}\nmodel:",
     "s.yaml:28:55: cluster.costs.switch.ports: is 0, so that the switches above 8 leaves cannot "
     "be counted, allowed: the ports of a switch"},
    {"switches_with_too_few_ports", "  devices: 16\nmodel:",
     "  devices: 16\n  costs: {currency: usd, amortisation: 1000d, switch: {ports: 64}}\nmodel:",
     "s.yaml:28:63: cluster.costs.switch.ports: is 64, but a switch with NICs needs 128 "
     "(leaf_ports "
     "and their uplinks, or all NICs of a single switch), allowed: at least those"},
    {"power_of_a_device_twice", "  host:\n",
     "    power: {idle: 95, computing: 270, communicating: 130}\n"
     "  costs: {currency: usd, amortisation: 1000d, device: {power: 300}}\n  host:\n",
     "s.yaml:17:63: cluster.costs.device.power: is 300 beside device.power, which says it by what "
     "the device does, allowed: 0"},
};

}  // namespace stepcast::test
