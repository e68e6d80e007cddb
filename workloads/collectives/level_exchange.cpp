#include "algorithms.hpp"

/// An all-to-all over nodes and inside them at the same time. docs/models/collectives.md, "By
/// level".
namespace stepcast::collectives {
namespace {

/// Inside the nodes, `turn` turns after the start: everybody hands its neighbours what it has for
/// them from the member of like index so many nodes before its own.
void hand_on(Step& inside, const Split& parts, const MessageSize& direct, std::size_t turn) {
  const std::size_t nodes = parts.inside.size();
  for (std::size_t node = 0; node < nodes; ++node) {
    // After so many turns the data of the member that many nodes before has arrived here.
    const Members& from = parts.inside[(node + nodes - turn) % nodes];
    const Members& here = parts.inside[node];
    for (std::size_t i = 0; i < here.size(); ++i)
      for (std::size_t j = 0; j < here.size(); ++j)
        if (i != j) inside.send(here[i], here[j], direct(from[i], here[j]));
  }
}

/// What the members of like index send each other: everything for all members of a node.
void send_between(Step& between, const Split& parts, const MessageSize& direct) {
  for (const Members& from : parts.inside)
    for (const Members& to : parts.inside) {
      if (&from == &to) continue;
      for (std::size_t i = 0; i < from.size(); ++i) {
        // What all members of the other node get goes over the one of like index.
        Bytes whole{0};
        for (const DeviceId last : to) whole += direct(from[i], last);
        between.send(from[i], to[i], whole);
      }
    }
}

/// Steps of one exchange: all turns between nodes, and the turns inside before the last one.
struct Levels {
  Step between, inside, last;
  double times = 1;  ///< of `inside`

  void alike(const Split& parts, Bytes each) {
    // A message to another node carries parts for all of its members.
    for (const Members& rail : parts.across)
      between.send_all_pairs(rail, each * static_cast<double>(parts.across.size()));
    for (const Members& node : parts.inside) {
      inside.send_at_once(node, each);
      last.send_at_once(node, each);
    }
    // A turn per other node; what comes with the last is handed on alone.
    times = static_cast<double>(parts.inside.size() - 1);
  }
  void unequal(const Split& parts, const MessageSize& direct) {
    send_between(between, parts, direct);
    for (const Members& node : parts.inside) {
      // Latency is counted per turn, whatever the messages carry.
      inside.send_at_once(node, Bytes{0});  // their latency
      last.send_at_once(node, Bytes{0});
    }
    const std::size_t turns = parts.inside.size() - 1;
    for (std::size_t turn = 0; turn < turns; ++turn) hand_on(inside, parts, direct, turn);
    hand_on(last, parts, direct, turns);
  }
};

}  // namespace

Plan level_exchange(const Fabric& fabric, Group members, const CollectiveCall& call,
                    NetworkForm form) {
  const auto parts = split(fabric, members, Level::node);
  if (!parts || parts->inside.size() < 2 || parts->across.size() < 2) return std::nullopt;
  // Behind one port both levels would share it, which the form does not have.
  if (fabric.super_behind_ports()) return std::nullopt;
  Schedule schedule(fabric, members, call.bytes, form);
  const bool alike = call.skew.factor.empty();
  if (alike) schedule.repeats(call.period);
  Levels levels{schedule.step(), schedule.step(), schedule.step()};
  if (alike)
    levels.alike(*parts, call.bytes / static_cast<double>(members.size()));
  else
    levels.unequal(*parts, message_sizes(members, call));
  const auto turns = static_cast<double>(parts->inside.size() - 1);
  // Between and inside at once, turn by turn, and the last turn inside by itself.
  schedule.then_together({{levels.between, 1, levels.between.latency() * turns},
                          {levels.inside, levels.times, levels.inside.latency() * turns}});
  schedule.then(levels.last);
  return std::move(schedule).plan("pipeline");
}

}  // namespace stepcast::collectives
