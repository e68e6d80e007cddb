#include "stepcast/sim/network/network_map.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "link_classes.hpp"
#include "pattern_planner.hpp"
#include "plain_map.hpp"
#include "refinement.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/phases.hpp"
#include "stepcast/sim/network/solitary.hpp"
#include "stepcast/workloads/fair_share.hpp"
#include "trunk_collisions.hpp"
#include "world_call.hpp"

namespace stepcast {
namespace {

/// Finds which streams of a rank flows can meet, link by link.
class Rivals {
 public:
  explicit Rivals(std::size_t flows) : streams_(flows), others_(flows) {}

  /// Two of these flows can be on that link at a time. `stream_of` says whose stream a flow is; a
  /// number beyond the streams stands for a channel. `of_one_device`: all are of one rank.
  template <class StreamOf>
  void meet(const LinkLoads& loads, bool of_one_device, const StreamOf& stream_of) {
    StreamSet together;
    bool others = !of_one_device;
    for (const auto& [flow, weight] : loads) {
      const std::size_t stream = stream_of(flow);
      others = others || stream >= streams;
      if (stream < streams) together.set(stream);
    }
    for (const auto& [flow, weight] : loads) {
      streams_[flow] |= together;
      others_[flow] = others_[flow] || others;
    }
  }

  /// Of a call of that stream, whose flows are numbered: nothing where a flow can meet what is not
  /// its members' own, or another one of its phase.
  std::optional<StreamSet> of(const NetworkCall& call, Stream stream) const {
    StreamSet all;
    for (const auto& phase : call.phases) {
      // Flows of one phase may hold each other up.
      if (phase.size() > 1) return {};
      for (const NetworkFlow& flow : phase) {
        if (others_[flow.number]) return {};
        all |= streams_[flow.number];
      }
    }
    // Its own stream is in order and cannot hold it up.
    return all.reset(static_cast<std::size_t>(stream));
  }

 private:
  std::vector<StreamSet> streams_;  ///< by flow: of the links that it is on
  std::vector<bool> others_;        ///< by flow: it can meet transfers, or flows of other ranks
};

/// What a flow belongs to, to tell which flows never run at the same time.
struct FlowPlace {
  std::uint32_t object;  ///< colour
  std::uint32_t call, phase;
  std::uint32_t stream;  ///< of its members; channels have streams of their own
};

/// Time of those flows of a phase that can meet others, when they only meet each other.
double sharing_time(const std::vector<NetworkFlow>& phase, std::span<const double> bandwidths) {
  std::vector<SharedFlow> sharing;
  for (const NetworkFlow& flow : phase) {
    // Flows without a path meet nobody, not even each other.
    if (flow.path.empty()) continue;
    SharedFlow& shared = sharing.emplace_back(SharedFlow{flow.latency, flow.bytes, {}});
    for (const LinkUse& use : flow.path) shared.links.emplace_back(use.link, use.count);
  }
  // One flow alone takes its own time, which the caller has.
  return sharing.size() < 2 ? 0 : time_together(sharing, bandwidths);
}

/// Of the shortest period that all collectives have.
JobGraph graph_of(const NetworkMapInput& input, bool world_alone) {
  // A period is proven for calls of the world that run alone only.
  if (!world_alone) return JobGraph(input, world_alone);
  JobPeriod period = shortest_period(input);
  JobGraph graph(input, world_alone, std::move(period));
  // The period was a guess of the plan; collectives have the last word.
  return graph.repeats() ? std::move(graph) : JobGraph(input, world_alone);
}

class MapBuilder {
 public:
  MapBuilder(const NetworkMapInput& input, bool world_alone, JobGraph graph)
      : input_{input},
        world_alone_{world_alone},
        graph_{std::move(graph)},
        colours_{coloured()},
        collisions_{input, graph_} {}

  NetworkMap build() {
    find_classes();
    number_flows();
    LinkClasses links(places_.size());
    rivals_ = Rivals(places_.size());
    load_links(links);
    // Calls get their numbers by object, hops by rank class: both are fixed by the colours.
    for (std::uint32_t o = 0; o < first_object_.size(); ++o) add_calls(o, links);
    for (std::uint32_t c = 0; c < map_.classes.representative.size(); ++c) {
      assign_calls(c);
      for (std::size_t k = 0; k < channels; ++k)
        map_.hops[k].push_back(hop(c, Channel{static_cast<std::uint8_t>(k)}, links));
    }
    map_.bandwidths = links.bandwidths();
    map_.rounded = links.rounded();
    map_.fullest_uplink = collisions_.fullest();
    tell_result([&] {
      return std::to_string(map_.calls.size()) + " collectives, " +
             std::to_string(map_.bandwidths.size()) + " links where flows can meet";
    });
    return std::move(map_);
  }

