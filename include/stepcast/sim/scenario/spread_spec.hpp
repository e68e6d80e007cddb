#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/units.hpp"

namespace stepcast {

/// The keys of `stalls.spread:`: factors on time that devices, hosts, nodes and links
/// keep for as long as a job runs. Laws and sources: docs/models/spread.md.
struct SpreadSpec {
  /// How the factors of one kind are distributed. `log_normal` and `normal` have mean 1.
  struct Distribution {
    enum class Law { log_normal, normal, empirical };
    Law law = Law::log_normal;
    double sigma = 0;             ///< of the logarithm, or of the factor itself
    std::string file;             ///< of an empirical law, as the scenario names it
    std::vector<double> factors;  ///< what that file holds
    /// Says whether every factor is 1.
    bool neutral() const { return factors.empty() && !(sigma > 0); }
    friend bool operator==(const Distribution&, const Distribution&) = default;
  };
  struct Device : Distribution {
    double node_correlation = 0;  ///< part of the variance that the devices of a node share
    friend bool operator==(const Device&, const Device&) = default;
  };
  struct Node : Distribution {
    double slow_share = 0;   ///< of the nodes
    double slow_factor = 1;  ///< on device and host time of a slow one
    friend bool operator==(const Node&, const Node&) = default;
  };
  /// An event slows one device for a while; a step falls into it or does not.
  struct Transient {
    double per_device_hour = 0;
    Seconds duration{0};
    double factor = 1;
    /// The probability that a device is in an event at a given time.
    double probability() const;
    friend bool operator==(const Transient&, const Transient&) = default;
  };

  std::int64_t seed = 1;
  std::optional<Device> device;      ///< on device time
  std::optional<Distribution> host;  ///< on the host time of all devices of a node
  std::optional<Node> node;          ///< on the device time of all devices of a node
  std::optional<Distribution> link;  ///< on the time of bytes
  std::optional<Transient> transient;

  /// Says whether it changes nothing.
  bool neutral() const;
  friend bool operator==(const SpreadSpec&, const SpreadSpec&) = default;
};
/// The keys of `stalls.spread:`.
void describe(Visitor& visitor, SpreadSpec& spec);

/// The distributions of a spec that are there, each with its key below `stalls.spread`.
std::vector<std::pair<std::string, SpreadSpec::Distribution*>> distributions(SpreadSpec& spec);

}  // namespace stepcast
