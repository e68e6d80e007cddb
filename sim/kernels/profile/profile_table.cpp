#include <fmt/format.h>

#include <cmath>

#include "stepcast/base/report_table.hpp"
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

ReportTable step_table(const ProfileComparison& c) {
  ReportTable table({text_column("where the time went"), number_column("A"), number_column("B"),
                     number_column("B - A")});
  const auto add = [&](const char* name, double ProfileSide::*part) {
    const double a = c.forecast.*part, b = c.profile.*part;
    table.add({name, human(Seconds{a}), human(Seconds{b}), signed_time(b - a)});
  };
  add("computing", &ProfileSide::computing);
  add("exposed communication", &ProfileSide::exposed);
  add("gaps below 50 us", &ProfileSide::gaps);
  add("idle", &ProfileSide::idle);
  add("step", &ProfileSide::step);
  return table;
}

ReportTable class_table(const ProfileComparison& c) {
  ReportTable table({text_column("by class"), number_column("A"), number_column("B"),
                     number_column("B - A"), number_column("launches of A"), number_column("of B"),
                     number_column("time ratio")});
  for (const ClassComparison& each : c.classes)
    table.add({each.of, human(Seconds{each.forecast}), human(Seconds{each.profile}),
               signed_time(each.profile - each.forecast), fmt::format("{}", each.forecast_launches),
               fmt::format("{}", each.profile_launches),
               each.ratio > 0 ? fmt::format("{:.3f}", each.ratio) : "-"});
  return table;
}

/// The causes that are worth a line, and what the others add up to.
ReportTable cause_table(const ProfileComparison& c) {
  ReportTable table(
      {number_column("B - A"), text_column("causes, which add up to the change of the step")});
  double rest = 0;
  for (const ProfileCause& cause : c.causes) {
    if (std::abs(cause.change) < least_shown * c.forecast.step)
      rest += cause.change;
    else
      table.add({signed_time(cause.change), cause.text});
  }
  if (std::abs(rest) > unseen) table.add({signed_time(rest), "everything else"});
  return table;
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

}  // namespace

std::string profile_table(const ProfileComparison& comparison, const KernelProfile& profile,
                          const ProfileNames& names) {
  const ReportTable causes = cause_table(comparison);
  return heading(profile, names) + "\n" + step_table(comparison).text("  ") + "\n" +
         class_table(comparison).text("  ") + "\n" +
         (causes.empty() ? "  no cause: the two are alike\n" : causes.text("  ")) +
         unknown_text(profile);
}

std::string profile_markdown(const ProfileComparison& comparison, const KernelProfile& profile,
                             const ProfileNames& names) {
  return fmt::format("A: {}, rank {} (stage {}); B: {}\n\n", names.scenario, names.rank,
                     names.stage, visible(profile.file)) +
         step_table(comparison).markdown() + "\n" + class_table(comparison).markdown() + "\n" +
         cause_table(comparison).markdown();
}

}  // namespace stepcast
