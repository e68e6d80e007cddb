#include <fmt/format.h>

#include <cmath>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/kernels/profile_compare.hpp"

namespace stepcast {
namespace {

constexpr double least_shown = 1e-4;  ///< of the step; JSON has all causes
constexpr std::size_t names_shown = 5;

constexpr double unseen = 1e-9;  ///< s; of the microseconds that profilers write

std::string signed_time(double seconds) {
  if (std::abs(seconds) < unseen) return "0";
  return (seconds < 0 ? "-" : "+") + human(Seconds{std::abs(seconds)});
}

struct Row {
  std::string name, a, b, change, note = {};
};

std::vector<Row> step_rows(const ProfileComparison& c) {
  std::vector<Row> rows;
  const auto add = [&](const char* name, double ProfileSide::*part) {
    const double a = c.forecast.*part, b = c.profile.*part;
    rows.push_back({name, human(Seconds{a}), human(Seconds{b}), signed_time(b - a)});
  };
  add("computing", &ProfileSide::computing);
  add("exposed communication", &ProfileSide::exposed);
  add("gaps below 50 us", &ProfileSide::gaps);
  add("idle", &ProfileSide::idle);
  add("step", &ProfileSide::step);
  return rows;
}

std::vector<Row> class_rows(const ProfileComparison& c) {
  std::vector<Row> rows;
  for (const ClassComparison& each : c.classes)
    rows.push_back({each.of, human(Seconds{each.forecast}), human(Seconds{each.profile}),
                    signed_time(each.profile - each.forecast),
                    fmt::format("{} | {} | {}", each.forecast_launches, each.profile_launches,
                                each.ratio > 0 ? fmt::format("{:.3f}", each.ratio) : "-")});
  return rows;
}

/// The causes that are worth a line, and what the others add up to.
std::vector<Row> cause_rows(const ProfileComparison& c) {
  std::vector<Row> rows;
  double rest = 0;
  for (const ProfileCause& cause : c.causes) {
    if (std::abs(cause.change) < least_shown * c.forecast.step)
      rest += cause.change;
    else
      rows.push_back({cause.text, {}, {}, signed_time(cause.change)});
  }
  if (std::abs(rest) > unseen) rows.push_back({"everything else", {}, {}, signed_time(rest)});
  return rows;
}

std::string heading(const KernelProfile& profile, const ProfileNames& names) {
  return fmt::format(
      "  A  {}, rank {} (stage {})\n  B  {}, {} step{}{}\n", names.scenario, names.rank,
      names.stage, visible(profile.file), profile.steps, profile.steps == 1 ? "" : "s",
      profile.steps == 1 ? ", from its first kernel to its last" : ", the one of median length");
}

std::string unknown_text(const KernelProfile& profile) {
  if (profile.unknown.empty()) return {};
  std::string text = fmt::format("\n  other: {} kernels of no known class, longest first:",
                                 profile.unknown.size());
  for (std::size_t i = 0; i < std::min(names_shown, profile.unknown.size()); ++i)
    text += "\n    " + visible(shortened(profile.unknown[i]));
  return text + "\n";
}

std::string cells(const std::vector<Row>& rows, std::size_t width) {
  std::string text;
  for (const Row& row : rows)
    text += fmt::format("  {:<{}}{:>11}{:>11}{:>12}{}{}\n", row.name, width, row.a, row.b,
                        row.change, row.note.empty() ? "" : "  ", row.note);
  return text;
}

std::string markdown_rows(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows)
    text += fmt::format("| {} | {} | {} | {} |{}\n", row.name, row.a, row.b, row.change,
                        row.note.empty() ? "" : " " + row.note + " |");
  return text;
}

}  // namespace

std::string profile_table(const ProfileComparison& comparison, const KernelProfile& profile,
                          const ProfileNames& names) {
  constexpr std::size_t width = 24;
  std::string text = heading(profile, names);
  text += fmt::format("\n  {:<{}}{:>11}{:>11}{:>12}\n", "where the time went", width, "A", "B",
                      "B - A");
  text += cells(step_rows(comparison), width);
  text += fmt::format("\n  {:<{}}{:>11}{:>11}{:>12}  launches of A | of B | time ratio\n",
                      "by class", width, "A", "B", "B - A");
  text += cells(class_rows(comparison), width);
  const std::vector<Row> causes = cause_rows(comparison);
  text += causes.empty() ? "\n  no cause: the two are alike\n"
                         : "\n  causes, which add up to the change of the step\n";
  for (const Row& row : causes) text += fmt::format("  {:>11}  {}\n", row.change, row.name);
  return text + unknown_text(profile);
}

std::string profile_markdown(const ProfileComparison& comparison, const KernelProfile& profile,
                             const ProfileNames& names) {
  std::string text = fmt::format("A: {}, rank {} (stage {}); B: {}\n\n", names.scenario, names.rank,
                                 names.stage, visible(profile.file));
  text += "| where the time went | A | B | B - A |\n|---|---:|---:|---:|\n";
  text += markdown_rows(step_rows(comparison));
  text +=
      "\n| class | A | B | B - A | launches of A | of B | time ratio |\n"
      "|---|---:|---:|---:|---:|---:|---:|\n";
  text += markdown_rows(class_rows(comparison));
  text += "\n| cause | change |\n|---|---:|\n";
  for (const Row& row : cause_rows(comparison))
    text += fmt::format("| {} | {} |\n", row.name, row.change);
  return text;
}

}  // namespace stepcast
