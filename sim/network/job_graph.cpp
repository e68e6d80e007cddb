#include "job_graph.hpp"

#include <algorithm>
#include <span>

#include "pattern_planner.hpp"
#include "stepcast/topology/collisions.hpp"

namespace stepcast {
namespace {

constexpr GroupPattern::Load whole_channel{0, 1};

/// Devices with one number share a full mesh.
std::uint32_t mesh_of(const Fabric& fabric, DeviceId device) {
  const auto size = static_cast<std::uint32_t>(fabric.mesh_size());
  return size > 0 ? device.value / size : fabric.node_of(device).value;
}

}  // namespace

bool crossed_by_several(const Fabric& fabric, LinkId link) {
  // What belongs to one device carries bytes of that device alone, unless a detour leads over it.
  switch (info(fabric.link(link).kind).family.owner) {
    case LinkOwner::leaf:
    case LinkOwner::pod:
    case LinkOwner::wire:
    case LinkOwner::channel:
    case LinkOwner::pcie_switch:
      return true;
    // A NIC of a node carries the bytes of all its devices.
    case LinkOwner::nic:
      if (fabric.cluster().network.nic.per == NicSpec::Per::node) return true;
      break;
    case LinkOwner::pair:
    case LinkOwner::device:
      break;
  }
  return fabric.on_detour(link);
}

/// The ring of stages closes, because a chunk of the last stage sends to the first one.
Stage neighbour_stage(const NetworkMapInput& input, Stage stage, Channel channel) {
  const auto stages = static_cast<std::uint32_t>(input.programs.size());
  // Output goes ahead and gradients come back; beyond the turn of a V it is the other way round.
  const bool next = channel == Channel::output_next || channel == Channel::gradient_next;
  return {(stage.value + (next ? 1 : stages - 1)) % stages};
}

/// Chunks that send over one channel may send different amounts; the largest one stands for all of
/// them.
std::optional<Bytes> channel_bytes(const NetworkMapInput& input, Stage stage, Channel channel) {
  const StageProgram& program = input.programs[stage.value];
  // `chunks` of the program, since a table of orders may have its own.
  const std::uint32_t chunks = program.chunk_count();
  const ChunkMap map{input.placement.plan().chunk_placement,
                     static_cast<std::int64_t>(input.programs.size()), chunks};
  const bool output = channel == Channel::output_next || channel == Channel::output_previous;
  std::optional<Bytes> bytes;
  for (std::uint32_t c = 0; c < chunks; ++c) {
    const Seat seat{{c}, stage};
    const auto reader = output ? map.after(seat) : map.before(seat);
    const bool leaves = reader && reader->stage != stage;
    // A neighbour on the same stage reads what is there: nothing is sent.
    if (!leaves || stepcast::channel_of(map.placement, {c}, output) != channel) continue;
    // Slice 0 stands for all slices of the chunk.
    const ChunkProgram& chunk = program.of({c}, {0});
    const Bytes own = output ? chunk.send_forward : chunk.send_backward;
    bytes = std::max(bytes.value_or(Bytes{0}), own);
  }
  return bytes;
}

std::uint32_t& LinkIndex::operator[](LinkId link) {
  // Most links of a large cluster are never used by one job.
  std::vector<std::uint32_t>& of_page = pages_[link.value / page];
  if (of_page.empty()) of_page.resize(page, no_index);
  return of_page[link.value % page];
}

JobGraph::JobGraph(const NetworkMapInput& input, bool world_alone)
    : JobGraph(input, world_alone, JobPeriod(input.placement)) {}

JobGraph::JobGraph(const NetworkMapInput& input, bool world_alone, JobPeriod period)
    : input_{input}, period_{std::move(period)}, dense_(input.fabric.link_count()) {
  for (std::size_t k = 0; k < group_kinds; ++k) {
    const auto kind = static_cast<GroupKind>(k);
    const bool left_out = kind == GroupKind::world && world_alone;
    if (!left_out && uses_group(input.programs, kind)) add_groups(kind);
  }
  // Objects get numbers in a fixed order, so that colours come out the same in every run.
  for (std::size_t c = 0; c < channels; ++c) add_channels(Channel{static_cast<std::uint8_t>(c)});
  if (input.fabric.has_pcie())
    for (const Stream direction : {Stream::to_host, Stream::from_host}) add_copies(direction);
  index_links();
}

/// A group is planned once per shape, because thousands of groups of one kind lie alike on the
/// fabric.
void JobGraph::add_groups(GroupKind kind) {
  const Placement& ranks = period_.ranks();
  const std::uint32_t world = ranks.world();
  auto& of_rank = group_of_[static_cast<std::size_t>(kind)];
  of_rank.assign(world, no_index);
  for (std::uint32_t r = 0; r < world; ++r) {
    // The whole group is entered with its first member; later ones find it there.
    if (of_rank[r] != no_index) continue;
    const std::vector<Rank> members = ranks.group(kind, Rank{r});
    const std::uint32_t stage = ranks.stage_of(members.front()).value;
    const auto object = static_cast<std::uint32_t>(objects_.size());
    const std::uint32_t pattern = pattern_for(kind, stage, members);
    objects_.push_back({.kind = Object::Kind::group,
                        .group = kind,
                        .pattern = pattern,
                        .first = static_cast<std::uint32_t>(members_.size()),
                        .count = static_cast<std::uint32_t>(members.size())});
    members_.insert(members_.end(), members.begin(), members.end());
    for (const Rank member : members) of_rank[member.value] = object;
    // Entries name links by members: here each group finds its own.
    const auto& entries = patterns_[pattern].entries;
    const WireFrame frame(input_.fabric, devices_of(members));
    for (std::uint32_t e = 0; e < entries.size(); ++e) {
      const DeviceId a = device_of(members[entries[e].a]);
      const DeviceId b = second_end(entries[e], frame, members);
      load(object, member_link(input_.fabric, entries[e].kind, a, b), e);
    }
  }
}

/// What names a link beside the first member: a member, or the name of a wire or channel.
DeviceId JobGraph::second_end(const GroupPattern::Entry& entry, const WireFrame& frame,
                              const std::vector<Rank>& members) const {
  if (entry.kind == LinkKind::wire) return {frame.real(entry.b)};
  if (info(entry.kind).family.owner == LinkOwner::channel) return {entry.b};
  return device_of(members[entry.b]);
}

/// A channel is an object even where it carries no bytes, because its latency tells ranks apart.
void JobGraph::add_channels(Channel channel) {
  const Placement& ranks = period_.ranks();
  const std::uint32_t world = ranks.world();
  const auto index = static_cast<std::uint32_t>(channel);
  channel_of_[index].assign(world, no_index);
  incoming_of_[index].assign(world, no_index);
  std::vector<std::optional<Bytes>> bytes;
  // Bytes depend on the stage alone: asked once, not per rank.
  for (std::uint32_t s = 0; s < input_.programs.size(); ++s)
    bytes.push_back(channel_bytes(input_, Stage{s}, channel));
  for (std::uint32_t r = 0; r < world; ++r) {
    const Stage stage = ranks.stage_of(Rank{r});
    // A stage without reader on that channel has no object there.
    if (!bytes[stage.value]) continue;
    const Rank peer = ranks.on_stage(Rank{r}, neighbour_stage(input_, stage, channel));
    const auto object = static_cast<std::uint32_t>(objects_.size());
    const DeviceId from = device_of(Rank{r});
    const DeviceId to = device_of(peer);
    objects_.push_back(
        {.kind = Object::Kind::channel,
         .group = GroupKind::pipeline,
         .pattern = index,
         .first = static_cast<std::uint32_t>(members_.size()),
         .count = 2,
         .latency = transfer_latency(input_.fabric, from, to, *bytes[stage.value]).value()});
    members_.push_back(Rank{r});
    members_.push_back(peer);
    channel_of_[index][r] = object;
    incoming_of_[index][peer.value] = object;
    // A message without bytes loads nothing and still has its latency.
    if (*bytes[stage.value] <= Bytes{0}) continue;
    for (const LinkId link : input_.fabric.route(from, to)) {
      if (input_.fabric.can_saturate(link)) use_with_pcie(object, link, 0);
    }
  }
}

/// None on a fabric without wires, where nobody asks.
std::vector<DeviceId> JobGraph::devices_of(const std::vector<Rank>& members) const {
  std::vector<DeviceId> devices;
  if (input_.fabric.wires().empty()) return devices;
  for (const Rank member : members) devices.push_back(device_of(member));
  return devices;
}

/// Which members share a mesh, a node, a super-node and, where those can be full, a leaf and a pod,
/// in numbers of first appearance; with wires also where in its node a member is, and on a
/// dragonfly below which router, seen from the first one.
JobGraph::ShapeKey JobGraph::shape_of(const std::vector<Rank>& members) const {
  ShapeKey key;
  const Fabric& fabric = input_.fabric;
  // Levels: mesh, node, super-node, leaf, pod.
  std::array<std::map<std::uint32_t, std::uint32_t>, 5> seen;
  std::array<std::pair<std::uint32_t, std::uint32_t>, 5>
      last;  // value and ordinal: neighbours mostly agree
  last.fill({no_index, 0});
  // Numbers of first appearance: groups elsewhere on the fabric that lie alike get the same list.
  const auto ordinal = [&](std::size_t level, std::uint32_t value) {
    if (last[level].first != value) {
      const auto next = static_cast<std::uint32_t>(seen[level].size());
      last[level] = {value, seen[level].try_emplace(value, next).first->second};
    }
    key.push_back(last[level].second);
  };
  const WireFrame frame(fabric, devices_of(members));
  const Dragonfly& fly = fabric.dragonfly();
  const std::uint32_t first_group = fabric.group_of(device_of(members.front()));
  // Leaves and pods that can never be full do not tell groups apart.
  const bool leaves = fabric.trunks_can_saturate() || fabric.pods_can_saturate();
  for (const Rank member : members) {
    const DeviceId device = device_of(member);
    ordinal(0, mesh_of(fabric, device));
    ordinal(1, fabric.node_of(device).value);
    ordinal(2, fabric.super_node_of(device));
    if (leaves) ordinal(3, fabric.leaf_of(device));
    if (leaves && fabric.pods() > 0) ordinal(4, fabric.pod_of(device));
    // A dragonfly looks alike from every group, but channels begin at certain routers.
    if (!fly.empty()) {
      const std::uint32_t ahead = fabric.group_of(device) + fly.groups() - first_group;
      key.push_back(ahead % fly.groups() * fly.routers() + fabric.leaf_of(device) % fly.routers());
    }
    if (!fabric.wires().empty()) key.push_back(frame.place(device));
  }
  return key;
}

/// Whether the volumes of some call depend on which experts the members hold.
bool JobGraph::is_skewed(GroupKind kind, std::uint32_t stage) const {
  return std::ranges::any_of(input_.programs[stage].calls, [kind](const StageCall& call) {
    return call.group == kind && !call.call.skew.factor.empty();
  });
}

/// With uneven experts the shape also says which experts the members hold, because bytes follow
/// from that.
std::uint32_t JobGraph::pattern_for(GroupKind kind, std::uint32_t stage,
                                    const std::vector<Rank>& members) {
  const auto next = static_cast<std::uint32_t>(patterns_.size());
  ShapeKey shape = shape_of(members);
  // Bytes differ by expert, so that equal places are not enough for one plan.
  if (is_skewed(kind, stage))
    for (const Rank member : members) shape.push_back(period_.ranks().coordinates(member).ep);
  const auto [place, fresh] =
      pattern_index_.try_emplace({std::pair{kind, stage}, std::move(shape)}, next);
  // Planning is the dear part: thousands of groups share a handful of plans.
  if (fresh) {
    patterns_.push_back(plan(kind, stage, members));
    compare(kind, next);
  }
  return place->second;
}

/// Groups may lie otherwise and yet send the same: which links they load is what refinement sees.
/// Where flows are hashed onto uplinks, what a group is told by is its shape.
void JobGraph::compare(GroupKind kind, std::uint32_t number) {
  GroupPattern& own = patterns_[number];
  for (GroupPattern::Entry& entry : own.entries) {
    // Equal lists of loads are one role, in whatever pattern of the job they stand.
    const auto next = static_cast<std::uint32_t>(roles_.size());
    const std::span<const GroupPattern::Load> loads{own.loads.data() + entry.first, entry.count};
    entry.role = roles_.try_emplace(loads, next).first->second;
  }
  std::vector<std::uint32_t>& unlike = unlike_[{kind, own.stage}];
  // Hashes go by where a group lies, so that shapes stay apart.
  const bool hashed = routing_choices(input_.fabric.cluster().network.routing) > 0;
  const auto same = [&](std::uint32_t other) {
    return patterns_[other].slots == own.slots && patterns_[other].calls == own.calls;
  };
  const auto found = hashed ? unlike.end() : std::ranges::find_if(unlike, same);
  own.alike = found == unlike.end() ? number : *found;
  if (found == unlike.end()) unlike.push_back(number);
}

/// Calls over the host link are no part of it: they use no link of the fabric. A group is planned
/// for its members in all copies.
GroupPattern JobGraph::plan(GroupKind kind, std::uint32_t stage, const std::vector<Rank>& members) {
  // Algorithms depend on all members; only the first period's links are kept.
  const std::vector<Rank> all = input_.placement.group(kind, period_.in_job(members.front()));
  PatternPlanner planner(input_, all, stage, members.size());
  const auto& calls = input_.programs[stage].calls;
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    if (calls[i].group == kind && !calls[i].over_host_link()) planner.add(i);
  }
  // A plan that treats copies differently spoils the period for the whole job.
  repeats_ = repeats_ && planner.repeats();
  return planner.take();
}

