#include <fmt/format.h>

#include <algorithm>

#include "stepcast/sim/forecast/seeds.hpp"
#include "stepcast/sim/import/launched.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"
#include "stepcast/sim/sweep/scaling.hpp"
#include "sweep_commands.hpp"

namespace stepcast::cli {
namespace {

constexpr std::int64_t most_devices = 1 << 20;
constexpr std::size_t most_sizes = 1000;

/// `128..8192`: doubled from the first while not beyond the last, and the last; `128,1024,7968`.
std::vector<std::int64_t> device_list(const std::string& text) {
  const auto one = [&text](const std::string& part) {
    if (part.find('-', 1) != std::string::npos || part.find(':') != std::string::npos)
      bad_option("--devices", "is '" + text + "', allowed: 128..8192 or 128,1024,7968");
    return count_option("--devices", part, 1, most_devices);
  };
  std::vector<std::int64_t> list;
  const std::size_t dots = text.find("..");
  if (dots != std::string::npos) {
    const std::int64_t first = one(text.substr(0, dots)), last = one(text.substr(dots + 2));
    if (first > last) bad_option("--devices", "is '" + text + "', allowed: from the smaller up");
    for (std::int64_t n = first; n < last; n *= 2) list.push_back(n);
    list.push_back(last);
    return list;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    list.push_back(one(text.substr(begin, comma - begin)));
    begin = comma + 1;
  }
  if (list.size() > most_sizes)
    bad_option("--devices", fmt::format("lists {} sizes, allowed: {}", list.size(), most_sizes));
  return list;
}

/// A sweep file says itself what varies.
Sweep file_sweep(const ScaleOptions& options, const SearchPath& search) {
  Sweep sweep = read_sweep(options.file, search);
  if (options.weak || options.strong || !options.devices.empty() || !options.overrides.empty())
    bad_option(options.file,
               "is a sweep file and says itself what varies, allowed with it: no "
               "--devices, --weak, --strong or --set");
  const std::vector<PointValue> values = point_values(sweep, 0);
  for (const PointValue& value : values)
    if (value.path == "cluster.devices" && !sweep.baseline.empty()) return sweep;
  bad_option(options.file, "does not scale, allowed: a sweep of cluster.devices with a baseline");
}

Sweep scenario_sweep(const ScaleOptions& options, const SearchPath& search) {
  if (options.weak && options.strong) bad_option("--weak", "and --strong, allowed: one of them");
  if (options.devices.empty())
    bad_option("--devices", "is missing, allowed: 128..8192 or 128,1024,7968");
  const std::vector<std::int64_t> sizes = device_list(options.devices);
  return devices_sweep(
      sized_scenario(options.file, options.overrides, options.launch, sizes.front(), search), sizes,
      !options.strong, search);
}

bool is_sweep(const std::string& file, const SearchPath& search) {
  if (is_launched(file, {}, search)) return false;
  std::vector<Diagnostic> repeated;  // the reader itself reports them
  const std::string text = read_document_text(file, search);
  return file_kind(load_document_text(text, file, search, &repeated)) == FileKind::sweep;
}

/// Points that are refused say so in their row.
bool draws_somewhere(const Sweep& sweep, const SearchPath& search) {
  for (std::size_t point = 0; point < point_count(sweep); ++point) {
    try {
      if (draws_for_seeds(read_scenario(point_document(sweep, point), search))) return true;
    } catch (const InputError&) {
      continue;
    }
  }
  return false;
}

}  // namespace

Outcome scale(const ScaleOptions& options) {
  refuse_without_store(options.accept_builds, options.store);
  const SearchPath search = default_search_path(options.presets);
  Sweep sweep = is_sweep(options.file, search) ? file_sweep(options, search)
                                               : scenario_sweep(options, search);
  if (!options.seeds.empty())
    sweep.seeds = seeds_option(options.seeds, draws_somewhere(sweep, search));
  PointTable table =
      run_points(sweep, choose_points(sweep, {}), {options.store, options.accept_builds}, search,
                 in_processes(options.workers));
  table.published = published_curves(sweep, table, search);
  Outcome outcome =
      shown_points(scaling_table(sweep, table), sweep.name, table, options.csv, options.json);
  const auto invalid = std::ranges::count(table.rows, PointStatus::invalid, &PointResult::status);
  // A curve of refused points is no curve.
  if (outcome.exit_code == done && invalid == std::ssize(table.rows)) {
    outcome.exit_code = check_failed;
    outcome.complaint = options.file + ": no point is valid\n";
  }
  if (!options.report.empty()) write_points_page(options.report, sweep, table);
  if (options.svg == "-") outcome.text = scaling_svg(sweep, table);
  if (!options.svg.empty() && options.svg != "-")
    write_file(options.svg, scaling_svg(sweep, table));
  return outcome;
}

}  // namespace stepcast::cli
