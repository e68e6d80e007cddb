#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/import/launched.hpp"
#include "stepcast/sim/kernels/profile_compare.hpp"
#include "stepcast/sim/page/pages.hpp"
#include "sweep_commands.hpp"

namespace stepcast::cli {
namespace {

struct Comparison {
  Scenario scenario;
  KernelProfile profile;
  Rank rank;

  ProfileNames names() const {
    return {scenario.name, rank.value, Placement(scenario.workload.plan).coordinates(rank).pp};
  }
};

Comparison read_sides(const CompareOptions& options) {
  // A profile is of one run of one scenario, in that order.
  if (options.files.size() != 2 || looks_like_profile(options.files.front()))
    bad_option("A B C", "hold a profile, allowed: a scenario, then its profile");
  std::vector<std::string> overrides;
  for (const std::string& variant : options.variants)
    for (std::string& setting : settings_of(variant)) overrides.push_back(std::move(setting));
  if (is_launched(options.files[0], overrides, default_search_path(options.presets)))
    for (std::string& key : launch_keys(options.launch)) overrides.push_back(std::move(key));
  Comparison sides{
      prepare_scenario(options.files[0], overrides, default_search_path(options.presets)),
      read_kernel_profile(options.files[1]), Rank{0}};
  const std::int64_t last = sides.scenario.workload.plan.world() - 1;
  // Rank 0 unless said: profilers record it by default.
  if (!options.rank.empty())
    sides.rank = Rank{static_cast<std::uint32_t>(count_option("--rank", options.rank, 0, last))};
  return sides;
}

/// The table, Markdown and JSON of the comparison, in this order.
struct Texts {
  std::string table, markdown, json;
};

/// Recorded in a process of its own: a process makes at most one run.
Texts texts_of(const Comparison& sides, bool first_of_its_like) {
  constexpr char end = '\0';
  std::string all;
  const auto job = [&](std::size_t) {
    const RecordedRun run =
        record(sides.scenario, first_of_its_like ? RecordedClasses{.first = 1} : RecordedClasses{});
    const ProfileComparison comparison =
        compare_profile(kernel_trace(sides.scenario, run, sides.rank), sides.profile);
    const ProfileNames names = sides.names();
    return profile_table(comparison, sides.profile, names) + end +
           profile_markdown(comparison, sides.profile, names) + end +
           profile_json(comparison, sides.profile, names);
  };
  run_in_workers(1, 1, job, [&](const WorkerAnswer& answer) {
    if (answer.failed()) throw_failure("the forecast", answer);
    all = answer.text;
  });
  const std::size_t first = all.find(end), second = all.find(end, first + 1);
  return {all.substr(0, first), all.substr(first + 1, second - first - 1), all.substr(second + 1)};
}

}  // namespace

Outcome compare_with_profile(const CompareOptions& options) {
  const Comparison sides = read_sides(options);
  const Texts texts = texts_of(sides, options.rank.empty());
  const bool markdown = options.markdown == "-";
  if (!options.report.empty())
    write_file(options.report,
               study_page("profile",
                          {"stepcast compare", "A profile beside its forecast",
                           "A is " + sides.scenario.name + ", B is " + sides.profile.file},
                          texts.json));
  if (!options.markdown.empty() && !markdown) write_file(options.markdown, texts.markdown);
  return shown(markdown ? texts.markdown : texts.table, options.json, texts.json);
}

}  // namespace stepcast::cli
