#include "describe_network.hpp"

/// `fleet` of a cluster file.
namespace stepcast {
namespace {

constexpr double widest_device_sigma = 0.5;
constexpr double slowest_of_fleet = 1000;

void describe(Visitor& visitor, FleetSpec& fleet) {
  // Sources of the usual numbers, and why a fleet differs at all: docs/models/spread.md.
  visitor.field({"device_sigma", &fleet.device_sigma,
                 "of the logarithm of a device's factor on its time",
                 between(0, widest_device_sigma)});
  visitor.section("slow_nodes", "nodes that are slow for as long as the job runs", [&](Visitor& v) {
    v.field({"share", &fleet.slow_nodes.share, "of the nodes", between(0, 1)});
    v.field({"factor", &fleet.slow_nodes.factor, "on device and host time of all their devices",
             between(1, slowest_of_fleet)});
  });
  visitor.field({"screened", &fleet.screened, "slow nodes were found and left out of the job"});
  visitor.section("throttled", "events that slow one device for some minutes", [&](Visitor& v) {
    v.field({"share", &fleet.throttled.share, "of the time of a device", between(0, 1)});
    v.field({"factor", &fleet.throttled.factor, "on device time meanwhile",
             between(1, slowest_of_fleet)});
  });
}

}  // namespace

bool FleetSpec::flawless() const {
  const bool even_nodes = slow_share() == 0 || slow_nodes.factor == 1;
  const bool calm = throttled.factor == 1 || throttled.share == 0;
  return device_sigma == 0 && even_nodes && calm;
}

void describe_fleet(Visitor& visitor, std::optional<FleetSpec>& spec) {
  optional_part(
      visitor, "fleet", "how devices differ (docs/models/spread.md); flawless: all are alike", spec,
      [](Visitor& v, auto& part) { describe(v, part); }, "flawless");
}

}  // namespace stepcast
