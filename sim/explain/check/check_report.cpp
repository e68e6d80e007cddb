#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "check_words.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/breakdown.hpp"

namespace stepcast {
namespace {

constexpr std::size_t named_parts = 3;  ///< of a breakdown that changed
constexpr double least_change = 1e-6;   ///< of the step time: smaller parts are not named

/// What is a percentage itself: it moves by points.
bool is_share(const std::string& key) { return key == "mfu" || key == "bubble_ratio"; }

bool is_time(const std::string& key) { return key == "step_time" || key.starts_with("exposed."); }

std::string shown(const std::string& key, double value) {
  if (is_time(key)) return human(Seconds{value});
  if (key == "peak_memory") return human(Bytes{value});
  if (is_share(key)) return fmt::format("{:.4g} %", 100 * value);
  return fmt::format("{:.4g}", value);
}

std::string tolerance_of(const CheckedValue& v) {
  if (v.expected.relative) return shortest(v.expected.tolerance * 100) + "%";
  if (is_share(v.key)) return shortest(100 * v.expected.tolerance) + " points";
  return shown(v.key, v.expected.tolerance);
}

std::string difference(const std::string& key, double found, double expected) {
  if (is_share(key)) return fmt::format("{:+.2f} points", 100 * (found - expected));
  if (expected == 0) return "from 0";
  const double percent = 100 * (found - expected) / expected;
  return fmt::format("{:+.{}f} %", percent, std::abs(percent) < 1 ? 3 : 1);
}

/// How far off in units of what is allowed.
double excess(const CheckedValue& v) {
  if (!v.found) return std::numeric_limits<double>::infinity();
  const double allowed = v.expected.relative ? v.expected.tolerance * std::abs(v.expected.value)
                                             : v.expected.tolerance;
  const double off = std::abs(*v.found - v.expected.value);
  if (off == 0) return 0;
  return allowed > 0 ? off / allowed : std::numeric_limits<double>::infinity();
}

std::string part_name(std::size_t i) {
  return is_exposed_part(i) ? "exposed " + part_word(i) + " communication" : part_word(i);
}

/// The first part that takes time now and that the file says nothing of.
std::optional<std::size_t> missing_part(const CheckResult& r, double step) {
  for (std::size_t i = 0; i < r.golden.size(); ++i)
    if (!r.golden[i] && r.breakdown[i] >= least_change * step) return i;
  return {};
}

/// "exposed expert communication +180 ms, bubble -20.0 ms"; the largest changes first.
std::string changed_parts(const CheckResult& r) {
  if (r.golden.size() != r.breakdown.size())
    return r.breakdown.empty() ? ""
                               : "no part is named, the file has no breakdown (stepcast check "
                                 "--update writes it)";
  double step = 0;
  for (const double part : r.breakdown) step += part;
  if (const auto missing = missing_part(r, step))
    return "no explanation, the file's breakdown lacks " + breakdown_names()[*missing] +
           " (stepcast check --update writes it)";
  std::vector<std::size_t> order(r.breakdown.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto change = [&](std::size_t i) { return r.breakdown[i] - r.golden[i].value_or(0); };
  std::ranges::stable_sort(order, std::greater<>{},
                           [&](std::size_t i) { return std::abs(change(i)); });
  std::string text;
  for (std::size_t k = 0; k < std::min(named_parts, order.size()); ++k) {
    const double amount = change(order[k]);
    if (std::abs(amount) < least_change * step) break;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", part_name(order[k]),
                        amount < 0 ? "-" : "+", human(Seconds{std::abs(amount)}));
  }
  return text;
}

std::string indented(const std::string& text) {
  std::string out = "       ";
  for (const char c : text) out += c == '\n' ? std::string("\n       ") : std::string(1, c);
  return out + "\n";
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\n')
      out += "&#10;";
    // XML 1.0 has no other control characters, not even as entities.
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

/// A value of which no change of a job leads to what was found.
bool is_placeholder(const CheckedValue& v) {
  constexpr double most = 3;
  return v.found && (*v.found > most * v.expected.value || v.expected.value > most * *v.found);
}

/// What published pairs say of a step time that is off.
std::string told(const CheckResult& r, const std::vector<PublishedPair>& pairs) {
  const auto step = std::ranges::find(r.values, "step_time", &CheckedValue::key);
  if (step == r.values.end() || step->holds() || !step->found || step->expected.value <= 0)
    return {};
  // Whoever writes a check begins with any values, which are no runs.
  if (std::ranges::any_of(r.values, is_placeholder)) return {};
  const std::string text = pairs_sentence(pairs, {}, *step->found / step->expected.value);
  // The file has what came out before, and not the keys that made it.
  return text.empty()
             ? text
             : "\n" + text + "\n(stepcast diff OLD NEW counts pairs of the kind of change)";
}

std::string details(const CheckResult& r) {
  std::string text;
  for (const CheckedValue& v : r.values)
    if (!v.holds()) text += (text.empty() ? "" : "\n") + value_line(v);
  return text;
}

}  // namespace

ValueWords words_of(const CheckedValue& v) {
  return {v.found ? shown(v.key, *v.found) : "", shown(v.key, v.expected.value), tolerance_of(v),
          v.found ? difference(v.key, *v.found, v.expected.value) : ""};
}

std::string value_line(const CheckedValue& v) {
  if (!v.found) return v.key + " is expected, but this scenario has none";
  const ValueWords words = words_of(v);
  return fmt::format("{} {}, expected {} within {}", v.key, words.found, words.expected,
                     words.tolerance);
}

bool CheckedValue::holds() const { return excess(*this) <= 1; }

bool CheckResult::passed() const {
  return error.empty() && std::ranges::all_of(values, &CheckedValue::holds);
}

std::string failure_line(const CheckResult& result) {
  if (result.passed()) return "";
  if (!result.error.empty()) return result.error;
  const auto step = std::ranges::find(result.values, "step_time", &CheckedValue::key);
  const bool slower = step != result.values.end() && !step->holds();
  const CheckedValue& worst = slower ? *step : *std::ranges::max_element(result.values, {}, excess);
  if (!worst.found) return value_line(worst);
  // Parts of the step say nothing of bytes.
  const std::string parts = worst.key == "peak_memory" ? "" : changed_parts(result);
  return fmt::format("{} {}{}", worst.key,
                     difference(worst.key, *worst.found, worst.expected.value),
                     parts.empty() ? "" : ": " + parts);
}

std::string check_table(const std::vector<CheckResult>& results,
                        const std::vector<PublishedPair>& pairs) {
  std::string text;
  std::size_t passed = 0;
  for (const CheckResult& r : results) {
    passed += r.passed() ? 1 : 0;
    text += fmt::format("{:<6} {}\n",
                        r.passed()        ? "ok"
                        : r.error.empty() ? "FAILED"
                                          : "ERROR",
                        r.file);
    if (r.passed() || !r.error.empty()) continue;
    text += indented(failure_line(r)) + indented(details(r) + told(r, pairs));
  }
  return text + fmt::format("{} checked: {} ok, {} failed\n", results.size(), passed,
                            results.size() - passed);
}

std::string junit_xml(const std::vector<CheckResult>& results) {
  std::size_t failures = 0, errors = 0;
  std::string cases;
  for (const CheckResult& r : results) {
    cases += fmt::format(R"(  <testcase classname="{}" name="{}" time="{:.3f}")", escaped(r.file),
                         escaped(r.name), r.seconds);
    if (r.passed()) {
      cases += "/>\n";
      continue;
    }
    // JUnit tells what did not hold from what could not be compared.
    const char* kind = r.error.empty() ? "failure" : "error";
    (r.error.empty() ? failures : errors) += 1;
    cases += fmt::format(">\n    <{} message=\"{}\">{}</{}>\n  </testcase>\n", kind,
                         escaped(failure_line(r)), escaped(details(r)), kind);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"stepcast check\" "
      "tests=\"{}\" failures=\"{}\" errors=\"{}\">\n{}</testsuite>\n",
      results.size(), failures, errors, cases);
}

}  // namespace stepcast
