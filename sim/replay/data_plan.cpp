#include "stepcast/sim/replay/data_plan.hpp"

#include <algorithm>
#include <map>

namespace stepcast {
namespace {

/// Ring of the context group: how long it is, and where a context rank stands in it.
struct Ring {
  explicit Ring(const ParallelPlan& plan) {
    // Ulysses gathers the sequence inside its groups; the ring is over the others.
    using Algorithm = ParallelPlan::ContextAlgorithm;
    if (plan.context_algorithm == Algorithm::ulysses) ulysses = plan.cp;
    if (plan.context_algorithm == Algorithm::hybrid) ulysses = plan.ulysses_degree;
    size = plan.cp / ulysses;
  }
  std::int64_t position(std::uint32_t context_rank) const { return context_rank / ulysses; }
  std::int64_t ulysses = 1, size = 1;
};

/// The loads of one replica depend on the position in the ring alone, so that tensor and Ulysses
/// ranks share them.
std::vector<AttentionLoad> loads_of(const DataSpec& spec, const PackedBatch& batch,
                                    std::int64_t replica, std::int64_t position,
                                    std::int64_t rings) {
  std::vector<AttentionLoad> loads;
  for (std::int64_t m = 0; m < batch.shape.micro_batches; ++m)
    loads.push_back(
        attention_load(spec, batch.slot(replica, m), batch.shape.capacity, position, rings));
  return loads;
}

/// The worst micro-batch counts, because the ranks of a ring wait for each other in every one.
double worst_context(const std::vector<std::vector<AttentionLoad>>& of_ring) {
  double worst = 1;
  for (std::size_t m = 0; m < of_ring.front().size(); ++m) {
    double sum = 0, most = 0;
    for (const auto& loads : of_ring) {
      sum += loads[m].pairs;
      most = std::max(most, loads[m].pairs);
    }
    if (sum > 0) worst = std::max(worst, most * static_cast<double>(of_ring.size()) / sum);
  }
  return worst;
}

template <class Part>
double mean(const AttentionLoads& loads, const Part& part) {
  double sum = 0;
  for (const std::uint32_t s : loads.of_rank)
    for (const AttentionLoad& load : loads.sequences[s]) sum += part(load);
  return sum / (static_cast<double>(loads.of_rank.size()) *
                static_cast<double>(loads.sequences.front().size()));
}

}  // namespace

/// Micro-batches that differ can never make a state recur, so that the replay does not look for
/// one.
bool AttentionLoads::repeats() const {
  return std::ranges::all_of(sequences, [](const auto& loads) {
    return std::ranges::all_of(loads, [&](const AttentionLoad& l) { return l == loads.front(); });
  });
}

double AttentionLoads::mean_pairs() const {
  return mean(*this, [](const AttentionLoad& l) { return l.pairs; });
}
double AttentionLoads::mean_tokens() const {
  return mean(*this, [](const AttentionLoad& l) { return l.tokens; });
}

/// The step with even loads says what the imbalance costs, since everything else in it is the same.
AttentionLoads AttentionLoads::evened() const {
  // Every slot has the mean, so that nothing but the imbalance is missing.
  const AttentionLoad one{mean_pairs(), mean_tokens()};
  return {{std::vector<AttentionLoad>(sequences.front().size(), one)},
          std::vector<std::uint32_t>(of_rank.size(), 0)};
}

/// Replicas with equal loads share them, so that they fold into one rank class.
std::optional<DataPlan> plan_data(const DataSpec& spec, const WorkloadSpec& workload,
                                  std::int64_t micro_batches, const Placement& placement) {
  if (!spec.documents) return {};
  const ParallelPlan& plan = workload.plan;
  const BatchShape shape{plan.dp, micro_batches, workload.training.micro_batch,
                         workload.training.sequence};
  DataPlan result{packing(spec.packing).pack(*spec.documents, shape), {}};
  const Ring ring{plan};
  AttentionLoads& loads = result.loads;
  // Known sequences by value: equal loads are one number.
  std::map<std::vector<std::pair<double, double>>, std::uint32_t> known;
  std::vector<std::uint32_t> sequence_of(static_cast<std::size_t>(plan.dp * ring.size));
  for (std::int64_t replica = 0; replica < plan.dp; ++replica) {
    std::vector<std::vector<AttentionLoad>> of_ring;
    for (std::int64_t i = 0; i < ring.size; ++i) {
      of_ring.push_back(loads_of(spec, result.batch, replica, i, ring.size));
      std::vector<std::pair<double, double>> key;
      for (const AttentionLoad& load : of_ring.back()) key.emplace_back(load.pairs, load.tokens);
      const auto next = static_cast<std::uint32_t>(loads.sequences.size());
      const auto [place, fresh] = known.try_emplace(std::move(key), next);
      if (fresh) loads.sequences.push_back(of_ring.back());
      sequence_of[static_cast<std::size_t>(replica * ring.size + i)] = place->second;
    }
    result.context_imbalance = std::max(result.context_imbalance, worst_context(of_ring));
  }
  for (std::uint32_t r = 0; r < placement.world(); ++r) {
    const Coordinates c = placement.coordinates(Rank{r});
    loads.of_rank.push_back(
        sequence_of[static_cast<std::size_t>(c.dp * ring.size + ring.position(c.cp))]);
  }
  return result;
}

/// Pairs are numbered and not hashed, because two ranks that share a key are taken as one.
std::vector<std::uint64_t> told_apart(const std::vector<std::uint64_t>& keys,
                                      const std::vector<std::uint32_t>& by) {
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> known;
  std::vector<std::uint64_t> result;
  for (std::size_t r = 0; r < by.size(); ++r) {
    const std::uint64_t key = keys.empty() ? 0 : keys[r];
    result.push_back(known.try_emplace({key, by[r]}, known.size()).first->second);
  }
  // One key for all says nothing, and an empty list says that.
  if (known.size() <= 1) result.clear();
  return result;
}

}  // namespace stepcast
