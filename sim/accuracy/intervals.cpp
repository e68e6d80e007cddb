#include "stepcast/sim/accuracy/intervals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "hardware_types.hpp"
#include "stepcast/base/quantile.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

using Rows = std::vector<const MeasuredRow*>;
using Chooser = std::function<bool(const MeasuredRow&)>;

/// Of 20 rows, 80 % are known to within 18 points (two binomial deviations).
constexpr std::size_t least_rows = 20;
constexpr double held = 0.8;  // the part of the rows inside

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
  // Rows that numbers were fitted to lie nearer than new ones will.
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

double log_of(const MeasuredRow& row, Quotient quotient) { return std::log(quotient(row)); }

/// The narrowest class that has rows enough, or the widest.
const NamedClass& class_of(const Rows& rows, const Widening& classes) {
  for (const NamedClass& c : classes)
    if (chosen_rows(rows, c.has).size() >= least_rows) return c;
  return classes.back();
}

Rows without(const Rows& rows, const std::string& family) {
  return chosen_rows(rows, [&](const MeasuredRow& row) { return row.family != family; });
}

std::map<std::string, std::size_t> families_of(const Rows& rows) {
  std::map<std::string, std::size_t> families;
  for (const MeasuredRow* row : rows) ++families[row->family];
  return families;
}

/// The median of the logarithms where a source of n rows weighs sqrt(n), as in a fit.
double median_of(const Rows& rows, Quotient quotient) {
  const auto counts = families_of(rows);
  std::vector<std::pair<double, double>> weighed;
  weighed.reserve(rows.size());
  double total = 0;
  for (const MeasuredRow* row : rows) {
    // Rows of one source share their mistakes: a hundred of them say less than a hundred sources.
    const double weight = 1 / std::sqrt(static_cast<double>(counts.at(row->family)));
    weighed.emplace_back(log_of(*row, quotient), weight);
    total += weight;
  }
  std::ranges::sort(weighed);
  // A value stands at the middle of its weight; between two of them it is interpolated.
  double below = 0, last = 0, last_at = 0;
  for (const auto& [value, weight] : weighed) {
    const double at = below + weight / 2;
    if (at >= total / 2)
      return below == 0 ? value : last + (value - last) * (total / 2 - last_at) / (at - last_at);
    below += weight;
    last = value;
    last_at = at;
  }
  return last;
}

using Classes = std::span<const NamedClass>;

/// What `own` says of the first class, shrunk towards the same of the next wider one as if two more
/// sources had spoken for that; the latter where `own` says nothing.
double shrunk(const Rows& rows, Classes classes,
              const std::function<std::optional<double>(const Rows&, Classes)>& own) {
  constexpr double sources_of_wider = 2;
  std::optional<double> value;
  // From the widest class to the narrowest, each pulled towards the one before.
  for (std::size_t i = classes.size(); i-- > 0;) {
    const Rows some = chosen_rows(rows, classes[i].has);
    const std::optional<double> said = some.empty() ? std::nullopt : own(some, classes.subspan(i));
    if (!said) continue;
    const auto sources = static_cast<double>(families_of(some).size());
    value = value ? (sources * *said + sources_of_wider * *value) / (sources + sources_of_wider)
                  : *said;
  }
  return value.value_or(0);
}

double middle_of(const Rows& rows, Classes classes, Quotient quotient) {
  return shrunk(rows, classes,
                [&](const Rows& some, Classes) { return median_of(some, quotient); });
}

/// Distances of the rows of the first class from the middle that all other sources give it: rows of
/// one source resemble each other more than those of two.
std::vector<double> distances_of(const Rows& rows, const Rows& some, Classes classes,
                                 Quotient quotient) {
  std::vector<double> distances;
  distances.reserve(some.size());
  for (const auto& [family, count] : families_of(some)) {
    const Rows others = without(rows, family);
    const double middle = middle_of(others.empty() ? rows : others, classes, quotient);
    for (const MeasuredRow* row : some)
      if (row->family == family) distances.push_back(std::abs(log_of(*row, quotient) - middle));
  }
  return distances;
}

/// What the part `held` of further distances lies below: of n known ones and the next, each rank is
/// as likely for the next.
double next_below(const std::vector<double>& distances) {
  const auto n = static_cast<double>(distances.size());
  return quantile(distances, n > 1 ? std::min(1.0, ((n + 1) * held - 1) / (n - 1)) : 1);
}

QuotientRange range_of(const Rows& rows, Classes classes, Quotient quotient) {
  const double middle = middle_of(rows, classes, quotient);
  const auto distance = [&](const Rows& some, Classes wider) -> std::optional<double> {
    // The next one lies beyond all of fewer than four with more than 20 %.
    if (some.size() < 4 && wider.size() > 1) return std::nullopt;
    return next_below(distances_of(rows, some, wider, quotient));
  };
  const double half = shrunk(rows, classes, distance);
  return {std::exp(middle - half), std::exp(middle + half)};
}

IntervalClass interval_class(const Rows& unseen, const Widening& classes,
                             Quotient quotient = of_steps) {
  IntervalClass result{classes.front().name};
  const Rows rows = chosen_rows(unseen, classes.front().has);
  result.rows = rows.size();
  result.range = range_of(unseen, classes, quotient);
  std::vector<double> widths;
  double inside = 0;
  for (const auto& [family, count] : families_of(rows)) {
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
  // Unseen rows alone: errors of fitted rows would make a forecast look surer than it is.
  const Rows unseen = unseen_rows(ledger), peaks = chosen_rows(unseen, of_memory);
  const Rows questions = unseen_rows(plain);
  std::vector<IntervalFile> files;
  for (const HardwareType& type : hardware_types) {
    const std::size_t rows = chosen_rows(unseen, type.has).size();
    if (rows == 0) continue;
    // Peaks of a type may be too few for a range of their own.
    const std::string memory =
        peaks.empty()
            ? ""
            : fmt::format(",\n  memory: {{{}}}", range_text(peaks, memory_of_type(type), of_peaks));
    files.push_back(
        {fmt::format("interval-{}.yaml", type.fitted),
         fmt::format("# question: how far do steps of {} lie from their forecasts that no fit has "
                     "seen?\n# Written by stepcast accuracy --intervals; {} such steps.\n"
                     "extends: {}.yaml\nstepcast: 1\ninterval: {{{},\n  experts: {{{}}}{}{}}}\n",
                     type.name, rows, type.fitted,
                     range_text(unseen, of_type(type, "dense", dense), of_steps),
                     range_text(unseen, of_type(type, "experts", with_experts), of_steps), memory,
                     questions_text(questions, type))});
  }
  return files;
}

}  // namespace stepcast
