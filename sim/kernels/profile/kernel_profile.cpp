#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>

#include "profile_rows.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/text.hpp"
#include "table.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

constexpr double from_microseconds = 1e-6;
constexpr double longest_kernel = 86400e6;  ///< us
constexpr double latest_start = 1e16;       ///< us; 317 years
constexpr const char* details = "kernel_details.csv";

[[noreturn]] void refuse(const std::string& path, int line, const std::string& message) {
  refuse_input({path, line, line > 0 ? 1 : 0}, {}, message);
}

bool chrome_name(const std::string& name) {
  return name.ends_with(".json") || name.ends_with(".json.gz");
}

/// The one file of a folder that holds kernels.
std::string file_of(const std::string& given) {
  if (!is_folder(given)) return given;
  const std::string path = profile_folder(given);
  std::vector<std::string> found;
  for (const fs::path& entry : entries_of(path)) {
    const std::string name = entry.filename().string();
    const bool other = name == "communication.json" || name == "communication_matrix.json";
    if (name == details || (chrome_name(name) && !other && name != "trace_view.json"))
      found.push_back(entry.string());
  }
  // The Ascend profiler writes settings of its own beside the table.
  const auto table =
      std::ranges::find_if(found, [](const std::string& file) { return file.ends_with(details); });
  if (table != found.end()) return *table;
  if (found.size() == 1) return found.front();
  refuse(path, 0,
         found.empty() ? "holds no profile, allowed: a folder with kernel_details.csv of the "
                         "Ascend profiler, or with a trace (.json, .json.gz) of PyTorch's"
                       : "holds several traces: " + joined(found) + ", allowed: one of them");
}

std::vector<ProfileRow> read_table_rows(const std::string& path) {
  const std::string text = read_profile_text(path);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    refuse(path, 1, "is empty, allowed: a table with a header");
  const CsvTable table{path, text};
  // A profiler ends its last line.
  if (!text.ends_with('\n'))
    refuse(path, static_cast<int>(1 + std::ranges::count(text, '\n')),
           "ends within a line: the file is truncated");
  const std::size_t start = table.column({"Start Time(us)", "Task Start Time(us)"});
  const std::size_t duration = table.column({"Duration(us)", "Task Duration(us)"});
  const std::size_t name = table.column({"Name", "Op Name"});
  const std::size_t type = table.column({"Type", "OP Type"});
  const auto stream = table.find({"Stream ID"}), device = table.find({"Device_id"});
  const auto step = table.find({"Step Id"});
  std::vector<ProfileRow> rows;
  std::optional<Microseconds> first;
  const auto cell = [&](std::size_t r, const std::optional<std::size_t>& column) {
    return column ? table.text(r, *column) : std::string{};
  };
  for (std::size_t r = 0; r < table.rows(); ++r) {
    const auto from = table.number(r, start), lasts = table.number(r, duration);
    if (!from || !lasts) continue;
    if (const std::string wrong = wrong_times(*from, *lasts); !wrong.empty()) table.fail(r, wrong);
    // Since the first start: of times since an epoch a double does not have all digits.
    const Microseconds begin = microseconds(table.text(r, start), *from);
    if (!first) first = begin;
    // Communications have their kind in the name alone.
    const KernelName by_name = classified(table.text(r, name));
    const KernelName of = by_name.communication ? by_name : classified(table.text(r, type));
    rows.push_back({{table.text(r, of.of == "other" ? type : name), of.of, of.communication,
                     cell(r, stream), seconds_between(*first, begin), from_microseconds * *lasts},
                    cell(r, device),
                    cell(r, step),
                    table.line(r)});
  }
  return rows;
}

/// Rows outside of any step where others have one: they were not asked for.
void drop_without_step(std::vector<ProfileRow>& rows) {
  const auto none = [](const ProfileRow& row) { return row.step.empty() || row.step == "N/A"; };
  if (!std::ranges::all_of(rows, none)) std::erase_if(rows, none);
}

double begin_of(const std::vector<TracedKernel>& kernels) { return kernels.front().start; }

