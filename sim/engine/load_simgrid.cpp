#include "flow_network.hpp"
#include "stepcast/base/module.hpp"

namespace stepcast {

const std::string& simgrid_fingerprint();  // cmake/fingerprint.cmake

namespace {

MakeSimgridNetwork* maker() {
  static auto* const found = reinterpret_cast<MakeSimgridNetwork*>(
      module_entry("simgrid", "stepcast_simgrid_network", simgrid_fingerprint()));
  return found;
}

}  // namespace

FlowNetwork& simgrid_network(const std::vector<double>& bandwidths) { return *maker()(bandwidths); }

void load_simgrid() { maker(); }

}  // namespace stepcast
