#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "job_graph.hpp"
#include "link_classes.hpp"
#include "pattern_planner.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/workloads/fair_share.hpp"

namespace stepcast {
namespace {

/// Calls of a group of one kind and size are one plan, made as often as they are called.
using PlanKey = std::tuple<std::uint32_t, CollectiveKind, double, Stream>;

class TracedMap {
 public:
  TracedMap(const NetworkMapInput& input, const TaskGraph::Traced& traced)
      : input_{input}, traced_{traced} {}

  NetworkMap build() {
    const auto ranks = static_cast<std::uint32_t>(input_.programs.size());
    for (std::uint32_t r = 0; r < ranks; ++r) plan_calls(r);
    settle_flows();
    for (std::uint32_t r = 0; r < ranks; ++r) add_rank(r);
    return std::move(map_);
  }

 private:
  /// What a flow belongs to, to tell which never run at the same time.
  struct Place {
    std::uint32_t plan;
    std::size_t phase;
    Stream stream;
  };

  PlanKey key_of(std::uint32_t r, std::size_t c) const {
    const StageCall& call = input_.programs[r].calls[c];
    // Both ends of a transfer have streams of their own; it is one flow all the same.
    const bool transfer = call.call.kind == CollectiveKind::send_recv;
    return {traced_.of_call[r][c], call.call.kind, call.call.bytes.value(),
            transfer ? Stream::tensor : call.stream};
  }

  void plan_calls(std::uint32_t r) {
    const auto& calls = input_.programs[r].calls;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      // One plan per group, kind, size and stream.
      const auto next = static_cast<std::uint32_t>(plans_.size());
      if (!plan_of_.try_emplace(key_of(r, c), next).second) continue;
      plans_.push_back(planned(calls[c], traced_.groups[traced_.of_call[r][c]], next));
    }
  }

  NetworkCall planned(const StageCall& stage_call, const std::vector<Rank>& members,
                      std::uint32_t number) {
    std::vector<DeviceId> devices;
    devices.reserve(members.size());
    for (const Rank member : members) devices.push_back(input_.placement.device_of(member));
    // Planned for these devices, since groups of a trace need not lie alike.
    const CollectivePlan plan = plan_call(input_, devices, stage_call, input_.form);
    NetworkCall call{plan.algorithm, timed_phases(plan, input_.fabric)};
    call.arrivals = static_cast<std::uint32_t>(devices.size());
    call.held = held_by(input_.fabric, devices, stage_call);
    // Every call of a trace is one meeting.
    call.once = true;
    for (std::size_t p = 0; p < plan.phases.size(); ++p)
      for (std::size_t f = 0; f < plan.phases[p].flows.size(); ++f) {
        call.phases[p][f].number = static_cast<std::uint32_t>(places_.size());
        load(plan.phases[p].flows[f]);
        places_.push_back({number, p, stage_call.stream});
        // Transfers have no stream whose order could be relied on.
        const bool transfer = stage_call.call.kind == CollectiveKind::send_recv;
        transfers_.push_back(transfer);
      }
    return call;
  }

  /// Bytes of a failed link load what stands in for it, those of a NIC the PCIe links below it.
  void load(const PhaseFlow& flow) {
    const auto number = static_cast<std::uint32_t>(places_.size());
    for (const LinkWeight& use : flow.links) {
      const std::vector<LinkId>* detour = input_.fabric.detour(use.link);
      // A list of one, so that both cases are one loop.
      const std::vector<LinkId> own{use.link};
      for (const LinkId link : detour == nullptr ? own : *detour) {
        loads_[link].emplace_back(number, use.weight);
        for (const LinkId more : input_.fabric.over_pcie(link))
          loads_[more].emplace_back(number, use.weight);
      }
    }
  }

