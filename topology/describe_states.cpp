#include "describe_network.hpp"

namespace stepcast {
namespace {

constexpr Range state_time = between(0, 1e6);
constexpr Range watts = between(0, 1e5);
constexpr double most_queue_pairs = 1024;
// A job needs something that is left of the uplinks.
constexpr double most_background = 0.99;

void describe(Visitor& visitor, IdleClock& clock) {
  // Memory has a clock of its own: only the share of the cores follows (docs/models/clocks.md).
  visitor.field({"speed", &clock.speed, "idle clock over that at work: 800 of 1800 MHz are 0.444",
                 between(0.01, 1), true});
  visitor.field(
      {"hold", &clock.hold, "time without work before the clock falls", state_time, true});
  visitor.field(
      {"ramp", &clock.ramp, "time at the idle clock after work comes back", state_time, true});
  visitor.field({"core_share", &clock.core_share,
                 "part of device time that follows the clock; memory keeps its own",
                 between(0, 1)});
}

void describe(Visitor& visitor, PowerCap& cap) {
  // Draws are given over idle and as parts of the limit, so that one set of numbers serves devices
  // of several limits.
  constexpr Range part = between(0, 1);
  visitor.field({"window", &cap.window,
                 "time at the power limit that a device can save up at most while it draws less",
                 state_time, true});
  visitor.field({"attention", &cap.attention,
                 "of the power limit above idle, drawn by fused attention", part, true});
  visitor.field({"other", &cap.other,
                 "of the power limit above idle, drawn by kernels without products", part, true});
  visitor.field(
      {"waiting", &cap.waiting, "of the power limit above idle, drawn without work", part});
}

void describe(Visitor& visitor, PowerSpec& power) {
  visitor.field({"idle", &power.idle, "of a device without work, in watts", watts, true});
  visitor.field(
      {"computing", &power.computing, "of a device that computes, in watts", watts, true});
  visitor.field({"communicating", &power.communicating,
                 "of a device that waits for data on the way, in watts", watts, true});
  visitor.field({"overhead", &power.overhead,
                 "of node and building: factor on the power of the devices", between(1, 10)});
}

}  // namespace

void describe_routing(Visitor& visitor, NetworkSpec& spec) {
  // Collisions come from the hash: more queue pairs of a sender spread it, other jobs take uplinks
  // before it.
  visitor.field({"routing", choice(spec.routing, {{"ideal"}, {"ecmp"}, {"adaptive"}}),
                 "how flows find an uplink: spread evenly; by a hash; the freer one of two that a "
                 "hash names (docs/models/collisions.md)"});
  visitor.field({"queue_pairs", &spec.queue_pairs,
                 "that a sender cuts what it sends into, each hashed by itself (ecmp, adaptive)",
                 between(1, most_queue_pairs)});
  visitor.field({"background", &spec.background, "part of the uplinks that other jobs take",
                 between(0, most_background)});
}

void describe_states(Visitor& visitor, DeviceSpec& spec) {
  const auto described = [](Visitor& v, auto& part) { describe(v, part); };
  optional_part(visitor, "idle_clock",
                "a clock that falls without work (docs/models/clocks.md); none: it never does",
                spec.idle_clock, described);
  optional_part(visitor, "power_cap",
                "a clock that rises above that of efficiency.matmul.sustained after lighter work "
                "(docs/models/clocks.md); none: it never does",
                spec.power_cap, described);
  optional_part(visitor, "power",
                "what a device takes in a step (docs/models/clocks.md); none: no energy",
                spec.power, described);
}

}  // namespace stepcast
