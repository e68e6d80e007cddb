#include "describe_network.hpp"

/// `costs` of a cluster file.
namespace stepcast {
namespace {

constexpr Range money = between(0, 1e15);
constexpr Range part_watts = between(0, 1e9);

void describe(Visitor& visitor, CostItem& item) {
  visitor.field({"price", &item.price, "of one", money});
  visitor.field({"power", &item.power, "that one takes all the time, in watts", part_watts});
}

void describe(Visitor& visitor, CostSpec& spec) {
  // Currency and period have no default: they differ by contract, and a guess would look like a
  // result.
  visitor.field({"currency", Identifier{&spec.currency}, "of all prices", any_number(), true});
  visitor.field({"amortisation", &spec.amortisation, "time over which prices are written off",
                 between(1, 1e10), true});
  visitor.field({"electricity", &spec.electricity, "price of a kilowatt-hour", money});
  visitor.field({"facility", &spec.facility,
                 "power of the building over that of its machines (PUE)", between(1, 10)});
  const auto item = [&](std::string_view key, std::string_view doc, CostItem& target) {
    visitor.section(key, doc, [&](Visitor& v) { describe(v, target); });
  };
  item("device", "a device", spec.device);
  item("node", "a node without its devices and NICs", spec.node);
  item("nic", "a NIC", spec.nic);
  visitor.section("switch", "a switch between NICs: leaf, spine, core", [&](Visitor& v) {
    describe(v, spec.network_switch);
    v.field({"ports", &spec.switch_ports,
             "of one, each as fast as a NIC; 0: not known, and switches are not counted",
             between(0, 1e6)});
  });
  item("cable", "a link of the network with what is plugged in at both ends", spec.cable);
  item("super_node", "what joins the nodes of a super-node: its switches and cables",
       spec.super_node);
}

}  // namespace

void describe_costs(Visitor& visitor, std::optional<CostSpec>& spec) {
  // Without prices there is no bill, rather than one over zeros.
  optional_part(
      visitor, "costs",
      "prices and power of the parts (docs/models/costs.md), the user's own; none: no bill", spec,
      [](Visitor& v, auto& part) { describe(v, part); });
}

}  // namespace stepcast
