#include "stepcast/sim/network_map.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "link_classes.hpp"
#include "plan_cache.hpp"
#include "solitary.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

/// Bytes that a stage hands on; 0 when it never does.
Bytes hop_bytes(const StageProgram& program, bool forward) {
  Bytes bytes{0};
  for (const ChunkProgram& chunk : program.chunks) {
    bytes = std::max(bytes, forward ? chunk.send_forward : chunk.send_backward);
  }
  return bytes;
}

constexpr std::uint32_t no_template = std::numeric_limits<std::uint32_t>::max();

class MapBuilder {
 public:
  explicit MapBuilder(const NetworkMapInput& input)
      : input_{input},
        launch_{input.fabric.cluster().device.launch.communication.value()},
        plans_{input.placement, input.fabric, input.algorithms},
        links_{input.fabric} {}

  NetworkMap build() {
    for (std::uint32_t c = 0; c < input_.classes.representative.size(); ++c) {
      plan_calls(c);
      plan_hops(c);
    }
    plans_.watch(LinkClasses::links_of(templates_));
    links_.find(templates_, [this](LinkId link) { return loads_on(link); });
    for (const FlowTemplate& t : templates_) place(t);
    for (auto& calls : map_.calls) {
      for (NetworkCall& call : calls) settle(call);
    }
    map_.bandwidths = links_.bandwidths();
    return std::move(map_);
  }

 private:
  using Seen = std::vector<std::array<std::uint64_t, 3>>;  ///< class, call, group

  void plan_calls(std::uint32_t c);
  void plan_hops(std::uint32_t c);
  void add_hop(std::uint32_t c, bool forward);
  std::vector<std::uint32_t> members(std::uint32_t c, GroupKind kind) const;
  std::uint32_t owner_call(std::uint32_t c, std::uint32_t call, std::uint32_t owner) const;
  std::vector<LinkWeight> near_representative(std::uint32_t c,
                                              const std::vector<LinkWeight>& all) const;
  void plan_call(std::uint32_t c, std::uint32_t call, bool alone);
  bool runs_alone(const NetworkCall& call, std::uint32_t owner_call) const;
  LinkLoads loads_on(LinkId link);
  void add_calls(LinkId link, Rank rank, Seen& seen, LinkLoads& loads);
  void add_transfers(LinkId link, Rank rank, LinkLoads& loads);
  double slowest(const std::vector<LinkWeight>& links) const;
  void place(const FlowTemplate& t);
  static void settle(NetworkCall& call);
  NetworkFlow& flow_of(const FlowTemplate& t);

  const NetworkMapInput& input_;
  double launch_;  ///< of one collective or transfer [s]
  PlanCache plans_;
  NetworkMap map_;
  LinkClasses links_;
  std::vector<FlowTemplate> templates_;
  std::vector<std::vector<std::uint32_t>> first_template_;  ///< [class][call]
  std::array<std::vector<std::int64_t>, 2> hop_template_;   ///< [forward][class], -1: none
};

/// Calls of groups that span stages are the same call in each stage's program: the k-th of its
/// group kind.
std::uint32_t MapBuilder::owner_call(std::uint32_t c, std::uint32_t call,
                                     std::uint32_t owner) const {
  if (owner == c) return call;
  const auto& mine = input_.programs[c].calls;
  const auto& theirs = input_.programs[owner].calls;
  const GroupKind kind = mine[call].group;
  auto ordinal = std::count_if(mine.begin(), mine.begin() + call,
                               [&](const StageCall& s) { return s.group == kind; });
  for (std::uint32_t i = 0; i < theirs.size(); ++i) {
    if (theirs[i].group == kind && ordinal-- == 0) return i;
  }
  expects(false, "stages agree on the calls of the groups that they share");
  return 0;
}

/// All ranks of a class see alike links, so its own are enough, and the group's tightest where that
/// is another's.
std::vector<LinkWeight> MapBuilder::near_representative(std::uint32_t c,
                                                        const std::vector<LinkWeight>& all) const {
  const DeviceId device = input_.placement.device_of(input_.classes.representative[c]);
  const auto load = [&](const LinkWeight& l) {
    return l.weight / input_.fabric.link(l.link).bandwidth.value();
  };
  std::vector<LinkWeight> near;
  const LinkWeight* tightest = nullptr;
  double tightest_near = 0;
  for (const LinkWeight& l : all) {
    if (!tightest || load(l) > load(*tightest)) tightest = &l;
    if (!links_.touches(l.link, device)) continue;
    near.push_back(l);
    tightest_near = std::max(tightest_near, load(l));
  }
  if (tightest && load(*tightest) > tightest_near * (1 + 1e-9)) near.push_back(*tightest);
  return near;
}

