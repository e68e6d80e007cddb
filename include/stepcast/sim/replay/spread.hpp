#pragma once
#include <map>
#include <vector>

#include "stepcast/sim/scenario/spread_spec.hpp"
#include "stepcast/topology/cluster_spec.hpp"
#include "stepcast/workloads/segment.hpp"

/// Here persistent differences are drawn. Every number depends on the seed and on which device,
/// node or link it is of, and on nothing else: neither on the plan nor on how ranks are folded.
/// Laws: docs/models/spread.md.
namespace stepcast {

/// [device] These are the factors of the first `devices` devices of the cluster.
std::vector<SpeedFactors> spread_factors(const SpreadSpec& spec, std::int64_t devices,
                                         std::int64_t node_devices);

/// The factors on the bandwidth of links, by LinkId; empty where links do not differ.
std::map<std::uint32_t, double> spread_bandwidths(const SpreadSpec& spec, std::uint32_t links);

}  // namespace stepcast