 private:
  /// Ranks that start alike have one key: numbered, since a hash could only make that likely.
  std::vector<std::uint64_t> keys() const {
    std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, std::uint64_t> known;
    std::vector<std::uint64_t> result(graph_.period().ranks().world());
    for (std::uint32_t own = 0; own < result.size(); ++own) {
      const std::uint32_t r = graph_.period().in_job(Rank{own}).value;
      // Program, stalls and variant: ranks that differ in one of these are never alike.
      const std::uint32_t stage = input_.placement.stage_of(Rank{r}).value;
      const std::uint64_t key = input_.rank_keys.empty() ? 0 : input_.rank_keys[r];
      const std::uint32_t variant = input_.rank_variants.empty() ? 0 : input_.rank_variants[r];
      result[own] = known.try_emplace({stage, key, variant}, known.size()).first->second;
    }
    return result;
  }

  Colours coloured() const {
    tell_result([&] {
      return std::to_string(graph_.objects().size()) + " groups and channels of " +
             std::to_string(graph_.patterns().size()) + " patterns";
    });
    begin_phase("folding ranks");
    // Without folding each rank is a class of its own and goes the same way from here on: no second
    // code can differ from the folded one.
    Colours colours = input_.fold == Fold::off ? separate(graph_, input_.placement.world())
                                               : refine(graph_, keys());
    tell_result([&] {
      return std::to_string(input_.placement.world()) + " ranks are " +
             std::to_string(colours.ranks) + " kinds";
    });
    begin_phase("planning collectives and links");
    return colours;
  }

  /// The first rank of a class represents it, so that the choice does not depend on the order of a
  /// container.
  void find_classes() {
    RankClasses& classes = map_.classes;
    const JobPeriod& period = graph_.period();
    // Colours are known for one period; other copies have those of the rank they repeat.
    for (std::uint32_t r = 0; r < input_.placement.world(); ++r)
      classes.class_of.push_back(colours_.rank[period.own(Rank{r}).value]);
    classes.ranks.resize(colours_.ranks);
    for (std::uint32_t r = 0; r < classes.class_of.size(); ++r) {
      // Ascending ranks: the first of a class represents it.
      if (classes.ranks[classes.class_of[r]]++ > 0) continue;
      classes.representative.push_back(Rank{r});
      classes.stage.push_back(input_.placement.stage_of(Rank{r}));
      classes.variant.push_back(input_.rank_variants.empty() ? 0 : input_.rank_variants[r]);
    }
  }

  /// One number per flow of each class of groups and channels.
  void number_flows() {
    for (std::uint32_t o = 0; o < graph_.objects().size(); ++o) {
      // Colours are numbered by first appearance, so that a new one is the next number.
      if (colours_.object[o] == first_object_.size()) first_object_.push_back(o);
    }
    for (std::uint32_t colour = 0; colour < first_object_.size(); ++colour) {
      first_flow_.push_back(static_cast<std::uint32_t>(places_.size()));
      const JobGraph::Object& object = graph_.objects()[first_object_[colour]];
      // A channel has one flow and a stream of its own, behind those of programs.
      if (object.kind != JobGraph::Object::Kind::group) {
        places_.push_back({colour, 0, 0, static_cast<std::uint32_t>(streams) + colour});
        continue;
      }
      const GroupPattern& pattern = graph_.patterns()[object.pattern];
      // The same order in which patterns count their slots.
      for (const GroupPattern::Call& call : pattern.calls) {
        const auto stream =
            static_cast<std::uint32_t>(input_.programs[pattern.stage].calls[call.call].stream);
        for (std::uint32_t p = 0; p < call.phases.size(); ++p) {
          places_.insert(places_.end(), call.phases[p].size(), {colour, call.call, p, stream});
        }
      }
    }
  }