std::vector<std::uint32_t> MapBuilder::members(std::uint32_t c, GroupKind kind) const {
  std::vector<std::uint32_t> classes;
  for (const Rank rank : input_.placement.group(kind, input_.classes.representative[c])) {
    const std::uint32_t member = input_.placement.stage_of(rank).value;
    if (std::ranges::find(classes, member) == classes.end()) classes.push_back(member);
  }
  std::ranges::sort(classes);
  return classes;
}

/// The program that runs the flows and every other member agree that nothing else is in flight.
bool MapBuilder::runs_alone(const NetworkCall& call, std::uint32_t owner_call) const {
  for (const std::uint32_t c : call.members) {
    const auto& calls = input_.programs[c].calls;
    bool alone = false;
    for (std::uint32_t i = 0; i < calls.size() && !alone; ++i) {
      if (calls[i].group != GroupKind::world) continue;
      const bool same = this->owner_call(c, i, call.members.front()) == owner_call;
      alone = same && stepcast::runs_alone(input_.programs[c], i);
    }
    if (!alone) return false;
  }
  return true;
}

void MapBuilder::plan_calls(std::uint32_t c) {
  map_.calls.emplace_back();
  first_template_.emplace_back();
  for (std::uint32_t i = 0; i < input_.programs[c].calls.size(); ++i) {
    NetworkCall& call = map_.calls[c].emplace_back();
    call.members = members(c, input_.programs[c].calls[i].group);
    call.owner_call = owner_call(c, i, call.members.front());
    first_template_[c].push_back(no_template);
    if (call.members.front() != c) {
      call.algorithm = map_.calls[call.members.front()][call.owner_call].algorithm;
      continue;
    }
    const bool world = input_.programs[c].calls[i].group == GroupKind::world;
    plan_call(c, i, world && runs_alone(call, i));
  }
}

/// The flows of one call; when nothing else can be in flight they take their own time and no link
/// needs a look.
void MapBuilder::plan_call(std::uint32_t c, std::uint32_t i, bool alone) {
  const StageCall& stage_call = input_.programs[c].calls[i];
  const CollectivePlan& planned =
      plans_.plan(stage_call.group, stage_call.call, input_.classes.representative[c]);
  NetworkCall& call = map_.calls[c][i];
  call.algorithm = planned.algorithm;
  const bool within = call.members.size() == 1;
  const std::uint64_t channel = within
                                    ? c * 8U + static_cast<std::uint64_t>(stage_call.stream)
                                    : (1ULL << 40U) + static_cast<std::uint64_t>(stage_call.group);
  if (!alone) first_template_[c][i] = static_cast<std::uint32_t>(templates_.size());
  for (std::uint32_t p = 0; p < planned.phases.size(); ++p) {
    auto& flows = call.phases.emplace_back();
    for (std::uint32_t f = 0; f < planned.phases[p].flows.size(); ++f) {
      const PhaseFlow& flow = planned.phases[p].flows[f];
      const double latency = flow.latency.value() + (p == 0 ? launch_ : 0);
      flows.push_back({latency, flow.bytes.value(), 0, {}});
      if (alone) {
        flows.back().alone = flow.bytes.value() * slowest(flow.links);
      } else {
        templates_.push_back({c, i, p, f, channel, FlowTemplate::Kind::call,
                              within ? near_representative(c, flow.links) : flow.links});
      }
    }
  }
}

/// Largest weight / bandwidth [s/B].
double MapBuilder::slowest(const std::vector<LinkWeight>& links) const {
  double result = 0;
  for (const LinkWeight& l : links) {
    result = std::max(result, l.weight / input_.fabric.link(l.link).bandwidth.value());
  }
  return result;
}

void MapBuilder::plan_hops(std::uint32_t c) {
  map_.forward.emplace_back();
  map_.backward.emplace_back();
  add_hop(c, true);
  add_hop(c, false);
}

void MapBuilder::add_hop(std::uint32_t c, bool forward) {
  auto& known = hop_template_[forward ? 1 : 0];
  known.push_back(-1);
  const Bytes bytes = hop_bytes(input_.programs[c], forward);
  const auto stages = static_cast<std::uint32_t>(input_.classes.representative.size());
  NetworkHop& hop = (forward ? map_.forward : map_.backward)[c];
  hop.peer = (c + (forward ? 1 : stages - 1)) % stages;
  if (stages == 1) return;
  const Rank from = input_.classes.representative[c];
  const Rank to = input_.placement.on_stage(from, Stage{hop.peer});
  const DeviceId a = input_.placement.device_of(from), b = input_.placement.device_of(to);
  hop.flow.bytes = bytes.value();
  hop.flow.latency = input_.fabric.route_latency(a, b).value() + launch_;
  if (bytes <= Bytes{0}) return;
  FlowTemplate t{c,
                 0,
                 0,
                 0,
                 (2ULL << 40U) + 2 * c + (forward ? 1 : 0),
                 forward ? FlowTemplate::Kind::forward : FlowTemplate::Kind::backward,
                 {}};
  for (const LinkId link : input_.fabric.route(a, b)) {
    if (input_.fabric.can_saturate(link)) t.links.push_back({link, 1});
  }
  known.back() = static_cast<std::int64_t>(templates_.size());
  templates_.push_back(std::move(t));
}

