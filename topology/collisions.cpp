#include "stepcast/topology/collisions.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/random.hpp"

namespace stepcast {
namespace {

/// Beyond so many parts per uplink what the fullest of two choices has over the mean no longer
/// grows (Berenbrink et al., SIAM J. Comput. 35, 2006).
constexpr std::int64_t settled_mean = 16;
/// Parts above the mean that two choices never reach: their tail falls doubly exponentially.
constexpr std::int64_t most_above_mean = 12;
/// Up to so many parts the fullest of one choice is counted exactly.
constexpr std::int64_t most_counted = 256;

/// Chance that an uplink holds more than k parts, each of which hits it with 1 / uplinks, for k
/// from `first` on.
std::vector<double> binomial_tails(const HashedParts& hashed, std::int64_t first) {
  const auto parts = static_cast<double>(hashed.parts);
  const double hit = 1 / static_cast<double>(hashed.uplinks);
  const double mean = parts * hit;
  // Twelve deviations and forty parts above the mean: what is further out adds nothing to a sum of
  // doubles. Tails are summed from the far end, small terms first, so that none is lost.
  const auto last = std::min<std::int64_t>(
      hashed.parts, static_cast<std::int64_t>(mean + 12 * std::sqrt(mean)) + 40);
  std::vector<double> tails(static_cast<std::size_t>(std::max<std::int64_t>(0, last - first)));
  double tail = 0;
  for (std::int64_t k = last; k > first; --k) {
    const auto n = static_cast<double>(k);
    // Binomial coefficients overflow from a thousand parts on; their logarithms do not.
    const double ways = std::lgamma(parts + 1) - std::lgamma(n + 1) - std::lgamma(parts - n + 1);
    // Where there is one uplink, it has all parts.
    tail += hashed.uplinks == 1
                ? (k == hashed.parts ? 1 : 0)
                : std::exp(ways + n * std::log(hit) + (parts - n) * std::log1p(-hit));
    tails[static_cast<std::size_t>(k - 1 - first)] = std::min(1.0, tail);
  }
  return tails;
}

/// Chance that no uplink of one trunk holds more than `most` parts: exactly, as Poisson numbers of
/// parts per uplink that are known to add up. All terms are positive.
double chance_of_at_most(std::int64_t most, const HashedParts& hashed) {
  const auto parts = static_cast<std::size_t>(hashed.parts);
  const double mean = static_cast<double>(hashed.parts) / static_cast<double>(hashed.uplinks);
  const auto poisson = [](double k, double expected) {
    return std::exp(k * std::log(expected) - expected - std::lgamma(k + 1));
  };
  // Independent Poisson numbers, given that their sum is the number of parts, are multinomial: the
  // numbers that a hash draws. One uplink after another is folded in, each cut at `most`.
  std::vector<double> one;
  for (std::int64_t k = 0; k <= most; ++k) one.push_back(poisson(static_cast<double>(k), mean));
  std::vector<double> sum(parts + 1);  // [n] chance that the uplinks so far hold n
  sum[0] = 1;
  for (std::int64_t uplink = 0; uplink < hashed.uplinks; ++uplink)
    for (std::size_t n = parts + 1; n-- > 0;) {
      double chance = 0;
      for (std::size_t k = 0; k < one.size() && k <= n; ++k) chance += one[k] * sum[n - k];
      sum[n] = chance;
    }
  // Dividing by the chance of that sum turns the joint chance into the conditional one.
  const auto all = static_cast<double>(hashed.parts);
  return std::min(1.0, sum[parts] / poisson(all, all));
}

/// Few parts on few uplinks exclude each other too much to take uplinks as independent.
double exact_fullest_uplink(const HashedParts& hashed, std::int64_t sure) {
  constexpr double negligible = 1e-9;
  // E[max] is the sum over k of P(max > k), and P(max > k) is 1 for all k below the sure part.
  auto expected = static_cast<double>(sure);
  for (std::int64_t most = sure; most < hashed.parts; ++most) {
    const double more =
        1 - std::pow(chance_of_at_most(most, hashed), static_cast<double>(hashed.trunks));
    if (more < negligible) break;
    expected += more;
  }
  return expected;
}

/// The same as binomial_tails() where each part takes the freer of two: the mean field of
/// Mitzenmacher, IEEE TPDS 12, 2001, in steps of one part.
std::vector<double> two_choice_tails(const HashedParts& hashed, std::int64_t first) {
  // One step puts one part down: it lands on level k where both choices hold k - 1 or more, and
  // not both k or more. From the top down, since a level reads the one below it before the part.
  const std::int64_t most = std::min(hashed.parts, hashed.parts / hashed.uplinks + most_above_mean);
  std::vector<double> at_least(static_cast<std::size_t>(most) + 2);
  at_least[0] = 1;
  for (std::int64_t part = 0; part < hashed.parts; ++part)
    for (std::size_t k = at_least.size() - 1; k > 0; --k)
      at_least[k] += (at_least[k - 1] * at_least[k - 1] - at_least[k] * at_least[k]) /
                     static_cast<double>(hashed.uplinks);
  // Level k + 1 and up is "more than k", which is what binomial_tails() gives from `first` on.
  return {at_least.begin() + static_cast<std::ptrdiff_t>(first + 1), at_least.end() - 1};
}

}  // namespace

int routing_choices(NetworkSpec::Routing routing) {
  // A hash offers one uplink, adaptive routing the freer one of two ("power of two choices"); ideal
  // routing spreads each flow over all and collides never. docs/models/collisions.md.
  switch (routing) {
    case NetworkSpec::Routing::ideal:
      return 0;
    case NetworkSpec::Routing::ecmp:
      return 1;
    case NetworkSpec::Routing::adaptive:
      break;
  }
  return 2;
}

/// The expectation is the sum of the chances to hold more than 0, 1, ... parts; some uplink holds
/// the mean, rounded up.
double fullest_uplink(const HashedParts& hashed, int choices) {
  expects(hashed.parts >= 1 && hashed.uplinks >= 1 && hashed.trunks >= 1 && choices >= 1,
          "there is something to put somewhere");
  // Two choices keep the distance between fullest and mean: whole rounds beyond sixteen can be
  // taken off and added again, which bounds the quadratic work above.
  const std::int64_t settled = settled_mean * hashed.uplinks;
  if (choices > 1 && hashed.parts >= settled + hashed.uplinks) {
    HashedParts fewer = hashed;
    fewer.parts = settled + hashed.parts % hashed.uplinks;
    return static_cast<double>((hashed.parts - fewer.parts) / hashed.uplinks) +
           fullest_uplink(fewer, choices);
  }
  const std::int64_t sure = (hashed.parts + hashed.uplinks - 1) / hashed.uplinks;
  // Beyond 256 parts uplinks are as good as independent, and the exact count too dear.
  if (choices == 1 && hashed.parts <= most_counted) return exact_fullest_uplink(hashed, sure);
  const std::vector<double> tails =
      choices > 1 ? two_choice_tails(hashed, sure) : binomial_tails(hashed, sure);
  const auto places = static_cast<double>(hashed.uplinks * hashed.trunks);
  auto expected = static_cast<double>(sure);
  // 1 - (1 - tail)^places without cancellation, where tail is far below the rounding of 1.
  for (const double tail : tails) expected -= std::expm1(places * std::log1p(-tail));
  return expected;
}

std::int64_t drawn_fullest_uplink(const HashedParts& hashed, int choices, std::uint64_t seed,
                                  std::uint32_t trunk, std::uint32_t purpose) {
  std::vector<std::int64_t> held(static_cast<std::size_t>(hashed.uplinks));
  const auto draw = [&](std::int64_t part, int choice) {
    // Counter-based numbers: the same seed, trunk and
    // part give the same place whatever else is drawn.
    const std::uint64_t index = (static_cast<std::uint64_t>(purpose) << 48U) +
                                2 * static_cast<std::uint64_t>(part) +
                                static_cast<std::uint64_t>(choice);
    const double where = uniform_number(seed, trunk, hash_stream, index);
    return static_cast<std::size_t>(where * static_cast<double>(hashed.uplinks));
  };
  // Parts come one after another, and each sees the uplinks as those before it left them.
  for (std::int64_t part = 0; part < hashed.parts; ++part) {
    std::size_t best = draw(part, 0);
    for (int c = 1; c < choices; ++c) {
      const std::size_t other = draw(part, c);
      if (held[other] < held[best]) best = other;
    }
    ++held[best];
  }
  return *std::ranges::max_element(held);
}

}  // namespace stepcast
