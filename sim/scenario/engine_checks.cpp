#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

bool Checks::given(std::string_view path) const {
  const Node* node = &root_;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    node = node->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return node != nullptr;
}

/// A key that the judge does not heed is refused, because its whole worth is that it leaves nothing
/// out.
void check_step_engine(const Scenario& scenario, Checks& checks) {
  const SimulateSpec& spec = scenario.simulate;
  if (spec.engine == StepEngine::fast) return;
  const std::string why = ", which simulate.engine simgrid does not do, allowed: ";
  checks.require(spec.fold == Fold::off || !checks.given("simulate.fold"), "simulate.fold",
                 "is auto" + why + "off");
  checks.require(spec.sharing != Sharing::incremental, "simulate.sharing",
                 "is incremental" + why + "auto, simgrid");
  checks.require(spec.network == NetworkForm::ports, "simulate.network",
                 "is pairwise" + why + "ports");
  checks.require(scenario.cluster.network.routing == NetworkSpec::Routing::ideal,
                 "cluster.network.routing", "hashes flows" + why + "ideal");
  checks.require(!scenario.graph, "workload", "is a task graph" + why + "a model");
}

}  // namespace stepcast
