#include <fmt/format.h>

#include <algorithm>

#include "diff_text.hpp"

namespace stepcast {
namespace {

constexpr double million = 1e6;

/// Empty where sides have several.
std::string common_currency(const std::vector<DiffSide>& sides) {
  std::string currency;
  for (const DiffSide& side : sides) {
    if (!side.cost) continue;
    if (!currency.empty() && currency != side.cost->currency) return {};
    currency = side.cost->currency;
  }
  return currency;
}

}  // namespace

std::vector<CostRow> cost_rows(const std::vector<DiffSide>& sides) {
  if (std::ranges::none_of(sides, [](const DiffSide& s) { return s.cost.has_value(); })) return {};
  // One currency goes into the head; several stand beside each number and are not compared.
  const std::string currency = common_currency(sides);
  const std::string unit = currency.empty() ? "" : ", " + currency;
  CostRow step{"cost of a step" + unit, {}, {}}, tokens{"million tokens" + unit, {}, {}};
  const auto add = [&](CostRow& row, const DiffSide& side, std::optional<double> value) {
    row.values.push_back(value);
    row.texts.push_back(!value             ? "-"
                        : currency.empty() ? fmt::format("{:.4g} {}", *value, side.cost->currency)
                                           : fmt::format("{:.4g}", *value));
  };
  for (const DiffSide& side : sides) {
    add(step, side, side.cost ? std::optional{side.cost->step} : std::nullopt);
    add(tokens, side,
        side.cost && side.cost->token ? std::optional{million * *side.cost->token} : std::nullopt);
  }
  // Given times have no tokens.
  const bool synthetic = std::ranges::none_of(tokens.values, [](const auto& v) { return !!v; });
  return synthetic ? std::vector{step} : std::vector{step, tokens};
}

std::string cost_change(const CostRow& row, const DiffSide& before, const DiffSide& after,
                        std::size_t place) {
  const auto &a = row.values.front(), &b = row.values[place];
  if (!a || !b || *a == 0 || before.cost->currency != after.cost->currency) return "-";
  return fmt::format("{:+.1f}%", change_percent(*a, *b));
}

}  // namespace stepcast
