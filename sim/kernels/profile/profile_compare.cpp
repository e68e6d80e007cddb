#include "stepcast/sim/kernels/profile_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/report/intervals.hpp"

namespace stepcast {
namespace {

/// Launches of both sides, by index in the lists given; the rest has no partner.
struct Alignment {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  std::vector<std::size_t> only_first, only_second;
  double ratio = 0;  ///< median of second over first in pairs; 0 without pairs
};

constexpr double shortest_launch = 1e-9;  ///< s; a profiler writes 0 for what it cannot measure
constexpr double most_steps = 4e7;
constexpr int rounds = 4;  ///< of a ratio and the pairs that follow from it

std::vector<double> logarithms(const std::vector<double>& durations) {
  std::vector<double> logs;
  logs.reserve(durations.size());
  for (const double d : durations) logs.push_back(std::log(std::max(d, shortest_launch)));
  return logs;
}

double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// partner[i] of `small` in `large`, evenly spread.
std::vector<std::size_t> spread(std::size_t small, std::size_t large) {
  std::vector<std::size_t> partner(small);
  for (std::size_t i = 0; i < small; ++i) partner[i] = i * large / small;
  return partner;
}

/// The same by least deviation from `shift` between the logarithms: row i of the table has the
/// least cost of the first i of `small` with j of `large` left out before them.
std::vector<std::size_t> best(const std::vector<double>& small, const std::vector<double>& large,
                              double shift) {
  const std::size_t extra = large.size() - small.size(), width = extra + 1;
  std::vector<double> cost(width, 0), next(width);
  std::vector<bool> left_out(small.size() * width, false);
  for (std::size_t i = 0; i < small.size(); ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      next[j] = cost[j] + std::abs(large[i + j] - small[i] - shift);
      if (j > 0 && next[j - 1] < next[j]) {
        next[j] = next[j - 1];
        left_out[i * width + j] = true;
      }
    }
    std::swap(cost, next);
  }
  std::vector<std::size_t> partner(small.size());
  // Backwards, from where all that has to be left out is.
  std::size_t j = extra;
  for (std::size_t i = small.size(); i-- > 0;) {
    while (left_out[i * width + j]) --j;
    partner[i] = i + j;
  }
  return partner;
}

double shift_of(const std::vector<double>& small, const std::vector<double>& large,
                const std::vector<std::size_t>& partner) {
  std::vector<double> shifts;
  for (std::size_t i = 0; i < small.size(); ++i) shifts.push_back(large[partner[i]] - small[i]);
  return middle_of(std::move(shifts));
}

/// Pairs two ascending lists of durations [s] in order, so that one of them goes up whole. Left out
/// of the longer one are those launches whose partners would deviate most from the common ratio:
/// the least sum of |log second - log first - log ratio| (docs/profile.md). Where that would take
/// more than 4e7 steps, those left out are spread evenly.
Alignment align(const std::vector<double>& first, const std::vector<double>& second) {
  Alignment result;
  const bool swapped = first.size() > second.size();
  const std::vector<double> small = logarithms(swapped ? second : first);
  const std::vector<double> large = logarithms(swapped ? first : second);
  // A first ratio, from pairs that are spread evenly.
  std::vector<std::size_t> partner = spread(small.size(), large.size());
  double shift = small.empty() ? 0 : shift_of(small, large, partner);
  const auto size = static_cast<double>(small.size());
  // Cells of the table that best() fills.
  const bool chosen = size * static_cast<double>(large.size() - small.size() + 1) <= most_steps;
  for (int round = 0; round < rounds && chosen && small.size() < large.size() && size > 0;
       ++round) {
    partner = best(small, large, shift);
    shift = shift_of(small, large, partner);
  }
  std::vector<bool> paired(large.size(), false);
  for (std::size_t i = 0; i < small.size(); ++i) {
    paired[partner[i]] = true;
    result.pairs.emplace_back(swapped ? partner[i] : i, swapped ? i : partner[i]);
  }
  for (std::size_t i = 0; i < large.size(); ++i)
    if (!paired[i]) (swapped ? result.only_first : result.only_second).push_back(i);
  if (!small.empty()) result.ratio = std::exp(swapped ? -shift : shift);
  return result;
}

constexpr double longest_start = 50e-6;  ///< as calibrate has it: beyond it the device waited

constexpr double rounding = 1e-9;  ///< s; of the microseconds that profilers write

/// What of [from, to] lies in none of the intervals, which are in order and apart.
double uncovered(const Intervals& by, double from, double to) {
  if (to <= from) return 0;
  // Those before end before `from`.
  auto at = std::ranges::upper_bound(by, from, {}, &Interval::to);
  double rest = to - from;
  for (; at != by.end() && at->from < to; ++at)
    rest -= std::min(to, at->to) - std::max(from, at->from);
  return std::max(0.0, rest);
}

/// One launch with the time that it adds to the step.
struct Launch {
  double duration, counted;
};

struct Counted {
  ProfileSide side;
  double beside = 0;  ///< kernels that run beside each other, counted twice in sums over them
  std::map<std::string, std::vector<Launch>> launches;  ///< by class, by duration
  std::map<std::string, bool> communicates;
  Interval longest{0, 0};  ///< time in which nothing runs, since the first kernel
};

/// A communication counts where neither a kernel, nor a wait for something else, nor a
/// communication before it runs.
void count_launches(const std::vector<TracedKernel>& kernels, const Intervals& taken,
                    Counted& out) {
  double reached = kernels.empty() ? 0 : kernels.front().start;
  for (const TracedKernel& kernel : kernels) {
    const double end = kernel.start + kernel.duration;
    double counted = kernel.duration;
    if (kernel.communication) {
      // Two communications at a time are exposed once.
      counted = uncovered(taken, std::max(kernel.start, reached), end);
      reached = std::max(reached, end);
      out.side.exposed += counted;
    } else {
      out.beside += kernel.duration;
    }
    out.launches[kernel.of].push_back({kernel.duration, counted});
    out.communicates[kernel.of] = kernel.communication;
  }
  for (auto& [of, list] : out.launches) std::ranges::stable_sort(list, {}, &Launch::duration);
}

void count_gap(double from, double to, double begin, Counted& out) {
  const double gap = to - from;
  if (gap <= 0) return;
  // In short ones kernels start, in long ones the device waits.
  (gap < longest_start ? out.side.gaps : out.side.idle) += gap;
  if (gap > out.longest.to - out.longest.from) out.longest = {from - begin, to - begin};
}

Intervals of_kind(const std::vector<TracedKernel>& kernels, bool communication) {
  Intervals all;
  for (const TracedKernel& kernel : kernels)
    if (kernel.communication == communication)
      all.push_back({kernel.start, kernel.start + kernel.duration});
  return all;
}

/// Longer gaps between kernels in which communications run, none of which ends where the device
/// goes on: it waited for something else.
Intervals other_waits(const Intervals& computing, const Intervals& communications) {
  const Intervals moving = united(communications);
  std::vector<double> ends;
  for (const Interval& each : communications) ends.push_back(each.to);
  std::ranges::sort(ends);
  Intervals waits;
  for (std::size_t i = 1; i < computing.size(); ++i) {
    const double from = computing[i - 1].to, to = computing[i].from;
    const auto last = std::ranges::upper_bound(ends, to + rounding);
    // A kernel that was held up by a communication starts as soon as that ends.
    const bool awaited = last != ends.begin() && *std::prev(last) >= to - longest_start;
    const bool moves = uncovered(moving, from, to) < to - from;
    if (to - from >= longest_start && moves && !awaited) waits.push_back({from, to});
  }
  return waits;
}

/// `whole` counts what lies before the first kernel and behind the last, too.
Counted count(const KernelTrace& trace, bool whole) {
  Counted out;
  const Intervals communications = of_kind(trace.kernels, true);
  Intervals taken = united(of_kind(trace.kernels, false));
  out.side.computing = length(taken);
  const Intervals waits = other_waits(taken, communications);
  taken.insert(taken.end(), waits.begin(), waits.end());
  taken = united(std::move(taken));
  Intervals busy = taken;
  busy.insert(busy.end(), communications.begin(), communications.end());
  busy = united(std::move(busy));
  count_launches(trace.kernels, taken, out);
  out.beside -= out.side.computing;
  if (busy.empty()) return out;  // launches without a duration count as launches all the same
  const double begin = busy.front().from, span = busy.back().to - begin;
  for (const Interval& wait : waits) count_gap(wait.from, wait.to, begin, out);
  for (std::size_t i = 1; i < busy.size(); ++i) count_gap(busy[i - 1].to, busy[i].from, begin, out);
  // From the first kernel of a step to the first of the next.
  const double step = whole ? std::max(trace.step, span) : span;
  count_gap(begin + span, begin + step, begin, out);
  out.side.step = out.side.computing + out.side.exposed + out.side.gaps + out.side.idle;
  return out;
}

std::vector<double> durations(const std::vector<Launch>& launches) {
  std::vector<double> all;
  all.reserve(launches.size());
  for (const Launch& launch : launches) all.push_back(launch.duration);
  return all;
}

double sum(const std::vector<Launch>& launches) {
  double total = 0;
  for (const Launch& launch : launches) total += launch.duration;
  return total;
}

/// Splits what the pairs change. Waits of single communications stand out of the ratio that all
/// have; at most the net change of the class is one, because pairs of equal rank need not be the
/// same communication. Transfers of a pipeline last as long as the neighbour lets them wait.
void split_pairs(const std::vector<Launch>& forecast, const std::vector<Launch>& profile,
                 const Alignment& alignment, ClassComparison& row) {
  double change = 0, beyond = 0;
  for (const auto& [i, k] : alignment.pairs) {
    change += profile[k].counted - forecast[i].counted;
    beyond += std::max(0.0, profile[k].duration - row.ratio * forecast[i].duration);
  }
  const bool transfer = row.of == "receive" || row.of == "send";
  if (transfer)
    row.waiting = change;
  else if (row.communication)
    row.waiting = std::clamp(beyond, std::min(change, 0.0), std::max(change, 0.0));
  row.slower = change - row.waiting;
}

ClassComparison compared(const std::string& of, const Counted& forecast, const Counted& profile) {
  static const std::vector<Launch> none;
  const auto list = [&](const Counted& side) -> const std::vector<Launch>& {
    const auto found = side.launches.find(of);
    return found == side.launches.end() ? none : found->second;
  };
  const std::vector<Launch>&a = list(forecast), &b = list(profile);
  ClassComparison row{
      of, (a.empty() ? profile : forecast).communicates.at(of), a.size(), b.size(), sum(a), sum(b)};
  // Both lists ascend by duration, so that launches can be paired in order.
  const Alignment alignment = align(durations(a), durations(b));
  row.ratio = alignment.ratio;
  split_pairs(a, b, alignment, row);
  for (const std::size_t i : alignment.only_first) row.more -= a[i].counted;
  for (const std::size_t k : alignment.only_second) row.more += b[k].counted;
  return row;
}

std::string launches_text(const ClassComparison& row) {
  const bool more = row.profile_launches > row.forecast_launches;
  const std::size_t count = more ? row.profile_launches - row.forecast_launches
                                 : row.forecast_launches - row.profile_launches;
  return fmt::format("{}: {} {} launches than the forecast's {}", row.of, count,
                     more ? "more" : "fewer", row.forecast_launches);
}

std::string slower_text(const ClassComparison& row) {
  constexpr double same = 5e-4;
  if (row.communication && std::abs(row.ratio - 1) < same)
    return fmt::format("{}: kernels hide {}", row.of, row.slower > 0 ? "less" : "more");
  const std::size_t both = std::min(row.forecast_launches, row.profile_launches);
  return fmt::format("{}: {} launches take {:.3f} times as long{}", row.of, both, row.ratio,
                     row.communication ? ", as far as nothing hides them" : "");
}

void add_causes(const ClassComparison& row, std::vector<ProfileCause>& causes) {
  using Kind = ProfileCause::Kind;
  if (row.slower != 0) causes.push_back({Kind::slower, row.of, row.slower, slower_text(row)});
  if (row.forecast_launches != row.profile_launches)
    causes.push_back({Kind::launches, row.of, row.more, launches_text(row)});
  if (row.waiting != 0)
    causes.push_back(
        {Kind::waiting, row.of, row.waiting, row.of + ": single communications wait for others"});
}

std::string idle_text(const Counted& forecast, const Counted& profile) {
  const Counted& where = profile.side.idle >= forecast.side.idle ? profile : forecast;
  return fmt::format("nothing runs for 50 us or longer; longest {} at {} of the {}",
                     human(Seconds{where.longest.to - where.longest.from}),
                     human(Seconds{where.longest.from}),
                     &where == &profile ? "profile" : "forecast");
}

}  // namespace

