#pragma once
#include "stepcast/sim/forecast/campaign.hpp"
#include "stepcast/topology/cluster_spec.hpp"

namespace stepcast {

/// The links between NICs and leaves that the job has.
std::int64_t nic_links(const ClusterSpec& cluster);

/// Throws InputError where `campaign.link_flaps` or `campaign.checkpoint_traffic` has no link to
/// act on, or more is written than a NIC carries.
void check_campaign_links(const Scenario& scenario);

/// What training loses while a saved state leaves over the NICs: it is written in W = bytes over
/// bandwidth, and a step takes r times as long meanwhile, so that W (1 - 1/r) is lost. Two
/// forecasts in processes of their own, before this one has run any. Model:
/// docs/models/campaign.md.
Seconds traffic_cost(const Scenario& scenario, int workers);

}  // namespace stepcast