/// All flows that cross a link, from the link's side: the groups and transfers of every device
/// behind it.
LinkLoads MapBuilder::loads_on(LinkId link) {
  LinkLoads loads;
  Seen seen;
  for (const DeviceId device : links_.devices_behind(link)) {
    if (device.value >= input_.placement.world()) continue;
    add_calls(link, Rank{device.value}, seen, loads);
    add_transfers(link, Rank{device.value}, loads);
  }
  return loads;
}

void MapBuilder::add_calls(LinkId link, Rank rank, Seen& seen, LinkLoads& loads) {
  const std::uint32_t c = input_.placement.stage_of(rank).value;
  const Link physical = input_.fabric.link(link);
  for (std::uint32_t i = 0; i < input_.programs[c].calls.size(); ++i) {
    const NetworkCall& call = map_.calls[c][i];
    const std::uint32_t first = first_template_[call.members.front()][call.owner_call];
    if (first == no_template) continue;
    const StageCall& stage_call = input_.programs[c].calls[i];
    const std::uint64_t group = input_.placement.group_key(stage_call.group, rank);
    const bool mesh = physical.kind == LinkKind::mesh;
    if (mesh && group != input_.placement.group_key(stage_call.group, Rank{physical.to})) continue;
    if (std::ranges::find(seen, std::array<std::uint64_t, 3>{c, i, group}) != seen.end()) continue;
    seen.push_back({c, i, group});
    for (const PlanCache::Load& load : plans_.loads(stage_call.group, stage_call.call, rank)) {
      if (load.link == link) loads[first + load.flow] += load.weight;
    }
  }
}

/// Transfers that this rank sends or receives over the link.
void MapBuilder::add_transfers(LinkId link, Rank rank, LinkLoads& loads) {
  const std::uint32_t here = input_.placement.stage_of(rank).value;
  const auto stages = static_cast<std::uint32_t>(input_.classes.representative.size());
  for (const bool forward : {true, false}) {
    const std::uint32_t next = (here + (forward ? 1 : stages - 1)) % stages;
    const std::uint32_t previous = (here + (forward ? stages - 1 : 1)) % stages;
    const auto count = [&](std::uint32_t sender, Rank from, Rank to) {
      const std::int64_t id = hop_template_[forward ? 1 : 0][sender];
      if (id < 0) return;
      const auto route =
          input_.fabric.route(input_.placement.device_of(from), input_.placement.device_of(to));
      if (std::ranges::find(route, link) != route.end()) loads[static_cast<std::uint32_t>(id)] += 1;
    };
    count(here, rank, input_.placement.on_stage(rank, Stage{next}));
    count(previous, input_.placement.on_stage(rank, Stage{previous}), rank);
  }
}

NetworkFlow& MapBuilder::flow_of(const FlowTemplate& t) {
  switch (t.kind) {
    case FlowTemplate::Kind::call:
      return map_.calls[t.owner][t.call].phases[t.phase][t.flow];
    case FlowTemplate::Kind::forward:
      return map_.forward[t.owner].flow;
    case FlowTemplate::Kind::backward:
      break;
  }
  return map_.backward[t.owner].flow;
}

void MapBuilder::place(const FlowTemplate& t) {
  NetworkFlow& flow = flow_of(t);
  const auto id = static_cast<std::uint32_t>(&t - templates_.data());
  flow.alone = flow.bytes * links_.seconds_per_byte(id);
  flow.path = links_.path(id);
}

void MapBuilder::settle(NetworkCall& call) {
  call.lone = call.members.size() == 1;
  call.alone = 0;
  for (const auto& phase : call.phases) {
    double slowest = 0;
    for (const NetworkFlow& flow : phase) {
      slowest = std::max(slowest, flow.latency + flow.alone);
      call.lone = call.lone && flow.path.empty();
    }
    call.alone += slowest;
  }
}

}  // namespace

RankClasses classes_by_stage(const Placement& placement) {
  RankClasses classes;
  for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(placement.plan().pp); ++s) {
    classes.representative.push_back(placement.first_of(Stage{s}));
    classes.ranks.push_back(static_cast<std::uint32_t>(placement.plan().stage_ranks()));
  }
  return classes;
}

NetworkMap build_network_map(const NetworkMapInput& input) { return MapBuilder(input).build(); }

}  // namespace stepcast