/// Bytes of a failed link load what stands in for it, and nothing loads the failed link itself.
void JobGraph::load(std::uint32_t object, LinkId link, std::uint32_t entry) {
  const std::vector<LinkId>* detour = input_.fabric.detour(link);
  if (detour == nullptr) return use_with_pcie(object, link, entry);
  for (const LinkId instead : *detour) use_with_pcie(object, instead, entry);
}

/// A link gets its number when it is first used, so that the size of the graph follows the job and
/// not the cluster.
void JobGraph::use(std::uint32_t object, LinkId link, std::uint32_t entry) {
  std::uint32_t& index = dense_[link];
  if (index == no_index) {
    index = static_cast<std::uint32_t>(links_.size());
    const Link l = input_.fabric.link(link);
    const bool hashed = routing_choices(input_.fabric.cluster().network.routing) > 0 &&
                        is_trunk(input_.fabric, link);
    links_.push_back({.id = link,
                      .bandwidth = l.bandwidth.value(),
                      .of_one_device = !crossed_by_several(input_.fabric, link),
                      .hashed = hashed});
  }
  uses_.push_back({object, index, entry});
}

/// Uses are sorted by counting, because there are many of them and their order inside a link has to
/// stay that of the objects.
void JobGraph::index_links() {
  first_use_.assign(objects_.size() + 1, 0);
  first_by_link_.assign(links_.size() + 1, 0);
  for (const Use& u : uses_) {
    ++first_use_[u.object + 1];
    ++first_by_link_[u.link + 1];
  }
  // Counts become beginnings: the uses of object o stand between first[o] and first[o + 1].
  for (std::size_t i = 1; i < first_use_.size(); ++i) first_use_[i] += first_use_[i - 1];
  for (std::size_t i = 1; i < first_by_link_.size(); ++i)
    first_by_link_[i] += first_by_link_[i - 1];
  by_link_.resize(uses_.size());
  // In order of uses, so that links list their objects ascending.
  std::vector<std::uint32_t> next(first_by_link_.begin(), first_by_link_.end() - 1);
  for (std::uint32_t u = 0; u < uses_.size(); ++u) by_link_[next[uses_[u].link]++] = u;
}

