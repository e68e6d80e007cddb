#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "stepcast/sim/report/intervals.hpp"
#include "stepcast/sim/report/trace.hpp"

namespace stepcast {
namespace {

constexpr const char* header =
    "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,"
    "Bubble,Communication(Not Overlapped and Exclude Receive),Preparing,DP Index,PP Index,"
    "TP Index\n";

Intervals inside(const Intervals& intervals, const Interval& step) {
  Intervals result;
  for (const Interval& i : intervals)
    result.push_back({std::max(i.from, step.from), std::min(i.to, step.to)});
  return united(std::move(result));
}

/// Both are in order and apart.
double length_of_both(const Intervals& a, const Intervals& b) {
  double sum = 0;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    sum += std::max(0.0, std::min(a[i].to, b[k].to) - std::max(a[i].from, b[k].from));
    a[i].to < b[k].to ? ++i : ++k;
  }
  return sum;
}

/// What a profile of one rank holds, as intervals on the device.
struct Profile {
  Intervals kernels, communications, receives;
};

/// Columns from Computing to Preparing.
enum Column : std::size_t {
  computing,
  not_overlapped,
  overlapped,
  communication,
  free_time,
  stage,
  bubble,
  not_overlapped_nor_receive,
  preparing,
  columns
};
using Row = std::array<double, columns>;

Profile profile_of(const RecordedRun& run, std::uint32_t c) {
  Profile profile;
  const Recording::RankRecord& rank = run.recording.ranks[c];
  double device = 0;
  for (const Recording::Entry& entry : rank.entries) {
    const double before = std::exchange(device, entry.after.device);
    if (entry.kind == Recording::Kind::segment)
      profile.kernels.push_back({device - entry.worked, device});
    if (entry.kind != Recording::Kind::wait || entry.communication == Recording::none) continue;
    const auto& transfer = run.recording.communications[entry.communication];
    const Recording::Member* members = run.recording.members_of(transfer);
    // Of a transfer the second member receives.
    const bool received =
        transfer.network == Recording::none && transfer.members > 1 && members[1].rank_class == c;
    if (received) profile.receives.push_back({std::min(before, transfer.start), transfer.arrival});
  }
  profile.communications = profile.receives;
  for (const Recording::Communication& each : run.recording.communications) {
    const Recording::Member* members = run.recording.members_of(each);
    for (std::uint32_t m = 0; m < each.members; ++m) {
      if (members[m].rank_class == c && members[m].entry != Recording::none)
        profile.communications.push_back({members[m].arrived, each.end});
    }
  }
  return profile;
}

Row row_of(const Profile& profile, const Interval& step) {
  const Intervals kernels = inside(profile.kernels, step);
  const Intervals moving = inside(profile.communications, step);
  Row row{};
  row[computing] = length(kernels);
  row[communication] = length(moving);
  row[overlapped] = length_of_both(kernels, moving);
  row[not_overlapped] = row[communication] - row[overlapped];
  row[free_time] = std::max(0.0, step.to - step.from - row[computing] - row[not_overlapped]);
  // As the Ascend profiler defines its columns.
  for (const Interval& receive : profile.receives)
    row[bubble] += std::max(0.0, std::min(receive.to, step.to) - std::max(receive.from, step.from));
  row[stage] = row[computing] + row[not_overlapped] + row[free_time] - row[bubble];
  row[not_overlapped_nor_receive] = row[not_overlapped] - row[bubble];
  double first = step.to;
  if (!kernels.empty()) first = std::min(first, kernels.front().from);
  if (!moving.empty()) first = std::min(first, moving.front().from);
  row[preparing] = first - step.from;
  return row;
}

std::string text_of(const Row& row) {
  std::string text;
  constexpr double per_microsecond = 1e6;
  for (const double value : row) text += fmt::format(",{:.3f}", value * per_microsecond);
  return text;
}

/// From the end of the last rank in the step before to its own.
std::vector<Interval> steps_of(const RecordedRun& run) {
  std::vector<Interval> steps;
  for (std::size_t s = 0; s < run.forecast.timeline.steps.size(); ++s) {
    double end = 0;
    for (const auto& rank : run.recording.ranks) end = std::max(end, rank.step_ends.at(s));
    steps.push_back({s == 0 ? 0 : steps.back().to, end});
  }
  return steps;
}

std::string stage_row(std::size_t step, const std::vector<Rank>& ranks, const Row& row) {
  std::string index;
  for (const Rank rank : ranks) index += (index.empty() ? "" : ", ") + std::to_string(rank.value);
  // Python writes a tuple of one with a comma.
  if (ranks.size() == 1) index += ",";
  return fmt::format("{},stage,\"({})\"{},,,\n", step, index, text_of(row));
}

}  // namespace

Intervals united(Intervals intervals) {
  std::ranges::stable_sort(intervals, {}, &Interval::from);
  Intervals result;
  for (const Interval& i : intervals) {
    if (i.to <= i.from) continue;
    if (!result.empty() && i.from <= result.back().to) {
      result.back().to = std::max(result.back().to, i.to);
    } else {
      result.push_back(i);
    }
  }
  return result;
}

double length(const Intervals& intervals) {
  double sum = 0;
  for (const Interval& i : intervals) sum += i.to - i.from;
  return sum;
}

std::string step_trace_csv(const Scenario& scenario, const RecordedRun& run) {
  const RankClasses& classes = run.network.classes;
  const Placement placement(scenario.workload.plan);
  std::vector<Profile> profiles;
  for (std::uint32_t c = 0; c < classes.representative.size(); ++c)
    profiles.push_back(profile_of(run, c));
  const std::vector<Interval> steps = steps_of(run);
  std::string text = header;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    std::vector<Row> rows;
    rows.reserve(profiles.size());
    for (const Profile& profile : profiles) rows.push_back(row_of(profile, steps[s]));
    // Rows of a stage have the largest of its ranks in each column.
    std::vector<Row> largest(run.programs.size());
    std::vector<std::vector<Rank>> members(run.programs.size());
    for (std::uint32_t r = 0; r < classes.class_of.size(); ++r) {
      const Coordinates at = placement.coordinates(Rank{r});
      const Row& row = rows[classes.class_of[r]];
      text += fmt::format("{},rank,{}{},{},{},{}\n", s, r, text_of(row), at.dp, at.pp, at.tp);
      members[at.pp].push_back(Rank{r});
      for (std::size_t i = 0; i < columns; ++i)
        largest[at.pp][i] = std::max(largest[at.pp][i], row[i]);
    }
    for (std::size_t p = 0; p < largest.size(); ++p) text += stage_row(s, members[p], largest[p]);
  }
  return text;
}

}  // namespace stepcast
