#include "stepcast/sim/sweep/published.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>

#include "stepcast/base/csv.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

/// A line of the file.
struct PublishedRow {
  std::string curve, scaling, file, source;
  double devices = 0, rate = 0;
};

std::vector<PublishedRow> published_rows(const fs::path& file) {
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<PublishedRow> rows;
  for (const CsvRecord& record : parse_csv(text, file.string())) {
    const auto& cells = record.cells;
    if (cells.front().starts_with('#')) continue;
    const auto devices = cells.size() == 6 ? parse_number(cells[2]) : std::nullopt;
    const auto rate = cells.size() == 6 ? parse_number(cells[3]) : std::nullopt;
    if (!devices || !rate || !(*devices > 0) || !(*rate > 0))
      throw InputError({{Place{file.string(), record.line, 1}, "",
                         "is not curve,scaling,devices,rate,file,source"}});
    rows.push_back({cells[0], cells[1], cells[4], cells[5], *devices, *rate});
  }
  return rows;
}

std::int64_t experts(const ModelSpec& model) { return model.moe ? model.moe->experts : 0; }

/// The same layers of the same width and experts, and as many parameters to a fiftieth, on the same
/// device.
bool alike(const Scenario& a, const Scenario& b) {
  constexpr double part = 0.02;
  const ModelSpec &left = a.workload.model, &right = b.workload.model;
  const double parameters = count_parameters(left).total;
  return a.cluster.device.name == b.cluster.device.name && left.layers == right.layers &&
         left.hidden == right.hidden && experts(left) == experts(right) &&
         std::abs(count_parameters(right).total - parameters) < part * parameters;
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
    return fs::exists(directory / "validation" / "curves.csv");
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
      wanted = (row.scaling == "weak") == sweep.weak_tokens.has_value() &&
               alike(own, read_scenario((*folder / "validation" / row.file).string(), {}, search));
      if (wanted) curves.push_back({row.curve, row.source, {}});
    }
    if (wanted && row.devices >= line.begin()->first && row.devices <= line.rbegin()->first)
      curves.back().points.push_back({row.devices, row.rate});
  }
  std::erase_if(curves, [](const PublishedCurve& curve) { return curve.points.size() < 2; });
  for (PublishedCurve& curve : curves) {
    const PublishedPoint first = curve.points.front();
    const double scale = efficiency_at(line, first.devices) / first.efficiency;
    for (PublishedPoint& point : curve.points) {
      point.efficiency *= scale;
      point.forecast = efficiency_at(line, point.devices);
    }
  }
  return curves;
}

}  // namespace stepcast
