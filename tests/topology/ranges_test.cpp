#include <gtest/gtest.h>

#include <map>

#include "topology/describe_network.hpp"

// What the descriptions of a network allow, at its edges.
namespace stepcast {
namespace {

/// The range of every key, by its name.
class Ranges : public Visitor {
 public:
  void field(const Field& field) override { of[std::string(field.key)] = field.range; }
  void section(std::string_view, std::string_view, const Body& body) override { body(*this); }
  void section_or(std::string_view, std::string_view, std::string_view, bool&,
                  const Body& body) override {
    body(*this);
  }
  void alternatives(std::string_view, std::string_view, std::size_t& chosen,
                    const std::vector<Alternative>& all) override {
    all[chosen].body(*this);
  }
  void one_of(std::size_t& chosen, const std::vector<Alternative>& all) override {
    all[chosen].body(*this);
  }
  void list(std::string_view, std::string_view, std::size_t, const Resize&, const Entry&) override {
  }

  std::map<std::string, Range> of;
};

TEST(Ranges, OfRoutingLeaveAJobSomeOfItsUplinks) {
  NetworkSpec network;
  Ranges ranges;
  describe_routing(ranges, network);
  const Range pairs = ranges.of.at("queue_pairs"), background = ranges.of.at("background");
  EXPECT_EQ(pairs.low, 1);
  EXPECT_EQ(pairs.high, 1024);
  EXPECT_TRUE(background.contains(0));
  EXPECT_TRUE(background.contains(0.99));
  EXPECT_FALSE(background.contains(0.991));
}

TEST(Ranges, OfADragonflyAreThoseOfItsRouters) {
  NetworkSpec network;
  network.kind = NetworkSpec::Kind::dragonfly;
  Ranges ranges;
  describe_network(ranges, network);
  EXPECT_EQ(ranges.of.at("group_routers").low, 2);
  EXPECT_EQ(ranges.of.at("group_routers").high, 4096);
}

TEST(Ranges, OfStatesAreThoseOfClocksAndWatts) {
  DeviceSpec device;
  device.idle_clock.emplace();
  device.power_cap.emplace();
  device.power.emplace();
  Ranges ranges;
  describe_states(ranges, device);
  EXPECT_EQ(ranges.of.at("speed").high, 1);
  EXPECT_EQ(ranges.of.at("core_share").high, 1);
  for (const char* draw : {"attention", "other", "waiting"}) {
    EXPECT_EQ(ranges.of.at(draw).low, 0) << draw;
    EXPECT_EQ(ranges.of.at(draw).high, 1) << draw;
  }
  EXPECT_EQ(ranges.of.at("overhead").low, 1);
  EXPECT_EQ(ranges.of.at("overhead").high, 10);
}

}  // namespace
}  // namespace stepcast
