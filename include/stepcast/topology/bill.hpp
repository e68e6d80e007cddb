#pragma once
#include <string>
#include <vector>

#include "stepcast/topology/fabric.hpp"

/// What a cluster costs, part by part. Model: docs/models/costs.md.
namespace stepcast {

/// So many of one part, with the price [currency] and power [W] of each.
struct BillRow {
  const char* part;
  double count, price, power;  ///< price and power of one [currency, W]
  double total() const { return count * price; }
  double watts() const { return count * power; }
};

/// All parts of a cluster that have a price or take power. docs/models/costs.md.
struct Bill {
  std::vector<BillRow>
      rows;  ///< devices, nodes, NICs, switches, cables, super-nodes: those there are
  double facility = 1;
  double price() const;
  double power() const;  ///< all the time, the building included [W]
};

/// Switches and cables between NICs, as the fabric needs them: of all planes, each of which is a
/// network of its own.
struct NetworkParts {
  double leaves = 0, spines = 0, core = 0;  ///< switches
  double cables = 0;                        ///< from NICs, and between switches
  double leaf_ports = 0;                    ///< that a leaf, or the single switch, needs
  double switches() const { return leaves + spines + core; }
};
/// Switches have `ports` ports; with 0 only leaves can be counted.
NetworkParts network_parts(const Fabric& fabric, std::int64_t ports);

/// The cluster has costs.
Bill bill_of(const Fabric& fabric);

/// What `seconds` of such a cluster cost, of which its devices take `joules` beyond the bill's
/// power, in the bill's currency.
double cost_of(const CostSpec& costs, const Bill& bill, Seconds seconds, double joules);

}  // namespace stepcast
