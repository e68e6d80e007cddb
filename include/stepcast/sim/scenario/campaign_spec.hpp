#pragma once
#include <cstdint>
#include <optional>

#include "stepcast/base/section.hpp"
#include "stepcast/base/units.hpp"

namespace stepcast {

/// The keys of `campaign:`, a whole training run of many steps (docs/models/campaign.md).
/// `stepcast campaign` reads them; no forecast of a step depends on them.
struct CampaignSpec {
  static constexpr std::int64_t most_runs = 100'000;

  /// A link between NIC and leaf goes down for a while and comes back; all ranks wait, nothing is
  /// lost.
  struct LinkFlaps {
    double per_link_hour = 0;
    Seconds duration{0};
  };
  /// A saved state leaves over the NICs while training goes on.
  struct CheckpointTraffic {
    Bytes bytes_per_device{0};
    BytesPerSecond bandwidth_per_device{0};
  };

  std::int64_t steps = 0;     ///< of the run; 0: as `tokens` say
  std::int64_t tokens = 0;    ///< of the run; 0: as `steps` say
  std::int64_t spares = 0;    ///< nodes that stand by
  Seconds repair{0};          ///< of a node that failed or was sent away; 0: at once
  double hardware_share = 1;  ///< of the failures that take their node away
  bool evict_slow = false;    ///< slow nodes leave at the first restart
  std::optional<LinkFlaps> link_flaps;
  std::optional<CheckpointTraffic> checkpoint_traffic;
  std::int64_t runs = 1000;  ///< that are played
  std::int64_t seed = 1;     ///< of dates and places of failures
};
void describe(Visitor& visitor, CampaignSpec& spec);

}  // namespace stepcast
