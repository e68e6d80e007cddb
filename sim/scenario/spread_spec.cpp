#include "stepcast/sim/scenario/spread_spec.hpp"

#include <cmath>

namespace stepcast {
namespace {

constexpr double widest_sigma = 0.5;
// No number that is drawn falls below -8.6 sigma, so that every factor stays positive.
constexpr double widest_normal_sigma = 0.1;
constexpr double slowest_factor = 1000;
constexpr double last_seed = 9007199254740992;  // 2^53

/// `needed`: nothing else makes these factors differ.
void describe_law(Visitor& visitor, SpreadSpec::Distribution& part, bool needed) {
  using Law = SpreadSpec::Distribution::Law;
  const auto as = [&part](Law law) { part.law = law; };
  auto which = static_cast<std::size_t>(part.law);
  visitor.alternatives(
      "law", "log_normal and normal of mean 1; empirical: drawn from the numbers of a file", which,
      {{"log_normal",
        [&](Visitor& v) {
          as(Law::log_normal);
          v.field({"sigma", &part.sigma, "of the logarithm of the factor", between(0, widest_sigma),
                   needed});
        }},
       {"normal",
        [&](Visitor& v) {
          as(Law::normal);
          v.field({"sigma", &part.sigma, "of the factor", between(0, widest_normal_sigma), needed});
        }},
       {"empirical", [&](Visitor& v) {
          as(Law::empirical);
          v.field({"file", &part.file, "path of a text file with one factor on time per line",
                   any_number(), true});
        }}});
}

void describe_node(Visitor& visitor, SpreadSpec::Node& part) {
  describe_law(visitor, part, false);
  visitor.field(
      {"slow_share", &part.slow_share, "of the nodes that are slow all the time", between(0, 1)});
  visitor.field({"slow_factor", &part.slow_factor, "on device and host time of all their devices",
                 between(1, slowest_factor)});
}

void describe_transient(Visitor& visitor, SpreadSpec::Transient& part) {
  visitor.field({"per_device_hour", &part.per_device_hour, "events that begin per device and hour",
                 between(0, 1e6), true});
  visitor.field({"duration", &part.duration, "of one event", between(0, 1e9), true});
  visitor.field(
      {"factor", &part.factor, "on device time meanwhile", between(1, slowest_factor), true});
}

}  // namespace

double SpreadSpec::Transient::probability() const {
  constexpr double hour = 3600;
  return 1 - std::exp(-per_device_hour * (duration.value() / hour));
}

bool SpreadSpec::neutral() const {
  const bool even_nodes =
      !node || (node->neutral() && !(node->slow_share > 0 && node->slow_factor > 1));
  const bool calm = !transient || transient->factor == 1 || transient->probability() == 0;
  return even_nodes && calm && (!device || device->neutral()) && (!host || host->neutral()) &&
         (!link || link->neutral());
}

void describe(Visitor& visitor, SpreadSpec& spec) {
  visitor.field({"seed", &spec.seed, "another seed, another draw", between(0, last_seed)});
  // Persistent factors first, the one that comes and goes last. Each has its own stream of random
  // numbers, so that one more part changes no other draw.
  optional_part(visitor, "device", "factor on device time, one per device", spec.device,
                [](Visitor& v, SpreadSpec::Device& part) {
                  describe_law(v, part, true);
                  v.field({"node_correlation", &part.node_correlation,
                           "part of the variance that the devices of a node share", between(0, 1)});
                });
  optional_part(visitor, "host", "factor on host time, one per node", spec.host,
                [](Visitor& v, SpreadSpec::Distribution& part) { describe_law(v, part, true); });
  optional_part(visitor, "node", "factor on the device time of all devices of a node", spec.node,
                describe_node);
  optional_part(visitor, "link", "factor on the time of bytes, one per link and direction",
                spec.link,
                [](Visitor& v, SpreadSpec::Distribution& part) { describe_law(v, part, true); });
  optional_part(visitor, "transient", "events that slow one device for a while", spec.transient,
                describe_transient);
}

std::vector<std::pair<std::string, SpreadSpec::Distribution*>> distributions(SpreadSpec& spec) {
  std::vector<std::pair<std::string, SpreadSpec::Distribution*>> list;
  if (spec.device) list.emplace_back("device", &*spec.device);
  if (spec.host) list.emplace_back("host", &*spec.host);
  if (spec.node) list.emplace_back("node", &*spec.node);
  if (spec.link) list.emplace_back("link", &*spec.link);
  return list;
}

}  // namespace stepcast
