#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepcast/base/report_table.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/calibrate/profile_fit.hpp"

namespace stepcast {
namespace {

/// As a cluster file writes it.
std::string written(const FittedNumber& number, double value) {
  return number.time ? fmt::format("{:.4g}us", value * 1e6) : fmt::format("{:.4g}", value);
}

std::string known(const Identified& identified) {
  if (!std::isfinite(identified.spread)) return "not seen";
  // Of a logarithm: 1 is a factor of e.
  if (identified.spread > 1) return "hardly seen";
  return fmt::format("+-{:.0f} %", 100 * identified.spread);
}

std::string figure_line(const char* name, const ErrorFigures& before, const ErrorFigures& after) {
  return fmt::format(
      "  {:<16}{:>5} rows   mean error {:>5.1f} % -> {:>5.1f} %   bias {:>+5.1f} % -> "
      "{:>+5.1f} %\n",
      name, after.rows, 100 * before.mean, 100 * after.mean, 100 * before.bias, 100 * after.bias);
}

/// A nested mapping as text, from dotted paths.
struct Tree {
  std::vector<std::string> keys;
  std::vector<Tree> children;  ///< of each key
  std::string value;

  void add(const std::string& path, const std::string& text) {
    if (path.empty()) {
      value = text;
      return;
    }
    const std::size_t dot = path.find('.');
    const std::string head = path.substr(0, dot);
    const std::string rest = dot == std::string::npos ? "" : path.substr(dot + 1);
    const auto found = std::ranges::find(keys, head);
    if (found != keys.end()) return children[found - keys.begin()].add(rest, text);
    keys.push_back(head);
    children.emplace_back().add(rest, text);
  }
  std::string text(int depth) const {
    std::string out;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const Tree& child = children[i];
      out += std::string(static_cast<std::size_t>(2 * depth), ' ') + keys[i] + ":";
      out += child.value.empty() ? "\n" + child.text(depth + 1) : " " + child.value + "\n";
    }
    return out;
  }
};

constexpr double alike = 0.8;  // correlation from which two numbers can hardly be told apart

std::string numbers_text(const std::vector<FittedValue>& values,
                         const std::vector<double>& singular_values,
                         std::span<const FittedNumber> rivals) {
  ReportTable table({text_column("number"), number_column("before"), number_column("fitted"),
                     text_column("known to"), text_column("hard to tell from")});
  for (const FittedValue& v : values) {
    const Identified& i = v.identified;
    // Other numbers are named only where they can hardly be told apart.
    const std::string like = std::abs(i.correlation) <= alike
                                 ? ""
                                 : fmt::format("{} ({:+.2f})", rivals[i.rival].path, i.correlation);
    table.add({v.number->path, written(*v.number, v.before), written(*v.number, v.after), known(i),
               like});
  }
  std::string text = table.text() + "\nsingular values of the Jacobian:";
  for (const double s : singular_values) text += fmt::format(" {:.3g}", s);
  return text + "\n";
}

/// A number that nothing showed is written as it was: what extends the file has no other.
void add_numbers(Tree& tree, const std::vector<FittedValue>& values) {
  for (const FittedValue& v : values) {
    const std::string text =
        fmt::format("{{value: {}, source: {}, note: \"{}\"}}", written(*v.number, v.after),
                    std::isfinite(v.identified.spread) ? "fitted" : "assumed", known(v.identified));
    tree.add(v.number->path, text);
    for (const char* path : v.number->also)
      if (path != nullptr) tree.add(path, text);
  }
}

}  // namespace

std::string calibration_text(const Calibration& c) {
  std::string text =
      numbers_text(c.values, c.singular_values, numbers_of_steps(c.calibrated_after.rows)) + "\n";
  text += figure_line("calibrated on", c.calibrated_before, c.calibrated_after);
  if (c.held_out_after.rows > 0)
    text += figure_line("held out", c.held_out_before, c.held_out_after);
  return text;
}

std::string calibration_yaml(const Calibration& c, const std::string& question,
                             const std::string& base) {
  std::string text =
      "# question: " + question + "\n# Written by stepcast calibrate; " +
      fmt::format("{} measured steps, {} of them fitted.\n", c.rows, c.calibrated_after.rows) +
      (base.empty() ? "" : "extends: " + base + "\n") + "stepcast: 1\n";
  Tree tree;
  add_numbers(tree, c.values);
  return text + tree.text(0);
}

std::string profile_text(const ProfileCalibration& c, const Profile& profile) {
  std::string text = numbers_text(c.values, c.singular_values, numbers_of_kernels()) + "\n";
  ReportTable types({text_column("type"), number_column("samples"), number_column("error before"),
                     number_column("error after"), number_column("time explained")});
  for (const TypeQuality& q : c.types)
    types.add({q.type, std::to_string(q.samples), fmt::format("{:.1f}%", 100 * q.error_before),
               fmt::format("{:.1f}%", 100 * q.error_after),
               q.share > 0 ? fmt::format("{:.0f}%", 100 * q.share) : ""});
  text += types.text();
  // The step is there only when the profile has its summary.
  if (profile.computing > 0)
    text += fmt::format("\nthe profiled step: computing {}, exposed communication {}, free {}\n",
                        human(Seconds{profile.computing}), human(Seconds{profile.exposed}),
                        human(Seconds{profile.free}));
  if (!profile.skipped.empty()) text += "\nnot used:\n";
  for (const std::string& skipped : profile.skipped) text += "  " + skipped + "\n";
  return text;
}

std::string profile_yaml(const ProfileCalibration& c, const std::string& base,
                         const std::string& name) {
  Tree tree;
  add_numbers(tree, c.values);
  return "# question: what do the profiles of this cluster say of its hardware?\n"
         "# Written by stepcast calibrate.\nextends: " +
         base + "\nstepcast: 1\nname: " + name + "\n" + tree.text(0);
}

}  // namespace stepcast
