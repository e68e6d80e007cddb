#pragma once
#include "stepcast/topology/cluster_spec.hpp"

/// The keys of a host. Private to topology/.
namespace stepcast {

void describe(Visitor& visitor, OperatorClassTimes& times);
void describe(Visitor& visitor, HostSpec& spec);

}  // namespace stepcast