  /// Streams order the collectives of a device's own link; everything else may meet.
  bool can_meet(LinkId link, const LinkLoads& loads) const {
    // Several devices are behind such a link: only a lone flow meets nobody there.
    if (crossed_by_several(input_.fabric, link)) return loads.size() > 1;
    // On the link of one device, flows of one stream take turns, phase after phase.
    std::set<std::pair<std::uint32_t, std::size_t>> phases;
    const Place& first = places_[loads.front().first];
    return loads.size() > 1 && !std::ranges::all_of(loads, [&](const auto& load) {
             const Place& place = places_[load.first];
             return !transfers_[load.first] && place.stream == first.stream &&
                    phases.insert({place.plan, place.phase}).second;
           });
  }

  void settle_flows() {
    LinkClasses links(places_.size());
    // Links are classes of one: a trace is not folded.
    for (const auto& [link, loads] : loads_)
      links.add(input_.fabric.link(link).bandwidth.value(), loads, can_meet(link, merged(loads)));
    links.finish();
    map_.bandwidths = links.bandwidths();
    for (NetworkCall& call : plans_) {
      call.lone = true;
      for (auto& phase : call.phases) {
        for (NetworkFlow& flow : phase) {
          flow.alone = flow.bytes * links.seconds_per_byte(flow.number);
          flow.path = links.path(flow.number);
          call.lone = call.lone && flow.path.empty();
        }
        call.alone += time_of(phase);
      }
      // No like group runs in step with it.
      call.one_group = call.alone;
    }
  }

  double time_of(const std::vector<NetworkFlow>& phase) const {
    double slowest = 0;
    std::vector<SharedFlow> sharing;
    for (const NetworkFlow& flow : phase) {
      slowest = std::max(slowest, flow.latency + flow.alone);
      if (flow.path.empty()) continue;
      SharedFlow& shared = sharing.emplace_back(SharedFlow{flow.latency, flow.bytes, {}});
      for (const LinkUse& use : flow.path) shared.links.emplace_back(use.link, use.count);
    }
    return sharing.size() < 2 ? slowest
                              : std::max(slowest, time_together(sharing, map_.bandwidths));
  }

  void add_rank(std::uint32_t r) {
    // Every rank is a class and a stage by itself.
    RankClasses& classes = map_.classes;
    classes.representative.push_back(Rank{r});
    classes.stage.push_back(Stage{r});
    classes.variant.push_back(0);
    classes.ranks.push_back(1);
    classes.class_of.push_back(r);
    // Transfers of a trace are calls; channels stay empty.
    for (auto& hops : map_.hops) hops.push_back({r, {}});
    auto& calls = map_.call_of.emplace_back();
    for (std::size_t c = 0; c < input_.programs[r].calls.size(); ++c) calls.push_back(call(r, c));
  }

  /// Both ends of a transfer, and all members of a collective, come to the same call.
  std::uint32_t call(std::uint32_t r, std::size_t c) {
    const bool transfer = input_.programs[r].calls[c].call.kind == CollectiveKind::send_recv;
    const auto next = static_cast<std::uint32_t>(map_.calls.size());
    const auto [place, fresh] =
        calls_.try_emplace({traced_.of_call[r][c], traced_.occurrence[r][c], transfer}, next);
    if (!fresh) return place->second;
    map_.calls.push_back(plans_[plan_of_.at(key_of(r, c))]);
    map_.calls.back().group = next;  // its members meet here and nowhere else
    return next;
  }

  const NetworkMapInput& input_;
  const TaskGraph::Traced& traced_;
  NetworkMap map_;
  std::map<PlanKey, std::uint32_t> plan_of_;
  std::vector<NetworkCall> plans_;
  std::vector<Place> places_;    ///< by flow
  std::vector<bool> transfers_;  ///< by flow
  std::map<LinkId, LinkLoads> loads_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint32_t> calls_;
};

}  // namespace

NetworkMap traced_network_map(const NetworkMapInput& input, const TaskGraph::Traced& traced) {
  return TracedMap(input, traced).build();
}

}  // namespace stepcast
