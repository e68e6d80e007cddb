#include "stepcast/sim/study/check.hpp"

#include <algorithm>

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

}  // namespace

Outcome check(const CheckOptions& options) {
  const SearchPath search = default_search_path(options.presets);
  const int workers = workers_option(options.workers);
  const std::vector<std::string> files = find_checks(options.paths, search);
  const std::vector<CheckResult> results = run_checks(files, workers, search);
  if (options.update) return update(results, search);
  Outcome outcome{check_table(results)};
  for (const CheckResult& result : results)
    if (!result.error.empty()) outcome.complaint += result.error + "\n";
  if (options.junit == "-") outcome.text = junit_xml(results);
  if (!options.junit.empty() && options.junit != "-") write_file(options.junit, junit_xml(results));
  if (!std::ranges::all_of(results, &CheckResult::passed)) outcome.exit_code = check_failed;
  if (std::ranges::any_of(results, &CheckResult::bad_input)) outcome.exit_code = bad_input;
  return outcome;
}

}  // namespace stepcast::cli
