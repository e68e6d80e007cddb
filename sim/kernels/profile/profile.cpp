#include "stepcast/sim/kernels/profile.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "profile_rows.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/document.hpp"
#include "stepcast/base/text.hpp"
#include "table.hpp"

namespace stepcast {
namespace {

/// What a kernel is: its type, and its shapes and data types as the profiler writes them
/// ("4096,1024;1024,512", "DT_BF16;DT_BF16").
struct KernelRow {
  std::string type, input_shapes, input_types, output_shapes, output_types;
};

using Shape = std::vector<double>;

constexpr double microsecond = 1e-6;
constexpr double longest_gap = 50;  // us; beyond it the device waited for the host or for a peer

/// "4096,1024;1024,512" is a shape for each operand.
std::vector<Shape> shapes_of(const std::string& text) {
  std::vector<Shape> shapes;
  for (const std::string& part : split(text, ';')) {
    Shape shape;
    for (const std::string& size : split(part, ','))
      if (const auto value = parse_number(size)) shape.push_back(*value);
    shapes.push_back(shape);
  }
  return shapes;
}

double product(const Shape& shape) {
  double count = 1;
  for (const double size : shape) count *= size;
  return shape.empty() ? 0 : count;
}

/// Two for FP16 and BF16, and for names that are not known.
double element_bytes(const std::string& type) {
  if (type.ends_with("FLOAT") || type.ends_with("INT32") || type.ends_with("UINT32")) return 4;
  if (type.ends_with("INT64") || type.ends_with("DOUBLE")) return 8;
  if (type.ends_with("INT8") || type.ends_with("BOOL")) return 1;
  return 2;
}

double bytes_of(const std::string& shapes, const std::string& types) {
  const std::vector<Shape> sizes = shapes_of(shapes);
  const std::vector<std::string> names = split(types, ';');
  double bytes = 0;
  // Where there are fewer types than shapes, the last one is that of the others.
  for (std::size_t i = 0; i < sizes.size(); ++i)
    bytes += product(sizes[i]) * element_bytes(i < names.size() ? names[i] : names.back());
  return bytes;
}

Operator made(const KernelRow& row, Work work, double flops, LaunchClass launch) {
  const double bytes =
      bytes_of(row.input_shapes, row.input_types) + bytes_of(row.output_shapes, row.output_types);
  return {row.type, std::move(work), Flops{flops}, Bytes{bytes}, launch};
}

/// [m x k] x [k x n], either side transposed: the output says which is which.
std::optional<Operator> matmul(const KernelRow& row, const std::vector<Shape>& in,
                               const std::vector<Shape>& out) {
  if (in.size() < 2 || out.empty() || in[0].size() != 2 || out[0].size() != 2) return {};
  const double m = out[0][0], n = out[0][1], k = product(in[0]) / m;
  return made(row, MatmulWork{m, n, k}, 2 * m * n * k, LaunchClass::matmul);
}

/// [tokens x k] x [groups x k x n], tokens spread evenly.
std::optional<Operator> grouped(const KernelRow& row, const std::vector<Shape>& in) {
  if (in.size() < 2 || in[0].size() != 2 || in[1].size() != 3) return {};
  const double groups = in[1][0], k = in[0][1], n = product(in[1]) / groups / k;
  const double m = in[0][0] / groups;
  return made(row, GroupedMatmulWork{groups, m, n, k}, 2 * groups * m * n * k, LaunchClass::matmul);
}

std::optional<Operator> attention(const KernelRow& row, const std::vector<Shape>& in,
                                  bool backward) {
  if (in.size() < 2 || in[0].size() != 4 || in[1].size() != 4) return {};
  const double b = in[0][0], heads = in[0][1], queries = in[0][2], d = in[0][3], keys = in[1][2];
  // Four FLOPs per score and head dimension, of which
  // the causal mask leaves half; backward has five
  // products for two.
  const double forward = b * queries * keys * heads * 2 * d;
  return made(row, AttentionWork{b, queries, keys, heads, d, d, true, backward},
              forward * (backward ? 2.5 : 1), LaunchClass::matmul);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

struct Columns {
  explicit Columns(const CsvTable& t)
      : type{t.column({"Type", "OP Type"})},
        core{t.column({"Accelerator Core", "Task Type"})},
        stream{t.column({"Stream ID"})},
        start{t.column({"Start Time(us)", "Task Start Time(us)"})},
        duration{t.column({"Duration(us)", "Task Duration(us)"})},
        shapes{t.column({"Input Shapes"})},
        types{t.column({"Input Data Types"})},
        out_shapes{t.column({"Output Shapes"})},
        out_types{t.column({"Output Data Types"})} {}
  std::size_t type, core, stream, start, duration, shapes, types, out_shapes, out_types;
};

bool communicates(const std::string& core) {
  return core == "HCCL" || core == "COMMUNICATION" || core == "AI_CPU";
}

/// Between the end of a kernel and the start of the next of its stream.
class Gaps {
 public:
  void add(const std::string& stream, double start, double duration) {
    const auto before = ends_.find(stream);
    if (before != ends_.end()) {
      const double gap = start - before->second;
      // Neither kernels beside each other nor waits are gaps.
      if (gap > 0 && gap < longest_gap) gaps_.push_back(gap);
    }
    ends_[stream] = start + duration;
  }
  void report(Profile& profile) const {
    if (gaps_.empty()) return;
    Sample sample;
    sample.kind = Sample::Kind::gap;
    sample.type = "gap between kernels";
    sample.count = static_cast<double>(gaps_.size());
    sample.time = Seconds{microsecond * median(gaps_)};
    profile.samples.push_back(sample);
  }

 private:
  std::map<std::string, double> ends_;
  std::vector<double> gaps_;
};

/// The row of the model for a kernel; nothing for types and shapes that it does not know. Fused
/// attention needs the layout [batch, heads, sequence, head size] and is taken as causal.
std::optional<Operator> kernel_operator(const KernelRow& row) {
  const std::vector<Shape> in = shapes_of(row.input_shapes), out = shapes_of(row.output_shapes);
  if (row.type.starts_with("GroupedMatmul")) return grouped(row, in);
  if (row.type.starts_with("MatMul")) return matmul(row, in, out);
  if (row.type.starts_with("FlashAttentionScore"))
    return attention(row, in, row.type.find("Grad") != std::string::npos);
  // Anything else streams its operands.
  const Operator vector = made(row, MemoryBoundWork{}, 0, LaunchClass::vector);
  if (vector.bytes.value() == 0) return {};
  return vector;
}

void read_kernel_details(const std::string& path, Profile& profile) {
  const CsvTable table{path};
  const Columns c{table};
  std::map<std::vector<std::string>, std::vector<double>> times;
  Gaps gaps;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    const auto start = table.number(r, c.start), duration = table.number(r, c.duration);
    if (!start || !duration || communicates(table.text(r, c.core))) continue;
    gaps.add(table.text(r, c.stream), *start, *duration);
    if (*duration <= 0) continue;
    // Launches of one kernel with the same shapes are one sample.
    std::vector<std::string> key;
    for (const std::size_t column : {c.type, c.shapes, c.types, c.out_shapes, c.out_types, c.core})
      key.push_back(table.text(r, column));
    times[key].push_back(*duration);
  }
  for (const auto& [key, durations] : times) {
    const bool vector = key[5].find("VECTOR") != std::string::npos || key[5] == "MIX_AIV";
    const auto op = kernel_operator({key[0], key[1], key[2], key[3], key[4]});
    // Vector cores run what the model takes as bound by memory, and nothing else.
    const bool memory_bound = op && std::holds_alternative<MemoryBoundWork>(op->work);
    if (!op || memory_bound != vector) {
      profile.skipped.push_back(key[0] + " " + key[1] + ": not a shape that the model has");
      continue;
    }
    Sample sample;
    sample.type = key[0];
    sample.op = *op;
    sample.count = static_cast<double>(durations.size());
    sample.time = Seconds{microsecond * median(durations)};
    profile.samples.push_back(sample);
  }
  gaps.report(profile);
}

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
