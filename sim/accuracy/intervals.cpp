#include "stepcast/sim/accuracy/intervals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "hardware_types.hpp"
#include "stepcast/base/quantile.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

using Rows = std::vector<const MeasuredRow*>;
using Chooser = std::function<bool(const MeasuredRow&)>;

/// Of 20 rows, 80 % are known to within 18 points (two binomial deviations).
constexpr std::size_t least_rows = 20;
constexpr double tail = 0.1;  // the part below, and the part above

bool any(const MeasuredRow&) { return true; }
bool with_experts(const MeasuredRow& row) { return row.experts; }
bool dense(const MeasuredRow& row) { return !row.experts; }

/// A class and what it falls back on where it is small, wider and wider.
struct NamedClass {
  std::string name;
  Chooser has;
  std::string rows = {};  ///< "dense steps on H100": what its rows are
};
using Widening = std::vector<NamedClass>;

Rows chosen_rows(const Rows& rows, const Chooser& chosen) {
  Rows result;
  std::ranges::copy_if(rows, std::back_inserter(result),
                       [&](const MeasuredRow* row) { return chosen(*row); });
  return result;
}

void add_unseen(const MeasuredRow& row, Rows& rows) {
  if (row.model && row.counts() && row.label != RowLabel::fitted) rows.push_back(&row);
}

Rows unseen_rows(const Ledger& ledger) {
  Rows rows;
  for (const MeasuredRow& row : ledger.rows) add_unseen(row, rows);
  return rows;
}

Rows unseen_rows(const std::vector<PlainRow>& plain) {
  Rows rows;
  for (const PlainRow& row : plain) add_unseen(row.assumed, rows);
  return rows;
}

/// Those that report their memory.
bool of_memory(const MeasuredRow& row) { return row.memory_error().has_value(); }

/// Published over forecast, of what the rows of a class tell.
using Quotient = double (*)(const MeasuredRow&);
double of_steps(const MeasuredRow& row) { return row.published / row.forecast; }
double of_peaks(const MeasuredRow& row) { return *row.published_memory / *row.forecast_memory; }

/// In logarithms.
struct LogRange {
  double low = 0, high = 0;
  double middle() const { return (low + high) / 2; }
  double half() const { return (high - low) / 2; }
};

LogRange quantiles_of(const Rows& rows, Quotient quotient) {
  std::vector<double> logs;
  for (const MeasuredRow* row : rows) logs.push_back(std::log(quotient(*row)));
  if (logs.empty()) return {};
  return {quantile(logs, tail), quantile(logs, 1 - tail)};
}

/// The narrowest class that has rows enough, or the widest.
const NamedClass& class_of(const Rows& rows, const Widening& classes) {
  for (const NamedClass& c : classes)
    if (chosen_rows(rows, c.has).size() >= least_rows) return c;
  return classes.back();
}

/// Quantiles of the narrowest class that has rows enough, or of the widest, and at least as wide as
/// those of the smaller classes inside it.
LogRange plain_range(const Rows& rows, const Widening& classes, Quotient quotient) {
  LogRange result = quantiles_of(chosen_rows(rows, class_of(rows, classes).has), quotient);
  for (const NamedClass& c : classes) {
    const Rows some = chosen_rows(rows, c.has);
    if (some.size() >= least_rows) break;
    if (some.empty()) continue;
    const LogRange own = quantiles_of(some, quotient);
    result = {std::min(result.low, own.low), std::max(result.high, own.high)};
  }
  return result;
}

Rows without(const Rows& rows, const std::string& family) {
  return chosen_rows(rows, [&](const MeasuredRow& row) { return row.family != family; });
}

std::set<std::string> families_of(const Rows& rows) {
  std::set<std::string> families;
  for (const MeasuredRow* row : rows) families.insert(row->family);
  return families;
}

/// What the half width of the plain range of all sources but one has to be multiplied by so that
/// 80 % of the rows of sources left out in turn lie inside: rows of one source resemble each other
/// more than those of two. At least 1, so that no range is narrower than the plain one, and 1 where
/// there is no second source.
double stretch_of(const Rows& rows, const Widening& classes, Quotient quotient) {
  const Rows judged = chosen_rows(rows, class_of(rows, classes).has);
  std::vector<double> distances;  // from the middle, in half widths
  for (const std::string& family : families_of(judged)) {
    const LogRange range = plain_range(without(rows, family), classes, quotient);
    // Rows that are all alike span no width.
    if (range.half() <= 0) continue;
    for (const MeasuredRow* row : judged)
      if (row->family == family)
        distances.push_back(std::abs(std::log(quotient(*row)) - range.middle()) / range.half());
  }
  // 80 % of the rows lie within so many half widths.
  return distances.empty() ? 1 : std::max(1.0, quantile(distances, 1 - 2 * tail));
}

QuotientRange range_of(const Rows& rows, const Widening& classes, Quotient quotient) {
  const LogRange plain = plain_range(rows, classes, quotient);
  const double half = plain.half() * stretch_of(rows, classes, quotient);
  return {std::exp(plain.middle() - half), std::exp(plain.middle() + half)};
}

