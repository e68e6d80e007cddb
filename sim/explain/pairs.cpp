#include "stepcast/sim/explain/pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "stepcast/base/csv.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

constexpr const char* pairs_file = "validation/pairs.csv";
constexpr std::size_t least_pairs = 8;  ///< of a kind and size, to speak of it
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::array sizes{0.0, 0.01, 0.02, 0.05, 0.1, 0.2, infinite};

/// Kinds by the beginning of a key; the first that fits counts.
struct KindOfKey {
  const char* prefix;
  const char* kind;
};
constexpr std::array kinds_of_keys{
    KindOfKey{"framework", "framework"},
    KindOfKey{"cluster.devices", "devices"},
    KindOfKey{"cluster", "hardware"},
    KindOfKey{"model", "model"},
    KindOfKey{"parallel.", "plan"},
    KindOfKey{"schedule.data", "packing"},
    KindOfKey{"schedule.", "schedule"},
    KindOfKey{"training.recompute", "recomputation"},
    KindOfKey{"training.micro_batch", "micro-batch"},
    KindOfKey{"training.global_batch", "batch"},
    KindOfKey{"training.sequence", "sequence"},
    KindOfKey{"training.precision", "precision"},
    KindOfKey{"training.fp8", "precision"},
    KindOfKey{"training.offload", "offload"},
    KindOfKey{"training.", "kernels"},
    KindOfKey{"runtime.", "kernels"},
    KindOfKey{"moe.", "experts"},
    KindOfKey{"communication.", "exchanges"},
};

std::size_t size_class(double ratio) {
  const double size = std::abs(ratio - 1);
  std::size_t i = 0;
  while (size >= sizes[i + 1]) ++i;
  return i;
}

PairCount counted(const std::vector<PublishedPair>& pairs, const std::string& kind,
                  std::size_t size) {
  PairCount count{kind, sizes[size], sizes[size + 1], 0, 0};
  for (const PublishedPair& pair : pairs) {
    if (!kind.empty() && pair.kind != kind) continue;
    if (size_class(pair.forecast) != size) continue;
    ++count.total;
    if (pair.right()) ++count.right;
  }
  return count;
}

/// Of its own kind, where that has enough, otherwise of all.
PairCount nearest_count(const std::vector<PublishedPair>& pairs, const std::string& kind,
                        std::size_t size) {
  PairCount own = counted(pairs, kind, size);
  return kind.empty() || own.total >= least_pairs ? own : counted(pairs, {}, size);
}

}  // namespace

std::vector<PublishedPair> read_pairs(const SearchPath& search) {
  const auto file = find_file(pairs_file, {}, search);
  // Without the shipped table differences have no sentence about published pairs.
  if (!file) return {};
  const std::string name = file->string();
  const auto records = parse_csv(read_document_text(name, search, "CSV"), name);
  std::vector<PublishedPair> pairs;
  pairs.reserve(records.size());
  // The first record is the head.
  for (std::size_t i = 1; i < records.size(); ++i) {
    const CsvRecord& record = records[i];
    const auto number = [&](std::size_t cell) {
      const auto value =
          cell < record.cells.size() ? parse_number(record.cells[cell]) : std::nullopt;
      if (!value || *value <= 0)
        refuse_input({name, record.line}, {},
                     "has no ratio above 0, allowed: kind,published,forecast,...");
      return *value;
    };
    pairs.push_back({record.cells.front(), number(1), number(2)});
  }
  return pairs;
}

std::string kind_of_change(const std::vector<std::string>& paths) {
  std::set<std::string> kinds;
  for (const std::string& path : paths) {
    const auto found = std::ranges::find_if(
        kinds_of_keys, [&](const KindOfKey& k) { return path.starts_with(k.prefix); });
    kinds.insert(found == kinds_of_keys.end() ? "" : found->kind);
  }
  return kinds.size() == 1 ? *kinds.begin() : "";
}

std::optional<PairCount> pairs_like(const std::vector<PublishedPair>& pairs,
                                    const std::string& kind, double ratio) {
  constexpr double none = 1e-9;
  if (pairs.empty() || std::abs(ratio - 1) < none) return {};
  const PairCount count = nearest_count(pairs, kind, size_class(ratio));
  return count.total == 0 ? std::nullopt : std::optional{count};
}

std::string pairs_sentence(const std::vector<PublishedPair>& pairs, const std::string& kind,
                           double ratio) {
  const auto count = pairs_like(pairs, kind, ratio);
  if (!count) return {};
  const std::string size = count->high == infinite
                               ? fmt::format("{:g} % and more", 100 * count->low)
                               : fmt::format("{:g} to {:g} %", 100 * count->low, 100 * count->high);
  return fmt::format(
      "Of {} published pairs like it ({}, forecast to differ by {}) {} had the right sign{}",
      count->total, count->kind.empty() ? "of any kind" : count->kind, size, count->right,
      count->too_close() ? ": too close to call" : "");
}

}  // namespace stepcast
