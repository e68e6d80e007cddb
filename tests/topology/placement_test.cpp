#include "stepcast/topology/placement.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

namespace stepcast {
namespace {

ParallelPlan random_plan() {
  ParallelPlan plan;
  const auto pick = [] { return *rc::gen::inRange<std::int64_t>(1, 5); };
  plan.tp = pick(), plan.cp = pick(), plan.dp = pick(), plan.pp = pick();
  const auto divisor = [](std::int64_t of) {
    std::vector<std::int64_t> all;
    for (std::int64_t d = 1; d <= of; ++d)
      if (of % d == 0) all.push_back(d);
    return *rc::gen::elementOf(all);
  };
  plan.ep = divisor(plan.stage_ranks());
  plan.etp = divisor(plan.stage_ranks() / plan.ep);
  for (std::size_t i = plan.order.size(); i > 1; --i)
    std::swap(plan.order[i - 1], plan.order[*rc::gen::inRange<std::size_t>(0, i)]);
  return plan;
}

/// Coordinates by counting up, digit by digit.
std::vector<Coordinates> counted(const ParallelPlan& plan) {
  std::vector<Coordinates> all;
  std::map<std::string, std::uint32_t> at;
  const std::map<std::string, std::int64_t> size{
      {"tp", plan.tp}, {"cp", plan.cp}, {"dp", plan.dp}, {"pp", plan.pp}, {"ep", 1}};
  std::map<std::uint32_t, std::uint32_t> seen;  // ranks met so far, by stage
  const bool edp_first = std::ranges::find(plan.order, "dp") < std::ranges::find(plan.order, "ep");
  for (std::int64_t rank = 0; rank < plan.world(); ++rank) {
    Coordinates c{.tp = at["tp"], .cp = at["cp"], .dp = at["dp"], .pp = at["pp"]};
    std::int64_t index = seen[c.pp]++;
    const auto take = [&](std::int64_t n) {
      const auto digit = static_cast<std::uint32_t>(index % n);
      index /= n;
      return digit;
    };
    c.etp = take(plan.etp);
    if (edp_first) c.edp = take(plan.edp());
    c.ep = take(plan.ep);
    if (!edp_first) c.edp = take(plan.edp());
    all.push_back(c);
    for (const std::string& key : plan.order) {
      if (++at[key] < size.at(key)) break;
      at[key] = 0;
    }
  }
  return all;
}

/// The last stage, and how many coordinates in a row share out.
struct Parts {
  std::uint32_t last = 0, data = 1, experts = 1;
};

bool together(GroupKind kind, const Coordinates& a, const Coordinates& b, const Parts& parts) {
  const std::uint32_t last = parts.last;
  const auto same_part = [](std::uint32_t x, std::uint32_t y, std::uint32_t size) {
    return x / size == y / size;
  };
  const bool tp = a.tp == b.tp, cp = a.cp == b.cp, dp = a.dp == b.dp, pp = a.pp == b.pp;
  const bool etp = a.etp == b.etp, ep = a.ep == b.ep, edp = a.edp == b.edp;
  const auto tied = [&](std::uint32_t stage) { return stage == 0 || stage == last; };
  switch (kind) {
    case GroupKind::tensor:
      return cp && dp && pp;
    case GroupKind::context:
      return tp && dp && pp;
    case GroupKind::data:
      return tp && cp && pp;
    case GroupKind::pipeline:
      return tp && cp && dp;
    case GroupKind::dense_data:
      return tp && pp;
    case GroupKind::expert:
    case GroupKind::expert_inner:  // of a plan that cuts no group
      return etp && edp && pp;
    case GroupKind::expert_tensor:
      return ep && edp && pp;
    case GroupKind::expert_outer:
      return etp && ep && edp && pp;
    case GroupKind::expert_data:
      return etp && ep && pp;
    case GroupKind::embedding:
      return tp && cp && dp && (pp || (tied(a.pp) && tied(b.pp)));
    case GroupKind::mirror:
      return tp && cp && dp && (pp || a.pp + b.pp == last);
    case GroupKind::world:
      return true;
    case GroupKind::dense_shard:
      return tp && pp && same_part(a.dp, b.dp, parts.data);
    case GroupKind::dense_replica:
      return tp && cp && pp && a.dp % parts.data == b.dp % parts.data;
    case GroupKind::expert_shard:
      return etp && ep && pp && same_part(a.edp, b.edp, parts.experts);
    case GroupKind::expert_replica:
      return etp && ep && pp && a.edp % parts.experts == b.edp % parts.experts;
  }
  return false;
}

TEST(Placement, GroupsMatchCounting) {
  EXPECT_TRUE(rc::check([] {
    ParallelPlan plan = random_plan();
    std::vector<std::int64_t> groups;
    for (std::int64_t n = 1; n <= plan.dp; ++n)
      if (plan.dp % n == 0 && plan.edp() % n == 0) groups.push_back(n);
    plan.dp_replicate = *rc::gen::elementOf(groups);
    const Placement placement(plan);
    const auto all = counted(plan);
    const Rank rank{*rc::gen::inRange(0U, placement.world())};
    const Coordinates mine = placement.coordinates(rank);
    const Coordinates& want = all[rank.value];
    RC_ASSERT(std::tie(mine.tp, mine.cp, mine.dp, mine.pp, mine.etp, mine.ep, mine.edp) ==
              std::tie(want.tp, want.cp, want.dp, want.pp, want.etp, want.ep, want.edp));
    RC_ASSERT(placement.stage_of(rank).value == want.pp);
    const auto last = static_cast<std::uint32_t>(plan.pp - 1);
    const Parts parts{last, static_cast<std::uint32_t>(plan.dp / plan.dp_replicate),
                      static_cast<std::uint32_t>(plan.edp() / plan.dp_replicate)};
    for (std::size_t k = 0; k < group_kinds; ++k) {
      const auto kind = static_cast<GroupKind>(k);
      std::vector<Rank> expected;
      for (std::uint32_t r = 0; r < placement.world(); ++r) {
        const bool same = together(kind, all[r], want, parts);
        RC_ASSERT(same == (placement.group_key(kind, {r}) == placement.group_key(kind, rank)));
        if (same) expected.push_back({r});
      }
      RC_ASSERT(placement.group(kind, rank) == expected);
      const bool between = kind == GroupKind::embedding && want.pp != 0 && want.pp != last;
      const bool middle = kind == GroupKind::mirror && 2 * want.pp == last;
      RC_ASSERT(expected.size() == (between || middle ? 1 : placement.group_size(kind)));
    }
    const Stage stage{*rc::gen::inRange(0U, last + 1)};
    const Coordinates there = placement.coordinates(placement.on_stage(rank, stage));
    RC_ASSERT(std::tie(there.tp, there.cp, there.dp, there.pp) ==
              std::tie(mine.tp, mine.cp, mine.dp, stage.value));
  }));
}

}  // namespace
}  // namespace stepcast
