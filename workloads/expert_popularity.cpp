#include "expert_popularity.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <tuple>

#include "stepcast/workloads/expert_loads.hpp"

namespace stepcast {

namespace {

/// Keeps these draws apart from those of the stalls, which count up from 0.
constexpr std::uint32_t routing_stream = 0x4d6f45;

/// Two words of a counter: the layer in the lower bits of one, what changes with the steps above;
/// what the layer has no room for goes to the other.
struct DrawnAt {
  std::uint32_t word = 0, rest = 0;
};

DrawnAt drawn_at(std::size_t layer, std::int64_t time) {
  constexpr unsigned layer_bits = 12;
  const auto whole = static_cast<std::uint32_t>(layer);
  const std::uint32_t rest = whole >> layer_bits;
  const std::uint32_t low = whole & ((1U << layer_bits) - 1);
  return {static_cast<std::uint32_t>(time) << layer_bits | low, rest};
}

/// In (0, 1), 32 random bits; `part` is 0 or 1.
double uniform(std::int64_t seed, std::uint32_t index, std::uint32_t part, DrawnAt at) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto wide = static_cast<std::uint64_t>(seed);
  const r123::Philox4x32::ctr_type counter = {
      {index, at.rest << 1 | part, at.word, routing_stream}};
  const r123::Philox4x32::key_type key = {{low(wide), low(wide >> 32)}};
  return std::ldexp(static_cast<double>(r123::Philox4x32()(counter, key)[0]) + 0.5, -32);
}

/// Standard normal, by the transform of Box and Muller.
double normal(std::int64_t seed, std::uint32_t index, DrawnAt at) {
  const double radius = std::sqrt(-2 * std::log(uniform(seed, index, 0, at)));
  return radius * std::cos(2 * std::numbers::pi * uniform(seed, index, 1, at));
}

/// Scaled to a mean of 1.
std::vector<double> relative(std::vector<double> counts) {
  const double mean =
      std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  // A row of a log without any pair counts as even.
  for (double& c : counts) c = mean > 0 ? c / mean : 1;
  return counts;
}

/// [expert] Its place in an order that the seed draws, 0 the most popular.
std::vector<std::size_t> draw_places(std::size_t experts, std::int64_t seed, DrawnAt at) {
  std::vector<std::size_t> places(experts);
  std::iota(places.begin(), places.end(), 0);
  // Fisher and Yates: every order is equally likely.
  for (std::size_t i = experts - 1; i > 0; --i) {
    const double draw = uniform(seed, static_cast<std::uint32_t>(i), 0, at);
    std::swap(places[i], places[static_cast<std::size_t>(draw * static_cast<double>(i + 1))]);
  }
  return places;
}

/// The same; all steps of a lifetime ask for the two orders around them.
const std::vector<std::size_t>& drawn_places(std::size_t experts, std::int64_t seed, DrawnAt at,
                                             std::int64_t knot) {
  struct Drawn {
    std::tuple<std::size_t, std::int64_t, std::uint32_t, std::uint32_t> from;
    std::vector<std::size_t> places;
  };
  static std::array<Drawn, 2> last;
  Drawn& drawn = last[static_cast<std::size_t>(knot) % last.size()];
  const std::tuple from{experts, seed, at.word, at.rest};
  if (drawn.places.empty() || drawn.from != from) drawn = {from, draw_places(experts, seed, at)};
  return drawn.places;
}

/// By place: what an expert there gets, and the logarithm of that under an exponent of 1.
struct ZipfShares {
  std::vector<double> share, log_share;
};
const ZipfShares& zipf_shares(std::size_t experts, double exponent) {
  static double last = 0;
  static ZipfShares shares;
  if (shares.share.size() == experts && last == exponent) return shares;
  last = exponent;
  shares = {};
  for (std::size_t place = 0; place < experts; ++place) {
    shares.share.push_back(std::pow(static_cast<double>(place + 1), -exponent));
    shares.log_share.push_back(-std::log(static_cast<double>(place + 1)));
  }
  return shares;
}

/// [expert] Its place where one drawn order becomes the next within `lifetime` steps: the
/// logarithms of the shares that the two orders give are blended along a quarter of a circle, and
/// sorted.
std::vector<std::size_t> drifted_places(std::size_t experts, const RoutingSpec& routing,
                                        ExpertMoment moment) {
  const std::int64_t lifetime = routing.lifetime.value_or(1);
  const std::int64_t knot = routing.lifetime ? moment.step / lifetime : 0;
  const auto& before = drawn_places(experts, routing.seed, drawn_at(moment.layer, knot), knot);
  const std::int64_t since = routing.lifetime ? moment.step % lifetime : 0;
  if (since == 0) return before;
  const auto& after =
      drawn_places(experts, routing.seed, drawn_at(moment.layer, knot + 1), knot + 1);
  const double angle =
      std::numbers::pi / 2 * static_cast<double>(since) / static_cast<double>(lifetime);
  const double of_before = std::cos(angle), of_after = std::sin(angle);
  const std::vector<double>& share = zipf_shares(experts, routing.exponent).log_share;
  std::vector<double> blend(experts);
  for (std::size_t e = 0; e < experts; ++e)
    blend[e] = of_before * share[before[e]] + of_after * share[after[e]];
  std::vector<std::size_t> order(experts), places(experts);
  std::iota(order.begin(), order.end(), 0);
  // Stable, so that ties fall alike on every machine.
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t e) { return blend[e]; });
  for (std::size_t i = 0; i < experts; ++i) places[order[i]] = i;
  return places;
}

