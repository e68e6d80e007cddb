#include "stepcast/workloads/fair_share.hpp"

#include <algorithm>
#include <limits>

namespace stepcast {
namespace {

/// Levels and ends that differ by less are the same one.
constexpr double same = 1e-12;
constexpr double never = std::numeric_limits<double>::infinity();

class FairShare {
 public:
  // Flows without bytes or links end at once, a latency later.
  FairShare(std::span<const SharedFlow> flows, std::span<const double> bandwidths)
      : flows_{flows}, bandwidths_{bandwidths}, rate_(flows.size()), full_(bandwidths.size()) {
    for (std::size_t f = 0; f < flows.size(); ++f) {
      rest_.push_back(flows[f].bytes);
      if (flows[f].links.empty() || flows[f].bytes <= 0)
        last_ = std::max(last_, flows[f].latency);
      else
        live_.push_back(f);
    }
  }

  double run() {
    while (!live_.empty()) {
      fill();
      advance();
    }
    return last_;
  }

 private:
  /// All rates rise together until a link is full, whose flows then stay.
  void fill() {
    // Every end changes the shares of the others: rates are filled anew.
    left_.assign(bandwidths_.begin(), bandwidths_.end());
    std::vector<std::size_t> rising = live_;
    while (!rising.empty()) {
      const double level = fill_next(rising);
      // Flows on a full link have their rate; what they take is gone from their other links.
      std::erase_if(rising, [&](std::size_t f) {
        if (std::ranges::none_of(flows_[f].links, [&](auto use) { return full_[use.first]; }))
          return false;
        rate_[f] = level;
        for (const auto& [link, weight] : flows_[f].links) left_[link] -= weight * level;
        return true;
      });
    }
  }

  /// The rate at which the next links are full.
  double fill_next(const std::vector<std::size_t>& rising) {
    std::vector<double> weights(left_.size());
    for (const std::size_t f : rising)
      for (const auto& [link, weight] : flows_[f].links) weights[link] += weight;
    double level = never;
    // The first link to be full sets the level for all that still rise.
    for (std::size_t l = 0; l < left_.size(); ++l)
      if (weights[l] > 0) level = std::min(level, left_[l] / weights[l]);
    // Links that are full at the same level by rounding are full together.
    for (std::size_t l = 0; l < left_.size(); ++l)
      full_[l] = weights[l] > 0 && left_[l] / weights[l] <= level * (1 + same);
    return level;
  }

  /// To the next end.
  void advance() {
    double step = never;
    for (const std::size_t f : live_) step = std::min(step, rest_[f] / rate_[f]);
    now_ += step;
    // Flows whose rest is rounding have ended with the first.
    std::erase_if(live_, [&](std::size_t f) {
      rest_[f] -= rate_[f] * step;
      if (rest_[f] > same * flows_[f].bytes) return false;
      last_ = std::max(last_, now_ + flows_[f].latency);
      return true;
    });
  }

  std::span<const SharedFlow> flows_;
  std::span<const double> bandwidths_;
  std::vector<std::size_t> live_;  ///< ascending
  std::vector<double> rate_, rest_, left_;
  std::vector<bool> full_;
  double now_ = 0, last_ = 0;
};

}  // namespace

double time_together(std::span<const SharedFlow> flows, std::span<const double> bandwidths) {
  return FairShare(flows, bandwidths).run();
}

}  // namespace stepcast
