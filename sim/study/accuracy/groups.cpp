#include <algorithm>
#include <functional>

#include "stepcast/sim/study/accuracy.hpp"
#include "stepcast/sim/study/correlation.hpp"

namespace stepcast {
namespace {

using Chooser = std::function<bool(const MeasuredRow&)>;

ErrorFigures figures_of(const Ledger& ledger, const Chooser& chosen) {
  std::vector<double> errors;
  for (const MeasuredRow& row : ledger.rows)
    if (row.failure.empty() && chosen(row)) errors.push_back(row.error());
  return figures(std::move(errors));
}

double ranks_of(const Ledger& ledger, const Chooser& chosen) {
  std::vector<double> published, forecast;
  for (const MeasuredRow& row : ledger.rows)
    if (row.failure.empty() && chosen(row)) {
      published.push_back(row.published);
      forecast.push_back(row.forecast);
    }
  return published.empty() ? 1 : rank_correlation(published, forecast);
}

LedgerGroup group(const Ledger& ledger, std::string name, const Chooser& chosen) {
  const auto half = [&](bool out) {
    return figures_of(ledger, [&](const MeasuredRow& r) { return chosen(r) && r.held_out == out; });
  };
  return {std::move(name), figures_of(ledger, chosen), half(false), half(true),
          ranks_of(ledger, chosen)};
}

std::vector<std::string> families_of(const Ledger& ledger) {
  std::vector<std::string> families;
  for (const MeasuredRow& row : ledger.rows)
    if (std::ranges::find(families, row.family) == families.end()) families.push_back(row.family);
  return families;
}

}  // namespace

std::vector<LedgerGroup> ledger_groups(const Ledger& ledger) {
  std::vector<LedgerGroup> all;
  for (const std::string& family : families_of(ledger))
    all.push_back(group(ledger, family, [&](const MeasuredRow& r) { return r.family == family; }));
  const auto kind = [&](const char* name, const char* device) {
    all.push_back(group(ledger, name, [=](const MeasuredRow& r) {
      return r.model && !r.experts && r.device.starts_with(device);
    }));
  };
  kind("dense, Ascend", "ascend");
  kind("dense, A100", "a100");
  kind("dense, H100", "h100");
  all.push_back(group(ledger, "dense, Blackwell", [](const MeasuredRow& r) {
    return r.model && !r.experts && (r.device.starts_with("b200") || r.device.starts_with("gb"));
  }));
  all.push_back(group(ledger, "experts", [](const MeasuredRow& r) { return r.experts; }));
  all.push_back(group(ledger, "all with a model", [](const MeasuredRow& r) { return r.model; }));
  return all;
}

std::vector<MemoryFigures> memory_figures(const Ledger& ledger) {
  const double too_low = -0.05;  // beyond what a reserve covers
  std::vector<MemoryFigures> all;
  for (const std::string& family : families_of(ledger)) {
    MemoryFigures m{family};
    for (const MeasuredRow& row : ledger.rows) {
      const auto error = row.family == family ? row.memory_error() : std::nullopt;
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
