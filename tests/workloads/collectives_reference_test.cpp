#include <gtest/gtest.h>

#include <cmath>

#include "collective_messages.hpp"
#include "topology/fabrics.hpp"

/// Plans against their messages, one by one: the time, and the bytes of every link.
namespace stepcast {
namespace {

using namespace test;
using Kind = CollectiveKind;

Set random_members(const Fabric& fabric) {
  Set members;
  const bool all = *rc::gen::inRange(0, 2) == 0;
  for (std::uint32_t d = 0; d < fabric.devices(); ++d)
    if (all || *rc::gen::inRange(0, 4) > 0) members.push_back({d});
  return members;
}

void near(double is, double expected, const std::string& what) {
  if (std::abs(is - expected) > 1e-9 * std::abs(expected))
    RC_FAIL(what + " is " + std::to_string(is) + ", expected " + std::to_string(expected));
}

void compare_time(const Fabric& fabric, const CollectivePlan& plan, double expected) {
  near(lone_time(fabric, plan).value() * 1e6, expected * 1e6, plan.algorithm + " [us]");
}

void compare_loads(const Fabric& fabric, const CollectivePlan& plan, const Steps& steps) {
  Loads is, expected;
  for (const Phase& phase : plan.phases)
    for (const PhaseFlow& flow : phase.flows)
      for (const LinkWeight& use : flow.links) is[use.link] += flow.bytes.value() * use.weight;
  for (const Messages& step : steps)
    for (const auto& [link, bytes] : loads(fabric, step))
      if (fabric.can_saturate(link)) expected[link] += bytes;
  RC_ASSERT(is.size() == expected.size());
  for (const auto& [link, bytes] : expected)
    near(is[link], bytes, plan.algorithm + " on " + fabric.link_name(link));
}

/// Bytes by the links of the route.
using Routes = std::map<std::vector<LinkId>, double>;

/// As pairs, every message of the steps is a flow over its route.
void compare_messages(const Fabric& fabric, const CollectivePlan& plan, const Steps& steps) {
  Routes is, expected;
  for (const Phase& phase : plan.phases)
    for (const PhaseFlow& flow : phase.flows) {
      std::vector<LinkId> links;
      for (const LinkWeight& use : flow.links) {
        RC_ASSERT(use.weight == 1);
        links.push_back(use.link);
      }
      is[links] += flow.bytes.value();
    }
  for (const Messages& step : steps)
    for (const Message& m : step) {
      std::vector<LinkId> links = fabric.route(m.from, m.to);
      std::erase_if(links, [&](LinkId link) { return !fabric.can_saturate(link); });
      std::ranges::sort(links);
      expected[links] += m.bytes;
    }
  RC_ASSERT(is.size() == expected.size());
  for (const auto& [links, bytes] : expected) near(is[links], bytes, plan.algorithm + " as pairs");
}

void compare(const Fabric& fabric, const Set& members, const CollectiveCall& call,
             std::string_view algorithm, const Steps& steps) {
  const auto plan = plan_collective(fabric, members, call, algorithm);
  compare_messages(fabric, plan_collective(fabric, members, call, algorithm, NetworkForm::pairwise),
                   steps);
  double time = 0;
  for (const Messages& step : steps) time += step_time(fabric, step);
  compare_time(fabric, plan, time);
  compare_loads(fabric, plan, steps);
}

template <class Body>
bool for_random_groups(const Body& body) {
  return rc::check([&] {
    ClusterSpec spec = random_cluster();
    spec.collectives.library = CollectiveLibrarySpec::Library::hccl;
    const Fabric fabric(spec);
    const Set members = random_members(fabric);
    if (members.size() > 1) body(fabric, members, *rc::gen::inRange(1, 1 << 27));
  });
}

bool together(const Fabric& fabric, const Set& members, Locality within) {
  return std::ranges::all_of(
      members, [&](DeviceId m) { return fabric.locality(members.front(), m) <= within; });
}

TEST(CollectiveReference, FlatAlgorithms) {
  EXPECT_TRUE(for_random_groups([](const Fabric& fabric, const Set& members, double bytes) {
    const auto passes = [&](const char* algorithm, const Steps& scatter) {
      compare(fabric, members, {Kind::reduce_scatter, Bytes{bytes}}, algorithm, scatter);
      compare(fabric, members, {Kind::all_gather, Bytes{bytes}}, algorithm, reversed(scatter));
      compare(fabric, members, {Kind::all_reduce, Bytes{bytes}}, algorithm,
              scatter + reversed(scatter));
    };
    passes("ring", ring_steps(members, bytes));
    passes("nhr", nhr_steps(members, bytes));
    if (together(fabric, members, Locality::super_node)) passes("mesh", mesh_steps(members, bytes));
  }));
}

TEST(CollectiveReference, HalvingDoubling) {
  EXPECT_TRUE(for_random_groups([](const Fabric& fabric, const Set& members, double bytes) {
    const double part = bytes / static_cast<double>(members.size());
    const auto hold = [&](Kind kind, double out, double back) {
      const Folded folded = fold(members, out, back);
      const std::size_t size = folded.core.size();
      std::vector<double> parts(
          size, kind == Kind::all_reduce ? bytes / static_cast<double>(size) : part);
      if (kind != Kind::all_reduce)
        for (std::size_t i = 0; i < members.size() - size; ++i) parts[i] *= 2;
      const Steps halving = halving_steps(folded.core, parts);
      Steps core;
      if (kind != Kind::all_gather) core = halving;
      if (kind != Kind::reduce_scatter) core = core + reversed(halving);
      compare(fabric, members, {kind, Bytes{bytes}}, "hd", folded.out + core + folded.back);
    };
    hold(Kind::reduce_scatter, bytes, part);
    hold(Kind::all_gather, part, bytes);
    hold(Kind::all_reduce, bytes, bytes);
  }));
}

TEST(CollectiveReference, AllToAll) {
  EXPECT_TRUE(for_random_groups([](const Fabric& fabric, const Set& members, double bytes) {
    const CollectiveCall call{Kind::all_to_all, Bytes{bytes}};
    if (together(fabric, members, Locality::super_node))
      compare(fabric, members, call, "mesh", mesh_steps(members, bytes));
    Steps steps;
    for (std::size_t k = 1; k < members.size(); ++k)
      steps.push_back(shifted(members, k, bytes / static_cast<double>(members.size())));
    if (together(fabric, members, Locality::node))
      compare(fabric, members, call, "pairwise", steps);
    else
      compare_loads(fabric, plan_collective(fabric, members, call, "pairwise"), steps);
  }));
}

/// Sets of the members of each node (or super-node), and of those of like index; empty when uneven.
std::pair<std::vector<Set>, std::vector<Set>> cut(const Fabric& fabric, const Set& members,
                                                  Locality within) {
  std::vector<Set> inside, across;
  for (const DeviceId m : members) {
    if (inside.empty() || fabric.locality(inside.back().front(), m) > within) inside.emplace_back();
    inside.back().push_back(m);
  }
  for (const Set& set : inside)
    if (set.size() != inside.front().size()) return {};
  across.resize(inside.front().size());
  for (const Set& set : inside)
    for (std::size_t i = 0; i < set.size(); ++i) across[i].push_back(set[i]);
  return {inside, across};
}

Steps scatter_of(const std::string& pattern, const std::vector<Set>& sets, double bytes) {
  std::vector<Steps> each;
  for (const Set& set : sets)
    each.push_back(pattern == "ring"   ? ring_steps(set, bytes)
                   : pattern == "mesh" ? mesh_steps(set, bytes)
                                       : nhr_steps(set, bytes));
  return side_by_side(each);
}

TEST(CollectiveReference, Hierarchical) {
  int seen = 0;
  EXPECT_TRUE(for_random_groups([&](const Fabric& fabric, const Set& members, double bytes) {
    const auto [inside, across] = cut(fabric, members, Locality::node);
    if (fabric.cluster().super_node || inside.size() < 2 || across.size() < 2) return;
    const CollectiveCall call{Kind::all_reduce, Bytes{bytes}};
    const std::string title = plan_collective(fabric, members, call, "hierarchical").algorithm;
    const std::size_t open = title.find('('), comma = title.find(", ");
    const std::string outer = title.substr(comma + 2, title.size() - comma - 3);
    if (outer == "hd") return;  // HalvingDoubling holds that one
    const Steps first = scatter_of(title.substr(open + 1, comma - open - 1), inside, bytes);
    const Steps second = scatter_of(outer, across, bytes / static_cast<double>(across.size()));
    compare(fabric, members, call, "hierarchical",
            first + second + reversed(second) + reversed(first));
    ++seen;
  }));
  EXPECT_GT(seen, 5);
}

/// Both kinds of messages at once, over the ports that they share.
double turn_time(const Fabric& fabric, const Messages& ring, const Messages& mesh) {
  const auto latency = [&](Messages messages) {
    for (Message& m : messages) m.bytes = 0;
    return step_time(fabric, messages);
  };
  Messages all = ring;
  all.insert(all.end(), mesh.begin(), mesh.end());
  return std::max(latency(ring), latency(mesh)) + step_time(fabric, all) - latency(all);
}

TEST(CollectiveReference, Pipeline) {
  int seen = 0;
  EXPECT_TRUE(for_random_groups([&](const Fabric& fabric, const Set& members, double bytes) {
    const auto [inside, across] = cut(fabric, members, Locality::node);
    if (inside.size() < 2 || across.size() < 2) return;
    const auto plan =
        plan_collective(fabric, members, {Kind::all_gather, Bytes{bytes}}, "pipeline");
    const Messages ring = scatter_of("ring", across, bytes / static_cast<double>(across.size()))[0];
    const Messages mesh = scatter_of("mesh", inside, bytes / static_cast<double>(inside.size()))[0];
    const std::size_t turns = inside.size() - 1;
    const double node = step_time(fabric, mesh);
    const double turn = fabric.super_behind_ports() ? turn_time(fabric, ring, mesh)
                                                    : std::max(node, step_time(fabric, ring));
    compare_time(fabric, plan, static_cast<double>(turns) * turn + node);
    compare_loads(fabric, plan, Steps(turns, ring) + Steps(turns + 1, mesh));
    ++seen;
  }));
  EXPECT_GT(seen, 5);
}

/// Messages of a pipelined exchange, turn by turn, by the rule itself: in turn t of S - 1 every
/// member sends all of what the t-th node after its own shall have; inside, everybody hands on what
/// came from the node t - 1 before.
TEST(CollectiveReference, PipelinedExchange) {
  int seen = 0;
  EXPECT_TRUE(for_random_groups([&](const Fabric& fabric, const Set& members, double bytes) {
    const auto [inside, across] = cut(fabric, members, Locality::node);
    if (inside.size() < 2 || across.size() < 2 || fabric.super_behind_ports()) return;
    const auto plan =
        plan_collective(fabric, members, {Kind::all_to_all, Bytes{bytes}}, "pipeline");
    const double each = bytes / static_cast<double>(members.size());
    Messages mesh;
    for (const Set& node : inside)
      for (const DeviceId a : node)
        for (const DeviceId b : node)
          if (a != b) mesh.push_back({a, b, each});
    Steps between;
    for (std::size_t turn = 1; turn < inside.size(); ++turn) {
      Messages& out = between.emplace_back();
      for (const Set& rail : across)
        for (std::size_t i = 0; i < rail.size(); ++i)
          out.push_back(
              {rail[i], rail[(i + turn) % rail.size()], each * static_cast<double>(across.size())});
    }
    compare_loads(fabric, plan, between + Steps(inside.size(), mesh));
    ++seen;
  }));
  EXPECT_GT(seen, 5);
}

}  // namespace
}  // namespace stepcast
