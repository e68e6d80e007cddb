#include <cmath>
#include <limits>

#include "stepcast/sim/replay/stall_plan.hpp"

namespace stepcast {
namespace {

/// A stretch of constant factor: which change began it, in which repetition.
struct Stretch {
  std::size_t change;
  double repetition;  ///< whole; 0 until the changes have repeated
};

/// All dates come from this one expression, so that two of them compare as they were computed.
double date(const SpeedProfile& p, const Stretch& s) {
  return p.changes[s.change].from + s.repetition * p.period;
}

bool repeats(const SpeedProfile& p) { return p.period > 0; }

/// The stretch that `time` falls into. Dates are compared as date() computes them, so that
/// rounding cannot put a date on the wrong side of itself.
Stretch stretch_at(const SpeedProfile& p, double time) {
  Stretch s{0, 0};
  if (repeats(p) && time >= p.changes[p.first_repeated].from) {
    s = {p.first_repeated, std::floor((time - p.changes[p.first_repeated].from) / p.period)};
    // A period before or after by rounding: the date itself decides.
    if (date(p, s) > time) --s.repetition;
    if (date(p, {s.change, s.repetition + 1}) <= time) ++s.repetition;
  }
  while (s.change + 1 < p.changes.size() && date(p, {s.change + 1, s.repetition}) <= time)
    ++s.change;
  return s;
}

/// The last change lasts until the changes repeat, or for ever.
double end_of_stretch(const SpeedProfile& p, const Stretch& s) {
  if (s.change + 1 < p.changes.size()) return date(p, {s.change + 1, s.repetition});
  if (repeats(p)) return date(p, {p.first_repeated, s.repetition + 1});
  return std::numeric_limits<double>::infinity();
}

/// Work that one repetition does [s at factor 1].
double work_of_period(const SpeedProfile& p) {
  double work = 0;
  for (std::size_t i = p.first_repeated; i < p.changes.size(); ++i)
    work += (end_of_stretch(p, {i, 0}) - p.changes[i].from) / p.changes[i].factor;
  return work;
}

}  // namespace

double SpeedProfile::factor_at(double time) const {
  return changes.empty() ? 1 : changes[stretch_at(*this, time).change].factor;
}

/// Whole repetitions are skipped at once, since a long run meets many of them.
double SpeedProfile::end_of(double start, double device) const {
  // One factor for ever needs no search.
  if (steady()) return start + device * factor_at(start);
  double now = start, left = device;
  for (bool skipped = !repeats(*this);;) {
    const Stretch s = stretch_at(*this, now);
    const double until = end_of_stretch(*this, s), factor = changes[s.change].factor;
    // So late that a double cannot tell the next date from now: periods are one mean speed.
    if (until <= now) return now + left * period / work_of_period(*this);
    if (now + left * factor <= until) return now + left * factor;
    left -= (until - now) / factor;
    now = until;
    // Once, as soon as the changes repeat: whole periods do a known amount of work.
    if (skipped || now < changes[first_repeated].from) continue;
    const double work = work_of_period(*this), whole = std::floor(left / work);
    now += whole * period;
    left -= whole * work;
    skipped = true;
  }
}

}  // namespace stepcast
