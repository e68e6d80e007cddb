#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>

#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/expert_loads.hpp"

namespace stepcast {

namespace {

/// Takes experts one by one, each to the rank that has least load of those with a place left.
class Places {
 public:
  Places(std::uint32_t ranks, std::size_t each) : load_(ranks, 0), left_(ranks, each) {}

  void put(std::uint32_t rank, double load) {
    load_[rank] += load;
    --left_[rank];
  }
  void add(std::uint32_t rank, double load) { load_[rank] += load; }
  /// Of the ranks with a place that are not among `taken`; nothing where there is none.
  std::optional<std::uint32_t> least(const std::vector<std::uint32_t>& taken) const {
    std::optional<std::uint32_t> best;
    for (std::uint32_t r = 0; r < load_.size(); ++r) {
      if (left_[r] == 0 || std::ranges::find(taken, r) != taken.end()) continue;
      if (!best || load_[r] < load_[*best]) best = r;
    }
    return best;
  }

 private:
  std::vector<double> load_;
  std::vector<std::size_t> left_;
};

/// Stable, so that experts of equal load keep their order on every machine.
std::vector<std::size_t> heaviest_first(const std::vector<double>& loads) {
  std::vector<std::size_t> order(loads.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return loads[i]; });
  return order;
}

/// [expert] How often it is held: each of `spare` copies is of the one with most load per copy.
std::vector<std::size_t> copies_of(const std::vector<double>& loads, std::uint32_t ranks,
                                   std::size_t spare) {
  std::vector<std::size_t> copies(loads.size(), 1);
  const auto share = [&](std::size_t e) { return loads[e] / static_cast<double>(copies[e]); };
  for (std::size_t i = 0; i < spare; ++i) {
    std::size_t best = loads.size();
    // No rank holds an expert twice.
    for (std::size_t e = 0; e < loads.size(); ++e)
      if (copies[e] < ranks && (best == loads.size() || share(e) > share(best))) best = e;
    if (best < loads.size()) ++copies[best];
  }
  return copies;
}

/// Experts and copies alike go to the least loaded rank, heaviest first.
ExpertHolders place_all(const std::vector<double>& loads, std::uint32_t ranks, std::size_t spare) {
  const auto copies = copies_of(loads, ranks, spare * ranks);
  std::vector<double> shares(loads.size());
  for (std::size_t e = 0; e < loads.size(); ++e)
    shares[e] = loads[e] / static_cast<double>(copies[e]);
  Places places(ranks, loads.size() / ranks + spare);
  ExpertHolders holders(loads.size());
  for (const std::size_t e : heaviest_first(shares)) {
    for (std::size_t copy = 0; copy < copies[e]; ++copy) {
      const auto rank = places.least(holders[e]);
      if (!rank) break;  // what is left of places is where it is already
      places.put(*rank, shares[e]);
      holders[e].push_back(*rank);
    }
  }
  return holders;
}

/// Experts stay, and one place after the other takes a copy of what has most load per copy of all
/// that it can help.
void place_shadows(const std::vector<double>& loads, std::uint32_t ranks, std::size_t spare,
                   ExpertHolders& holders) {
  Places places(ranks, spare);
  for (std::size_t e = 0; e < loads.size(); ++e) places.add(holders[e].front(), loads[e]);
  const auto share = [&](std::size_t e) {
    return loads[e] / static_cast<double>(holders[e].size());
  };
  for (std::size_t i = 0; i < spare * ranks; ++i) {
    std::size_t best = loads.size();
    for (std::size_t e = 0; e < loads.size(); ++e)
      if ((best == loads.size() || share(e) > share(best)) && places.least(holders[e])) best = e;
    if (best == loads.size()) return;
    const std::uint32_t rank = places.least(holders[best]).value();
    const double before = share(best);
    holders[best].push_back(rank);
    // The other holders give up what the new one takes.
    for (const std::uint32_t holder : holders[best])
      if (holder != rank) places.add(holder, share(best) - before);
    places.put(rank, share(best));
  }
}

/// The first of each expert's holders becomes the one that updates fewest experts so far.
void choose_owners(ExpertHolders& holders, std::uint32_t ranks) {
  std::vector<std::size_t> owned(ranks, 0);
  for (auto& of_expert : holders) {
    std::ranges::sort(of_expert);
    std::ranges::iter_swap(
        of_expert.begin(),
        std::ranges::min_element(of_expert, {}, [&](std::uint32_t rank) { return owned[rank]; }));
    ++owned[of_expert.front()];
  }
}

}  // namespace

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
  Places places(ranks, each);
  for (const std::size_t expert : heaviest_first(loads)) {
    rank_of[expert] = places.least({}).value();
    places.put(rank_of[expert], loads[expert]);
  }
  return rank_of;
}

ExpertHolders place_copies(const std::vector<double>& loads, std::uint32_t ranks,
                           MoeSpec::Placement placement, std::int64_t spare) {
  const auto room = static_cast<std::size_t>(spare);
  ExpertHolders holders;
  // With balanced placement everything may go anywhere; else experts stay, and copies alone move.
  if (spare > 0 && placement == MoeSpec::Placement::balanced) {
    holders = place_all(loads, ranks, room);
    choose_owners(holders, ranks);
    return holders;
  }
  for (const std::uint32_t rank : place_experts(loads, ranks, placement)) holders.push_back({rank});
  if (spare > 0) place_shadows(loads, ranks, room, holders);
  return holders;
}

std::vector<double> copied_experts(const ExpertHolders& holders, std::uint32_t ranks) {
  std::vector<double> sent(ranks, 0), received(ranks, 0);
  for (const auto& of_expert : holders) {
    for (const std::uint32_t rank : of_expert) {
      if (rank == of_expert.front()) continue;
      ++sent[of_expert.front()];
      ++received[rank];
    }
  }
  // Ranks send and receive at the same time, so that the busier direction counts.
  std::ranges::transform(sent, received, sent.begin(),
                         [](double a, double b) { return std::max(a, b); });
  return sent;
}

std::vector<double> moved_experts(const ExpertHolders& before, const ExpertHolders& after,
                                  std::uint32_t ranks) {
  expects(before.size() == after.size(), "the same experts");
  std::vector<std::vector<double>> kept(ranks, std::vector<double>(ranks, 0));  // [after][before]
  std::vector<double> gone(ranks, 0), come(ranks, 0);
  for (std::size_t e = 0; e < before.size(); ++e) {
    ++kept[after[e].front()][before[e].front()];
    ++gone[before[e].front()];
    ++come[after[e].front()];
  }
  std::vector<double> result(ranks, 0);
  std::set<std::uint32_t> open, free;
  for (std::uint32_t r = 0; r < ranks; ++r) open.insert(r), free.insert(r);
  // Ranks may trade places: each place goes to the rank that holds most of its experts already, so
  // that few move.
  while (!open.empty()) {
    std::uint32_t place = *open.begin(), rank = *free.begin();
    for (const std::uint32_t p : open)
      for (const std::uint32_t r : free)
        if (kept[p][r] > kept[place][rank]) place = p, rank = r;
    result[rank] = std::max(gone[rank], come[place]) - kept[place][rank];
    open.erase(place), free.erase(rank);
  }
  return result;
}

}  // namespace stepcast
