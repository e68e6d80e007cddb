#include "stepcast/sim/scenario/campaign_spec.hpp"

namespace stepcast {

void describe(Visitor& visitor, CampaignSpec& spec) {
  // Beyond it doubles do not tell whole numbers apart.
  constexpr double most_count = 0x1p53;
  visitor.field({"steps", &spec.steps, "of the whole run; 0: as many as tokens need",
                 between(0, most_count)});
  visitor.field(
      {"tokens", &spec.tokens, "of the whole run; 0: as steps give", between(0, most_count)});
  visitor.field({"spares", &spec.spares, "nodes that stand by for those that fail or are slow",
                 between(0, 1e6)});
  visitor.field({"repair", &spec.repair, "until a node that failed or was slow stands by again",
                 between(0, 1e12)});
  visitor.field({"hardware_share", &spec.hardware_share,
                 "of the failures that take their node away", between(0, 1)});
  visitor.field({"evict_slow", &spec.evict_slow,
                 "the slow nodes of stalls.spread.node leave at the first restart"});
  optional_part(
      visitor, "link_flaps", "links between NIC and leaf go down for a while and come back",
      spec.link_flaps, [](Visitor& v, CampaignSpec::LinkFlaps& part) {
        v.field({"per_link_hour", &part.per_link_hour, "how often, for one link", between(0, 1e3),
                 true});
        v.field({"duration", &part.duration, "for which all ranks wait", between(0, 1e6), true});
      });
  optional_part(visitor, "checkpoint_traffic",
                "the saved state leaves over the NICs while training goes on",
                spec.checkpoint_traffic, [](Visitor& v, CampaignSpec::CheckpointTraffic& part) {
                  v.field({"bytes_per_device", &part.bytes_per_device,
                           "that each device writes at a checkpoint", between(1, 1e18), true});
                  v.field({"bandwidth_per_device", &part.bandwidth_per_device,
                           "of its NIC that writing takes", between(1, 1e24), true});
                });
  visitor.field({"runs", &spec.runs, "times that the campaign is played",
                 between(1, static_cast<double>(CampaignSpec::most_runs))});
  visitor.field({"seed", &spec.seed, "another seed, other failures", between(0, most_count)});
}

}  // namespace stepcast