  /// Links of one colour carry the same flows, so that the first one stands for all.
  void load_links(LinkClasses& links) {
    alike_.assign(colours_.links, 0);
    for (const std::uint32_t colour : colours_.link) ++alike_[colour];
    std::uint32_t next = 0;
    for (std::uint32_t l = 0; l < graph_.links().size(); ++l) {
      // The first link of each colour.
      if (colours_.link[l] != next) continue;
      ++next;
      LinkLoads instances = instances_on(l);
      const LinkLoads loads = merged(instances);
      if (input_.describe_links) describe_link(l, loads);
      const bool shared = flows_can_meet(graph_.links()[l], loads);
      // Who meets whom also decides which calls can end by arithmetic.
      if (shared)
        rivals_.meet(loads, graph_.links()[l].of_one_device,
                     [&](std::uint32_t flow) { return places_[flow].stream; });
      // A trunk that is never full when evenly loaded is there for its collisions alone.
      if (collisions_.can_fill(l))
        links.add(graph_.links()[l].bandwidth, std::move(instances), shared);
      const auto first_of = [&](std::uint32_t o) { return first_flow_[colours_.object[o]]; };
      // The fullest uplink slows each flow by itself: a private link of 1 B/s and the time of a
      // byte.
      for (const auto& [flow, seconds] : collisions_.on(l, first_of))
        links.add(1, {{flow, seconds}}, false);
    }
    links.finish();
  }

  /// All flows on a link, each instance of a class by itself.
  LinkLoads instances_on(std::uint32_t link) const {
    LinkLoads all;
    for (const std::uint32_t u : graph_.uses_of_link(link)) {
      const JobGraph::Use& use = graph_.uses()[u];
      // Flows of a colour have one set of numbers: slot by slot behind the first.
      const std::uint32_t first = first_flow_[colours_.object[use.object]];
      for (const GroupPattern::Load& load : graph_.loads(use))
        all.emplace_back(first + load.slot, load.weight);
    }
    return all;
  }

  /// Descriptions are made on demand only: a large job has many links, and only a page shows them.
  void describe_link(std::uint32_t l, const LinkLoads& loads) {
    const LinkId id = graph_.links()[l].id;
    map_.links.push_back({.kind = input_.fabric.link(id).kind,
                          .name = input_.fabric.link_name(id),
                          .bandwidth = graph_.links()[l].bandwidth,
                          .count = alike_[colours_.link[l]] * graph_.period().copies(),
                          .loads = loads});
  }

  /// On a link of one device its rank's streams order the flows; on others only equal flows run in
  /// step.
  bool flows_can_meet(const JobGraph::UsedLink& link, const LinkLoads& loads) const {
    // Flows of one object take turns on their stream; two of one phase run side by side.
    const FlowPlace& first = places_[loads.front().first];
    // Copies of one object run in step, so that they
    // count as one; other objects may come at any time.
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> phases;
    return !std::ranges::all_of(loads, [&](const auto& load) {
      const FlowPlace& place = places_[load.first];
      const bool ordered =
          place.stream == first.stream && (link.of_one_device || place.object == first.object);
      return ordered && phases.insert({place.object, place.call, place.phase}).second;
    });
  }

  /// Flow numbers run on as the flows were counted, so that a call finds its flows without a table.
  void add_calls(std::uint32_t colour, const LinkClasses& links) {
    // Channels get an entry too, so that colours index the list.
    first_call_.push_back(static_cast<std::uint32_t>(map_.calls.size()));
    const JobGraph::Object& object = graph_.objects()[first_object_[colour]];
    if (object.kind != JobGraph::Object::Kind::group) return;
    const std::uint32_t meeting = arrivals(object);
    std::uint32_t flow_number = first_flow_[colour];
    for (const GroupPattern::Call& planned : graph_.patterns()[object.pattern].calls) {
      NetworkCall& call =
          map_.calls.emplace_back(NetworkCall{planned.algorithm, planned.phases, colour, meeting});
      call.held = planned.held;
      // The same order as in number_flows().
      for (auto& phase : call.phases) {
        for (NetworkFlow& flow : phase) {
          flow.alone = flow.bytes * links.seconds_per_byte(flow_number);
          flow.number = flow_number;
          flow.path = links.path(flow_number++);
        }
      }
      settle(call, links.bandwidths());
      const auto& program = input_.programs[graph_.patterns()[object.pattern].stage];
      // A call of one class can only be held up by its own ranks' other streams.
      if (meeting == 1) call.rivals = rivals_.of(call, program.calls[planned.call].stream);
    }
    settle_one_group(first_object_[colour], first_call_.back());
  }

