#pragma once
#include <algorithm>
#include <bit>
#include <map>
#include <span>
#include <vector>

#include "stepcast/workloads/collectives.hpp"

/// Collectives as plain messages, step by step, as docs/models/collectives.md describes them.
namespace stepcast::test {

struct Message {
  DeviceId from, to;
  double bytes;
};
using Messages = std::vector<Message>;  ///< of one step
using Steps = std::vector<Messages>;
using Set = std::vector<DeviceId>;
using Loads = std::map<LinkId, double>;

/// Bytes on every link of the messages' routes.
inline Loads loads(const Fabric& fabric, const Messages& messages) {
  Loads sum;
  for (const Message& m : messages)
    for (const LinkId link : fabric.route(m.from, m.to)) sum[link] += m.bytes;
  return sum;
}

/// Slowest message latency plus the time of the fullest link [s].
inline double step_time(const Fabric& fabric, const Messages& messages) {
  const CollectiveLibrarySpec& library = fabric.cluster().collectives;
  double latency = 0, slowest = 0, most = 1;
  // Messages to other meshes leave through the sender's one port, a step after each other.
  std::map<DeviceId, double> posted;
  for (const auto& [from, to, bytes] : messages) {
    const bool near = fabric.locality(from, to) <= Locality::super_node;
    const Seconds step = near ? library.node_step_latency : library.step_latency;
    latency = std::max(latency, (fabric.route_latency(from, to) + step).value());
    if (!fabric.same_mesh(from, to)) most = std::max(most, ++posted[from]);
  }
  for (const auto& [link, bytes] : loads(fabric, messages))
    slowest = std::max(slowest, bytes / fabric.link(link).bandwidth.value());
  return latency + (most - 1) * library.node_step_latency.value() + slowest;
}

inline Steps operator+(Steps a, const Steps& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline Steps reversed(Steps steps) {
  std::ranges::reverse(steps);
  return steps;
}

/// Each member sends `bytes` to the one `by` places after it.
inline Messages shifted(const Set& set, std::size_t by, double bytes) {
  Messages messages;
  for (std::size_t i = 0; i < set.size(); ++i)
    messages.push_back({set[i], set[(i + by) % set.size()], bytes});
  return messages;
}

/// Reduce-scatter of `bytes` per member; an all-gather is the same backwards.
inline Steps ring_steps(const Set& set, double bytes) {
  return Steps(set.size() - 1, shifted(set, 1, bytes / static_cast<double>(set.size())));
}

inline Steps mesh_steps(const Set& set, double bytes) {
  Messages all;
  for (std::size_t k = 1; k < set.size(); ++k) {
    const Messages some = shifted(set, k, bytes / static_cast<double>(set.size()));
    all.insert(all.end(), some.begin(), some.end());
  }
  return {all};
}

inline Steps nhr_steps(const Set& set, double bytes) {
  Steps steps;
  const std::size_t p = set.size();
  for (std::size_t distance = 1; distance < p; distance *= 2) {
    const std::size_t parts = (p - 1 + distance) / (2 * distance);
    steps.push_back(
        shifted(set, distance, bytes * static_cast<double>(parts) / static_cast<double>(p)));
  }
  return steps;
}

/// Members beyond the largest power of two hand a neighbour `out` bytes and get `back`.
struct Folded {
  Set core;
  Steps out, back;
};
inline Folded fold(const Set& set, double out, double back) {
  Folded result;
  const std::size_t extra = set.size() - std::bit_floor(set.size());
  if (extra > 0) result.out.resize(1), result.back.resize(1);
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (i >= 2 * extra || i % 2 == 0) {
      result.core.push_back(set[i]);
      continue;
    }
    result.out[0].push_back({set[i], set[i - 1], out});
    result.back[0].push_back({set[i - 1], set[i], back});
  }
  return result;
}

/// Each member ends with `parts` bytes of its own; whoever is sent to gets those of all members
/// that it still has to serve.
inline Steps halving_steps(const Set& core, const std::vector<double>& parts) {
  Steps steps;
  for (std::size_t distance = 1; distance < core.size(); distance *= 2) {
    Messages step;
    for (std::size_t i = 0; i < core.size(); ++i) {
      double bytes = 0;
      for (std::size_t j = 0; j < core.size(); ++j)
        if (j % (2 * distance) == (i ^ distance) % (2 * distance)) bytes += parts[j];
      step.push_back({core[i], core[i ^ distance], bytes});
    }
    steps.push_back(step);
  }
  return steps;
}

/// Step by step at once; all have as many steps.
inline Steps side_by_side(const std::vector<Steps>& sets) {
  Steps steps = sets.front();
  for (std::size_t s = 1; s < sets.size(); ++s)
    for (std::size_t i = 0; i < steps.size(); ++i)
      steps[i].insert(steps[i].end(), sets[s][i].begin(), sets[s][i].end());
  return steps;
}

}  // namespace stepcast::test