std::span<const std::uint32_t> JobGraph::uses_of_link(std::uint32_t link) const {
  return {by_link_.data() + first_by_link_[link], by_link_.data() + first_by_link_[link + 1]};
}

std::span<const JobGraph::Use> JobGraph::uses_of_object(std::uint32_t object) const {
  return {uses_.data() + first_use_[object], uses_.data() + first_use_[object + 1]};
}

std::uint32_t JobGraph::group_of(GroupKind kind, Rank rank) const {
  const auto& of_rank = group_of_[static_cast<std::size_t>(kind)];
  return of_rank.empty() ? no_index : of_rank[rank.value];
}
std::span<const GroupPattern::Load> JobGraph::loads(const Use& use) const {
  const Object& object = objects_[use.object];
  if (object.kind != Object::Kind::group) return {&whole_channel, 1};
  const GroupPattern& pattern = patterns_[object.pattern];
  const GroupPattern::Entry& entry = pattern.entries[use.entry];
  return {pattern.loads.data() + entry.first, entry.count};
}

/// A channel has one flow, so that it needs no more than one role.
std::uint32_t JobGraph::role(const Use& use) const {
  const Object& object = objects_[use.object];
  if (object.kind != Object::Kind::group) return 1;
  return patterns_[object.pattern].entries[use.entry].role;
}

}  // namespace stepcast