  /// A phase takes the longer of its slowest flow and the sharing among its own flows, which are
  /// known before the run.
  static void settle(NetworkCall& call, std::span<const double> bandwidths) {
    // Lone while no flow of the call has a path into the engine.
    call.lone = true;
    for (const auto& phase : call.phases) {
      double slowest = 0;
      for (const NetworkFlow& flow : phase) {
        slowest = std::max(slowest, flow.latency + flow.alone);
        call.lone = call.lone && flow.path.empty();
      }
      // Flows that meet each other may take longer than each of them alone.
      call.alone += std::max(slowest, sharing_time(phase, bandwidths));
    }
  }

  /// Times of the calls of one group from what its own flows put on each link: the same whatever
  /// groups are of its colour.
  void settle_one_group(std::uint32_t object, std::uint32_t first_call) {
    const GroupPattern& pattern = graph_.patterns()[graph_.objects()[object].pattern];
    // Loads of one group alone, without the copies that folding adds up.
    std::vector<LinkLoads> of_slot(pattern.slots);
    for (const JobGraph::Use& use : graph_.uses_of_object(object))
      for (const GroupPattern::Load& load : graph_.loads(use))
        of_slot[load.slot].emplace_back(use.link, load.weight);
    for (LinkLoads& loads : of_slot) loads = merged(std::move(loads));
    for (std::uint32_t c = 0; c < pattern.calls.size(); ++c) {
      // Slots of calls follow each other as the calls do.
      std::span<const LinkLoads> loads{of_slot};
      loads = loads.subspan(pattern.calls[c].first_slot);
      for (const auto& phase : pattern.calls[c].phases) {
        map_.calls[first_call + c].one_group += time_of(phase, loads.first(phase.size()));
        loads = loads.subspan(phase.size());
      }
    }
  }

  /// Time of the flows of a phase when nothing else moves; the links are those of the graph.
  double time_of(const std::vector<NetworkFlow>& phase, std::span<const LinkLoads> loads) const {
    const auto bandwidth = [&](std::uint32_t link) { return graph_.links()[link].bandwidth; };
    // A lone flow needs no sharing.
    if (phase.size() == 1) {
      double slowest = 0;
      for (const auto& [link, weight] : loads.front())
        slowest = std::max(slowest, weight / bandwidth(link));
      return phase.front().latency + phase.front().bytes * slowest;
    }
    // Links of this phase get numbers of their own: the solver is small.
    std::map<std::uint32_t, std::uint32_t> own;  // of the links that the phase uses
    std::vector<double> bandwidths;
    std::vector<SharedFlow> flows;
    for (std::size_t f = 0; f < phase.size(); ++f) {
      SharedFlow& flow = flows.emplace_back(SharedFlow{phase[f].latency, phase[f].bytes, {}});
      for (const auto& [link, weight] : loads[f]) {
        const auto next = static_cast<std::uint32_t>(bandwidths.size());
        const auto [place, fresh] = own.try_emplace(link, next);
        if (fresh) bandwidths.push_back(bandwidth(link));
        flow.links.emplace_back(place->second, weight);
      }
    }
    return time_together(flows, bandwidths);
  }

  /// Only representatives arrive: members of one class come together, as one.
  std::uint32_t arrivals(const JobGraph::Object& object) const {
    std::set<std::uint32_t> classes;
    for (const Rank member : graph_.members(object)) classes.insert(colours_.rank[member.value]);
    return static_cast<std::uint32_t>(classes.size());
  }

