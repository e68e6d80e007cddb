#include "stepcast/sim/stalls.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace stepcast {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// --- numbers ---

double unit(std::uint64_t first, std::uint64_t second) {
  return static_cast<double>((first << 32 | second) >> 11) * 0x1p-53;
}

// Philox4x32-10 of the known answers that Random123 1.14 ships (kat_vectors).
TEST(StallNumbers, AreTheKnownAnswersOfPhilox) {
  EXPECT_EQ(uniform_number(0, 0, 0, 0), unit(0x6627e8d5, 0xe169c58d));
  constexpr std::uint32_t ones = 0xffffffff;
  constexpr std::uint64_t all = 0xffffffffffffffff;
  EXPECT_EQ(uniform_number(all, ones, ones, all), unit(0x408f276d, 0x41c83b0e));
  EXPECT_EQ(uniform_number(0x299f31d0a4093822, 0x13198a2e, 0x03707344, 0x85a308d3243f6a88),
            unit(0xd16cfe09, 0x94fdcceb));
}

TEST(StallNumbers, NormalIsBoxMullerOfTheKnownAnswers) {
  const double u = unit(0x6627e8d5, 0xe169c58d) + 0x1p-53, v = unit(0xbc57ac4c, 0x9b00dbd8);
  EXPECT_NEAR(normal_number(0, 0, 0, 0), std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v),
              1e-15);
}

struct Moments {
  double mean = 0, variance = 0, skewness = 0, kurtosis = 0;
};

template <class Draw>
Moments moments(int n, Draw draw) {
  double sum[5] = {};
  for (int i = 0; i < n; ++i) {
    double power = 1;
    const double x = draw(i);
    for (double& s : sum) s += power, power *= x;
  }
  for (double& s : sum) s /= n;
  const double m = sum[1], v = sum[2] - m * m;
  return {m, v, (sum[3] - 3 * m * sum[2] + 2 * m * m * m) / std::pow(v, 1.5),
          (sum[4] - 4 * m * sum[3] + 6 * m * m * sum[2] - 3 * m * m * m * m) / (v * v)};
}

// Five standard errors of each moment: sqrt(1/n), sqrt(2/n), sqrt(6/n), sqrt(24/n).
void expect_normal(const Moments& m, int n) {
  const double root = 5 / std::sqrt(n);
  EXPECT_NEAR(m.mean, 0, root);
  EXPECT_NEAR(m.variance, 1, root * std::sqrt(2));
  EXPECT_NEAR(m.skewness, 0, root * std::sqrt(6));
  EXPECT_NEAR(m.kurtosis, 3, root * std::sqrt(24));
}

TEST(StallNumbers, NormalHasTheMomentsOfANormalAlongEachWord) {
  constexpr int n = 200000;
  expect_normal(moments(n, [](int i) { return normal_number(i, 0, 0, 0); }), n);
  expect_normal(moments(n, [](int i) { return normal_number(7, i, 0, 0); }), n);
  expect_normal(moments(n, [](int i) { return normal_number(7, 3, i, 0); }), n);
  expect_normal(moments(n, [](int i) { return normal_number(7, 3, 0, i); }), n);
}

TEST(StallNumbers, UniformFillsTheUnitIntervalEvenly) {
  constexpr int n = 200000, bins = 50;
  std::vector<int> count(bins);
  for (int i = 0; i < n; ++i) {
    const double u = uniform_number(1, i % 64, 1, i / 64);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++count[static_cast<std::size_t>(u * bins)];
  }
  double chi2 = 0;
  for (const int c : count) chi2 += std::pow(c - n / bins, 2) / (n / bins);
  EXPECT_LT(chi2, 85.4);  // the 99.9 % point of 49 degrees of freedom
  const auto m = moments(n, [](int i) { return uniform_number(2, 0, 0, i); });
  EXPECT_NEAR(m.mean, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(m.variance, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / n));
}

TEST(StallNumbers, NeighboursAreNotCorrelated) {
  constexpr int n = 200000;
  const auto correlation = [](auto a, auto b) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += a(i) * b(i);
    return sum / n;
  };
  const auto base = [](int i) { return normal_number(7, 3, 0, i); };
  EXPECT_NEAR(correlation(base, [](int i) { return normal_number(7, 3, 0, i + 1); }), 0, 0.012);
  EXPECT_NEAR(correlation(base, [](int i) { return normal_number(7, 4, 0, i); }), 0, 0.012);
  EXPECT_NEAR(correlation(base, [](int i) { return normal_number(8, 3, 0, i); }), 0, 0.012);
  EXPECT_NEAR(correlation(base, [](int i) { return normal_number(7, 3, 1, i); }), 0, 0.012);
}

