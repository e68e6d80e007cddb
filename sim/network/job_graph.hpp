#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "job_period.hpp"
#include "stepcast/sim/network/network_map.hpp"

/// Who uses which link: the collectives of all groups and the pipeline transfers of all ranks of a
/// job.
namespace stepcast {

inline constexpr std::uint32_t no_index = std::numeric_limits<std::uint32_t>::max();

/// All calls of one group kind of one stage's program, planned for groups of one shape. Links are
/// named by members, so that every group of that shape shares the plan.
struct GroupPattern {
  struct Load {
    std::uint32_t slot;  ///< flow, counted over calls, phases and flows
    double weight;
    friend auto operator<=>(const Load&, const Load&) = default;
  };
  struct Entry {
    LinkKind kind;
    std::uint32_t a, b;  ///< members whose link it is; b counts for mesh links only; a wire: a
                         ///< member of its node, and which wire of the node; a
                         ///< channel: 0, and its name
    std::uint32_t first, count;  ///< its loads
    std::uint32_t role{};        ///< equal where the loads are, in all patterns of a job
  };
  struct Call {
    std::uint32_t call;  ///< in the stage's program
    std::uint32_t first_slot;
    std::string algorithm;
    std::vector<std::vector<NetworkFlow>> phases;  ///< without paths
    double held = 0;                               ///< as NetworkCall::held
    friend bool operator==(const Call&, const Call&) = default;
  };
  std::uint32_t stage = 0;
  std::vector<Call> calls;
  std::vector<Entry> entries;
  std::vector<Load> loads;
  std::uint32_t slots = 0;
  /// Number of the first pattern of that kind and stage with the same calls and flows: their groups
  /// differ in nothing but the links that they load.
  std::uint32_t alike = 0;
};

/// Numbers of lists of loads, which the patterns hold.
struct EarlierLoads {
  bool operator()(std::span<const GroupPattern::Load> a,
                  std::span<const GroupPattern::Load> b) const {
    return std::ranges::lexicographical_compare(a, b);
  }
};
using LoadRoles = std::map<std::span<const GroupPattern::Load>, std::uint32_t, EarlierLoads>;

/// Bytes of several devices may cross it.
bool crossed_by_several(const Fabric& fabric, LinkId link);
/// Where a channel of a stage leads to.
Stage neighbour_stage(const NetworkMapInput& input, Stage stage, Channel channel);
/// Bytes of one transfer of a stage on a channel; nothing when no chunk uses it.
std::optional<Bytes> channel_bytes(const NetworkMapInput& input, Stage stage, Channel channel);

class WireFrame;

/// Numbers of links, of which a job uses few: a page of them exists when one is used.
class LinkIndex {
 public:
  explicit LinkIndex(std::uint32_t links) : pages_(links / page + 1) {}
  /// no_index until it is set.
  std::uint32_t& operator[](LinkId link);

 private:
  static constexpr std::uint32_t page = 1024;
  std::vector<std::vector<std::uint32_t>> pages_;
};

/// Ranks are those of the period: of one of its copies, which stands for all. A group that goes
/// through all copies has the members of the first one only, and their links.
class JobGraph {
 public:
  /// `world_alone`: calls of the whole world meet nothing and are left out.
  JobGraph(const NetworkMapInput& input, bool world_alone);
  JobGraph(const NetworkMapInput& input, bool world_alone, JobPeriod period);

  const JobPeriod& period() const { return period_; }
  /// False where a collective treats its members differently in each copy: the graph is of no use.
  bool repeats() const { return repeats_; }

  /// A group, or a transfer channel from a rank to its neighbour stage.
  struct Object {
    enum class Kind : std::uint8_t { group, channel };
    Kind kind;
    GroupKind group;
    std::uint32_t pattern;       ///< of a group; of a channel, which
    std::uint32_t first, count;  ///< its members; of a channel the sender and the receiver
    double latency = 0;          ///< of a channel [s]
  };
  /// An object's entry on a link.
  struct Use {
    std::uint32_t object, link, entry;
  };
  struct UsedLink {
    LinkId id;
    double bandwidth;
    bool of_one_device;  ///< all of its flows have one rank as a member, whose streams order them
    bool hashed;         ///< onto the uplinks of a trunk: it is not alike a NIC that is as fast
  };

