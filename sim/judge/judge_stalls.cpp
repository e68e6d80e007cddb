#include <algorithm>
#include <cmath>

#include "judge_rank.hpp"

/// What slows a rank and holds its host (docs/models/stalls.md). Draws and dates are those of the
/// stall plan; what they delay, SimGrid's clock tells.
namespace stepcast::judge {

void Job::set_stalls(Member& a) const {
  const StallPlan* stalls = input_.step.stalls;
  if (stalls == nullptr) return;
  const SpeedFactors speed = stalls->speed_of(Rank{a.rank});
  a.factor = speed.device;
  a.host.factor = speed.host;
  a.profile = &stalls->profile_of(Rank{a.rank});
  // A constant profile is a factor, which spares a search per operator.
  if (a.profile->steady()) a.factor *= a.profile->factor_at(0);
  if (!stalls->gc_offset.empty()) a.host.next_collection = stalls->gc_offset[a.rank];
}

/// Only a loader that loads nothing ahead is asked here.
void Job::begin_step(Member& a) {
  if (input_.step.stalls == nullptr || !input_.step.stalls->spec.data_loader) return;
  const StallsSpec::DataLoader& loader = *input_.step.stalls->spec.data_loader;
  HostState& h = a.host;
  if (loader.prefetch == 0) {
    const double date = h.main + loader.time_per_step.value();
    a.device.give([&a, free = h.main, date] {
      a.lag.wait(free, date);
      a.device.done();
    });
    h.main = date;
  }
  h.step_begins.push_back(h.main);
}

/// The batch of the next step, asked for when the one `prefetch` before it was taken, ends the
/// step.
void Job::await_batch(Member& a) {
  if (input_.step.stalls == nullptr || !input_.step.stalls->spec.data_loader) return;
  const StallsSpec::DataLoader& loader = *input_.step.stalls->spec.data_loader;
  HostState& h = a.host;
  const auto ahead = static_cast<std::size_t>(loader.prefetch);
  if (ahead == 0) return;
  // Nothing was taken before the first step, whose batch is there.
  const double taken = h.step + 1 < ahead ? 0 : h.step_begins[h.step + 1 - ahead];
  const double date = h.data_ready = std::max(h.data_ready, taken) + loader.time_per_step.value();
  const double free = std::exchange(h.main, std::max(h.main, date));
  a.device.give([this, &a, free, date, host = h.clocks()] {
    a.lag.wait(free, date);
    world_.at(std::max(now(), date), [this, &a, date, host, from = now()] {
      waited(a, from, date, ExposedKind::data, {date, date}, false);
      record_wait(a, host, Recording::none, now());
      a.device.done();
    });
  });
}

/// Freeing memory waits for the kernels that use it.
void Job::begin_unit(Member& a) {
  if (input_.step.stalls == nullptr || !input_.step.stalls->spec.allocator_pauses) return;
  const StallsSpec::AllocatorPauses& pauses = *input_.step.stalls->spec.allocator_pauses;
  if (pauses.duration <= Seconds{0}) return;
  const double drawn = uniform_number(static_cast<std::uint64_t>(pauses.seed), a.rank,
                                      allocator_stream, a.host.units_run++);
  if (drawn < pauses.probability) hold_host(a, pauses.duration.value());
}

void Job::end_unit(Member& a) {
  if (input_.step.stalls == nullptr) return;
  if (input_.step.stalls->spec.host_sync == StallsSpec::HostSyncAt::unit)
    hold_host(a, a.spec->synchronise.value());
}

/// Collections that were missed while the host waited are one.
void Job::collect_garbage(HostState& host) const {
  if (host.main < host.next_collection) return;
  const StallsSpec::GcPauses& pauses = *input_.step.stalls->spec.gc_pauses;
  const double missed = std::floor((host.main - host.next_collection) / pauses.period.value());
  host.next_collection += (missed + 1) * pauses.period.value();
  host.main += pauses.duration.value();
}

void Job::end_code(Member& a) {
  if (input_.step.stalls == nullptr) return;
  if (input_.step.stalls->spec.host_sync == StallsSpec::HostSyncAt::step)
    hold_host(a, a.spec->synchronise.value());
}

/// The device stands until the host has written what it keeps.
void Job::save_checkpoint(Member& a) {
  if (input_.step.stalls == nullptr || !input_.step.stalls->spec.checkpoint) return;
  const StallsSpec::Checkpoint& checkpoint = *input_.step.stalls->spec.checkpoint;
  if (checkpoint.every == Seconds{0} && (a.host.step + 1) % checkpoint.every_steps == 0)
    hold_host(a, checkpoint.blocking_time.value(), true);
}

/// On the device time of a segment: the documents of the micro-batch, and jitter of mean 1.
double Job::segment_factor(Member& a, std::uint32_t segment, const Unit* unit) const {
  double factor = a.factor;
  const auto& attention = a.program->attention;
  if (input_.step.loads != nullptr && unit != nullptr && !attention.empty() &&
      attention[segment].scales()) {
    const AttentionLoads& loads = *input_.step.loads;
    const AttentionLoad& load = loads.sequences[loads.of_rank[a.rank]][unit->micro_batch.value];
    factor *= attention[segment].factor(load.pairs, load.tokens);
  }
  if (input_.step.stalls != nullptr && input_.step.stalls->spec.compute_jitter) {
    const auto& jitter = *input_.step.stalls->spec.compute_jitter;
    const double z = normal_number(static_cast<std::uint64_t>(jitter.seed), a.rank, jitter_stream,
                                   a.host.segments_run++);
    factor *= std::exp(jitter.sigma * z - jitter.sigma * jitter.sigma / 2);
  }
  return factor;
}

/// A longer execution: by the factors of its segment, the state of the clock, and throttling.
double Job::end_of_work(Member& a, const OperatorCost& op, double start) const {
  const StallPlan* stalls = input_.step.stalls;
  const double work = a.segment_factor * op.device;
  // Without work nothing wakes a clock.
  if (stalls == nullptr || !(work > 0)) return start + work;
  double time = work;
  if (stalls->power_cap) {
    // What waiting and lighter work leave of the limit is there for heavier work, up to a window.
    const double most = stalls->power_cap->window.value();
    const auto left = [&](double more) { a.power_left = std::min(most, a.power_left + more); };
    left((start - a.busy_until) * (1 - stalls->power_cap->waiting));
    if (op.draw <= 1) left(work * (1 - op.draw));
    const double gained = op.draw > 1 ? std::min(a.power_left, work * (1 - 1 / op.draw)) : 0;
    a.power_left -= gained;
    time -= gained;
  } else if (stalls->idle_clock) {
    // A clock that has fallen comes back a ramp after there is work again.
    const IdleClock& clock = *stalls->idle_clock;
    if (start - a.busy_until > clock.hold.value()) a.slow_until = start + clock.ramp.value();
    const double slow = std::max(0.0, a.slow_until - start);
    // Work done at the low clock takes the rest of its time longer.
    const double done_slowly = std::min(work, slow / clock.slowness());
    time += done_slowly * (clock.slowness() - 1);
  }
  a.segment_lost += time - work;
  return a.busy_until = a.profile->steady() ? start + time : a.profile->end_of(start, time);
}

}  // namespace stepcast::judge
