#include "stepcast/scheduler/order_table.hpp"

#include <charconv>
#include <optional>

#include "stepcast/base/format_version.hpp"
#include "stepcast/base/section.hpp"
#include "stepcast/scheduler/order_times.hpp"

namespace stepcast {
namespace {

/// Counts of up to 2^20 each multiply: beyond so many forwards the file is surely a slip.
constexpr std::int64_t most_forwards = 1 << 18;
constexpr std::size_t most_faults = 20;  ///< told one by one

/// What the file says.
struct TableFile {
  std::int64_t micro_batches = 0, chunks = 1, slices = 1;
  ChunkPlacement placement = ChunkPlacement::loop;
  std::vector<std::string> orders;
};

void describe(Visitor& visitor, TableFile& file) {
  const Range count = between(1, any_count);
  describe_format_version(visitor, true);
  visitor.field({"micro_batches", &file.micro_batches, "micro-batches of a step", count, true});
  visitor.field({"chunks", &file.chunks, "chunks per stage", count});
  visitor.field({"slices", &file.slices, "slices of the sequence of a micro-batch", count});
  // The map from chunks to the model belongs to an order: the same letters mean other dependencies
  // on a V.
  visitor.field({"placement", choice(file.placement, {{"loop"}, {"v_shape"}, {"bidirectional"}}),
                 "which part of the model the chunks of a stage hold"});
  visitor.field({"orders", &file.orders, "units of each stage, F0 B0 ...", {}, true});
}

/// Reads a count off the front of `text`; false when there is none.
bool take_count(std::string_view& text, std::uint32_t& count) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// Takes one letter off the front when it is there.
bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<Unit> parse_unit(std::string_view text) {
  constexpr std::string_view letters = "FBbw";
  if (text.empty()) return {};
  const std::size_t kind = letters.find(text[0]);
  if (kind == std::string_view::npos) return {};
  text.remove_prefix(1);
  Unit unit{static_cast<UnitKind>(kind), {}, {}};
  // `F3.1/0`: micro-batch, then chunk and slice where they are written.
  if (!take_count(text, unit.micro_batch.value)) return {};
  if (take(text, '.') && !take_count(text, unit.chunk.value)) return {};
  if (take(text, '/') && !take_count(text, unit.slice.value)) return {};
  return text.empty() ? std::optional{unit} : std::nullopt;
}

/// A unit or a pair; false when the word is neither.
bool add_word(std::string_view word, StageOrder& order) {
  const std::size_t bar = word.find('|');
  // `{F7.0|B3.1}`: the pair is written as one word.
  const bool pair = word.starts_with('{') && word.ends_with('}') && bar != std::string_view::npos;
  const auto first = parse_unit(pair ? word.substr(1, bar - 1) : word);
  if (!first) return false;
  order.push_back(*first);
  if (!pair) return true;
  order.back().with_next = true;
  const auto second = parse_unit(word.substr(bar + 1, word.size() - bar - 2));
  if (second) order.push_back(*second);
  return second.has_value();
}

class TableReading {
 public:
  TableReading(const std::string& path, const SearchPath& search)
      : root_{load_document(path, search)} {
    read_mapping(root_, {}, reading_, [&](Visitor& v) { describe(v, file_); });
  }
  OrderTable table() {
    // Each step relies on what the one before has checked.
    if (reading_.diagnostics.empty()) check_shape();
    if (reading_.diagnostics.empty()) parse_orders();
    if (reading_.diagnostics.empty()) check_orders();
    if (!reading_.diagnostics.empty()) throw InputError(std::move(reading_.diagnostics));
    return std::move(table_);
  }

 private:
  void report(const std::string& path, std::string message) {
    reading_.report(place_of(root_, path), path, std::move(message));
  }
  void check_shape() {
    const auto stages = static_cast<std::int64_t>(file_.orders.size());
    // A table has no groups of its own; pp is what a schedule's `auto` would be.
    table_.shape = {.stages = stages,
                    .chunks = file_.chunks,
                    .micro_batches = file_.micro_batches,
                    .group = stages,
                    .slices = file_.slices,
                    .placement = file_.placement};
    if (stages == 0) report("orders", "is an empty list, allowed: one text per stage");
    if (file_.placement != ChunkPlacement::loop && file_.chunks != 2)
      report("chunks", "is " + std::to_string(file_.chunks) + ", allowed: 2 in this placement");
    if (file_.placement == ChunkPlacement::bidirectional && file_.micro_batches % 2 != 0)
      report("micro_batches", "is " + std::to_string(file_.micro_batches) +
                                  ", allowed: an even number, half for each direction");
    const double forwards = static_cast<double>(stages) * static_cast<double>(file_.chunks) *
                            static_cast<double>(file_.micro_batches) *
                            static_cast<double>(file_.slices);
    if (forwards > static_cast<double>(most_forwards))
      report("micro_batches", "gives more than " + std::to_string(most_forwards) +
                                  " forwards on all stages, allowed: fewer");
  }
  void parse_orders() {
    for (std::size_t s = 0; s < file_.orders.size(); ++s) {
      ParsedOrder parsed = parse_order(file_.orders[s]);
      if (!parsed.wrong.empty()) {
        report("orders." + std::to_string(s),
               "holds '" + parsed.wrong +
                   "', allowed: units such as F0, B3.1, b3/0, w2 and pairs {F3|B1}");
      }
      table_.orders.push_back(std::move(parsed.order));
    }
  }
  void check_orders() {
    const std::vector<std::string> faults = order_faults(table_.orders, table_.shape);
    // One slip can make thousands of findings: the first twenty and their number are enough.
    for (std::size_t i = 0; i < faults.size() && i < most_faults; ++i) report("orders", faults[i]);
    if (faults.size() > most_faults)
      report("orders", "has " + std::to_string(faults.size() - most_faults) + " more such faults");
  }

  Node root_;
  Reading reading_;
  TableFile file_;
  OrderTable table_;
};

}  // namespace

void describe_order_file(Visitor& visitor) {
  TableFile file;
  describe(visitor, file);
}

ParsedOrder parse_order(std::string_view text) {
  constexpr std::string_view blanks = " \t\n";
  ParsedOrder parsed;
  // By hand and not by a stream: views into the text let an error quote the word.
  while (true) {
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return parsed;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(blanks));
    if (!add_word(word, parsed.order)) {
      parsed.wrong = word;
      return parsed;
    }
    text.remove_prefix(word.size());
  }
}

OrderTable read_order_table(const std::string& path, const SearchPath& search) {
  return TableReading(path, search).table();
}

}  // namespace stepcast