// --- clocks ---

using Throttling = StallsSpec::Throttling;

StallPlan planned(const StallsSpec& spec, std::int64_t devices, std::int64_t per_node = 8) {
  ParallelPlan plan;
  plan.dp = devices;
  ClusterSpec cluster;
  cluster.devices = devices;
  cluster.node_devices = per_node;
  return plan_stalls(spec, Placement(plan), cluster);
}

SpeedProfile profile_of(const std::vector<Throttling>& throttling) {
  StallsSpec spec;
  spec.throttling = throttling;
  return planned(spec, 1).profile_of(Rank{0});
}

double factor_by_definition(const std::vector<Throttling>& throttling, double time) {
  double factor = 1;
  for (const Throttling& t : throttling) {
    const double from = t.from.value(), until = t.until.value(), period = t.period.value();
    const double last = period > 0 ? time : from;
    for (double shift = 0; from + shift <= last && from + shift <= time;
         shift += period > 0 ? period : infinity) {
      if (time < until + shift) factor *= t.factor;
    }
  }
  return factor;
}

// Quarters of a second with factors that are powers of two: every sum is exact.
constexpr double step = 0.25;

double end_by_stepping(const std::vector<Throttling>& throttling, double start, double work) {
  for (double now = start;; now += step) {
    const double factor = factor_by_definition(throttling, now);
    if (work * factor <= step) return now + work * factor;
    work -= step / factor;
  }
}

double quarters(int low, int high) { return step * *rc::gen::inRange(low, high); }

std::vector<Throttling> any_throttling() {
  const auto factor = [] { return std::ldexp(1.0, *rc::gen::inRange(-2, 4)); };
  if (*rc::gen::arbitrary<bool>()) {
    const double from = quarters(0, 40), length = quarters(1, 20);
    return {
        {{0}, factor(), Seconds{from}, Seconds{from + length}, Seconds{length + quarters(1, 20)}}};
  }
  std::vector<Throttling> result;
  double from = quarters(0, 20);
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    const double until = from + quarters(1, 20);
    result.insert(result.begin(), {{0}, factor(), Seconds{from}, Seconds{until}});
    from = until + quarters(0, 20);
  }
  return result;
}

TEST(SpeedProfile, HoldsAFactorFromItsDateToTheNext) {
  const SpeedProfile p = profile_of({{{0}, 2, Seconds{10}, Seconds{20}}});
  EXPECT_EQ(p.factor_at(0), 1);
  EXPECT_EQ(p.factor_at(10), 2);
  EXPECT_EQ(p.factor_at(20), 1);
  EXPECT_EQ(p.next_change(0), 10);
  EXPECT_EQ(p.next_change(10), 20);
  EXPECT_EQ(p.next_change(20), infinity);
  EXPECT_EQ(p.end_of(0, 9), 9);
  EXPECT_EQ(p.end_of(0, 12), 14);   // 10 at full speed, 2 at half
  EXPECT_EQ(p.end_of(12, 10), 26);  // 4 until 20, then 6
  EXPECT_EQ(p.end_of(30, 5), 35);
}

TEST(SpeedProfile, RepeatsFromItsFirstDate) {
  const SpeedProfile p = profile_of({{{0}, 3, Seconds{100}, Seconds{103}, Seconds{4}}});
  EXPECT_EQ(p.factor_at(2), 1);  // before the first one
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(p.factor_at(100 + 4 * k), 3);
    EXPECT_EQ(p.factor_at(103 + 4 * k), 1);
    EXPECT_EQ(p.next_change(100 + 4 * k), 103 + 4 * k);
    EXPECT_EQ(p.next_change(103 + 4 * k), 104 + 4 * k);
  }
  // A period does 1 + 1 of work.
  EXPECT_EQ(p.end_of(100, 2e6), 100 + 4e6);
  EXPECT_EQ(p.end_of(0, 100 + 2e6 + 1), 100 + 4e6 + 3);
}

TEST(SpeedProfile, AgreesWithStepping) {
  EXPECT_TRUE(rc::check([] {
    const auto throttling = any_throttling();
    const SpeedProfile p = profile_of(throttling);
    const double start = quarters(0, 400), work = quarters(0, 400);
    RC_ASSERT(p.factor_at(start) == factor_by_definition(throttling, start));
    RC_ASSERT(p.end_of(start, work) == end_by_stepping(throttling, start, work));
  }));
}

