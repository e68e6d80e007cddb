#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/random.hpp"
#include "stepcast/sim/forecast/campaign.hpp"

namespace stepcast {
namespace {

/// One run, from failure to failure: what lies between is arithmetic.
class Run {
 public:
  Run(const CampaignModel& model, const CampaignPace& pace, std::uint64_t seed, std::uint32_t run)
      : model_{model}, pace_{pace}, seed_{seed}, run_{run}, step_{pace.step.value()} {}

  CampaignRun played() {
    draw_failure();
    draw_flap(time_);
    work();
    while (done_ < model_.steps) {
      recover();
      work();
    }
    result_.wall = Seconds{time_};
    return result_;
  }

 private:
  double uniform() { return uniform_number(seed_, run_, failure_stream, draws_++); }
  // Exponential distances: -M ln(1 - u).
  void draw_failure() { failure_ = time_ - model_.mtbf.value() * std::log1p(-uniform()); }
  void draw_flap(double from) {
    if (!model_.flap_distance) return;
    const double drawn = uniform_number(seed_, run_, flap_stream, flap_draws_++);
    flap_ = from - model_.flap_distance->value() * std::log1p(-drawn);
  }

  /// Keeps `steps` steps and the checkpoint after each `every_steps` of them.
  void keep(std::int64_t steps, std::int64_t checkpoints) {
    const double computing = static_cast<double>(steps) * step_;
    const double saving = static_cast<double>(checkpoints) * model_.checkpoint.value();
    result_.computing += Seconds{computing};
    const double writing = static_cast<double>(checkpoints) * model_.writing.value();
    result_.saving += Seconds{saving};
    result_.writing += Seconds{writing};
    time_ += computing + saving + writing;
    // Saving and writing belong to the checkpoint and cost training their time.
    done_ += steps;
  }

  /// To the next failure or to the end. A flap stops what is under way and loses none of it, so
  /// that the date at which the interval began is moved by it; none counts while nobody works.
  void work() {
    while (true) {
      // Whatever comes first; a failure and a flap at one date are a failure.
      work_until(std::min(failure_, flap_));
      if (done_ == model_.steps) return;
      if (failure_ <= flap_) break;
      // A failure ends the pause early.
      const double pause = std::min(model_.flap.value(), failure_ - flap_);
      ++result_.flaps;
      result_.stopped += Seconds{pause};
      time_ += pause;
      draw_flap(flap_ + pause);
    }
    lose();
  }

  /// What was not saved is lost with the failure.
  void lose() {
    result_.lost += Seconds{std::max(0.0, failure_ - time_)};
    time_ = std::max(time_, failure_);
  }

  /// Keeps what is saved by that date.
  void work_until(double date) {
    const double saving = (model_.checkpoint + model_.writing).value();
    const std::int64_t left = model_.steps - done_;
    // Whole intervals, and a last one that may be shorter.
    const std::int64_t whole = left / model_.every_steps, tail = left % model_.every_steps;
    const double interval = static_cast<double>(model_.every_steps) * step_ + saving;
    // As many whole intervals as end before the date: nothing in between is kept.
    const double met = std::min(std::floor((date - time_) / interval), static_cast<double>(whole));
    const auto intervals = static_cast<std::int64_t>(met);
    keep(intervals * model_.every_steps, intervals);
    if (intervals == whole && tail > 0 &&
        time_ + static_cast<double>(tail) * step_ + saving <= date)
      keep(tail, 1);
  }

  /// A restart that fails is a failure like another.
  void recover() {
    const double restart = model_.restart.value();
    while (true) {
      ++result_.failures;
      // Some failures take a node away for its repair; the others only need the restart.
      if (uniform() < model_.hardware_share) away_.push_back(time_ + model_.repair.value());
      await_nodes();
      send_slow_away();
      draw_failure();
      // The restart itself may fail, and then begins anew.
      if (failure_ >= time_ + restart) break;
      result_.restarting += Seconds{failure_ - time_};
      time_ = failure_;
    }
    result_.restarting += Seconds{restart};
    time_ += restart;
    draw_flap(time_);
  }

  std::int64_t spares() {
    // Nodes stand by again when their repair is over.
    std::erase_if(away_, [&](double back) { return back <= time_; });
    return model_.spares - static_cast<std::int64_t>(away_.size());
  }

  void await_nodes() {
    const std::int64_t missing = -spares();
    if (missing <= 0) return;
    // So many nodes must come back; the last of them lets the job go on.
    const auto last = away_.begin() + (missing - 1);
    std::nth_element(away_.begin(), last, away_.end());
    result_.waiting += Seconds{*last - time_};
    time_ = *last;
  }

  void send_slow_away() {
    // Slow nodes leave once, at the first restart that finds a spare for each.
    if (slow_left_ || !pace_.without_slow || spares() < pace_.slow_nodes) return;
    slow_left_ = true;
    step_ = pace_.without_slow->value();
    for (std::int64_t n = 0; n < pace_.slow_nodes; ++n)
      away_.push_back(time_ + model_.repair.value());
  }

  const CampaignModel& model_;
  const CampaignPace& pace_;
  std::uint64_t seed_;
  std::uint32_t run_;
  double step_;
  std::uint64_t draws_ = 0, flap_draws_ = 0;
  double time_ = 0, failure_ = 0;
  double flap_ = std::numeric_limits<double>::infinity();
  std::int64_t done_ = 0;
  bool slow_left_ = false;
  std::vector<double> away_;  ///< when each node that left stands by again
  CampaignRun result_;
};

}  // namespace

CampaignRun play_campaign(const CampaignModel& model, const CampaignPace& pace, std::uint64_t seed,
                          std::uint32_t run) {
  expects(model.steps >= 1 && model.every_steps >= 1 && model.mtbf > Seconds{0},
          "a campaign has steps and fails now and then");
  return Run(model, pace, seed, run).played();
}

}  // namespace stepcast
