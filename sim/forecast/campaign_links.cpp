#include "campaign_links.hpp"

#include <algorithm>
#include <array>

#include "refuse_key.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

double devices_of(const NicSpec& nic, std::int64_t node_devices) {
  return nic.per == NicSpec::Per::device ? 1 : static_cast<double>(node_devices);
}

/// What a device has of its NIC, where that is least.
BytesPerSecond least_of_a_nic(const ClusterSpec& cluster) {
  const auto share = [](const NicSpec& nic, std::int64_t node_devices) {
    return nic.link.bandwidth / devices_of(nic, node_devices);
  };
  BytesPerSecond least = share(cluster.network.nic, cluster.node_devices);
  for (const NodeKind& kind : cluster.kinds)
    least = std::min(least, share(kind.nic, kind.node_devices));
  return least;
}

/// What a cluster has beside the writing. Trunks follow NICs; channels lose the same part.
ClusterSpec beside(ClusterSpec cluster, BytesPerSecond written) {
  const auto take = [&](NicSpec& nic, std::int64_t node_devices) {
    // All devices of a NIC write over it.
    nic.link.bandwidth = nic.link.bandwidth - written * devices_of(nic, node_devices);
  };
  NicSpec& nic = cluster.network.nic;
  const BytesPerSecond whole = nic.link.bandwidth;
  take(nic, cluster.node_devices);
  // Trunks are as wide as their NICs; channels have bandwidths of their own and lose the same part.
  const double left = nic.link.bandwidth / whole;
  for (LinkSpec* channel : {&cluster.network.dragonfly.local, &cluster.network.dragonfly.global})
    channel->bandwidth = left * channel->bandwidth;
  for (NodeKind& kind : cluster.kinds) take(kind.nic, kind.node_devices);
  return cluster;
}

/// A step without anything drawn and without the checkpoint that the campaign counts itself.
Scenario calm(Scenario s) {
  s.stalls = without_draws(s.stalls);
  s.stalls.checkpoint.reset();
  return s;
}

}  // namespace

std::int64_t nic_links(const ClusterSpec& cluster) {
  return cluster.network.nic.per == NicSpec::Per::device ? cluster.devices : cluster.nodes();
}

void check_campaign_links(const Scenario& s) {
  const CampaignSpec& c = *s.campaign;
  const bool one_node = s.cluster.nodes() == 1;
  if (c.link_flaps && one_node)
    refuse_key(s, "campaign.link_flaps",
               "is given but a job of one node uses no NIC, allowed: none");
  if (!c.checkpoint_traffic) return;
  if (one_node)
    refuse_key(s, "campaign.checkpoint_traffic",
               "is given but a job of one node uses no NIC, allowed: none");
  if (!s.stalls.checkpoint)
    refuse_key(s, "campaign.checkpoint_traffic",
               "is given but no state is saved, allowed: none, or stalls.checkpoint");
  // What is written must leave something for training.
  const BytesPerSecond least = least_of_a_nic(s.cluster);
  if (c.checkpoint_traffic->bandwidth_per_device >= least)
    refuse_key(s, "campaign.checkpoint_traffic.bandwidth_per_device",
               "is " + human(c.checkpoint_traffic->bandwidth_per_device) +
                   ", which leaves training nothing of its NIC, allowed: less than " +
                   human(least));
}

Seconds traffic_cost(const Scenario& s, int workers) {
  const auto& traffic = *s.campaign->checkpoint_traffic;
  const Seconds written = traffic.bytes_per_device / traffic.bandwidth_per_device;
  std::array<double, 2> steps{};
  // The same step with whole NICs and with what the writing leaves of them.
  run_in_workers(
      steps.size(), workers,
      [&](std::size_t busy) {
        Scenario one = calm(s);
        if (busy == 1) one.cluster = beside(one.cluster, traffic.bandwidth_per_device);
        return shortest(forecast(one).step_time.value());
      },
      [&](const WorkerAnswer& answer) {
        const auto step = parse_number(answer.text);
        if (answer.failed() || !step) throw_failure("a step beside the saving", answer);
        steps.at(answer.index) = *step;
      });
  // A step cannot gain from narrower links: shorter is rounding.
  const double slower = std::max(1.0, steps[1] / steps[0]);
  return written * (1 - 1 / slower);
}

}  // namespace stepcast