TEST(SpeedProfile, ChangesAtTheNextChangeAndNotBefore) {
  EXPECT_TRUE(rc::check([] {
    const auto throttling = any_throttling();
    const SpeedProfile p = profile_of(throttling);
    const double start = quarters(0, 400), next = p.next_change(start);
    RC_ASSERT(next > start);
    for (double now = start; now < std::min(next, start + 50); now += step)
      RC_ASSERT(p.factor_at(now) == p.factor_at(start));
    if (next < infinity) RC_ASSERT(p.factor_at(next) == factor_by_definition(throttling, next));
  }));
}

TEST(SpeedProfile, WorkAddsUpForAnyNumbers) {
  const auto real = [](double low, double high) {
    return low + (high - low) * (*rc::gen::inRange(0, 1000003)) / 1000003;
  };
  EXPECT_TRUE(rc::check([&] {
    const double from = real(0, 50), length = real(1e-3, 9), period = length + real(1e-3, 9);
    const SpeedProfile p =
        profile_of({{{0}, real(0.1, 7), Seconds{from}, Seconds{from + length}, Seconds{period}}});
    const double start = real(0, 300), a = real(0, 1000), b = real(0, 1000);
    const double whole = p.end_of(start, a + b), halves = p.end_of(p.end_of(start, a), b);
    RC_ASSERT(std::abs(whole - halves) <= 1e-10 * whole);
    RC_ASSERT(p.end_of(start, 0) == start);
    RC_ASSERT(p.next_change(start) > start);
  }));
}

// --- plan ---

TEST(StallPlan, OfNothingIsNothing) {
  const StallPlan plan = planned({}, 16);
  EXPECT_FALSE(plan.any());
  EXPECT_FALSE(plan.irregular());
  EXPECT_TRUE(plan.keys().empty());
  EXPECT_TRUE(plan.profile_of(Rank{3}).steady());
  EXPECT_EQ(plan.profile_of(Rank{3}).end_of(5, 7), 12);
  EXPECT_EQ(plan.speed_of(Rank{3}), SpeedFactors{});
}

TEST(StallPlan, NeutralNumbersAreNothing) {
  StallsSpec spec;
  spec.compute_jitter = StallsSpec::Jitter{0, 1};
  spec.slow_devices = {{{1}, 1.0}};
  spec.slow_hosts = {{{0}, 1.0}};
  spec.throttling = {{{1}, 1.0, Seconds{0}, Seconds{1}}};
  spec.gc_pauses = StallsSpec::GcPauses{Seconds{0}, Seconds{60}};
  spec.allocator_pauses = StallsSpec::AllocatorPauses{Seconds{1}, 0};
  spec.data_loader = StallsSpec::DataLoader{};
  spec.checkpoint = StallsSpec::Checkpoint{};
  const StallPlan plan = planned(spec, 16);
  EXPECT_FALSE(plan.any());
  EXPECT_TRUE(plan.keys().empty());
}

TEST(StallPlan, SlowsDevicesAndAllDevicesOfSlowNodes) {
  StallsSpec spec;
  spec.slow_devices = {{{3, 17}, 1.25}, {{4}, 2}};
  spec.slow_hosts = {{{2}, 3}};
  const StallPlan plan = planned(spec, 32);
  for (std::uint32_t r = 0; r < 32; ++r) {
    const SpeedFactors expected{r == 3 || r == 17 ? 1.25
                                : r == 4          ? 2.0
                                                  : 1.0,
                                r / 8 == 2 ? 3.0 : 1.0};
    EXPECT_EQ(plan.speed_of(Rank{r}), expected) << r;
  }
  EXPECT_TRUE(plan.any());
  EXPECT_FALSE(plan.irregular());
  const auto keys = plan.keys();
  ASSERT_EQ(keys.size(), 32U);
  EXPECT_EQ((std::set<std::uint64_t>(keys.begin(), keys.end()).size()), 5U);
  EXPECT_EQ(keys[0], keys[31]);
  EXPECT_EQ(keys[16], keys[23]);
  EXPECT_NE(keys[16], keys[17]);
  EXPECT_NE(keys[3], keys[17]);
  EXPECT_NE(keys[3], keys[4]);
}

TEST(StallPlan, TakesTheFactorOfAnAffinityFromTheCluster) {
  HostSpec host;
  host.affinity_unbound = 1.5;
  host.affinity_cross_numa = 1.75;
  using Affinity = StallsSpec::SlowHosts::Affinity;
  EXPECT_EQ(host_factor({{0}, 4, Affinity::none}, host), 4);
  EXPECT_EQ(host_factor({{0}, 1, Affinity::unbound}, host), 1.5);
  EXPECT_EQ(host_factor({{0}, 1, Affinity::cross_numa}, host), 1.75);
}

