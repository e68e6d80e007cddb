#include <fmt/format.h>

#include "commands.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario.hpp"
#include "stepcast/workloads/collectives.hpp"

namespace stepcast::cli {
namespace {

[[noreturn]] void bad_option(const std::string& option, const std::string& message) {
  throw InputError({Diagnostic{{}, option, message}});
}

CollectiveKind kind_of(const std::string& text) {
  std::vector<std::string> known;
  for (std::size_t k = 0; k < collective_kinds; ++k) {
    known.emplace_back(name(static_cast<CollectiveKind>(k)));
    if (known.back() == text) return static_cast<CollectiveKind>(k);
  }
  bad_option("KIND", fmt::format("is '{}', allowed: {}", text, joined(known)));
}

std::vector<DeviceId> members_of(const CollectiveOptions& options, const ClusterSpec& cluster) {
  if (options.ranks < 2)
    bad_option("--ranks", fmt::format("is {}, allowed: 2 or more", options.ranks));
  if (options.stride < 1)
    bad_option("--stride", fmt::format("is {}, allowed: 1 or more", options.stride));
  const auto limit = static_cast<std::int64_t>(max_devices);
  if (options.ranks > limit || options.stride > limit ||
      (options.ranks - 1) * options.stride >= cluster.devices) {
    bad_option("--ranks",
               fmt::format("{} ranks with stride {} need more than the {} devices of the cluster; "
                           "give --devices",
                           options.ranks, options.stride, cluster.devices));
  }
  std::vector<DeviceId> members;
  for (std::int64_t i = 0; i < options.ranks; ++i) {
    members.push_back(DeviceId{static_cast<std::uint32_t>(i * options.stride)});
  }
  return members;
}

std::string row(const std::string& name, const std::string& ran, Seconds time,
                const CollectiveCall& call, std::size_t ranks) {
  const BytesPerSecond algbw = call.bytes / time;
  return fmt::format("  {:<14}{:<34}{:>10}{:>14}{:>14}\n", name, ran, human(time), human(algbw),
                     human(algbw * bus_factor(call.kind, ranks)));
}

}  // namespace

Outcome collective(const CollectiveOptions& options) {
  const CollectiveKind kind = kind_of(options.kind);
  std::vector<std::string> overrides;
  if (!options.devices.empty()) overrides.push_back("devices=" + options.devices);
  const ClusterSpec cluster =
      read_cluster(options.cluster, overrides, default_search_path(options.presets));
  const std::optional<Bytes> size = parse_bytes(options.size);
  if (!size || size->value() < 1 || size->value() > 1e18) {
    bad_option("--size",
               fmt::format("is '{}', allowed: a size such as 64MiB, 1B to 1e+18B", options.size));
  }
  const std::vector<DeviceId> members = members_of(options, cluster);
  const Fabric fabric(cluster);
  const CollectiveCall call{kind, *size};

  std::string text =
      fmt::format("{} of {} over {} ranks (stride {}) of {}\n\n  {:<14}{:<34}{:>10}{:>14}{:>14}\n",
                  name(kind), human(*size), members.size(), options.stride, cluster.name,
                  "algorithm", "as run", "time", "algbw", "busbw");
  std::vector<std::string> wanted{"auto"};
  if (!options.algorithm.empty()) {
    wanted = {options.algorithm};
  } else {
    for (const NamedAlgorithm& a : collective_algorithms()) wanted.emplace_back(a.name);
  }
  for (const std::string& algorithm : wanted) {
    try {
      const CollectivePlan plan = plan_collective(fabric, members, call, algorithm);
      text +=
          row(algorithm, plan.algorithm,
              cluster.device.launch.communication + lone_time(fabric, plan), call, members.size());
    } catch (const InputError&) {
      if (!options.algorithm.empty())
        throw;  // asked for by name; in the list it just does not apply
    }
  }
  const Seconds bound = bandwidth_bound(fabric, members, call);
  return {text + row("bound", "ports and cuts of this fabric", bound, call, members.size())};
}

}  // namespace stepcast::cli
