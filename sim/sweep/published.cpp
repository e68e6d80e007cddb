#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/csv.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/sweep/scaling.hpp"
#include "stepcast/topology/hardware_id.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

/// A line of the file.
struct PublishedRow {
  std::string curve, scaling, file, source;
  std::int64_t devices = 0;
  double rate = 0;
};

std::vector<PublishedRow> published_rows(const fs::path& file) {
  const std::string text = bytes_of(file).value_or("");
  std::vector<PublishedRow> rows;
  for (const CsvRecord& record : parse_csv(text, file.string())) {
    const auto& cells = record.cells;
    // Comments say where a curve was read off.
    if (cells.front().starts_with('#')) continue;
    const auto devices = cells.size() == 6 ? parse_count(cells[2]) : std::nullopt;
    const auto rate = cells.size() == 6 ? parse_number(cells[3]) : std::nullopt;
    if (!devices || !rate || *devices <= 0 || *rate <= 0)
      refuse_input(Place{file.string(), record.line, 1}, "",
                   "is not curve,scaling,devices,rate,file,source");
    rows.push_back(
        {cells[0], cells[1], cells[4], cells[5], static_cast<std::int64_t>(*devices), *rate});
  }
  return rows;
}

std::int64_t experts(const ModelSpec& model) { return model.moe ? model.moe->experts : 0; }

/// The same layers of the same width and experts, and as many parameters to a fiftieth, on devices
/// of the same data sheet.
bool alike(const Scenario& a, const Scenario& b) {
  constexpr double part = 0.02;
  const ModelSpec &left = a.workload.model, &right = b.workload.model;
  const double parameters = count_parameters(left).total;
  return hardware_id(a.cluster.device) == hardware_id(b.cluster.device) &&
         left.layers == right.layers && left.hidden == right.hidden &&
         experts(left) == experts(right) &&
         std::abs(count_parameters(right).total - parameters) < part * parameters;
}

bool same_plan(const Scenario& a, const Scenario& b) {
  const auto groups = [](const ParallelPlan& plan) {
    return std::array{plan.tp, plan.pp,   plan.cp,
                      plan.ep, plan.zero, std::int64_t{plan.dp_replicate > 1}};
  };
  return groups(a.workload.plan) == groups(b.workload.plan);
}

/// Efficiency over devices of the first line that a table has: of the points whose other values are
/// those of the first.
std::map<double, double> first_line(const PointTable& table) {
  std::map<double, double> line;
  for (std::size_t i = 0; i < table.efficiency.size(); ++i)
    if (const auto devices = table.rows[i].number("devices"); devices && table.efficiency[i])
      line.try_emplace(*devices, *table.efficiency[i]);
  return line;
}

/// On the line, straight over the logarithm of the devices.
double efficiency_at(const std::map<double, double>& line, double devices) {
  const auto above = line.lower_bound(devices);
  if (above->first == devices) return above->second;
  const auto below = std::prev(above);
  const double part = std::log(devices / below->first) / std::log(above->first / below->first);
  return below->second + part * (above->second - below->second);
}

}  // namespace

std::vector<PublishedCurve> published_curves(const Sweep& sweep, const PointTable& table,
                                             const SearchPath& search) {
  const std::map<double, double> line = first_line(table);
  if (line.size() < 2) return {};
  const auto folder = std::ranges::find_if(search.directories, [](const fs::path& directory) {
    return is_file(directory / "validation" / "curves.csv");
  });
  if (folder == search.directories.end()) return {};
  const Scenario own = read_scenario(point_document(sweep, 0), search);
  if (own.synthetic || own.graph) return {};
  std::vector<PublishedCurve> curves;
  std::string last;
  bool wanted = false;
  for (const PublishedRow& row : published_rows(*folder / "validation" / "curves.csv")) {
    // The first row of a curve says whose it is.
    if (row.curve != last) {
      last = row.curve;
      wanted = (row.scaling == "weak") == sweep.weak_tokens.has_value();
      if (!wanted) continue;
      const Scenario of = read_scenario((*folder / "validation" / row.file).string(), {}, search);
      wanted = alike(own, of);
      if (wanted) curves.push_back({row.curve, row.source, same_plan(own, of), {}});
    }
    const auto devices = static_cast<double>(row.devices);
    if (wanted && devices >= line.begin()->first && devices <= line.rbegin()->first)
      curves.back().points.push_back({row.devices, row.rate, 0});
  }
  std::erase_if(curves, [](const PublishedCurve& curve) { return curve.points.size() < 2; });
  for (PublishedCurve& curve : curves) {
    const PublishedPoint first = curve.points.front();
    const auto here = [&](const PublishedPoint& point) {
      return efficiency_at(line, static_cast<double>(point.devices));
    };
    const double scale = here(first) / first.efficiency;
    for (PublishedPoint& point : curve.points) {
      point.efficiency *= scale;
      point.forecast = here(point);
    }
  }
  return curves;
}

}  // namespace stepcast
