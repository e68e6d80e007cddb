#include "command_line.hpp"
#include "option.hpp"
#include "progress.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/forecast/seeds.hpp"
#include "stepcast/sim/report/campaign_report.hpp"

namespace stepcast::cli {
namespace {

struct CampaignOptions : PresetOptions {
  std::string scenario;
  LaunchOptions launch;
  std::vector<std::string> overrides;  ///< --set
  std::string steps, tokens;           ///< of the run; empty: the scenario's
  std::string within;                  ///< a duration; empty: no date is asked for
  std::string seeds;                   ///< draws of the spread; empty: the scenario's alone
  std::string jobs;                    ///< as for run
  std::string json;                    ///< as for run
};

/// What the command line says of the length takes the place of what the scenario says.
std::vector<std::string> overrides_of(const CampaignOptions& options) {
  if (!options.steps.empty() && !options.tokens.empty())
    bad_option("--steps", "and --tokens, allowed: one of them");
  constexpr std::int64_t most = 1LL << 53;
  std::vector<std::string> list = options.overrides;
  if (!options.steps.empty()) {
    const std::int64_t steps = count_option("--steps", options.steps, 1, most);
    list.insert(list.end(), {"campaign.tokens=0", "campaign.steps=" + std::to_string(steps)});
  }
  if (!options.tokens.empty()) {
    const std::int64_t tokens = count_option("--tokens", options.tokens, 1, most);
    list.insert(list.end(), {"campaign.steps=0", "campaign.tokens=" + std::to_string(tokens)});
  }
  return list;
}

std::optional<Seconds> date_of(const CampaignOptions& options) {
  if (options.within.empty()) return {};
  const std::optional<Seconds> date = parse_seconds(options.within);
  if (!date || !(*date > Seconds{0}))
    bad_option("--within",
               "is '" + options.within + "', allowed: a time above 0 with its unit, such as 30d");
  return date;
}

Outcome campaign(const CampaignOptions& options) {
  const std::optional<Seconds> date = date_of(options);
  std::vector<std::string> warnings;
  const Scenario scenario = scenario_option(options.scenario, overrides_of(options), options.launch,
                                            default_search_path(options.presets), warnings);
  // One draw of what is random, unless several are asked for.
  const std::int64_t seeds =
      options.seeds.empty() ? 1 : seeds_option(options.seeds, draws_for_seeds(scenario));
  const int jobs = jobs_option(options.jobs);
  const PhaseProgress progress("campaign");
  const CampaignForecast found = forecast_campaign(scenario, seeds, jobs, date);
  Outcome outcome = shown(campaign_text(scenario, found), options.json,
                          options.json.empty() ? "" : campaign_json(scenario, found));
  outcome.warnings = std::move(warnings);
  return outcome;
}

}  // namespace

void add_campaign_commands(CommandLine& line) {
  const auto [sub, options] =
      line.command(campaign, "campaign",
                   "when a whole training run ends: failures, checkpoints, spare and slow nodes",
                   "stepcast campaign what-if/telechat3-105b-campaign.yaml --within 60d");
  required(sub, "scenario SCENARIO", options->scenario,
           "scenario or launch file, - for standard input");
  option(sub, "--steps N", options->steps, "of the run, in place of the scenario's");
  option(sub, "--tokens N", options->tokens, "of the run, in place of the scenario's");
  option(sub, "--within TIME", options->within, "how probable it is to end by then");
  option(sub, "--seeds N", options->seeds, "draws of the spread that the runs take in turn");
  CommandLine::jobs(sub, options->jobs);
  CommandLine::overrides(sub, options->overrides);
  CommandLine::presets_of(sub, options->overrides);
  CommandLine::launch_size(sub, options->launch);
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

}  // namespace stepcast::cli