ProfileComparison compare_profile(const KernelTrace& forecast, const KernelProfile& profile) {
  // A profile without marks of steps has no gaps or idle times that could be compared.
  const bool whole = profile.trace.step > 0;
  const Counted a = count(forecast, whole), b = count(profile.trace, whole);
  ProfileComparison result{a.side, b.side, {}, {}};
  // Classes of either side, as a forecast may lack a kernel that was measured.
  std::map<std::string, bool> classes = a.communicates;
  classes.insert(b.communicates.begin(), b.communicates.end());
  for (const auto& entry : classes) {
    result.classes.push_back(compared(entry.first, a, b));
    add_causes(result.classes.back(), result.causes);
  }
  using Kind = ProfileCause::Kind;
  result.causes.push_back({Kind::gaps,
                           {},
                           b.side.gaps - a.side.gaps,
                           "nothing runs for less than 50 us at a time: starts of kernels"});
  result.causes.push_back({Kind::idle, {}, b.side.idle - a.side.idle, idle_text(a, b)});
  result.causes.push_back(
      {Kind::overlap, {}, a.beside - b.beside, "kernels run beside each other"});
  // Largest first, by their size and not their sign.
  std::erase_if(result.causes, [](const ProfileCause& c) { return c.change == 0; });
  std::ranges::stable_sort(result.causes, std::greater<>{},
                           [](const ProfileCause& c) { return std::abs(c.change); });
  std::ranges::stable_sort(result.classes, std::greater<>{}, [](const ClassComparison& c) {
    return std::abs(c.profile - c.forecast);
  });
  return result;
}

}  // namespace stepcast
