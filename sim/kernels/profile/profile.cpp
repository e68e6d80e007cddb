#include "stepcast/sim/kernels/profile.hpp"

#include <filesystem>
#include <map>

#include "kernels.hpp"
#include "profile_rows.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/document.hpp"
#include "stepcast/base/text.hpp"
#include "table.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

constexpr double micro = 1e-6;

void read_op_statistic(const std::string& path, Profile& profile) {
  const CsvTable table{path};
  const std::size_t type = table.column({"OP Type"}), total = table.column({"Total Time(us)"});
  std::map<std::string, double> sums;
  for (std::size_t r = 0; r < table.rows(); ++r)
    sums[table.text(r, type)] += micro * table.number(r, total).value_or(0);
  profile.totals.insert(profile.totals.end(), sums.begin(), sums.end());
}

void read_step_trace(const std::string& path, Profile& profile) {
  const CsvTable table{path};
  const std::size_t computing = table.column({"Computing"}), free = table.column({"Free"});
  const std::size_t exposed = table.column({"Communication(Not Overlapped)"});
  // Over the steps of the profile.
  const auto mean = [&](std::size_t column) {
    double sum = 0;
    for (std::size_t r = 0; r < table.rows(); ++r) sum += table.number(r, column).value_or(0);
    return table.rows() == 0 ? 0 : micro * sum / static_cast<double>(table.rows());
  };
  profile.computing = mean(computing);
  profile.exposed = mean(exposed);
  profile.free = mean(free);
}

std::optional<CollectiveKind> kind_of(std::string name) {
  // Tests of libraries call it so.
  if (name == "alltoall") name = "all_to_all";
  for (std::size_t k = 0; k < collective_kinds; ++k)
    if (name == stepcast::name(static_cast<CollectiveKind>(k)))
      return static_cast<CollectiveKind>(k);
  return {};
}

/// Words of a line, `|` and colons as blanks.
std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> all;
  std::string word;
  for (const char c : line + " ") {
    const bool blank = c == ' ' || c == '\t' || c == '|' || c == ':';
    if (!blank) word += c;
    if (blank && !word.empty()) all.push_back(std::exchange(word, {}));
  }
  return all;
}

/// Bytes first; the time is the second number of hccl_test, and the sixth column of nccl-tests,
/// whose type and operation are words.
std::optional<std::pair<double, double>> size_and_time(const std::vector<std::string>& row) {
  const auto bytes = row.empty() ? std::nullopt : parse_number(row[0]);
  if (!bytes) return {};
  const bool nccl = row.size() >= 6 && !parse_number(row[2]);
  const std::size_t column = nccl ? 5 : 1;
  if (row.size() <= column) return {};
  const auto time = parse_number(row[column]);
  if (!time || *time <= 0 || *bytes <= 0) return {};
  return std::pair{*bytes, micro * *time};
}

void read_collective_table(const fs::path& path, Profile& profile) {
  const std::string stem = path.stem().string();
  const std::size_t dash = stem.rfind('-');
  const auto kind = kind_of(stem.substr(0, dash));
  const auto ranks = dash == std::string::npos ? std::nullopt : parse_count(stem.substr(dash + 1));
  if (!kind || !ranks || *ranks < 2)
    refuse_input({path.string()}, {},
                 "is a table of what? allowed: names such as "
                 "all_reduce-16.txt, the collective and its ranks");
  const std::string text = read_document_text(path.string(), {}, "a table of hccl_test");
  for (const std::string& line : split(text, '\n')) {
    const auto row = size_and_time(words(line));
    // Headings and notes stand between the rows.
    if (!row) continue;
    Sample sample;
    sample.kind = Sample::Kind::collective;
    sample.type = stem;
    sample.call = {*kind, Bytes{row->first}};
    sample.ranks = static_cast<std::int64_t>(*ranks);
    sample.time = Seconds{row->second};
    profile.samples.push_back(sample);
  }
}

}  // namespace

std::string profile_folder(const std::string& folder) {
  const fs::path inside = fs::path(folder) / "ASCEND_PROFILER_OUTPUT";
  return is_folder(inside) ? inside.string() : folder;
}

void read_profile(const std::string& given, Profile& profile) {
  const std::string folder = profile_folder(given);
  using Reader = void (*)(const std::string&, Profile&);
  // Each file may be missing; a profiler writes what its settings ask for.
  static constexpr std::pair<const char*, Reader> readers[] = {
      {"kernel_details.csv", read_kernel_details},
      {"op_statistic.csv", read_op_statistic},
      {"step_trace_time.csv", read_step_trace},
      {"communication.json", read_communication}};
  bool any = false;
  for (const auto& [name, reader] : readers) {
    const fs::path path = fs::path(folder) / name;
    if (!is_there(path)) continue;
    reader(path.string(), profile);
    any = true;
  }
  // Tables of nccl-tests and hccl_test are beside them or alone.
  const std::vector<fs::path> tables = files_in(folder, ".txt");
  for (const fs::path& table : tables) read_collective_table(table, profile);
  if (!any && tables.empty())
    refuse_input({folder}, {},
                 "holds no profile, allowed: a folder with kernel_details.csv, op_statistic.csv, "
                 "step_trace_time.csv, communication.json or tables such as all_reduce-16.txt");
}

}  // namespace stepcast