/// The i-th most popular expert gets a share of 1 / i^exponent; the seed says which expert that is.
std::vector<double> zipf(std::size_t experts, const RoutingSpec& routing, ExpertMoment moment) {
  const std::vector<double>& by_place = zipf_shares(experts, routing.exponent).share;
  std::vector<double> shares;
  shares.reserve(experts);
  for (const std::size_t place : drifted_places(experts, routing, moment))
    shares.push_back(by_place[place]);
  return relative(std::move(shares));
}

/// Multinomial counts of `draws` draws, by their normal approximation.
std::vector<double> drawn(std::size_t experts, double draws, std::int64_t seed,
                          ExpertMoment moment) {
  const double mean = draws / static_cast<double>(experts);
  // Variance n p (1 - p) with p = 1 / experts.
  const double spread = std::sqrt(mean * (1 - 1 / static_cast<double>(experts)));
  const DrawnAt at = drawn_at(moment.layer, moment.step);
  std::vector<double> counts(experts);
  for (std::size_t i = 0; i < experts; ++i)
    counts[i] = std::max(0.0, mean + spread * normal(seed, static_cast<std::uint32_t>(i), at));
  return relative(std::move(counts));
}

/// The row of a log: steps, in each its layers, in each its experts.
std::vector<double> logged(const ModelSpec& model, const RoutingSpec& routing,
                           ExpertMoment moment) {
  const auto experts = static_cast<std::size_t>(model.moe->experts);
  const std::size_t layers =
      routing.layers == RoutingSpec::Layers::own ? count_moe_layers(model) : 1;
  const std::size_t row = static_cast<std::size_t>(moment.step) * layers + moment.layer;
  const auto first = routing.counts.begin() + static_cast<std::ptrdiff_t>(row * experts);
  return relative({first, first + static_cast<std::ptrdiff_t>(experts)});
}

}  // namespace

double pairs_of_group(const WorkloadSpec& spec) {
  // Tensor ranks share the tokens out before dispatch; each of the ep x etp ranks brings its own.
  const double tokens = static_cast<double>(spec.training.micro_batch) *
                        static_cast<double>(spec.training.sequence) /
                        static_cast<double>(spec.plan.cp * spec.plan.tp);
  return tokens * static_cast<double>(spec.model.moe->top_k * spec.plan.ep * spec.plan.etp);
}

std::vector<double> popularity(const WorkloadSpec& spec, ExpertMoment moment) {
  const auto experts = static_cast<std::size_t>(spec.model.moe->experts);
  const RoutingSpec& routing = spec.moe.routing;
  switch (routing.distribution) {
    case RoutingSpec::Distribution::zipf:
      return zipf(experts, routing, moment);
    case RoutingSpec::Distribution::random:
      return drawn(experts, pairs_of_group(spec), routing.seed, moment);
    case RoutingSpec::Distribution::file:
      return logged(spec.model, routing, moment);
    case RoutingSpec::Distribution::uniform:
      break;
  }
  return std::vector<double>(experts, 1);
}

std::vector<double> mean_popularity(const ModelSpec& model, const RoutingSpec& routing,
                                    std::size_t layer) {
  const auto experts = static_cast<std::size_t>(model.moe->experts);
  const ExpertMoment now{layer, routing.step};
  if (routing.distribution == RoutingSpec::Distribution::zipf) return zipf(experts, routing, now);
  if (routing.distribution == RoutingSpec::Distribution::file) return logged(model, routing, now);
  return std::vector<double>(experts, 1);
}

}  // namespace stepcast