  const std::vector<Object>& objects() const { return objects_; }
  const std::vector<GroupPattern>& patterns() const { return patterns_; }
  const std::vector<UsedLink>& links() const { return links_; }
  /// Sorted by object; `by_link` holds indices into it, sorted by link.
  const std::vector<Use>& uses() const { return uses_; }
  std::span<const std::uint32_t> uses_of_link(std::uint32_t link) const;
  std::span<const Use> uses_of_object(std::uint32_t object) const;
  std::span<const Rank> members(const Object& object) const {
    return {members_.data() + object.first, object.count};
  }
  /// Object of a rank's group of that kind, of its sends and of what it receives; no_index without
  /// one.
  std::uint32_t group_of(GroupKind kind, Rank rank) const;
  std::uint32_t channel_of(Rank sender, Channel channel) const {
    return channel_of_[static_cast<std::size_t>(channel)][sender.value];
  }
  std::uint32_t incoming_of(Rank receiver, Channel channel) const {
    return incoming_of_[static_cast<std::size_t>(channel)][receiver.value];
  }
  /// Object of what a rank copies to its host, or from it, where there is a PCIe tree; no_index
  /// without one, and for a rank that copies nothing.
  std::uint32_t copies_of(Stream direction, Rank rank) const;
  /// Groups in the order of their kinds, as a rank's tensor group is not its data group, then
  /// copies and channels; no_index for what the rank has not.
  template <class See>
  void each_of(Rank rank, const See& see) const {
    for (std::size_t k = 0; k < group_kinds; ++k) see(group_of(static_cast<GroupKind>(k), rank));
    for (const Stream direction : {Stream::to_host, Stream::from_host})
      see(copies_of(direction, rank));
    for (std::size_t c = 0; c < channels; ++c) {
      const Channel channel{static_cast<std::uint8_t>(c)};
      see(channel_of(rank, channel));
      see(incoming_of(rank, channel));
    }
  }
  /// Loads of a use: slots of the object's pattern, or slot 0 of a channel.
  std::span<const GroupPattern::Load> loads(const Use& use) const;
  /// Equal for uses with equal loads.
  std::uint32_t role(const Use& use) const;
  /// Equal for groups of one kind and stage that send the same flows, and for channels of one
  /// direction.
  std::uint32_t flows_of(const Object& object) const {
    const bool group = object.kind == Object::Kind::group;
    return group ? patterns_[object.pattern].alike : object.pattern;
  }

 private:
  using ShapeKey = std::vector<std::uint32_t>;

  void add_groups(GroupKind kind);
  void add_channels(Channel channel);
  void add_copies(Stream direction);
  GroupPattern copies(std::uint32_t stage, Stream direction) const;
  /// `members`: those of the period.
  std::uint32_t pattern_for(GroupKind kind, std::uint32_t stage, const std::vector<Rank>& members);
  DeviceId device_of(Rank own) const { return input_.placement.device_of(period_.in_job(own)); }
  DeviceId second_end(const GroupPattern::Entry& entry, const WireFrame& frame,
                      const std::vector<Rank>& members) const;
  std::vector<DeviceId> devices_of(const std::vector<Rank>& members) const;
  ShapeKey shape_of(const std::vector<Rank>& members) const;
  bool is_skewed(GroupKind kind, std::uint32_t stage) const;
  GroupPattern plan(GroupKind kind, std::uint32_t stage, const std::vector<Rank>& members);
  void compare(GroupKind kind, std::uint32_t number);
  /// Puts an entry on a link, or on what stands in for it, and on the PCIe links that bytes of
  /// these cross.
  void load(std::uint32_t object, LinkId link, std::uint32_t entry);
  void use_with_pcie(std::uint32_t object, LinkId link, std::uint32_t entry);
  void use(std::uint32_t object, LinkId link, std::uint32_t entry);
  void index_links();

  const NetworkMapInput& input_;
  JobPeriod period_;
  bool repeats_ = true;
  std::vector<Object> objects_;
  std::vector<Rank> members_;
  std::vector<GroupPattern> patterns_;
  std::map<std::pair<std::pair<GroupKind, std::uint32_t>, ShapeKey>, std::uint32_t> pattern_index_;
  /// Patterns of a kind and stage that are not alike.
  std::map<std::pair<GroupKind, std::uint32_t>, std::vector<std::uint32_t>> unlike_;
  LoadRoles roles_;
  std::array<std::vector<std::uint32_t>, group_kinds> group_of_;
  std::array<std::vector<std::uint32_t>, channels> channel_of_, incoming_of_;
  std::array<std::vector<std::uint32_t>, streams> copies_of_;
  std::vector<Use> uses_;
  std::vector<std::uint32_t> first_use_, by_link_, first_by_link_;
  std::vector<UsedLink> links_;
  LinkIndex dense_;  ///< into links_
};

}  // namespace stepcast
