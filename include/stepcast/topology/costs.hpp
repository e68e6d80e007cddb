#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "stepcast/base/units.hpp"

/// What a cluster costs to buy and takes to run. Prices are the user's data: no preset has any.
/// Model: docs/models/costs.md.
namespace stepcast {

/// One kind of part.
struct CostItem {
  double price = 0;  ///< of one, in the currency of the section
  double power = 0;  ///< that one takes all the time [W]
  bool free() const { return price == 0 && power == 0; }
};

/// The keys of `cluster.costs`.
struct CostSpec {
  std::string currency;
  Seconds amortisation{0};         ///< time over which the prices are written off
  double electricity = 0;          ///< price of a kilowatt-hour
  double facility = 1;             ///< power of the building over that of what stands in it
  CostItem device, node, nic;      ///< a node without its devices and NICs
  CostItem network_switch, cable;  ///< a cable with what is plugged in at both ends
  CostItem super_node;             ///< what joins its nodes, switches and cables together
  std::int64_t switch_ports = 0;   ///< of one switch, as fast as a NIC; 0: not known
};

}  // namespace stepcast
