#include "stepcast/workloads/expert_loads.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "stepcast/base/errors.hpp"

namespace stepcast {

namespace {

/// Keeps these draws apart from those of the stalls, which count up from 0.
constexpr std::uint32_t routing_stream = 0x4d6f45;

/// In (0, 1), 32 random bits.
double uniform(std::int64_t seed, std::uint32_t index, std::uint32_t part) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto wide = static_cast<std::uint64_t>(seed);
  const r123::Philox4x32::ctr_type counter = {{index, part, 0, routing_stream}};
  const r123::Philox4x32::key_type key = {{low(wide), low(wide >> 32)}};
  return std::ldexp(static_cast<double>(r123::Philox4x32()(counter, key)[0]) + 0.5, -32);
}

double normal(std::int64_t seed, std::uint32_t index) {
  const double radius = std::sqrt(-2 * std::log(uniform(seed, index, 0)));
  return radius * std::cos(2 * std::numbers::pi * uniform(seed, index, 1));
}

/// Scaled to a mean of 1.
std::vector<double> relative(std::vector<double> counts) {
  const double mean =
      std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  for (double& c : counts) c = mean > 0 ? c / mean : 1;
  return counts;
}

/// The i-th most popular expert gets a share of 1 / i^exponent; the seed says which expert that is.
std::vector<double> zipf(std::size_t experts, double exponent, std::int64_t seed) {
  std::vector<double> shares(experts);
  for (std::size_t i = 0; i < experts; ++i)
    shares[i] = std::pow(static_cast<double>(i + 1), -exponent);
  for (std::size_t i = experts - 1; i > 0; --i) {
    const double draw = uniform(seed, static_cast<std::uint32_t>(i), 0);
    std::swap(shares[i], shares[static_cast<std::size_t>(draw * static_cast<double>(i + 1))]);
  }
  return relative(std::move(shares));
}

/// Multinomial counts of `draws` draws, by their normal approximation.
std::vector<double> drawn(std::size_t experts, double draws, std::int64_t seed) {
  const double mean = draws / static_cast<double>(experts);
  const double spread = std::sqrt(mean * (1 - 1 / static_cast<double>(experts)));
  std::vector<double> counts(experts);
  for (std::size_t i = 0; i < experts; ++i)
    counts[i] = std::max(0.0, mean + spread * normal(seed, static_cast<std::uint32_t>(i)));
  return relative(std::move(counts));
}

/// (token, expert) pairs of one micro-batch in one expert group.
double pairs_of_group(const WorkloadSpec& spec) {
  const double tokens = static_cast<double>(spec.training.micro_batch) *
                        static_cast<double>(spec.training.sequence) /
                        static_cast<double>(spec.plan.cp * spec.plan.tp);
  return tokens * static_cast<double>(spec.model.moe->top_k * spec.plan.ep * spec.plan.etp);
}

/// The probability that one of the tokens, each with `top_k` different experts, goes to an expert
/// with this share of all pairs.
double gets_a_token(double share, double top_k, double tokens) {
  return 1 - std::pow(1 - std::min(1.0, top_k * share), tokens);
}

std::vector<double> popularity(const WorkloadSpec& spec) {
  const auto experts = static_cast<std::size_t>(spec.model.moe->experts);
  const RoutingSpec& routing = spec.moe.routing;
  switch (routing.distribution) {
    case RoutingSpec::Distribution::zipf:
      return zipf(experts, routing.exponent, routing.seed);
    case RoutingSpec::Distribution::random:
      return drawn(experts, pairs_of_group(spec), routing.seed);
    case RoutingSpec::Distribution::file:
      return relative(routing.counts);
    case RoutingSpec::Distribution::uniform:
      break;
  }
  return std::vector<double>(experts, 1);
}

/// An expert takes ceil(factor x mean) pairs and drops the others. Where each rank pads its pairs
/// to the capacity, all experts compute that many, whatever their popularity.
void drop(const WorkloadSpec& spec, ExpertLoads& loads) {
  if (!spec.moe.capacity_factor) return;
  const bool pads = spec.moe.capacity_pad;
  const auto ranks = static_cast<double>(spec.plan.ep * spec.plan.etp);
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
  std::vector<double> loads(count, 1);  // random draws are alike in the mean
  if (routing.distribution == RoutingSpec::Distribution::zipf)
    loads = zipf(count, routing.exponent, routing.seed);
  if (routing.distribution == RoutingSpec::Distribution::file) loads = relative(routing.counts);
  const double groups =
      static_cast<double>(routing.step_domains) / static_cast<double>(routing.domains);
  const double reached = groups * static_cast<double>(count);
  const double tokens =
      static_cast<double>(training.global_batch) * static_cast<double>(training.sequence);
  double active = 0;
  for (const double load : loads)
    active += gets_a_token(load / reached, static_cast<double>(model.moe->top_k), tokens);
  return groups * active / static_cast<double>(count);
}

double ExpertLoads::expert_imbalance() const { return imbalance(of_expert); }
double ExpertLoads::rank_imbalance() const { return imbalance(of_rank); }

std::vector<std::uint32_t> place_experts(const std::vector<double>& loads, std::uint32_t ranks,
                                         MoeSpec::Placement placement) {
  const std::size_t each = loads.size() / ranks;
  expects(each * ranks == loads.size(), "the expert ranks divide the experts");
  std::vector<std::uint32_t> rank_of(loads.size());
  if (placement == MoeSpec::Placement::contiguous) {
    for (std::size_t i = 0; i < loads.size(); ++i)
      rank_of[i] = static_cast<std::uint32_t>(i / each);
    return rank_of;
  }
  std::vector<std::size_t> heaviest_first(loads.size());
  std::iota(heaviest_first.begin(), heaviest_first.end(), 0);
  std::ranges::stable_sort(heaviest_first, std::greater<>{},
                           [&](std::size_t i) { return loads[i]; });
  std::vector<double> sum(ranks, 0);
  std::vector<std::size_t> held(ranks, 0);
  for (const std::size_t expert : heaviest_first) {
    std::uint32_t best = ranks;
    for (std::uint32_t r = 0; r < ranks; ++r)
      if (held[r] < each && (best == ranks || sum[r] < sum[best])) best = r;
    rank_of[expert] = best;
    sum[best] += loads[expert];
    ++held[best];
  }
  return rank_of;
}

ExpertLoads expert_loads(const WorkloadSpec& spec) {
  ExpertLoads loads;
  loads.variant_of.resize(static_cast<std::size_t>(spec.plan.ep), 0);
  if (!spec.model.moe) return loads;
  loads.of_expert = popularity(spec);
  drop(spec, loads);
  const auto ranks = static_cast<std::uint32_t>(spec.plan.ep);
  const auto rank_of = place_experts(loads.of_expert, ranks, spec.moe.placement);
  loads.of_rank.assign(ranks, 0);
  for (std::size_t i = 0; i < rank_of.size(); ++i) loads.of_rank[rank_of[i]] += loads.of_expert[i];
  const double each = static_cast<double>(loads.of_expert.size()) / ranks;
  for (double& load : loads.of_rank) load /= each;
  loads.distinct = loads.of_rank;
  std::ranges::sort(loads.distinct);
  loads.distinct.erase(std::unique(loads.distinct.begin(), loads.distinct.end()),
                       loads.distinct.end());
  for (std::uint32_t r = 0; r < ranks; ++r)
    loads.variant_of[r] = static_cast<std::uint32_t>(
        std::ranges::lower_bound(loads.distinct, loads.of_rank[r]) - loads.distinct.begin());
  return loads;
}

double expected_parts(double parts, double experts, double top_k, double most) {
  // C(E - E/parts, k) / C(E, k), factor by factor
  double misses = 1;
  for (double i = 0; i < top_k; ++i)
    misses *= std::max(0.0, (experts - experts / parts - i) / (experts - i));
  return std::min(parts * (1 - misses), most);
}

double expected_ranks(const ExpertSpec& spec, double ranks) {
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
