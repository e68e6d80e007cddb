#include "stepcast/sim/explain/check.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/page/pages.hpp"
#include "sweep_commands.hpp"

namespace stepcast::cli {
namespace {

/// Every file that is off gets its new values; all texts are made before the first is written.
Outcome update(const std::vector<CheckResult>& results, const SearchPath& search) {
  std::vector<std::pair<std::string, std::string>> texts;
  Outcome outcome;
  for (const CheckResult& result : results) {
    if (!result.error.empty()) {
      outcome.complaint += result.error + "\n";
      outcome.exit_code = result.bad_input ? bad_input : internal_error;
      continue;
    }
    texts.emplace_back(result.file, updated_text(result, search));
  }
  for (const auto& [file, text] : texts) {
    if (text == read_document_text(file, search)) continue;
    write_file(file, text);
    outcome.text += file + ": updated\n";
  }
  return outcome;
}

/// The files that fit one of the patterns. Throws InputError for a pattern that none fits.
std::vector<std::string> chosen(std::vector<std::string> files,
                                const std::vector<std::string>& patterns) {
  const auto fits = [](const std::string& file, const std::string& pattern) {
    return fnmatch(pattern.c_str(), file.c_str(), 0) == 0;
  };
  for (const std::string& pattern : patterns)
    if (std::ranges::none_of(files, [&](const auto& file) { return fits(file, pattern); }))
      bad_option("--filter", "'" + pattern + "' fits no file, allowed: a pattern such as '*105b*'");
  if (patterns.empty()) return files;
  std::erase_if(files, [&](const std::string& file) {
    return std::ranges::none_of(patterns, [&](const auto& p) { return fits(file, p); });
  });
  return files;
}

/// `2%` -> 0.02
double tolerance_option(const std::string& text) {
  const bool percent = text.ends_with('%');
  const auto number = parse_number(text.substr(0, text.size() - (percent ? 1 : 0)));
  if (!percent || !number || *number < 0)
    bad_option("--tolerance", "is '" + text + "', allowed: a percentage of 0% or more, 2%");
  return *number / 100;
}

/// "56 checked: 55 ok, 1 failed"
std::string last_line(std::string text) {
  text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

void write_reports(const CheckOptions& options, const std::vector<CheckResult>& results,
                   Outcome& outcome) {
  const auto report = [&](const std::string& file, const std::string& text) {
    if (file == "-") outcome.text = text;
    if (!file.empty() && file != "-") write_file(file, text);
  };
  report(options.junit, junit_xml(results));
  report(options.markdown, check_markdown(results));
  if (!options.report.empty())
    write_file(options.report,
               study_page("check",
                          {"stepcast check", "What scenarios expect, and what came out",
                           last_line(check_table(results))},
                          check_json(results)));
  if (options.annotations) outcome.text += check_annotations(results);
}

void check_combinations(const CheckOptions& options) {
  // An update compares nothing, so that there is nothing to report.
  const bool reports = !options.junit.empty() || !options.markdown.empty() || options.annotations ||
                       !options.report.empty();
  if (options.update && (reports || !options.tolerance.empty()))
    bad_option("--update",
               "compares nothing, allowed: without --tolerance, --junit, --markdown, --report "
               "and --annotations");
  if (options.update && !options.overrides.empty())
    bad_option("--update", "writes what the fast engine says, allowed: without --engine");
  if (options.junit == "-" && (options.markdown == "-" || options.annotations))
    bad_option("--junit", "is - beside another text on stdout, allowed: a file, or it alone");
}

}  // namespace

Outcome check(const CheckOptions& options) {
  check_combinations(options);
  const SearchPath search = default_search_path(options.presets);
  const int workers = jobs_option(options.workers);
  const std::optional<double> tolerance =
      options.tolerance.empty() ? std::nullopt : std::optional{tolerance_option(options.tolerance)};
  const std::vector<std::string> files =
      chosen(find_checks(options.paths, search), options.filters);
  std::vector<CheckResult> results = run_checks(files, workers, search, options.overrides);
  if (options.update) return update(results, search);
  // One tolerance for all replaces each file's own, as absolute numbers do not compare.
  if (tolerance)
    for (CheckResult& result : results)
      for (CheckedValue& v : result.values)
        v.expected = {.value = v.expected.value, .tolerance = *tolerance, .relative = true};
  Outcome outcome{check_table(results, read_pairs(search))};
  for (const CheckResult& result : results)
    if (!result.error.empty()) outcome.complaint += result.error + "\n";
  write_reports(options, results, outcome);
  if (!std::ranges::all_of(results, &CheckResult::passed)) outcome.exit_code = check_failed;
  // Wrong input wins over a failed comparison: it says that something was not compared at all.
  if (std::ranges::any_of(results, &CheckResult::bad_input)) outcome.exit_code = bad_input;
  return outcome;
}

}  // namespace stepcast::cli
