#include "stepcast/workloads/expert_loads.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numbers>
#include <numeric>
#include <tuple>
#include <vector>

#include "parameter_groups.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

namespace {

/// Where experts work: the MoE layer, counted over the model with its MTP modules last (0 where all
/// layers are alike), and the step.
struct ExpertMoment {
  std::size_t layer = 0;
  std::int64_t step = 0;
};

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

/// (token, expert) pairs of one micro-batch in one expert group.
double pairs_of_group(const WorkloadSpec& spec) {
  // Tensor ranks share the tokens out before dispatch; each of the ep x etp ranks brings its own.
  const double tokens = static_cast<double>(spec.training.micro_batch) *
                        static_cast<double>(spec.training.sequence) /
                        static_cast<double>(spec.plan.cp * spec.plan.tp);
  return tokens * static_cast<double>(spec.model.moe->top_k * spec.plan.ep * spec.plan.etp);
}

/// How popular experts are (docs/models/expert_parallel.md, "Loads that live").
/// [expert] Its load over the mean, as `moe.routing` draws or reads it.
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

/// The same of a layer at `moe.routing.step` where pairs are not counted: random draws are alike in
/// the mean.
std::vector<double> mean_popularity(const ModelSpec& model, const RoutingSpec& routing,
                                    std::size_t layer) {
  const auto experts = static_cast<std::size_t>(model.moe->experts);
  const ExpertMoment now{layer, routing.step};
  if (routing.distribution == RoutingSpec::Distribution::zipf) return zipf(experts, routing, now);
  if (routing.distribution == RoutingSpec::Distribution::file) return logged(model, routing, now);
  return std::vector<double>(experts, 1);
}

/// The probability that one of the tokens, each with `top_k` different experts, goes to an expert
/// with this share of all pairs.
double gets_a_token(double share, double top_k, double tokens) {
  return 1 - std::pow(1 - std::min(1.0, top_k * share), tokens);
}

/// An expert takes ceil(factor x mean) pairs and drops the others. Where each rank pads its pairs
/// to the capacity, all experts compute that many, whatever their popularity.
void drop(const WorkloadSpec& spec, ExpertLoads& loads) {
  if (!spec.moe.capacity_factor) return;
  const bool pads = spec.moe.capacity_pad;
  const auto ranks =
      static_cast<double>(spec.plan.ep * (spec.moe.group_wise_a2a ? spec.plan.etp : 1));
  const double pairs = pairs_of_group(spec) / (pads ? ranks : 1);
  const double capacity =
      capacity_over_mean(spec.moe, pairs, static_cast<double>(loads.of_expert.size()));
  double kept = 0;
  for (double& load : loads.of_expert) {
    load = std::min(load, capacity);
    kept += load;
  }
  loads.dropped = std::max(0.0, 1 - kept / static_cast<double>(loads.of_expert.size()));
  if (pads) std::ranges::fill(loads.of_expert, capacity);
}

/// The most over the mean.
double imbalance(const std::vector<double>& loads) {
  if (loads.empty()) return 1;
  const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
  return *std::ranges::max_element(loads) * static_cast<double>(loads.size()) / sum;
}

}  // namespace

double capacity_over_mean(const MoeSpec& moe, double pairs, double experts) {
  const double mean = pairs / experts;
  return std::ceil(moe.capacity_factor.value_or(1) * mean) / mean;
}

double active_experts(const ModelSpec& model, const TrainingSpec& training, const MoeSpec& moe) {
  if (training.active_experts) return *training.active_experts;
  if (!model.moe) return 1;
  const RoutingSpec& routing = moe.routing;
  const auto count = static_cast<std::size_t>(model.moe->experts);
  // Formula (3) of docs/models/offload.md: a step reaches the experts of its domains alone.
  const double groups =
      static_cast<double>(routing.step_domains) / static_cast<double>(routing.domains);
  const double reached = groups * static_cast<double>(count);
  const double tokens =
      static_cast<double>(training.global_batch) * static_cast<double>(training.sequence);
  // what is drawn for other layers is as popular, in another order
  const bool rows = routing.layers == RoutingSpec::Layers::own &&
                    routing.distribution == RoutingSpec::Distribution::file;
  const std::size_t layers = rows ? count_moe_layers(model) : 1;
  double active = 0;
  for (std::size_t layer = 0; layer < layers; ++layer)
    for (const double load : mean_popularity(model, routing, layer))
      active += gets_a_token(load / reached, static_cast<double>(model.moe->top_k), tokens);
  return groups * active / static_cast<double>(count * layers);
}

