#include "stepcast/sim/explain/diff.hpp"

#include <algorithm>

#include "stepcast/sim/kernels/profile_compare.hpp"
#include "stepcast/sim/page/study_page.hpp"
#include "sweep_commands.hpp"
#include "terminal.hpp"

namespace stepcast::cli {
namespace {

InputList listed(bool all) { return all ? InputList::all : InputList::shown; }

}  // namespace

std::vector<std::string> settings_of(const std::string& text) {
  std::vector<std::string> settings;
  std::size_t from = 0;
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
  for (const std::string& text : given) keys.push_back("launch." + text);
  return keys;
}

Outcome diff(const DiffOptions& options) {
  const bool alone = options.after.empty();
  if (alone && options.overrides.empty())
    bad_option("B", "is missing, allowed: a second scenario or result, or --set K=V");
  const std::vector<std::string> launch = launch_keys(options.launch);
  const std::vector<DiffSide> sides =
      read_sides({{options.before, {}, launch},
                  {alone ? options.before : options.after, options.overrides, launch}},
                 default_search_path(options.presets));
  const std::vector<PublishedPair> pairs = read_pairs(default_search_path(options.presets));
  return shown(diff_table(sides[0], sides[1], listed(options.inputs), pairs), options.json,
               diff_json(sides[0], sides[1], pairs));
}

Outcome compare(const CompareOptions& options) {
  if (options.json == "-" && options.markdown == "-")
    bad_option("--markdown", "and --json are both -, allowed: one of them");
  if (std::ranges::any_of(options.files, looks_like_profile)) {
    if (!options.engine.empty())
      bad_option("--engine",
                 "is given beside a profile, which needs a recording, allowed: without");
    return compare_with_profile(options);
  }
  if (!options.rank.empty())
    bad_option("--rank", "is given without a profile, allowed: A PROFILE --rank N");
  std::vector<SideRequest> requests;
  const std::vector<std::string> launch = launch_keys(options.launch);
  for (const std::string& file : options.files)
    requests.push_back({file, {}, launch, options.engine});
  for (const std::string& variant : options.variants)
    requests.push_back({options.files.front(), settings_of(variant), launch, options.engine});
  if (requests.size() < 2)
    bad_option("B", "is missing, allowed: more scenarios or results, or --set K=V");
  const std::vector<DiffSide> sides = read_sides(requests, default_search_path(options.presets));
  const std::vector<PublishedPair> pairs = read_pairs(default_search_path(options.presets));
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
