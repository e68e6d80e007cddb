#include <algorithm>

#include "algorithms.hpp"

/// Collectives on boxes of a torus or nD full mesh. docs/models/wired.md.
namespace stepcast::collectives {
namespace {

/// Devices of a box: sides longer than one, and its devices with the first side changing fastest.
struct Box {
  std::vector<std::size_t> sides;
  Members at;
};

/// The places along each side that members have: a box when all combinations are there.
std::optional<Box> box_of(const NodeWires& wires, std::uint32_t first, const Members& members) {
  std::vector<Members> places(wires.sides().size());
  // The place along each side is a digit of the device's number in its node.
  for (const DeviceId m : members) {
    std::uint32_t place = m.value - first;
    for (std::size_t k = 0; k < places.size(); place /= wires.sides()[k], ++k)
      places[k].push_back({place % wires.sides()[k]});
  }
  Box box;
  std::size_t product = 1;
  for (Members& along : places) {
    std::ranges::sort(along);
    along.erase(std::unique(along.begin(), along.end()), along.end());
    // As many members as combinations of places: then none is missing.
    product *= along.size();
    if (along.size() > 1) box.sides.push_back(along.size());
  }
  // A number may repeat while another is missing: duplicates are no box.
  if (product != members.size() || members.size() < 2) return std::nullopt;
  // Devices ascend as their places do, with the first side changing fastest.
  box.at = members;
  std::ranges::sort(box.at);
  if (std::ranges::adjacent_find(box.at) != box.at.end()) return std::nullopt;
  return box;
}

std::optional<std::vector<Box>> boxes_of(const Fabric& fabric, const Sets& sets) {
  const NodeWires& wires = fabric.wires();
  if (wires.sides().empty()) return std::nullopt;
  std::vector<Box> boxes;
  for (const Members& members : sets) {
    const NodeId node = fabric.node_of(members.front());
    // Wires do not leave the node.
    if (std::ranges::any_of(members, [&](DeviceId m) { return fabric.node_of(m) != node; }))
      return std::nullopt;
    // Sets advance in lock step, so that their boxes must be alike.
    auto box = box_of(wires, node.value * wires.devices(), members);
    if (!box || (!boxes.empty() && boxes.front().sides != box->sides)) return std::nullopt;
    boxes.push_back(*std::move(box));
  }
  return boxes;
}

/// How the members of a line hand their parts to each other: around it, or each to every other one.
enum class Handing { around, to_each };

/// Everybody's part of `bytes` along one side: to both neighbours of a ring, half of the parts each
/// way, or to every other one.
void along(Step& step, const Box& box, std::size_t side, Bytes bytes, Handing handing) {
  std::size_t stride = 1;
  for (std::size_t k = 0; k < side; ++k) stride *= box.sides[k];
  const std::size_t size = box.sides[side];
  const Bytes part = bytes / static_cast<double>(size);
  for (std::size_t i = 0; i < box.at.size(); ++i) {
    // A line of the box: `size` devices, `stride` apart in its own order.
    const std::size_t own = i / stride % size, first = i - own * stride;
    const auto send = [&](std::size_t place, Bytes sent) {
      step.send(box.at[i], box.at[first + place % size * stride], sent);
    };
    if (handing == Handing::around) {
      // Both neighbours get half of the parts that do not stay here.
      const Bytes half = part * (static_cast<double>(size - 1) / 2);
      send(own + 1, half);
      send(own + size - 1, half);
      continue;
    }
    for (std::size_t other = 0; other < size; ++other)
      if (other != own) send(other, part);
  }
}

}  // namespace

bool are_boxes(const Fabric& fabric, const Sets& sets) {
  return boxes_of(fabric, sets).has_value();
}

bool are_mesh_lines(const Fabric& fabric, const Sets& sets) {
  if (fabric.wires().rings()) return false;
  const auto boxes = boxes_of(fabric, sets);
  return boxes && boxes->front().sides.size() == 1;
}

/// As many rotations of the order of sides as there are sides, each with its share of the bytes, so
/// that all sides are busy all the time.
void dimension_pass(Schedule& schedule, const Sets& sets, Bytes bytes, Direction direction) {
  const std::vector<Box> boxes = boxes_of(schedule.fabric(), sets).value();
  const std::vector<std::size_t>& sides = boxes.front().sides;
  const bool rings = schedule.fabric().wires().rings();
  const Handing handing = rings ? Handing::around : Handing::to_each;
  // The longest side needs most steps; the others wait at the barrier.
  const std::size_t longest = *std::ranges::max_element(sides);
  for (std::size_t t = 0; t < sides.size(); ++t) {
    const std::size_t turn = direction == Direction::halving ? t : sides.size() - 1 - t;
    Step step = schedule.step();
    for (std::size_t rotation = 0; rotation < sides.size(); ++rotation) {
      // After each turn a share is one side smaller: members of the line have parted it.
      Bytes share = bytes / static_cast<double>(sides.size());
      for (std::size_t before = 0; before < turn; ++before)
        share = share / static_cast<double>(sides[(rotation + before) % sides.size()]);
      for (const Box& box : boxes)
        along(step, box, (rotation + turn) % sides.size(), share, handing);
    }
    // Around a ring a part goes from neighbour to neighbour; on a full mesh all go at once.
    const double steps = rings ? static_cast<double>(longest - 1) : 1;
    schedule.then_together({{step, 1, step.latency() * steps}});
  }
}

/// As many rotations again. In each turn everybody sends, of a share, what belongs to any place
/// with that coordinate, so that after the last turn each part has come to its own.
void dimension_exchange(Schedule& schedule, const Sets& sets, Bytes bytes) {
  const std::vector<Box> boxes = boxes_of(schedule.fabric(), sets).value();
  const std::size_t sides = boxes.front().sides.size();
  // Each turn corrects one coordinate of every part; rotations keep all sides busy.
  for (std::size_t turn = 0; turn < sides; ++turn) {
    Step step = schedule.step();
    for (std::size_t rotation = 0; rotation < sides; ++rotation)
      for (const Box& box : boxes)
        along(step, box, (rotation + turn) % sides, bytes / static_cast<double>(sides),
              Handing::to_each);
    schedule.then_together({{step, 1}});
  }
}

Plan dimensions(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  const Sets sets{Members(members.begin(), members.end())};
  if (!are_boxes(fabric, sets)) return std::nullopt;
  Schedule schedule(fabric, members, call, form);
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      all_reduce(schedule, sets, call.bytes, Pattern::dimensions);
      break;
    case CollectiveKind::reduce_scatter:
      reduce_scatter(schedule, sets, call.bytes, Pattern::dimensions);
      break;
    case CollectiveKind::all_gather:
      all_gather(schedule, sets, call.bytes, Pattern::dimensions);
      break;
    case CollectiveKind::broadcast:
      broadcast(schedule, sets, call.bytes, Pattern::dimensions);
      break;
    case CollectiveKind::all_to_all:
      // Unequal messages could not be summed along the sides.
      if (!call.skew.factor.empty()) return std::nullopt;
      dimension_exchange(schedule, sets, call.bytes);
      break;
    case CollectiveKind::send_recv:
      return std::nullopt;
  }
  return std::move(schedule).plan("dimensions");
}

}  // namespace stepcast::collectives
