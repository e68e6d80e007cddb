#include "stepcast/sim/replay/fleet_pace.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "stepcast/sim/replay/worst_replicas.hpp"

namespace stepcast {
namespace {

/// Draws beyond so many sigma are left out: one in 10^15.
constexpr double widest = 8;
/// Cells of the integral in one sigma; the error falls faster than any power of their width.
constexpr double cells_per_sigma = 6;
/// What is less likely adds nothing that a double holds beside a step.
constexpr double negligible = 1e-12;
constexpr double tenth = 0.1;

/// The factor of one device of a node that is not slow.
class DeviceFactor {
 public:
  explicit DeviceFactor(const FleetSpec& fleet)
      : sigma_{fleet.device_sigma},
        throttled_{fleet.throttled.factor > 1 ? fleet.throttled.share : 0},
        slowed_{std::log(fleet.throttled.factor)} {}

  /// The probability of a factor up to exp(logarithm).
  double below(double logarithm) const {
    const double calm = normal(logarithm);
    return throttled_ > 0 ? (1 - throttled_) * calm + throttled_ * normal(logarithm - slowed_)
                          : calm;
  }

 private:
  double normal(double logarithm) const {
    if (sigma_ == 0) return logarithm >= 0 ? 1 : 0;
    // Of mean 1.
    const double z = logarithm / sigma_ + sigma_ / 2;
    return std::erfc(-z / std::numbers::sqrt2) / 2;
  }
  double sigma_, throttled_, slowed_;
};

/// The probability that no device of these nodes has more work than exp(logarithm).
class Slowest {
 public:
  Slowest(const FleetSpec& fleet, const std::vector<NodeMix>& mixes)
      : factor_{fleet},
        share_{fleet.slow_nodes.factor > 1 ? fleet.slow_share() : 0},
        slowed_{std::log(fleet.slow_nodes.factor)},
        mixes_{mixes} {
    logarithms_.reserve(mixes.size());
    for (const NodeMix& mix : mixes) {
      std::vector<double>& of_mix = logarithms_.emplace_back();
      for (const NodeShare& share : mix.shares) of_mix.push_back(std::log(share.work));
    }
  }

  double below(double logarithm) const {
    double all = 1;
    for (std::size_t m = 0; m < mixes_.size(); ++m) {
      double node = of_node(m, logarithm);
      if (share_ > 0) node = (1 - share_) * node + share_ * of_node(m, logarithm - slowed_);
      if (node < 1) all *= std::pow(node, mixes_[m].nodes);
      if (all < negligible) return 0;
    }
    return all;
  }

 private:
  double of_node(std::size_t m, double logarithm) const {
    double node = 1;
    for (std::size_t i = 0; i < mixes_[m].shares.size(); ++i)
      node *= std::pow(factor_.below(logarithm - logarithms_[m][i]), mixes_[m].shares[i].devices);
    return node;
  }
  DeviceFactor factor_;
  double share_, slowed_;
  const std::vector<NodeMix>& mixes_;
  std::vector<std::vector<double>> logarithms_;  ///< [mix][share] of its work
};

/// Where devices differ by nothing but being slow or throttled, the logarithms that the largest
/// work can have.
std::vector<double> possible(const FleetSpec& fleet, const std::vector<NodeMix>& mixes) {
  std::vector<double> dates;
  for (const NodeMix& mix : mixes)
    for (const NodeShare& share : mix.shares)
      for (const double slow : {1.0, fleet.slow_nodes.factor})
        for (const double throttled : {1.0, fleet.throttled.factor})
          dates.push_back(std::log(share.work * slow * throttled));
  std::ranges::sort(dates);
  return dates;
}

/// Cells of equal width, over all that the largest work can be. Of devices that are nearly alike
/// those that lie far from all that is likely are one cell: nothing changes in it.
std::vector<double> cells(const FleetSpec& fleet, const std::vector<NodeMix>& mixes,
                          double longest) {
  constexpr double most = 1e5;
  const double sigma = fleet.device_sigma;
  const double begin = std::log(longest) - widest * sigma;
  const double end =
      std::log(longest * fleet.slow_nodes.factor * fleet.throttled.factor) + widest * sigma;
  const double width = sigma / cells_per_sigma;
  std::vector<double> edges;
  if (end - begin > most * width) {
    double next = begin;
    for (const double date : possible(fleet, mixes)) {
      next = std::max(next, date - widest * sigma);
      while (next <= date + widest * sigma) {
        edges.push_back(next);
        next += width;
      }
    }
    return edges;
  }
  edges.reserve(static_cast<std::size_t>((end - begin) / width) + 2);
  for (std::size_t i = 0; begin + static_cast<double>(i) * width <= end; ++i)
    edges.push_back(begin + static_cast<double>(i) * width);
  return edges;
}

/// Nodes that hold one device after the other of a group that waits for all of its ranks.
std::vector<NodeMix> filled_nodes(std::uint32_t ranks, std::uint32_t node_devices) {
  std::vector<NodeMix> mixes;
  const std::uint32_t whole = ranks / node_devices;
  if (whole > 0) mixes.push_back({{{1, node_devices}}, static_cast<double>(whole)});
  if (ranks % node_devices > 0) mixes.push_back({{{1, ranks % node_devices}}, 1});
  return mixes;
}

/// The nodes of a job, by what their ranks work.
std::vector<NodeMix> nodes_of(const Placement& placement, const std::vector<double>& work_of_stage,
                              const StallPlan& own, std::uint32_t node_devices) {
  std::map<std::vector<NodeShare>, double> counted;
  std::vector<NodeShare> shares, before;
  double* count = nullptr;
  for (std::uint32_t first = 0; first < placement.world(); first += node_devices) {
    shares.clear();
    const std::uint32_t last = std::min(placement.world(), first + node_devices);
    for (std::uint32_t r = first; r < last; ++r) {
      const double work =
          work_of_stage[placement.stage_of(Rank{r}).value] * own.speed_of(Rank{r}).device;
      if (!(work > 0)) continue;
      const auto known = std::ranges::find(shares, work, &NodeShare::work);
      if (known == shares.end()) {
        shares.push_back({work, 1});
      } else {
        ++known->devices;
      }
    }
    std::ranges::sort(shares);
    // Neighbours are mostly alike.
    if (count == nullptr || shares != before) count = &counted[shares];
    before = shares;
    ++*count;
  }
  std::vector<NodeMix> mixes;
  for (const auto& [mix, nodes] : counted)
    if (!mix.empty()) mixes.push_back({mix, nodes});
  return mixes;
}

}  // namespace

/// The mean is the integral of the probability to be above; a cell counts with that at its middle.
SlowestWork slowest_work(const FleetSpec& given, const std::vector<NodeMix>& mixes) {
  FleetSpec fleet = given;
  // Nothing that a logarithm of a factor would show.
  if (widest * fleet.device_sigma < negligible) fleet.device_sigma = 0;
  double longest = 0;
  for (const NodeMix& mix : mixes)
    for (const NodeShare& share : mix.shares) longest = std::max(longest, share.work);
  if (!(longest > 0)) return {};
  const Slowest slowest(fleet, mixes);
  const std::vector<double> edges =
      fleet.device_sigma > 0 ? cells(fleet, mixes, longest) : possible(fleet, mixes);
  SlowestWork work{.mean = std::exp(edges.front())};
  double before = 0;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const double middle = (edges[i] + edges[i + 1]) / 2, below = slowest.below(middle);
    const double at = std::exp(edges[i]);
    // Between the middles of cells on a line; a distribution of steps jumps at the edges.
    const auto reached = [&](double share) {
      const double back = (below - share) / (below - before) * (edges[i + 1] - edges[i]);
      return fleet.device_sigma > 0 ? std::exp(middle - back) : at;
    };
    if (work.low == 0 && below >= tenth) work.low = reached(tenth);
    if (work.high == 0 && below >= 1 - tenth) work.high = reached(1 - tenth);
    before = below;
    // What follows is less likely still.
    if (1 - below < negligible) break;
    work.mean += (1 - below) * (std::exp(edges[i + 1]) - at);
  }
  // A number at the edge of its cell is off by a part of the cell, evenly: the mean of that.
  if (fleet.device_sigma > 0) {
    const double half = fleet.device_sigma / cells_per_sigma / 2;
    work.mean /= std::sinh(half) / half;
  }
  // Where even the last cell is not reached, its upper edge is.
  if (work.low == 0) work.low = std::exp(edges.back());
  if (work.high == 0) work.high = std::exp(edges.back());
  return work;
}