double ExpertLoads::expert_imbalance() const { return imbalance(of_expert); }
double ExpertLoads::rank_imbalance() const { return imbalance(of_rank); }

std::size_t count_moe_layers(const ModelSpec& model) {
  std::size_t count = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) count += model.is_moe_layer(layer);
  return count + (mtp_is_moe(model) ? static_cast<std::size_t>(model.mtp_layers) : 0);
}

namespace {

/// What experts are loaded with at a moment, behind their capacity.
ExpertLoads kept_loads(const WorkloadSpec& spec, ExpertMoment moment) {
  ExpertLoads loads;
  loads.of_expert = popularity(spec, moment);
  drop(spec, loads);
  return loads;
}

/// Who holds the experts after a relocation at that step: by the mean of what was seen before, or
/// at the start by the loads of the step itself.
ExpertHolders holders_from(const WorkloadSpec& spec, ExpertMoment placed) {
  const auto ranks = static_cast<std::uint32_t>(spec.plan.ep);
  const MoeSpec& moe = spec.moe;
  const std::int64_t first = std::max<std::int64_t>(0, placed.step - moe.relocation.history);
  std::vector<double> seen(static_cast<std::size_t>(spec.model.moe->experts), 0);
  for (std::int64_t step = first; step < placed.step; ++step) {
    const std::vector<double> then = kept_loads(spec, {placed.layer, step}).of_expert;
    std::ranges::transform(seen, then, seen.begin(), std::plus<>{});
  }
  if (placed.step == 0) seen = kept_loads(spec, placed).of_expert;
  return place_copies(seen, ranks, moe.placement, moe.spare_experts);
}

/// When experts got the places that they have.
std::int64_t last_relocation(const MoeSpec& moe, std::int64_t step) {
  return moe.relocation.every ? step - step % *moe.relocation.every : 0;
}

/// The distinct loads and who has which.
void tell_apart(ExpertLoads& loads) {
  loads.distinct = loads.of_rank;
  std::ranges::sort(loads.distinct);
  loads.distinct.erase(std::unique(loads.distinct.begin(), loads.distinct.end()),
                       loads.distinct.end());
  for (const double load : loads.of_rank)
    loads.variant_of.push_back(static_cast<std::uint32_t>(
        std::ranges::lower_bound(loads.distinct, load) - loads.distinct.begin()));
}

double mean_of(const std::vector<ExpertLoads>& layers,
               const std::function<double(const ExpertLoads&)>& what) {
  double sum = 0;
  for (const ExpertLoads& loads : layers) sum += what(loads);
  return sum / static_cast<double>(layers.size());
}

}  // namespace

ExpertLoads expert_loads(const WorkloadSpec& spec, std::size_t layer) {
  const auto ranks = static_cast<std::size_t>(spec.plan.ep);
  // Dense models: all ranks do the same.
  if (!spec.model.moe) {
    ExpertLoads none;
    none.variant_of.resize(ranks, 0);
    return none;
  }
  const std::int64_t step = spec.moe.routing.step;
  ExpertLoads loads = kept_loads(spec, {layer, step});
  loads.holders = holders_from(spec, {layer, last_relocation(spec.moe, step)});
  loads.of_rank.assign(ranks, 0);
  // Copies of an expert share its pairs evenly.
  for (std::size_t e = 0; e < loads.holders.size(); ++e)
    for (const std::uint32_t rank : loads.holders[e])
      loads.of_rank[rank] += loads.of_expert[e] / static_cast<double>(loads.holders[e].size());
  // A rank of even loads holds so many experts, each with a load of 1.
  const double each = static_cast<double>(loads.of_expert.size()) / static_cast<double>(ranks);
  for (double& load : loads.of_rank) load /= each;
  tell_apart(loads);
  return loads;
}