IntervalClass interval_class(const Rows& unseen, const Widening& classes,
                             Quotient quotient = of_steps) {
  IntervalClass result{classes.front().name};
  const Rows rows = chosen_rows(unseen, classes.front().has);
  result.rows = rows.size();
  result.range = range_of(unseen, classes, quotient);
  std::vector<double> widths;
  double inside = 0;
  for (const std::string& family : families_of(rows)) {
    // A source is judged by the rows of all others, as a new one would be.
    const QuotientRange range = range_of(without(unseen, family), classes, quotient);
    for (const MeasuredRow* row : rows) {
      if (row->family != family) continue;
      widths.push_back(range.high - range.low);
      inside += quotient(*row) >= range.low && quotient(*row) <= range.high ? 1 : 0;
    }
  }
  if (rows.empty()) return result;
  result.inside = inside / static_cast<double>(rows.size());
  result.width = quantile(widths, 0.5);
  return result;
}

/// Classes by type of hardware of the rows that `kind` chooses, which `word` names.
Widening of_type(const HardwareType& type, const std::string& word,
                 bool (*kind)(const MeasuredRow&)) {
  const std::string steps = kind == with_experts ? "MoE steps" : "dense steps";
  return {{fmt::format("{}, {}", word, type.name),
           [&type, kind](const MeasuredRow& row) { return kind(row) && type.has(row); },
           fmt::format("{} on {}", steps, type.name)},
          {word, kind, steps},
          {"all", any, "steps"}};
}
Widening memory_of_type(const HardwareType& type) {
  return {{fmt::format("memory, {}", type.name), type.has,
           fmt::format("peaks of memory on {}", type.name)},
          {"memory", any, "peaks of memory"}};
}

/// The range with the rows that it was taken from, and which devices of the narrowest class ran
/// some: by data sheet, behind a name for people.
std::string range_text(const Rows& rows, const Widening& classes, Quotient quotient) {
  const QuotientRange range = range_of(rows, classes, quotient);
  const NamedClass& of = class_of(rows, classes);
  std::set<std::string> names;
  for (const MeasuredRow* row : chosen_rows(rows, classes.front().has))
    names.insert(row->device + "@" + row->hardware);
  const std::vector<std::string> devices{names.begin(), names.end()};
  return fmt::format(
      "low: {{value: {:.4g}, source: fitted}}, high: {{value: {:.4g}, source: fitted}},\n"
      "    class: \"{} measured {}\", wider: {}, devices: [{}]",
      range.low, range.high, chosen_rows(rows, of.has).size(), of.rows, &of != &classes.front(),
      joined(devices));
}

/// `interval.plain` of a hardware type; nothing where no question was asked.
std::string questions_text(const Rows& questions, const HardwareType& type) {
  if (questions.empty()) return "";
  return fmt::format(",\n  plain: {{{},\n    experts: {{{}}}}}",
                     range_text(questions, of_type(type, "dense", dense), of_steps),
                     range_text(questions, of_type(type, "experts", with_experts), of_steps));
}

/// All, dense ones and those with experts, and both by hardware type; those without rows are left
/// out.
std::vector<IntervalClass> step_classes(const Rows& unseen) {
  std::vector<IntervalClass> all{interval_class(unseen, {{"all", any}}),
                                 interval_class(unseen, {{"dense", dense}, {"all", any}}),
                                 interval_class(unseen, {{"experts", with_experts}, {"all", any}})};
  for (const auto& [word, kind] : {std::pair{"dense", &dense}, {"experts", &with_experts}})
    for (const HardwareType& type : hardware_types)
      all.push_back(interval_class(unseen, of_type(type, word, kind)));
  std::erase_if(all, [](const IntervalClass& c) { return c.rows == 0; });
  return all;
}

}  // namespace

std::vector<IntervalClass> interval_classes(const Ledger& ledger) {
  const Rows unseen = unseen_rows(ledger);
  std::vector<IntervalClass> all = step_classes(unseen);
  const Rows peaks = chosen_rows(unseen, of_memory);
  all.push_back(interval_class(peaks, {{"memory", any}}, of_peaks));
  for (const HardwareType& type : hardware_types)
    all.push_back(interval_class(peaks, memory_of_type(type), of_peaks));
  std::erase_if(all, [](const IntervalClass& c) { return c.rows == 0; });
  return all;
}

std::vector<IntervalClass> plain_classes(const std::vector<PlainRow>& plain) {
  return step_classes(unseen_rows(plain));
}

std::vector<IntervalFile> interval_files(const Ledger& ledger, const std::vector<PlainRow>& plain) {
  const Rows unseen = unseen_rows(ledger), peaks = chosen_rows(unseen, of_memory);
  const Rows questions = unseen_rows(plain);
  std::vector<IntervalFile> files;
  for (const HardwareType& type : hardware_types) {
    const std::size_t rows = chosen_rows(unseen, type.has).size();
    if (rows == 0) continue;
    const std::string memory =
        peaks.empty()
            ? ""
            : fmt::format(",\n  memory: {{{}}}", range_text(peaks, memory_of_type(type), of_peaks));
    files.push_back(
        {fmt::format("interval-{}.yaml", type.fitted),
         fmt::format("# question: how far do steps of {} lie from their forecasts that no fit has "
                     "seen?\n# Written by stepcast accuracy --intervals; {} such steps.\n"
                     "extends: {}.yaml\nstepcast: 1\ninterval: {{{},\n  experts: {{{}}}{}"
                     "{}}}\n",
                     type.name, rows, type.fitted,
                     range_text(unseen, of_type(type, "dense", dense), of_steps),
                     range_text(unseen, of_type(type, "experts", with_experts), of_steps), memory,
                     questions_text(questions, type))});
  }
  return files;
}

}  // namespace stepcast
