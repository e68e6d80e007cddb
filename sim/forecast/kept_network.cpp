#include "stepcast/sim/forecast/kept_network.hpp"

#include "step_setup.hpp"

namespace stepcast {

KeptNetwork::KeptNetwork(const Scenario& scenario, const LayerTable& layers) {
  // The layers are given, so that every later step is cut at the same places.
  Ideal same_cut;
  same_cut.layers = &layers;
  StepSetup setup(scenario, nullptr, same_cut, false);
  // Slow or broken links belong to one scenario: its map serves no other.
  if (!setup.intact()) return;
  setup.with_network_input(false, [&](const NetworkMapInput& input) {
    map_.emplace(input, std::move(setup.network));
    return NetworkMap{};
  });
}

}  // namespace stepcast