std::vector<double> relocated_experts(const WorkloadSpec& spec, std::size_t layer) {
  const auto ranks = static_cast<std::uint32_t>(spec.plan.ep);
  const MoeSpec& moe = spec.moe;
  const std::int64_t step = moe.routing.step;
  // Experts move at the beginning of a step that relocates; the first step finds them in place.
  if (!moe.relocation.every || step == 0 || step % *moe.relocation.every != 0)
    return std::vector<double>(ranks, 0);
  return moved_experts(holders_from(spec, {layer, step - *moe.relocation.every}),
                       holders_from(spec, {layer, step}), ranks);
}

LayerLoads layer_loads(const WorkloadSpec& spec) {
  LayerLoads result;
  const bool own = spec.model.moe && spec.moe.routing.layers == RoutingSpec::Layers::own;
  const std::size_t count = own ? count_moe_layers(spec.model) : 1;
  for (std::size_t layer = 0; layer < count; ++layer)
    result.layers.push_back(expert_loads(spec, layer));
  const auto ranks = static_cast<std::size_t>(spec.plan.ep);
  // Ranks that are equally loaded in every layer run the same program.
  std::map<std::vector<double>, std::vector<std::uint32_t>> alike;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<double> of_layers;
    for (const ExpertLoads& loads : result.layers)
      of_layers.push_back(spec.model.moe ? loads.of_rank[rank] : 1);
    alike[of_layers].push_back(rank);
  }
  result.variant_of.resize(ranks);
  result.rank_of.clear();
  for (const auto& [loads, members] : alike) {
    for (const std::uint32_t rank : members)
      result.variant_of[rank] = static_cast<std::uint32_t>(result.rank_of.size());
    result.rank_of.push_back(members.front());
  }
  return result;
}

double LayerLoads::load(std::size_t layer, std::size_t variant) const {
  const ExpertLoads& loads = of(layer);
  return even() || loads.of_rank.empty() ? loads.largest() : loads.of_rank[rank_of.at(variant)];
}

double LayerLoads::part_of_ranks(std::size_t variant) const {
  return static_cast<double>(std::ranges::count(variant_of, variant)) /
         static_cast<double>(variant_of.size());
}

double LayerLoads::fullest() const {
  double most = 0;
  for (std::size_t variant = 0; variant < rank_of.size(); ++variant) {
    double sum = 0;
    // Memory holds all layers at once, so that their mean counts.
    for (std::size_t layer = 0; layer < layers.size(); ++layer) sum += load(layer, variant);
    most = std::max(most, sum / static_cast<double>(layers.size()));
  }
  return most;
}

double LayerLoads::dropped() const {
  return mean_of(layers, [](const ExpertLoads& loads) { return loads.dropped; });
}

double LayerLoads::expert_imbalance() const {
  return mean_of(layers, [](const ExpertLoads& loads) { return loads.expert_imbalance(); });
}

double LayerLoads::rank_imbalance() const {
  return mean_of(layers, [](const ExpertLoads& loads) { return loads.rank_imbalance(); });
}

RoutingSpec with_even_loads(RoutingSpec routing) {
  const RoutingSpec alike;
  routing.distribution = alike.distribution;
  routing.layers = alike.layers;
  routing.lifetime = alike.lifetime;
  routing.step = alike.step;
  return routing;
}

double expected_parts(double parts, double experts, double top_k, double most) {
  // C(E - E/parts, k) / C(E, k), factor by factor
  double misses = 1;
  for (int i = 0; i < static_cast<int>(top_k); ++i)
    misses *= std::max(0.0, (experts - experts / parts - i) / (experts - i));
  // Groups of experts may limit how many parts a token can reach.
  return std::min(parts * (1 - misses), most);
}

double expected_ranks(const ExpertSpec& spec, double ranks) {
  // Tokens are limited to experts of some groups, and thereby to some of the ranks.
  const double part = static_cast<double>(spec.top_groups) / static_cast<double>(spec.groups);
  const double among = std::max(1.0, ranks * part);
  const double experts = static_cast<double>(spec.experts) * among / ranks;
  return expected_parts(among, experts, static_cast<double>(spec.top_k), among);
}

double most_parts(const ExpertSpec& spec, double parts) {
  const auto groups = static_cast<double>(spec.groups);
  return static_cast<double>(spec.top_groups) * std::max(1.0, parts / groups);
}

}  // namespace stepcast
