#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <utility>

#include "stepcast/topology/group_kind.hpp"
#include "stepcast/topology/link_kind.hpp"

namespace stepcast {
namespace {

TEST(LinkKinds, ReverseGoesTheOtherWayAndBack) {
  for (std::size_t k = 0; k < link_kinds; ++k) {
    const auto kind = static_cast<LinkKind>(k);
    const LinkKindInfo row = info(kind), back = info(row.reverse);
    EXPECT_EQ(back.reverse, kind) << row.name;
    EXPECT_EQ(back.family.stem, row.family.stem) << row.name;
    EXPECT_EQ(row.direction == LinkDirection::up, back.direction == LinkDirection::down)
        << row.name;
    EXPECT_EQ(row.direction == LinkDirection::across, row.reverse == kind) << row.name;
    EXPECT_EQ(row.direction == LinkDirection::across, row.family.owner == LinkOwner::pair ||
                                                          row.family.owner == LinkOwner::wire ||
                                                          row.family.owner == LinkOwner::channel)
        << row.name;
  }
}

/// What a name of a link means is found by its stem and its ending.
TEST(LinkKinds, AreToldApartByStemAndDirection) {
  std::set<std::string_view> names;
  std::set<std::pair<std::string_view, LinkDirection>> links;
  for (std::size_t k = 0; k < link_kinds; ++k) {
    const LinkKindInfo row = info(static_cast<LinkKind>(k));
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(links.emplace(row.family.stem, row.direction).second) << row.name;
    EXPECT_LT(static_cast<std::size_t>(row.family.tier), link_tiers) << row.name;
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(LinkKind::switch_down) + 1);
}

TEST(GroupKinds, HaveNamesAndWhatTheirFormNeeds) {
  std::set<std::string_view> names;
  for (std::size_t k = 0; k < group_kinds; ++k) {
    const GroupKindInfo row = info(static_cast<GroupKind>(k));
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    const bool spans =
        row.over.tp || row.over.cp || row.over.dp || row.over.pp || row.over.dp_replica;
    EXPECT_EQ(spans, row.form == GroupForm::grid) << row.name;
    EXPECT_EQ(row.digit != ExpertDigit::none, row.form == GroupForm::experts) << row.name;
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(GroupKind::expert_replica) + 1);
}

}  // namespace
}  // namespace stepcast