TEST(StallPlan, KeepsSlowDevicesAndThrottlingApartSoThatTheyMultiply) {
  StallsSpec spec;
  spec.slow_devices = {{{5}, 2}};
  spec.throttling = {{{5, 6}, 3, Seconds{1}, Seconds{2}}};
  const StallPlan plan = planned(spec, 8);
  EXPECT_EQ(plan.speed_of(Rank{5}).device * plan.profile_of(Rank{5}).factor_at(1), 6);
  EXPECT_EQ(plan.profiles.size(), 2U);
  EXPECT_TRUE(plan.irregular());
  const auto keys = plan.keys();
  EXPECT_EQ((std::set<std::uint64_t>(keys.begin(), keys.end()).size()), 3U);
}

TEST(StallPlan, GarbageIsCollectedFirstWithinAPeriod) {
  StallsSpec spec;
  spec.gc_pauses = StallsSpec::GcPauses{Seconds{0.2}, Seconds{60}, false, 9};
  const StallPlan apart = planned(spec, 4096);
  double sum = 0;
  for (const double offset : apart.gc_offset) {
    ASSERT_GE(offset, 0);
    ASSERT_LT(offset, 60);
    sum += offset;
  }
  EXPECT_NEAR(sum / 4096, 30, 5 * 60 / std::sqrt(12 * 4096));
  EXPECT_EQ((std::set<double>(apart.gc_offset.begin(), apart.gc_offset.end()).size()), 4096U);
  EXPECT_TRUE(apart.irregular());
  spec.gc_pauses->synchronised = true;
  const StallPlan together = planned(spec, 4096);
  EXPECT_EQ(together.gc_offset, std::vector<double>(4096, apart.gc_offset[0]));
  EXPECT_TRUE(together.keys().empty());
  EXPECT_TRUE(together.irregular());
}

TEST(StallPlan, RandomRanksSufferOnTheirOwn) {
  StallsSpec spec;
  spec.compute_jitter = StallsSpec::Jitter{0.01, 1};
  const auto keys = planned(spec, 64).keys();
  EXPECT_EQ((std::set<std::uint64_t>(keys.begin(), keys.end()).size()), 64U);
  StallsSpec allocator;
  allocator.allocator_pauses = StallsSpec::AllocatorPauses{Seconds{0.01}, 0.1, 1};
  EXPECT_EQ(planned(allocator, 64).keys(), keys);
  EXPECT_TRUE(planned(allocator, 64).irregular());
}

TEST(StallPlan, KeysAreEqualExactlyForRanksThatSufferAlike) {
  EXPECT_TRUE(rc::check([] {
    StallsSpec spec;
    const auto some = [] {
      return std::vector<std::int64_t>{*rc::gen::inRange<std::int64_t>(0, 16),
                                       *rc::gen::inRange<std::int64_t>(16, 32)};
    };
    spec.slow_devices = {{some(), 1.0 + *rc::gen::inRange(0, 3)}};
    spec.slow_hosts = {{{*rc::gen::inRange<std::int64_t>(0, 4)}, 1.0 + *rc::gen::inRange(0, 3)}};
    spec.throttling = {{some(), 2, Seconds{1}, Seconds{2}}};
    const StallPlan plan = planned(spec, 32);
    const auto keys = plan.keys();
    for (std::uint32_t a = 0; a < 32; ++a) {
      for (std::uint32_t b = 0; b < 32; ++b) {
        const bool alike = plan.speed_of(Rank{a}) == plan.speed_of(Rank{b}) &&
                           plan.profile_of(Rank{a}) == plan.profile_of(Rank{b});
        RC_ASSERT(alike == (keys.empty() || keys[a] == keys[b]));
      }
    }
  }));
}

TEST(StallPlan, EachKindOfPauseIsHeeded) {
  StallsSpec loader;
  loader.data_loader = StallsSpec::DataLoader{Seconds{0.05}, 2};
  StallsSpec saving;
  saving.checkpoint = StallsSpec::Checkpoint{1, Seconds{30}};
  StallsSpec sync;
  sync.host_sync = StallsSpec::HostSyncAt::unit;
  EXPECT_TRUE(planned(loader, 8).irregular());
  EXPECT_TRUE(planned(saving, 8).irregular());
  EXPECT_TRUE(planned(sync, 8).any());
  EXPECT_FALSE(planned(sync, 8).irregular());
  StallsSpec elsewhere;
  elsewhere.failures = StallsSpec::Failures{Seconds{1e8}, Seconds{900}};
  elsewhere.degraded_links = {{"nic:1", 0.5}};
  EXPECT_FALSE(planned(elsewhere, 8).any());
}

}  // namespace
}  // namespace stepcast
