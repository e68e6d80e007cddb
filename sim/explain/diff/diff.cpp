#include "stepcast/sim/explain/diff.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "diff_text.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

std::string row(const std::string& name, const std::optional<double>& before,
                const std::optional<double>& after, double step) {
  std::string text =
      fmt::format("  {:<24}{:>11}{:>11}", name, time_or_dash(before), time_or_dash(after));
  if (before && after)
    text += fmt::format("{:>12}{:>9.1f}%", signed_time(*after - *before),
                        100 * (*after - *before) / step);
  return text + "\n";
}

std::string changes_text(const std::vector<InputRow>& rows) {
  std::string text;
  for (const InputRow& row : rows)
    text += fmt::format("    {:<40} {} -> {}\n", row.path, row.values[0].value_or("-"),
                        row.values[1].value_or("-"));
  return text;
}

std::string moved_text(const std::vector<DiffSide>& sides) {
  std::string text;
  const std::vector<InputRow> layers = differing_layers(sides);
  if (!layers.empty()) text += "  layers that moved\n" + changes_text(layers);
  if (sides[0].build != sides[1].build)
    text += fmt::format("  builds that differ: {} -> {}\n", sides[0].build, sides[1].build);
  return text;
}

/// Steps of other batches are compared by the token: the longer step may be of the faster job.
/// Empty where both train as many tokens.
std::string tokens_text(const DiffSide& before, const DiffSide& after) {
  if (!before.tokens_per_s || !after.tokens_per_s) return {};
  const double tokens =
      *after.tokens_per_s * after.step_time / (*before.tokens_per_s * before.step_time);
  if (std::abs(tokens - 1) < least_part) return {};
  const double device = *before.device_tokens_per_s / *after.device_tokens_per_s,
               job = *before.tokens_per_s / *after.tokens_per_s;
  const bool other_devices = std::abs(device / job - 1) > least_part;
  return fmt::format(" for {:.3g} times the tokens: {} per token{}", tokens,
                     percent_text(100 * (device - 1)), other_devices ? " and device" : "");
}

}  // namespace

bool comparable(const std::vector<DiffSide>& sides) {
  // A summary has other names than the keys.
  return std::ranges::all_of(sides, [&](const DiffSide& s) { return s.whole == sides[0].whole; });
}

std::vector<InputRow> differing_inputs(const std::vector<DiffSide>& sides) {
  if (!comparable(sides)) return {};
  std::vector<std::map<std::string, std::string>> maps;
  maps.reserve(sides.size());
  for (const DiffSide& side : sides) maps.emplace_back(side.inputs.begin(), side.inputs.end());
  std::vector<InputRow> rows;
  // Keys in the order of the first side that has them, so that rows follow the reference page.
  std::set<std::string> seen;
  for (const DiffSide& side : sides) {
    for (const auto& [path, unused] : side.inputs) {
      if (!seen.insert(path).second) continue;
      InputRow row{path, {}};
      for (const auto& map : maps) {
        const auto found = map.find(path);
        row.values.push_back(found == map.end() ? std::nullopt : std::optional{found->second});
      }
      if (std::ranges::count(row.values, row.values[0]) < static_cast<std::ptrdiff_t>(sides.size()))
        rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<InputRow> differing_layers(const std::vector<DiffSide>& sides) {
  std::size_t stages = 0;
  for (const DiffSide& side : sides) {
    // Results of older versions say nothing of layers.
    if (side.layers.empty()) return {};
    stages = std::max(stages, side.layers.size());
  }
  std::vector<InputRow> rows;
  for (std::size_t s = 0; s < stages; ++s) {
    InputRow row{fmt::format("stage {}", s), {}};
    for (const DiffSide& side : sides)
      row.values.push_back(s < side.layers.size() ? std::optional{side.layers[s]} : std::nullopt);
    if (std::ranges::count(row.values, row.values[0]) < static_cast<std::ptrdiff_t>(sides.size()))
      rows.push_back(std::move(row));
  }
  return rows;
}

std::string result_sentence(const DiffSide& before, const DiffSide& after) {
  const std::string tokens = tokens_text(before, after);
  const double amount = after.step_time - before.step_time;
  if (std::abs(amount) < least_part * before.step_time)
    return fmt::format("{}, as before{}", human(Seconds{after.step_time}), tokens);
  const std::string first = human(Seconds{before.step_time}),
                    second = human(Seconds{after.step_time}),
                    percent = percent_text(change_percent(before.step_time, after.step_time));
  if (first == second)
    return fmt::format("{}, {} ({}){}", second, signed_time(amount), percent, tokens);
  return fmt::format("{} instead of {} ({}){}", second, first, percent, tokens);
}

std::string diff_table(const DiffSide& before, const DiffSide& after, InputList inputs,
                       const std::vector<PublishedPair>& pairs) {
  const std::vector<DiffSide> sides{before, after};
  std::string text = fmt::format("{} -> {}\n\n  a step takes {}\n", before.label, after.label,
                                 result_sentence(before, after));
  text += pairs_line(before, after, pairs, "  ");
  text += fmt::format("\n  {:<24}{:>11}{:>11}{:>12}{:>10}\n", "where the time went", "before",
                      "after", "change", "of step");
  for (const PartRow& part : part_rows(sides))
    text += row(part.name, part.values[0], part.values[1], before.step_time);
  text += row("step time", before.step_time, after.step_time, before.step_time);
  if (before.mfu && after.mfu)
    text += fmt::format("  {:<24}{:>10.1f}%{:>10.1f}%{:>+9.1f} pt\n", "MFU", 100 * *before.mfu,
                        100 * *after.mfu, 100 * (*after.mfu - *before.mfu));
  if (before.peak_memory && after.peak_memory)
    text += fmt::format("  {:<24}{:>11}{:>11}{:>+11.1f}%\n", "memory peak",
                        human(Bytes{*before.peak_memory}), human(Bytes{*after.peak_memory}),
                        change_percent(*before.peak_memory, *after.peak_memory));
  for (const CostRow& costs : cost_rows(sides))
    text += fmt::format("  {:<24}{:>11}{:>11}{:>12}\n", costs.name, costs.texts[0], costs.texts[1],
                        cost_change(costs, before, after, 1));
  return text + missing_note(sides) + "\n" + inputs_block(sides, inputs, " -> ") +
         moved_text(sides);
}

}  // namespace stepcast