/// The largest work of all ranks is done in every micro-batch, that of the other stages of its
/// replica once (docs/models/spread.md, 5).
FleetPace fleet_pace(const FleetSpec& fleet, const Placement& placement,
                     const std::vector<StageProgram>& programs, const PipelineShape& shape,
                     const StallPlan& own, std::int64_t node_devices) {
  const auto per_node = static_cast<std::uint32_t>(node_devices);
  const auto micro_batches = static_cast<double>(shape.micro_batches);
  const auto chunks = static_cast<double>(shape.chunks);
  std::vector<double> often;
  double fill = 0, fullest = 0, even = 0;
  for (const StageWork& work : stage_work(programs)) {
    often.push_back((micro_batches - 1 / chunks) * work.micro_batch.device + work.once.device);
    even = std::max(even, often.back());
    fill += work.micro_batch.device / chunks;
    fullest = std::max(fullest, work.micro_batch.device / chunks);
  }
  FleetPace pace;
  const double nodes = std::ceil(static_cast<double>(placement.world()) / per_node);
  pace.mean.host =
      1 + (fleet.slow_nodes.factor - 1) * (1 - std::pow(1 - fleet.slow_share(), nodes));
  if (!(even > 0)) return pace;
  const double group =
      slowest_work(fleet, filled_nodes(ranks_in_step(placement, programs), per_node)).mean;
  const std::vector<NodeMix> mixes = nodes_of(placement, often, own, per_node);
  const double without = slowest_work(FleetSpec{}, mixes).mean;
  const SlowestWork with = slowest_work(fleet, mixes);
  // The slowest stage finds its own work in both terms.
  const double behind = fill - fullest;
  const auto at = [&](double slowest) {
    return (slowest / without * (even + fullest) + group * behind) / (even + fill);
  };
  pace.mean.device = at(with.mean);
  pace.low = at(with.low);
  pace.high = at(with.high);
  return pace;
}

/// Devices of one node are slow together, so that the fullest nodes have the least maximum.
double least_slowest(const FleetSpec& fleet, std::int64_t devices, std::int64_t node_devices) {
  return slowest_work(fleet, filled_nodes(static_cast<std::uint32_t>(devices),
                                          static_cast<std::uint32_t>(node_devices)))
      .mean;
}

/// Of fleet_pace(): stages that are all as full as the fullest, and a group that is not slowed,
/// make the part of the slowest device least.
double least_pace(double least_slowest_of_stage, const PipelineShape& shape) {
  constexpr double error_of_integrals = 1e-6;
  const auto micro_batches = static_cast<double>(shape.micro_batches);
  const double part = micro_batches / (micro_batches + static_cast<double>(shape.stages - 1));
  return std::max(1.0, 1 + (least_slowest_of_stage - 1) * part - error_of_integrals);
}

}  // namespace stepcast