/// Of several steps the one of median length, from its first kernel to that of the next; the last
/// has no next.
void choose_step(std::vector<std::vector<TracedKernel>> steps, KernelProfile& profile) {
  std::ranges::sort(steps, {}, begin_of);
  profile.steps = steps.size();
  if (steps.size() == 1) {
    profile.trace.kernels = std::move(steps.front());
    return;
  }
  std::vector<std::pair<double, std::size_t>> lengths;
  for (std::size_t s = 0; s + 1 < steps.size(); ++s)
    lengths.emplace_back(begin_of(steps[s + 1]) - begin_of(steps[s]), s);
  std::ranges::sort(lengths);
  const auto& [length, chosen] = lengths[lengths.size() / 2];
  profile.trace.kernels = std::move(steps[chosen]);
  profile.trace.step = length;
}

std::vector<std::string> unknown_names(const std::vector<TracedKernel>& kernels) {
  std::map<std::string, double> times;
  for (const TracedKernel& kernel : kernels)
    if (kernel.of == "other") times[kernel.name] += kernel.duration;
  // Longest first, then by name.
  std::vector<std::pair<double, std::string>> order;
  order.reserve(times.size());
  for (const auto& [name, time] : times) order.emplace_back(-time, name);
  std::ranges::sort(order);
  std::vector<std::string> names;
  names.reserve(order.size());
  for (const auto& entry : order) names.push_back(entry.second);
  return names;
}

}  // namespace

Microseconds microseconds(std::string_view text, double value) {
  constexpr std::size_t most_digits = 17;
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const std::string_view digits = text.substr(sign, text.find('.') - sign);
  const std::string_view rest = text.substr(std::min(text.size(), sign + digits.size()));
  const auto plain = [](std::string_view s) {
    return s.find_first_not_of("0123456789") == std::string_view::npos;
  };
  // In two parts, as microseconds since an epoch take more digits than a double has.
  Microseconds time{0, value};
  if (std::abs(value) <= latest_start) {
    time.whole = static_cast<std::int64_t>(value);
    time.fraction = value - static_cast<double>(time.whole);
  }
  if (digits.empty() || digits.size() > most_digits || !plain(digits)) return time;
  if (!rest.empty() && !plain(rest.substr(1))) return time;
  std::from_chars(digits.data(), digits.data() + digits.size(), time.whole);
  time.fraction = rest.size() > 1 ? parse_number("0" + std::string(rest)).value_or(0) : 0;
  if (sign > 0) time = {-time.whole, -time.fraction};
  return time;
}

double seconds_between(const Microseconds& from, const Microseconds& to) {
  return from_microseconds *
         (static_cast<double>(to.whole - from.whole) + (to.fraction - from.fraction));
}

/// No kernel is that long, and no clock that late: such a file is broken.
std::string wrong_times(double start, double duration) {
  if (duration < 0) return "has a negative duration, allowed: 0 or more";
  if (!(duration <= longest_kernel))
    return "has a duration of " + shortest(duration) + " us, allowed: at most a day, 86400000000";
  if (!(std::abs(start) <= latest_start))
    return "has a start of " + shortest(start) + " us, allowed: within 1e16";
  return {};
}

bool looks_like_profile(const std::string& path) {
  if (is_folder(path) || path.ends_with(".csv") || path.ends_with(".json.gz")) return true;
  if (!path.ends_with(".json") || !is_file(path)) return false;
  const std::string text = read_profile_text(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return false;
  // A list of events, or an object that holds one.
  return text[first] == '[' || text.find("\"traceEvents\"") != std::string::npos;
}

KernelProfile read_kernel_profile(const std::string& path) {
  KernelProfile profile;
  profile.file = file_of(path);
  std::vector<ProfileRow> rows =
      chrome_name(profile.file) ? read_chrome_rows(profile.file) : read_table_rows(profile.file);
  if (rows.empty())
    refuse(profile.file, 1, "holds no kernels: nothing was profiled, or its end is missing");
  // Profilers record kernels before and behind the steps, too.
  drop_without_step(rows);
  std::map<std::string, std::vector<TracedKernel>> steps;
  for (const ProfileRow& row : rows) {
    if (row.device != rows.front().device)
      refuse(profile.file, row.line,
             "is of device " + row.device + " and the first of " + rows.front().device +
                 ", allowed: the profile of one rank");
    steps[row.step].push_back(row.kernel);
  }
  // Files need not be in the order of time.
  std::vector<std::vector<TracedKernel>> lists;
  for (auto& [step, kernels] : steps) {
    std::ranges::stable_sort(kernels, {}, &TracedKernel::start);
    lists.push_back(std::move(kernels));
  }
  choose_step(std::move(lists), profile);
  profile.unknown = unknown_names(profile.trace.kernels);
  return profile;
}

}  // namespace stepcast
