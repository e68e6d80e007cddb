#include "judge_calls.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "judge_patterns.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast::judge {
namespace {

/// SimGrid counts a link of a route as often as it is listed.
constexpr double most_shares = 65536;
constexpr int most_parts = 16384;

using LinkBytes = std::map<std::uint32_t, double>;

/// The largest number of bytes that divides those on all links.
std::optional<double> unit_of(const LinkBytes& loads, double smallest, double largest) {
  // A common divisor is a fraction of the smallest load, since it divides that too.
  for (int parts = 1; parts <= most_parts; ++parts) {
    const double unit = smallest / parts;
    if (largest / unit > most_shares) break;
    const bool divides = std::ranges::all_of(loads, [&](const auto& load) {
      const double times = load.second / unit;
      return std::abs(times - std::round(times)) <= 1e-9 * times;
    });
    if (divides) return unit;
  }
  return {};
}

/// Flows are counted by what they put on links of their members, not on those between switches.
bool of_members(const Fabric& fabric, LinkId link) {
  // A wire of a platform file may lie between switches, as trunks do.
  const LinkTier tier = info(fabric.link(link).kind).family.tier;
  if (tier == LinkTier::wire) return !fabric.wires().between_switches(fabric.wire_place(link).wire);
  return tier < LinkTier::trunk;
}

void add(LinkBytes& sum, const LinkBytes& more) {
  for (const auto& [link, bytes] : more) sum[link] += bytes;
}

}  // namespace

const Group* Calls::group(GroupKind kind, Rank rank) const {
  const auto found = planned_.find({kind, input_.placement.group_key(kind, rank)});
  return found == planned_.end() ? nullptr : &found->second;
}

/// A group's calls are those of its first member's program.
void Calls::plan_all() {
  const NetworkMap& map = input_.step.network;
  for (std::uint32_t r = 0; r < input_.placement.world(); ++r) {
    const std::uint32_t stage = input_.placement.stage_of(Rank{r}).value;
    const auto& calls = input_.step.programs[stage].calls;
    // Each group once, by its first member.
    std::array<std::optional<std::vector<Rank>>, group_kinds> members;
    for (std::uint32_t c = 0; c < calls.size(); ++c) {
      // A copy to the host is no message.
      if (calls[c].over_host_link()) continue;
      const GroupKind kind = calls[c].group;
      auto& own = members[static_cast<std::size_t>(kind)];
      if (!own) own = input_.placement.group(kind, Rank{r});
      if (own->front() != Rank{r}) continue;
      Group& group = planned_[{kind, input_.placement.group_key(kind, Rank{r})}];
      group.members = own->size();
      group.calls.push_back(plan(*own, calls[c], map.calls[map.call_of[r][c]]));
    }
  }
}

/// Time of the bytes alone, by the bandwidth that whoever plans reckons with.
double Calls::seconds(const Load& load) const {
  double slowest = 0;
  for (const auto& [link, bytes] : load.planned) {
    slowest = std::max(slowest, bytes / input_.fabric.planned_bandwidth({link}).value());
  }
  return slowest;
}

/// Phases of loads: a stage joins the one before it where that takes as long as both apart.
std::vector<std::vector<Calls::Load>> Calls::loads(const std::vector<std::uint32_t>& hosts,
                                                   const CollectiveCall& call,
                                                   const std::string& algorithm) {
  std::vector<std::vector<Load>> phases;
  for (const Turn& stage : turns_of(input_.fabric, hosts, call, algorithm)) {
    // Every round is a flow of the phase.
    std::vector<Load> flows;
    for (const Round& round : stage.rounds) {
      Load& load = flows.emplace_back();
      for (const Post& m : round.messages) {
        // Some members have nothing for each other.
        if (m.bytes <= 0) continue;
        // Routes are those of SimGrid, so that nothing of the fabric's own is trusted.
        for (const std::uint32_t link : world_.route(m.from, m.to))
          load.actual[link] += m.bytes * round.times;
        // Plans are made for links as they are when nothing has failed.
        for (const LinkId link : input_.fabric.intact_route({m.from}, {m.to}))
          load.planned[link.value] += m.bytes * round.times;
      }
      for (const auto& [link, bytes] : load.planned)
        if (of_members(input_.fabric, {link})) load.bytes = std::max(load.bytes, bytes);
    }
    // Steps are one flow where they load links so evenly that nothing is gained by waiting.
    if (!stage.apart && !phases.empty() && phases.back().size() == 1) {
      Load both = phases.back().front();
      add(both.actual, flows.front().actual);
      add(both.planned, flows.front().planned);
      both.bytes += flows.front().bytes;
      const double apart = seconds(phases.back().front()) + seconds(flows.front());
      if (seconds(both) >= apart * (1 - 1e-12)) {
        phases.back().front() = std::move(both);
        continue;
      }
    }
    phases.push_back(std::move(flows));
  }
  return phases;
}

ReferenceWorld::Part Calls::part(const Load& load, double latency) {
  // SimGrid's routes list a link as often as it is loaded: loads become whole shares.
  double smallest = INFINITY, largest = 0;
  for (const auto& [link, bytes] : load.actual) {
    smallest = std::min(smallest, bytes);
    largest = std::max(largest, bytes);
  }
  // Messages without bytes take their latency.
  if (largest == 0) return {0, 0, latency, 1};
  const double unit = unit_of(load.actual, smallest, largest).value_or(largest / most_parts);
  std::vector<ReferenceWorld::Use> uses;
  // At least one share: a link that is loaded little is loaded.
  for (const auto& [link, bytes] : load.actual)
    uses.push_back({link, static_cast<std::uint32_t>(std::max(1.0, std::round(bytes / unit)))});
  return {world_.add_flow(uses), unit, latency, load.bytes / unit};
}

/// What a step of the library costs beyond its bytes is no matter of the network: latencies are
/// those of the fast path.
Phases Calls::plan(const std::vector<Rank>& members, const StageCall& call,
                   const NetworkCall& named) {
  std::vector<std::uint32_t> hosts, experts;
  hosts.reserve(members.size());
  experts.reserve(members.size());
  for (const Rank member : members) {
    hosts.push_back(input_.host_of_rank.empty() ? input_.placement.device_of(member).value
                                                : input_.host_of_rank[member.value]);
    experts.push_back(input_.placement.coordinates(member).ep);
  }
  std::vector<std::vector<Load>> counted;
  // Algorithms are those that the fast path reports, bytes are counted here.
  if (call.call.bytes.value() > 0 && !input_.free_communication)
    counted = loads(hosts, call.among(experts), named.algorithm);
  if (counted.size() != named.phases.size())
    throw EngineError("the judge counts " + std::to_string(counted.size()) + " phases of " +
                      call.name + " (" + named.algorithm + "), the fast path has " +
                      std::to_string(named.phases.size()));
  // A different number of flows means that one side has another algorithm.
  Phases phases;
  for (std::size_t p = 0; p < counted.size(); ++p) {
    if (counted[p].size() != named.phases[p].size())
      throw EngineError("the judge and the fast path differ in the flows of " + call.name);
    auto& flows = phases.emplace_back();
    for (std::size_t f = 0; f < counted[p].size(); ++f)
      flows.push_back(part(counted[p][f], named.phases[p][f].latency));
  }
  return phases;
}

}  // namespace stepcast::judge
