#pragma once
#include <algorithm>
#include <vector>

#include "stepcast/sim/network/network_map.hpp"

namespace stepcast::testing {

/// All numbers of a map but the representatives of its classes, in order.
inline std::vector<double> numbers_of(const NetworkMap& map) {
  std::vector<double> all(map.bandwidths);
  const auto add_flow = [&](const NetworkFlow& flow) {
    all.insert(all.end(), {flow.latency, flow.bytes, flow.alone, double(flow.number)});
    for (const LinkUse& use : flow.path)
      all.insert(all.end(), {double(use.link), double(use.count)});
  };
  for (const NetworkCall& call : map.calls) {
    all.insert(all.end(), {double(call.group), double(call.arrivals), double(call.lone), call.alone,
                           call.one_group});
    for (const auto& phase : call.phases) std::ranges::for_each(phase, add_flow);
  }
  for (const auto& calls : map.call_of) all.insert(all.end(), calls.begin(), calls.end());
  for (const auto& hops : map.hops)
    for (const NetworkHop& hop : hops) {
      all.push_back(hop.peer);
      add_flow(hop.flow);
    }
  const RankClasses& classes = map.classes;
  for (const auto* list : {&classes.variant, &classes.ranks, &classes.class_of})
    all.insert(all.end(), list->begin(), list->end());
  for (const NetworkLink& link : map.links) {
    all.insert(all.end(), {link.bandwidth, double(link.count)});
    for (const auto& [flow, weight] : link.loads) all.insert(all.end(), {double(flow), weight});
  }
  return all;
}

}  // namespace stepcast::testing
