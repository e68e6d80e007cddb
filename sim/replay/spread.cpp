#include "stepcast/sim/replay/spread.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/base/random.hpp"

namespace stepcast {
namespace {

using Law = SpreadSpec::Distribution::Law;

std::uint64_t seed_of(const SpreadSpec& spec) { return static_cast<std::uint64_t>(spec.seed); }

/// The factor at standard normal deviation `z`; both laws have mean 1.
double factor_at(const SpreadSpec::Distribution& law, double z) {
  if (law.law == Law::normal) return 1 + law.sigma * z;
  return std::exp(law.sigma * z - law.sigma * law.sigma / 2);
}

/// One of the numbers of the file, each as likely.
double drawn_of_file(const std::vector<double>& factors, double uniform) {
  // A uniform number may round up to 1.
  const auto index = static_cast<std::size_t>(uniform * static_cast<double>(factors.size()));
  return factors[std::min(index, factors.size() - 1)];
}

double drawn(const SpreadSpec& spec, const SpreadSpec::Distribution& law, std::uint32_t stream,
             std::uint32_t which) {
  if (law.neutral()) return 1;
  if (law.law == Law::empirical)
    return drawn_of_file(law.factors, uniform_number(seed_of(spec), which, stream, 0));
  return factor_at(law, normal_number(seed_of(spec), which, stream, 0));
}

/// What devices of a node share is a part of the variance: two independent deviations, weighted so
/// that their sum keeps its own. An empirical law has no deviations; there the node's number
/// replaces the device's own with that probability, which gives the same correlation.
double device_factor(const SpreadSpec& spec, const SpreadSpec::Device& law, std::uint32_t device,
                     std::uint32_t node) {
  const double shared = law.node_correlation;
  if (law.neutral() || shared == 0) return drawn(spec, law, spread_device_stream, device);
  // Square root: two devices share the node's number when both take it, with probability `shared`.
  if (law.law == Law::empirical) {
    const double coin = uniform_number(seed_of(spec), device, spread_shared_stream, 1);
    return coin < std::sqrt(shared) ? drawn(spec, law, spread_shared_stream, node)
                                    : drawn(spec, law, spread_device_stream, device);
  }
  // Variances add up to one: shared and 1 - shared.
  const double own = normal_number(seed_of(spec), device, spread_device_stream, 0);
  const double common = normal_number(seed_of(spec), node, spread_shared_stream, 0);
  return factor_at(law, std::sqrt(shared) * common + std::sqrt(1 - shared) * own);
}

/// On device and host time of all devices of the node.
double slowness(const SpreadSpec& spec, std::uint32_t node) {
  if (!spec.node || spec.node->slow_share == 0) return 1;
  // Device and host alike: a slow node is slow in all that it does.
  const bool slow =
      uniform_number(seed_of(spec), node, spread_slow_stream, 0) < spec.node->slow_share;
  return slow ? spec.node->slow_factor : 1;
}

double event_factor(const SpreadSpec& spec, std::uint32_t device) {
  if (!spec.transient) return 1;
  // In an event for the whole run, or not: a step is short against it.
  const double drawn = uniform_number(seed_of(spec), device, spread_event_stream, 0);
  return drawn < spec.transient->probability() ? spec.transient->factor : 1;
}

}  // namespace

std::vector<SpeedFactors> spread_factors(const SpreadSpec& spec, std::int64_t devices,
                                         std::int64_t node_devices) {
  std::vector<SpeedFactors> factors(static_cast<std::size_t>(devices));
  for (std::uint32_t d = 0; d < factors.size(); ++d) {
    const auto node = static_cast<std::uint32_t>(d / node_devices);
    const double slow = slowness(spec, node);
    // Factors of several keys multiply.
    SpeedFactors& f = factors[d];
    f.device = slow * event_factor(spec, d);
    f.host = slow;
    if (spec.device) f.device *= device_factor(spec, *spec.device, d, node);
    if (spec.node) f.device *= drawn(spec, *spec.node, spread_node_stream, node);
    if (spec.host) f.host *= drawn(spec, *spec.host, spread_host_stream, node);
  }
  return factors;
}

/// A factor is on time, so that the bandwidth is divided by it.
std::map<std::uint32_t, double> spread_bandwidths(const SpreadSpec& spec, std::uint32_t links) {
  std::map<std::uint32_t, double> factors;
  if (!spec.link || spec.link->neutral()) return factors;
  for (std::uint32_t l = 0; l < links; ++l)
    factors[l] = 1 / drawn(spec, *spec.link, spread_link_stream, l);
  return factors;
}

}  // namespace stepcast
