#pragma once
#include <string>

#include "stepcast/sim/network/network_map.hpp"

/// Many runs of one job that differ in what devices and hosts take have one and the same network
/// map, which is most of what a folded run costs. It is built once and kept for them.
namespace stepcast {

/// All that a network map is made of, as bytes: equal texts, equal maps. Here and below the
/// fabric has no faults and one kind of nodes.
std::string network_key(const NetworkMapInput& input);

/// While it lives, `map`, that of this input, is kept, in this process and in those that it forks.
/// There is one at a time.
class KeptNetworkMap {
 public:
  KeptNetworkMap(const NetworkMapInput& input, NetworkMap map);
  ~KeptNetworkMap();
  KeptNetworkMap(const KeptNetworkMap&) = delete;
  KeptNetworkMap& operator=(const KeptNetworkMap&) = delete;
};

/// build_network_map(input), or a copy of what is kept for an equal one.
NetworkMap known_network_map(const NetworkMapInput& input);

/// From now on this process remembers the last map that known_network_map() built: who asks again
/// mostly asks about the same cluster and plan.
void remember_network_map();

}  // namespace stepcast
