#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "command_line.hpp"
#include "option.hpp"
#include "progress.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/long_work.hpp"
#include "stepcast/base/section.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/engine.hpp"
#include "stepcast/sim/engine/reference_world.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/report/report.hpp"
#include "stepcast/sim/scenario/platform_text.hpp"

/// `stepcast judge`: the same step by both engines (docs/models/judge.md).
namespace stepcast::cli {
namespace {

using Json = nlohmann::ordered_json;

struct JudgeOptions : PresetOptions {
  std::vector<std::string> scenarios, overrides;
  LaunchOptions launch;
  std::string devices = "128", tolerance = "1e-6", json;
  std::string platform;  ///< file; empty: that of the cluster
};

/// A job of at most so many ranks, and how it came from the scenario.
struct JudgedJob {
  std::string scenario, how;  ///< `how` is empty for the whole job
  std::vector<std::string> overrides;
  std::int64_t ranks = 0;
};

/// A part of the step by both engines [s].
struct JudgedPart {
  std::string name;
  double fast = 0, simgrid = 0;
};

struct Verdict {
  JudgedJob job;
  double fast_took = 0, simgrid_took = 0;  ///< [s] of wall time
  std::vector<JudgedPart> parts;           ///< the step first
  double step() const { return parts.front().fast; }
  /// The largest difference of any part, over the step.
  double apart() const {
    double most = 0;
    for (const JudgedPart& part : parts)
      most = std::max(most, std::abs(part.fast - part.simgrid) / step());
    return most;
  }
};

/// What is changed to make a job smaller: replicas first, since they do the same, then stages with
/// their layers. Fewer micro-batches at last: four of each stage show all phases of a pipeline.
std::optional<JudgedJob> smaller(const Scenario& whole, const JudgeOptions& options,
                                 const std::string& path, std::int64_t pp, std::int64_t dp,
                                 const SearchPath& search) {
  const ParallelPlan& plan = whole.workload.plan;
  const auto of_each = plan.tp * plan.cp;
  const std::int64_t most = 4 * pp * std::max<std::int64_t>(1, plan.vpp);
  const std::int64_t micro_batches = std::min(whole.micro_batches(), most);
  JudgedJob job{path, "", options.overrides, of_each * pp * dp};
  const auto set = [&](const std::string& key, std::int64_t value) {
    job.overrides.push_back(fmt::format("{}={}", key, value));
  };
  set("cluster.devices", job.ranks);
  set("parallel.dp", dp);
  if (pp != plan.pp) {
    set("parallel.pp", pp);
    set("model.layers", whole.workload.model.layers * pp / plan.pp);
  }
  set("training.global_batch", micro_batches * whole.workload.training.micro_batch * dp);
  try {
    prepare_scenario(path, job.overrides, search);
  } catch (const InputError&) {
    return {};  // a plan that does not fit so few devices
  }
  job.how =
      fmt::format("cut to {} of {} devices: dp {} of {}", job.ranks, plan.world(), dp, plan.dp);
  if (pp != plan.pp)
    job.how += fmt::format(", pp {} of {} with {} of {} layers", pp, plan.pp,
                           whole.workload.model.layers * pp / plan.pp, whole.workload.model.layers);
  if (micro_batches != whole.micro_batches())
    job.how += fmt::format(", {} of {} micro-batches", micro_batches, whole.micro_batches());
  return job;
}

/// The whole job, or the largest like it with at most `limit` ranks. Throws InputError.
JudgedJob judged_job(const std::string& path, const JudgeOptions& options, std::int64_t limit,
                     const SearchPath& search) {
  const Scenario whole = prepare_scenario(path, options.overrides, search);
  if (whole.synthetic || whole.graph)
    bad_option(path, "is a workload of times or a graph, allowed: a scenario with a model");
  const ParallelPlan& plan = whole.workload.plan;
  if (plan.world() <= limit) return {path, "", options.overrides, plan.world()};
  for (std::int64_t pp = plan.pp; pp >= 1; --pp) {
    if (plan.pp % pp != 0 || whole.workload.model.layers * pp % plan.pp != 0) continue;
    for (std::int64_t dp = plan.dp; dp >= 1; --dp)
      if (plan.dp % dp == 0 && plan.tp * plan.cp * pp * dp <= limit)
        if (auto job = smaller(whole, options, path, pp, dp, search)) return *job;
  }
  bad_option("--devices",
             fmt::format("is {}, but {} has no smaller job like it of so few, allowed: "
                         "{} for the whole, or --set with a plan of fewer",
                         limit, path, plan.world()));
}

/// Every time of the result, by its path.
void add_times(const Json& value, const std::string& path, std::vector<JudgedPart>& parts,
               double JudgedPart::*side) {
  if (value.is_structured()) {
    for (const auto& [key, inner] : value.items())
      add_times(inner, path_below(path, key), parts, side);
    return;
  }
  const bool rate = path.find("_per_s") != std::string::npos;
  if (!value.is_number() || rate || (path + ".").find("_s.") == std::string::npos) return;
  const auto found = std::ranges::find(parts, path, &JudgedPart::name);
  JudgedPart& part = found != parts.end() ? *found : parts.emplace_back(JudgedPart{path});
  part.*side = value.get<double>();
}

/// Each engine in a process of its own: SimGrid's clock is not set back.
Verdict judged(const JudgedJob& job, const std::string& platform, const SearchPath& search) {
  Verdict verdict{job};
  const bool watched = is_work_watched();
  const auto run = [&](std::size_t engine) {
    // Of the two SimGrid takes long; what its process does is not seen in this one.
    std::optional<WorkProgress> progress;
    if (watched && engine != 0) progress.emplace(!spdlog::should_log(spdlog::level::warn));
    std::vector<std::string> overrides = job.overrides;
    overrides.emplace_back(engine == 0 ? "simulate.engine=fast" : "simulate.engine=simgrid");
    Scenario scenario = prepare_scenario(job.scenario, overrides, search);
    // Both replay one step of equal devices.
    scenario.cluster.fleet.reset();
    if (engine != 0) read_reference_world(platform);
    const auto begin = std::chrono::steady_clock::now();
    const Json report = Json::parse(report_json(scenario, forecast(scenario), {}));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    return Json{{"took", took.count()}, {"result", report.at("result")}}.dump();
  };
  run_in_workers(2, usable_processors(), run, [&](const WorkerAnswer& answer) {
    if (answer.failed() && answer.index == 1 && !platform.empty())
      bad_option("--platform", "is '" + platform + "', which SimGrid does not take for " +
                                   job.scenario + ": " + answer.failure);
    if (answer.failed()) throw_failure(job.scenario, answer);
    const Json told = Json::parse(answer.text);
    const bool fast = answer.index == 0;
    (fast ? verdict.fast_took : verdict.simgrid_took) = told.at("took");
    add_times(told.at("result"), "", verdict.parts,
              fast ? &JudgedPart::fast : &JudgedPart::simgrid);
  });
  const auto is_step = [](const JudgedPart& part) { return part.name == "step_time_s"; };
  std::rotate(verdict.parts.begin(), std::ranges::find_if(verdict.parts, is_step),
              verdict.parts.end());
  return verdict;
}

/// The step, its parts, and what lies furthest apart.
std::string text_of(const Verdict& verdict) {
  std::string text = verdict.job.scenario + "\n";
  if (!verdict.job.how.empty()) text += "  " + verdict.job.how + "\n";
  text += fmt::format("  {:<40} {:>14} {:>14} {:>9}\n", "", "fast", "SimGrid", "apart");
  const auto furthest = std::ranges::max_element(
      verdict.parts, {}, [](const JudgedPart& part) { return std::abs(part.fast - part.simgrid); });
  for (auto part = verdict.parts.begin(); part != verdict.parts.end(); ++part) {
    const bool total = part->name == "step_time_s" || part->name.starts_with("breakdown_s.") ||
                       part->name.starts_with("exposed_by_kind_s.");
    if ((!total || (part->fast == 0 && part->simgrid == 0)) && part != furthest) continue;
    text += fmt::format("  {:<40} {:>14} {:>14} {:>9.1e}\n", part->name, human(Seconds{part->fast}),
                        human(Seconds{part->simgrid}),
                        std::abs(part->fast - part->simgrid) / verdict.step());
  }
  return text +
         fmt::format(
             "  {} times of {} ranks: apart by at most {:.1e} of the step; SimGrid took {:.2g} s, "
             "{:.0f} times as long\n",
             verdict.parts.size(), verdict.job.ranks, verdict.apart(), verdict.simgrid_took,
             verdict.simgrid_took / verdict.fast_took);
}

Json json_of(const Verdict& verdict) {
  Json parts = Json::array();
  for (const JudgedPart& part : verdict.parts)
    parts.push_back({{"name", part.name}, {"fast", part.fast}, {"simgrid", part.simgrid}});
  return {{"scenario", verdict.job.scenario},
          {"cut", verdict.job.how.empty() ? Json(nullptr) : Json(verdict.job.how)},
          {"ranks", verdict.job.ranks},
          {"apart", verdict.apart()},
          {"fast_took_s", verdict.fast_took},
          {"simgrid_took_s", verdict.simgrid_took},
          {"parts", parts}};
}

Outcome judge(const JudgeOptions& options) {
  constexpr std::int64_t most_devices = 1 << 20;
  const std::int64_t limit = count_option("--devices", options.devices, 1, most_devices);
  const std::optional<double> tolerance = parse_number(options.tolerance);
  if (!tolerance || *tolerance < 0 || *tolerance > 1)
    bad_option("--tolerance",
               "is '" + options.tolerance + "', allowed: a part of the step, 0 to 1");
  const SearchPath search = default_search_path(options.presets);
  if (!options.platform.empty() && !is_file(options.platform))
    bad_option("--platform", "is '" + options.platform +
                                 "', which does not exist, allowed: a file of topology --platform");
  if (!options.platform.empty()) check_platform_text(options.platform, "--platform");
  std::vector<JudgedJob> jobs;
  // Each file has launch options of its own; they are turned into keys here.
  for (const std::string& path : options.scenarios) {
    JudgeOptions own = options;
    own.overrides = launch_overrides(path, options.overrides, options.launch, search);
    jobs.push_back(judged_job(path, own, limit, search));
  }
  std::string text;
  Json all = Json::array();
  // The worst of all parts of all jobs decides.
  double apart = 0;
  for (const JudgedJob& job : jobs) {
    const Verdict verdict = judged(job, options.platform, search);
    apart = std::max(apart, verdict.apart());
    text += text_of(verdict);
    all.push_back(json_of(verdict));
  }
  const bool agree = apart <= *tolerance;
  text += fmt::format(
      "{}: {} of {} jobs apart by at most {:.1e} of the step, allowed: {:.0e} (SimGrid {})\n"
      "one step of equal devices each: run adds what the fleet costs\n",
      agree ? "agree" : "DISAGREE", jobs.size(), jobs.size(), apart, *tolerance,
      Engine::simgrid_version());
  Outcome outcome = shown(text, options.json,
                          Json{{"judge",
                                {{"simgrid", Engine::simgrid_version()},
                                 {"tolerance", *tolerance},
                                 {"apart", apart},
                                 {"agree", agree},
                                 {"jobs", all}}}}
                                  .dump(2) +
                              "\n");
  if (!agree) outcome.exit_code = check_failed;
  return outcome;
}

}  // namespace

void add_judge_commands(CommandLine& line) {
  const auto [sub, options] = line.command(
      judge, "judge", "compare the fast engine with SimGrid alone; exit 1 where they differ",
      "stepcast judge telechat3-105b-4096.yaml --devices 128");
  required(sub, "scenarios SCENARIO", options->scenarios, "scenario or launch files");
  option(sub, "--devices N", options->devices,
         "cut what is larger to the largest job like it of so many, default 128");
  option(sub, "--tolerance PART", options->tolerance,
         "most that any part may differ by, of the step, default 1e-6");
  option(sub, "--platform FILE", options->platform,
         "SimGrid takes hosts, links and routes from this file, as topology --platform writes it");
  CommandLine::overrides(sub, options->overrides);
  CommandLine::presets_of(sub, options->overrides);
  CommandLine::launch_kind(sub, options->launch);
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

}  // namespace stepcast::cli
