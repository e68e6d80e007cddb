#include "stepcast/sim/explain/diff.hpp"

#include <algorithm>

#include "commands.hpp"
#include "stepcast/sim/import/import.hpp"
#include "stepcast/sim/import/launched.hpp"
#include "stepcast/sim/kernels/profile_compare.hpp"
#include "stepcast/sim/page/pages.hpp"
#include "sweep_commands.hpp"

namespace stepcast::cli {
namespace {

InputList listed(bool all) { return all ? InputList::all : InputList::shown; }

/// Whether a launch file is refused because nothing in it says how many tokens there are.
bool lacks_vocabulary(const std::string& file, const std::vector<std::string>& keys,
                      const SearchPath& search) {
  try {
    load_any_scenario(file, keys, search);
  } catch (const InputError& error) {
    return std::ranges::find(error.diagnostics(), "model.vocabulary", &Diagnostic::path) !=
           error.diagnostics().end();
  }
  return false;
}

/// What launch files leave open. They name no hardware, and some no vocabulary: the first --cluster
/// among the `settings` of one is theirs, and so is the size of the vocabulary then; neither is a
/// setting of a side.
std::vector<std::string> launch_of(const std::string& file, const std::vector<std::string>& given,
                                   std::vector<std::string>& settings, const SearchPath& search) {
  constexpr std::string_view cluster = "cluster.extends=";
  std::vector<std::string> keys = launch_keys(given);
  const bool said = std::ranges::any_of(
      given, [](const std::string& text) { return text.starts_with("cluster="); });
  const auto found = std::ranges::find_if(
      settings, [&](const std::string& text) { return text.starts_with(cluster); });
  if (settings.empty() || !is_launch_file(file, search)) return keys;
  if (!said && found != settings.end()) {
    keys.push_back("launch.cluster=" + found->substr(cluster.size()));
    settings.erase(found);
  }
  const auto vocabulary = std::ranges::find_if(settings, [](const std::string& text) {
    return text.starts_with("model.vocabulary=") && text.find(';') == std::string::npos;
  });
  if (vocabulary != settings.end() && lacks_vocabulary(file, keys, search)) {
    keys.push_back(*vocabulary);
    settings.erase(vocabulary);
  }
  return keys;
}

}  // namespace

std::vector<std::string> settings_of(const std::string& text) {
  std::vector<std::string> settings;
  std::size_t from = 0;
  // `;` separates keys, because values may contain commas.
  while (from <= text.size()) {
    const std::size_t end = std::min(text.find(';', from), text.size());
    const std::size_t first = text.find_first_not_of(' ', from);
    if (first >= end) bad_option("--set", "'" + text + "' has an empty key, allowed: a.b=1; c.d=2");
    const std::size_t last = text.find_last_not_of(' ', end - 1);
    settings.push_back(text.substr(first, last + 1 - first));
    from = end + 1;
  }
  return settings;
}

std::vector<std::string> launch_keys(const std::vector<std::string>& given) {
  std::vector<std::string> keys;
  keys.reserve(given.size());
  for (const std::string& text : given) keys.push_back("launch." + text);
  return keys;
}

Outcome diff(const DiffOptions& options) {
  // With one file the other side is the same one under `--set`.
  const bool alone = options.after.empty();
  const SearchPath search = default_search_path(options.presets);
  const std::string& after = alone ? options.before : options.after;
  std::vector<std::string> overrides = options.overrides;
  const std::vector<std::string> launch = launch_of(after, options.launch, overrides, search);
  if (alone && overrides.empty())
    bad_option("B", "is missing, allowed: a second scenario or result, or --set K=V");
  // A size of the vocabulary counts for both sides where both are launch files without one.
  std::vector<std::string> same = options.overrides;
  const std::vector<std::string> launch_before =
      alone ? launch : launch_of(options.before, options.launch, same, search);
  const std::vector<DiffSide> sides =
      read_sides({{options.before, {}, launch_before}, {after, overrides, launch}}, search,
                 jobs_option(options.jobs));
  const std::vector<PublishedPair> pairs = read_pairs(search);
  return shown(diff_table(sides[0], sides[1], listed(options.inputs), pairs), options.json,
               diff_json(sides[0], sides[1], pairs));
}

Outcome compare(const CompareOptions& options) {
  if (options.json == "-" && options.markdown == "-")
    bad_option("--markdown", "and --json are both -, allowed: one of them");
  // A profile among the files asks for another comparison: kernels beside operators.
  if (std::ranges::any_of(options.files, looks_like_profile)) {
    if (!options.engine.empty())
      bad_option("--engine",
                 "is given beside a profile, which needs a recording, allowed: without");
    return compare_with_profile(options);
  }
  if (!options.rank.empty())
    bad_option("--rank", "is given without a profile, allowed: A PROFILE --rank N");
  std::vector<SideRequest> requests;
  const SearchPath search = default_search_path(options.presets);
  std::vector<std::string> variants = options.variants;
  const std::vector<std::string> launch =
      launch_of(options.files.front(), options.launch, variants, search);
  for (const std::string& file : options.files)
    requests.push_back({file, {}, launch, options.engine});
  for (const std::string& variant : variants)
    requests.push_back({options.files.front(), settings_of(variant), launch, options.engine});
  if (requests.size() < 2)
    bad_option("B", "is missing, allowed: more scenarios or results, or --set K=V");
  const std::vector<DiffSide> sides = read_sides(requests, search, jobs_option(options.jobs));
  const std::vector<PublishedPair> pairs = read_pairs(search);
  const bool markdown = options.markdown == "-";
  if (!options.report.empty())
    write_file(options.report,
               study_page("compare",
                          {"stepcast compare", "Scenarios, results and variants side by side",
                           std::to_string(sides.size()) + " sides; A is " + sides.front().label},
                          compare_json(sides, pairs)));
  const InputList inputs = listed(options.inputs);
  if (!options.markdown.empty() && !markdown)
    write_file(options.markdown, compare_markdown(sides, inputs));
  return shown(markdown ? compare_markdown(sides, inputs)
                        : compare_table(sides, terminal_width(), inputs, pairs),
               options.json, compare_json(sides, pairs));
}

}  // namespace stepcast::cli
