#include <cmath>

#include "replayer.hpp"

// What slows and stops a rank. Models: docs/models/stalls.md.
namespace stepcast {

/// A clock that never changes is a plain factor, which keeps the matrix form of the segments.
void Replayer::start_stalls(RankIndex r) {
  if (!input_.stalls) return;
  const StallPlan& stalls = *input_.stalls;
  RankState& rank = ranks_[r];
  rank.speed = stalls.speed_of(rank.id);
  rank.profile = &stalls.profile_of(rank.id);
  if (rank.profile->steady()) rank.speed.device *= rank.profile->factor_at(0);
  if (!stalls.gc_offset.empty()) rank.next_collection = stalls.gc_offset[rank.id.value];
}

/// The host waits for a batch that it asked for at `asked`.
double Replayer::load_batch(RankIndex r, double asked) {
  RankState& rank = ranks_[r];
  rank.data_ready =
      std::max(rank.data_ready, asked) + input_.stalls->spec.data_loader->time_per_step.value();
  rank.host_queue.compile_lag().wait(rank.clocks.main, rank.data_ready);
  rank.clocks.main = std::max(rank.clocks.main, rank.data_ready);
  return rank.data_ready;
}

/// Without prefetch the host asks for its batch when the step begins.
void Replayer::begin_step(RankIndex r) {
  if (!input_.stalls || !input_.stalls->spec.data_loader) return;
  RankState& rank = ranks_[r];
  if (input_.stalls->spec.data_loader->prefetch == 0) load_batch(r, rank.clocks.main);
  rank.step_begins.push_back(rank.clocks.main);
}

/// A step lasts until the next batch is there. So one step alone shows a loader that is slower than
/// it, as each step of a long run does.
void Replayer::await_batch(RankIndex r) {
  if (!input_.stalls || !input_.stalls->spec.data_loader) return;
  const auto ahead = static_cast<std::size_t>(input_.stalls->spec.data_loader->prefetch);
  if (ahead == 0) return;
  RankState& rank = ranks_[r];
  // It was asked for when the batch `ahead` steps before was taken, by the first steps long ago.
  const bool known = rank.step + 1 >= ahead;
  const double ready = load_batch(r, known ? rank.step_begins[rank.step + 1 - ahead] : 0);
  idle(r, ready, ready, ExposedKind::data, {ready, ready}, false);
}

/// Memory is free only when the kernels that use it have ended, so that the device drains before
/// the host pauses.
void Replayer::begin_unit(RankIndex r) {
  if (!input_.stalls || !input_.stalls->spec.allocator_pauses) return;
  const StallsSpec::AllocatorPauses& pauses = *input_.stalls->spec.allocator_pauses;
  // A pause of no length would still synchronise.
  if (pauses.duration <= Seconds{0}) return;
  RankState& rank = ranks_[r];
  // Units count, not time: folded and unfolded runs draw the same numbers.
  const double drawn = uniform_number(static_cast<std::uint64_t>(pauses.seed), rank.id.value,
                                      allocator_stream, rank.units_run++);
  if (drawn >= pauses.probability) return;
  synchronise(r, pauses.duration.value());
}

/// What the host had prepared ahead is lost here, which is all that such a synchronisation costs.
void Replayer::end_unit(RankIndex r) {
  if (!input_.stalls || input_.stalls->spec.host_sync != StallsSpec::HostSyncAt::unit) return;
  synchronise(r, host(r).synchronise.value());
}

/// A collection that is due happens before the host does anything else; those that were missed
/// while it waited happen once.
void Replayer::collect_garbage(RankState& rank) {
  if (rank.clocks.main < rank.next_collection) return;
  const StallsSpec::GcPauses& pauses = *input_.stalls->spec.gc_pauses;
  const double period = pauses.period.value();
  // The next date is in the future, however many were missed.
  rank.next_collection +=
      period * (1 + std::floor((rank.clocks.main - rank.next_collection) / period));
  rank.clocks.main += pauses.duration.value();
}

/// The device has nothing to do until the host has written what it wants to keep.
void Replayer::save_checkpoint(RankIndex r) {
  if (!input_.stalls) return;
  RankState& rank = ranks_[r];
  const StallsSpec& spec = input_.stalls->spec;
  if (spec.host_sync == StallsSpec::HostSyncAt::step) synchronise(r, host(r).synchronise.value());
  // Step k, counted from 0, ends with a checkpoint when every_steps divides k + 1; one in time is
  // behind the steps replayed.
  if (!spec.checkpoint || spec.checkpoint->every > Seconds{0} ||
      (rank.step + 1) % spec.checkpoint->every_steps != 0)
    return;
  synchronise(r, spec.checkpoint->blocking_time.value());
  const double saved = rank.clocks.main;
  idle(r, saved, saved, ExposedKind::data, {saved, saved}, false);
}

/// Lognormal of mean 1.
double Replayer::jitter(RankIndex r) {
  const auto& spec = input_.stalls->spec.compute_jitter;
  if (!spec) return 1;
  RankState& rank = ranks_[r];
  // exp(sigma z - sigma^2 / 2): the mean stays 1, so that jitter alone makes no device slower.
  const double z = normal_number(static_cast<std::uint64_t>(spec->seed), rank.id.value,
                                 jitter_stream, rank.segments_run++);
  return std::exp(spec->sigma * z - spec->sigma * spec->sigma / 2);
}

/// Returns how long the device worked.
double Replayer::run_segment(RankIndex r, const Segment& segment, double work_factor) {
  RankState& rank = ranks_[r];
  SpeedFactors speed = rank.speed;
  speed.device *= work_factor;
  if (input_.stalls) {
    speed.device *= jitter(r);
    const SpeedProfile& profile = *rank.profile;
    // A clock with a state needs every operator's own start.
    if (input_.stalls->idle_clock || input_.stalls->power_cap)
      return run_by_clock(r, segment, speed);
    // Throttling changes the factor at dates, which may fall into an operator.
    if (!profile.steady()) {
      double worked = 0;
      rank.clocks = rank.host_queue.run(
          rank.clocks, segment, speed.host, [&](double start, const OperatorCost& op) {
            const double end = profile.end_of(start, speed.device * op.device);
            worked += end - start;
            return end;
          });
      return worked;
    }
  }
  // A host that costs nothing leaves the matrix: no queue to ask.
  rank.clocks = host_is_free_ ? segment.matrix(speed).apply(rank.clocks)
                              : rank.host_queue.run(rank.clocks, segment, speed);
  return speed.device * segment.device_time();
}

/// Of an operator that begins at `start`, in seconds. At most one of the clock's two states is set.
double Replayer::time_by_clock(RankState& rank, double start, double work, double draw) const {
  if (input_.stalls->power_cap)
    return rank.power_reserve.time_of(*input_.stalls->power_cap, start, work, draw);
  return rank.clock_state.time_of(*input_.stalls->idle_clock, start, work);
}

/// Operator by operator, because the clock may fall while the host is late, and because operators
/// draw unlike. A throttled clock stretches what this one leaves to do.
double Replayer::run_by_clock(RankIndex r, const Segment& segment, const SpeedFactors& speed) {
  RankState& rank = ranks_[r];
  const SpeedProfile& profile = *rank.profile;
  double worked = 0, lost = 0;
  const auto end_of = [&](double start, const OperatorCost& op) {
    const double work = speed.device * op.device;
    // Operators without work must not wake an idle clock.
    if (!(work > 0)) return start;
    const double time = time_by_clock(rank, start, work, op.draw);
    // What the clock alone made longer; a throttled clock stretches it further.
    lost += time - work;
    const double end = profile.steady() ? start + time : profile.end_of(start, time);
    rank.clock_state.end(end);
    rank.power_reserve.end(end);
    worked += end - start;
    return end;
  };
  if (host_is_free_) {
    for (const OperatorCost& op : segment.operators())
      rank.clocks.device = end_of(rank.clocks.device, op);
  } else {
    rank.clocks = rank.host_queue.run(rank.clocks, segment, speed.host, end_of);
  }
  rank.times().clock += Seconds{lost};
  return worked;
}

}  // namespace stepcast