  /// Calls of one kind are matched by their order: groups that span stages call alike from each.
  void assign_calls(std::uint32_t c) {
    const Rank rank = map_.classes.representative[c];
    const std::uint32_t stage = map_.classes.stage[c].value;
    std::array<std::uint32_t, group_kinds> ordinal{};
    // Copies are counted apart, since they have calls of their own on a PCIe tree.
    std::array<std::uint32_t, 2> copies{};  // of each direction
    auto& assigned = map_.call_of.emplace_back();
    for (const StageCall& call : input_.programs[stage].calls) {
      if (call.over_host_link()) {
        // Without a PCIe tree a copy is its time alone.
        const std::uint32_t object = graph_.copies_of(call.stream, graph_.period().own(rank));
        assigned.push_back(object == no_index ? host_transfer(call.host_link.value())
                                              : first_call_[colours_.object[object]] +
                                                    copies[call.stream == Stream::to_host]++);
        continue;
      }
      // The n-th call of a kind is the same call for all stages of the group.
      const std::uint32_t nth = ordinal[static_cast<std::size_t>(call.group)]++;
      // All ranks meet in it, so that one call serves every class.
      if (call.group == GroupKind::world && world_alone_) {
        if (nth == world_calls_.size()) {
          world_calls_.push_back(static_cast<std::uint32_t>(map_.calls.size()));
          map_.calls.push_back(lone_world_call(input_, call));
          map_.calls.back().arrivals = colours_.ranks;
        }
        assigned.push_back(world_calls_[nth]);
      } else {
        const Rank own = graph_.period().own(rank);
        const std::uint32_t colour = colours_.object[graph_.group_of(call.group, own)];
        const JobGraph::Object& object = graph_.objects()[first_object_[colour]];
        // Stages whose programs differ in their calls would meet in the wrong ones.
        expects(nth < graph_.patterns()[object.pattern].calls.size(),
                "stages agree on the calls that they share");
        assigned.push_back(first_call_[colour] + nth);
      }
    }
  }

  /// A transfer over a device's own host link meets nothing.
  std::uint32_t host_transfer(double seconds) {
    // Equal times are one call: it meets nothing and nobody.
    const auto next = static_cast<std::uint32_t>(map_.calls.size());
    const auto [place, fresh] = host_transfers_.try_emplace(seconds, next);
    if (fresh)
      map_.calls.push_back({.algorithm = "host link",
                            .group = no_index,
                            .lone = true,
                            .alone = seconds,
                            .one_group = seconds});
    return place->second;
  }

  /// A channel without bytes still has its latency, because the message itself must arrive.
  NetworkHop hop(std::uint32_t c, Channel channel, const LinkClasses& links) const {
    const Rank from = map_.classes.representative[c];
    const Stage stage = map_.classes.stage[c];
    const Rank to = input_.placement.on_stage(from, neighbour_stage(input_, stage, channel));
    NetworkHop result{map_.classes.class_of[to.value], {}};
    // A pipeline of one stage sends nothing.
    if (to == from) return result;
    const DeviceId a = input_.placement.device_of(from), b = input_.placement.device_of(to);
    const double launch = input_.fabric.cluster().device.launch.communication.value();
    const Bytes bytes = channel_bytes(input_, stage, channel).value_or(Bytes{0});
    result.flow.latency = transfer_latency(input_.fabric, a, b, bytes).value() + launch;
    // A channel that no chunk uses has no flow.
    const std::uint32_t object = graph_.channel_of(graph_.period().own(from), channel);
    if (object == no_index) return result;
    const std::uint32_t flow = first_flow_[colours_.object[object]];
    result.flow.bytes = bytes.value();
    result.flow.alone = result.flow.bytes * links.seconds_per_byte(flow);
    result.flow.number = flow;
    result.flow.path = links.path(flow);
    return result;
  }

  const NetworkMapInput& input_;
  bool world_alone_;
  JobGraph graph_;
  Colours colours_;
  TrunkCollisions collisions_;
  NetworkMap map_;
  std::vector<std::uint32_t> first_object_;  ///< by object colour
  std::vector<std::uint32_t> first_flow_;    ///< by object colour
  std::vector<std::uint32_t> first_call_;    ///< by object colour: into map_.calls
  std::vector<FlowPlace> places_;
  Rivals rivals_{0};
  std::vector<std::uint32_t> alike_;                ///< by link colour: links of it
  std::vector<std::uint32_t> world_calls_;          ///< by ordinal: into map_.calls
  std::map<double, std::uint32_t> host_transfers_;  ///< by their time: into map_.calls
};

}  // namespace

NetworkMap build_network_map(const NetworkMapInput& input) {
  const bool world_alone = world_runs_alone(input.programs);
  return MapBuilder(input, world_alone, graph_of(input, world_alone)).build();
}

NetworkMap build_plain_network_map(const NetworkMapInput& input) {
  const bool world_alone = world_runs_alone(input.programs);
  return MapBuilder(input, world_alone, JobGraph(input, world_alone)).build();
}

}  // namespace stepcast
