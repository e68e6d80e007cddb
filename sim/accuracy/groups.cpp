#include <algorithm>
#include <functional>

#include "hardware_types.hpp"
#include "stepcast/base/quantile.hpp"
#include "stepcast/sim/accuracy/accuracy.hpp"

namespace stepcast {
namespace {

using Chooser = std::function<bool(const MeasuredRow&)>;

ErrorFigures figures_of(const Ledger& ledger, const Chooser& chosen) {
  std::vector<double> errors;
  for (const MeasuredRow& row : ledger.rows)
    if (row.counts() && chosen(row)) errors.push_back(row.error());
  return figures(std::move(errors));
}

/// How well the forecast has the published order (Spearman).
double ranks_of(const Ledger& ledger, const Chooser& chosen) {
  std::vector<double> published, forecast;
  for (const MeasuredRow& row : ledger.rows)
    if (row.counts() && chosen(row)) {
      published.push_back(row.published);
      forecast.push_back(row.forecast);
    }
  return published.empty() ? 1 : rank_correlation(published, forecast);
}

LedgerGroup group(const Ledger& ledger, std::string name, const Chooser& chosen) {
  const auto part = [&](RowLabel label) {
    return figures_of(ledger, [&](const MeasuredRow& r) { return chosen(r) && r.label == label; });
  };
  return {std::move(name),          figures_of(ledger, chosen), part(RowLabel::fitted),
          part(RowLabel::held_out), part(RowLabel::foreign),    ranks_of(ledger, chosen)};
}

/// In the order of the ledger.
std::vector<std::string> families_of(const Ledger& ledger, const Chooser& chosen) {
  std::vector<std::string> families;
  for (const MeasuredRow& row : ledger.rows)
    if (chosen(row) && std::ranges::find(families, row.family) == families.end())
      families.push_back(row.family);
  return families;
}

std::vector<std::string> families_of(const Ledger& ledger) {
  return families_of(ledger, [](const MeasuredRow&) { return true; });
}

constexpr std::int64_t many_ranks = 128;  // whose gathers cross many nodes

std::string kind_name(bool experts) { return experts ? "experts" : "dense"; }

void add_unless_empty(std::vector<LedgerGroup>& groups, LedgerGroup group) {
  if (group.all.rows > 0) groups.push_back(std::move(group));
}

std::vector<std::string> frameworks_of(const Ledger& ledger) {
  std::vector<std::string> names;
  for (const MeasuredRow& row : ledger.rows)
    if (!row.framework.empty() && std::ranges::find(names, row.framework) == names.end())
      names.push_back(row.framework);
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::vector<LedgerGroup> ledger_groups(const Ledger& ledger) {
  std::vector<LedgerGroup> all;
  // Groups overlap on purpose: a row is of its source, of its hardware and of its kind of model.
  for (const std::string& family : families_of(ledger))
    all.push_back(group(ledger, family, [&](const MeasuredRow& r) { return r.family == family; }));
  for (const HardwareType& type : hardware_types)
    all.push_back(group(ledger, std::string("dense, ") + type.name, [&](const MeasuredRow& r) {
      return r.model && !r.experts && type.has(r);
    }));
  all.push_back(group(ledger, "experts", [](const MeasuredRow& r) { return r.experts; }));
  all.push_back(group(ledger, "all with a model", [](const MeasuredRow& r) { return r.model; }));
  return all;
}

std::vector<LedgerGroup> ledger_classes(const Ledger& ledger) {
  std::vector<LedgerGroup> all;
  for (const bool experts : {false, true})
    for (const std::string& framework : frameworks_of(ledger))
      add_unless_empty(
          all, group(ledger, kind_name(experts) + ", " + framework, [&](const MeasuredRow& r) {
            return r.model && r.experts == experts && r.framework == framework;
          }));
  for (const bool experts : {false, true})
    add_unless_empty(all, group(ledger, kind_name(experts) + ", ZeRO-3 on 128 ranks or more",
                                [&](const MeasuredRow& r) {
                                  return r.model && r.experts == experts && r.zero == 3 &&
                                         r.ranks >= many_ranks;
                                }));
  for (const HardwareType& type : hardware_types)
    add_unless_empty(all, group(ledger, std::string("experts, ") + type.name,
                                [&](const MeasuredRow& r) { return r.experts && type.has(r); }));
  const Chooser experts = [](const MeasuredRow& r) { return r.experts && r.counts(); };
  // How much of the mean is one source's.
  for (const std::string& family : families_of(ledger, experts))
    add_unless_empty(all, group(ledger, "experts without " + family, [&](const MeasuredRow& r) {
                       return r.experts && r.family != family;
                     }));
  return all;
}

std::vector<MemoryFigures> memory_figures(const Ledger& ledger) {
  const double too_low = -0.05;  // beyond what a reserve covers
  std::vector<MemoryFigures> all;
  for (const std::string& family : families_of(ledger)) {
    MemoryFigures m{family};
    // Rows without a published peak have no error of memory.
    for (const MeasuredRow& row : ledger.rows) {
      const bool counts = row.family == family && row.counts();
      const auto error = counts ? row.memory_error() : std::nullopt;
      if (!error) continue;
      m.lowest = m.rows == 0 ? *error : std::min(m.lowest, *error);
      m.bias += *error;
      ++m.rows;
      if (*error < too_low) ++m.too_low;
    }
    if (m.rows == 0) continue;
    m.bias /= static_cast<double>(m.rows);
    all.push_back(std::move(m));
  }
  return all;
}

}  // namespace stepcast
