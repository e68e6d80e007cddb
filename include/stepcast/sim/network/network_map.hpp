#pragma once
#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/sim/engine/engine.hpp"
#include "stepcast/sim/graph/task_graph.hpp"
#include "stepcast/sim/network/collective_times.hpp"
#include "stepcast/sim/scenario/options.hpp"
#include "stepcast/topology/fabric.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/program.hpp"

/// The map has collectives and pipeline transfers of each rank class on classes of links: what the
/// engine shares (docs/models/folding.md).
namespace stepcast {

/// Rank classes are ranks that start alike and see alike neighbours, with one representative each.
struct RankClasses {
  std::vector<Rank> representative;     ///< by class
  std::vector<Stage> stage;             ///< by class
  std::vector<std::uint32_t> variant;   ///< by class: of its stage's program
  std::vector<std::uint32_t> ranks;     ///< by class: how many behave like it
  std::vector<std::uint32_t> class_of;  ///< by rank
};

/// A flow of a class. With an empty path it can meet no other flow and takes `alone`.
struct NetworkFlow {
  double latency = 0;  ///< after its bytes [s]
  double bytes = 0;
  double alone = 0;  ///< time of the bytes when nothing else moves [s]
  std::vector<LinkUse> path;
  static constexpr std::uint32_t unnumbered = UINT32_MAX;  ///< calls of the world that run alone
  std::uint32_t number = unnumbered;                       ///< in NetworkLink::loads
  friend bool operator==(const NetworkFlow&, const NetworkFlow&) = default;
};

using StreamSet = std::bitset<streams>;

/// One collective of one class of groups.
struct NetworkCall {
  std::string algorithm;
  std::vector<std::vector<NetworkFlow>> phases;
  static constexpr std::uint32_t no_group = UINT32_MAX;  ///< of the whole world, run alone
  std::uint32_t group = 0;     ///< class of the group: its members meet under this number
  std::uint32_t arrivals = 1;  ///< rank classes that must arrive
  bool once = false;  ///< its members meet once: the call is one of a trace, not of a program
  bool lone = false;  ///< no shared link: start + `alone` is its end
  /// All that its flows can meet are calls of its own members on these streams; nothing: they can
  /// meet others too.
  std::optional<StreamSet> rivals = {};
  double alone = 0;      ///< all phases with their latencies, beside those of its likes [s]
  double one_group = 0;  ///< the same of one group, when its likes do not move either [s]
  double held = 0;       ///< part of a member's cores that it holds while it runs
};

/// A rank's pipeline transfers go over in-order channels, which say what moves, and to which stage.
/// After the last stage comes the first.
enum class Channel : std::uint8_t {
  output_next,
  gradient_previous,
  output_previous,
  gradient_next
};
inline constexpr std::size_t channels = 4;
constexpr bool carries_output(Channel channel) {
  return channel == Channel::output_next || channel == Channel::output_previous;
}
/// A chunk sends its output, or the gradient of its input, on this channel.
constexpr Channel channel_of(ChunkPlacement placement, Chunk chunk, bool output) {
  const bool mirrored = placement != ChunkPlacement::loop && chunk.value == 1;
  if (output) return mirrored ? Channel::output_previous : Channel::output_next;
  return mirrored ? Channel::gradient_next : Channel::gradient_previous;
}

/// One pipeline transfer to a neighbouring stage.
struct NetworkHop {
  std::uint32_t peer = 0;  ///< receiving class
  NetworkFlow flow;
};

/// Links that carry the same flows; that is for reports.
struct NetworkLink {
  LinkKind kind;
  std::string name;  ///< of the first of them
  double bandwidth;  ///< of each [B/s]
  std::uint32_t count;
  /// By flow number: the bytes over each link per byte of the flow.
  std::vector<std::pair<std::uint32_t, double>> loads;
};

/// Rank classes of a job with the calls, transfers and links that they use. docs/models/folding.md.
struct NetworkMap {
  RankClasses classes;
  std::vector<double> bandwidths;  ///< of link classes [B/s]
  /// Loads of some link have no common share of a 1024th and are rounded to it.
  bool rounded = false;
  std::vector<NetworkCall> calls;
  std::vector<std::vector<std::uint32_t>> call_of;  ///< [class][StageProgram::calls index] -> calls
  std::array<std::vector<NetworkHop>, channels> hops;  ///< [channel][class]
  std::vector<NetworkLink> links;                      ///< only when asked for
  /// The most that one uplink of a leaf carries of some phase, in senders at their full rate; 0
  /// where flows are not hashed.
  double fullest_uplink = 0;

  const NetworkHop& hop(Channel channel, std::uint32_t rank_class) const {
    return hops[static_cast<std::size_t>(channel)][rank_class];
  }
};

/// What a map is made of; all of it must outlive the call.
struct NetworkMapInput {
  const Placement& placement;
  const Fabric& fabric;
  const std::vector<StageProgram>& programs;  ///< [stage]
  const CollectiveChoice& algorithms;
  Fold fold = Fold::automatic;
  /// [rank] Ranks with other keys are not alike from the start (StallPlan::keys); empty: all are.
  std::vector<std::uint64_t> rank_keys = {};
  NetworkForm form = NetworkForm::ports;  ///< world calls that run alone are ports either way
  /// [rank] This is the variant of its stage's program (StageProgram::variants); empty: 0. Ranks of
  /// other variants are not alike from the start.
  std::vector<std::uint32_t> rank_variants = {};
  bool describe_links = false;  ///< fill NetworkMap::links
  /// One hash of the flows onto uplinks is drawn with it; nothing: the mean of all hashes counts.
  std::optional<std::uint64_t> hash_seed = {};
};

/// Finds the rank classes (or takes every rank for itself), plans every call once per shape of
/// group, and finds from the side of each link which flows can meet on it.
NetworkMap build_network_map(const NetworkMapInput& input);

/// The map of a step as if nothing shared a link: the first rank of each stage, its collectives at
/// their time alone. One class per stage, no flow on a link that others use.
NetworkMap map_without_contention(const Placement& placement,
                                  const std::vector<StageProgram>& programs,
                                  CollectiveTimes& times);

/// The map of a job that traces describe: every rank is a class, and every call is planned for the
/// members that its group has. All flows go over links that others may use, too.
NetworkMap traced_network_map(const NetworkMapInput& input, const TaskGraph::Traced& traced);

}  // namespace stepcast
