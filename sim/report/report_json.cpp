#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "shown_memory.hpp"
#include "stepcast/base/build.hpp"
#include "stepcast/sim/forecast/goodput.hpp"
#include "stepcast/sim/forecast/metrics.hpp"
#include "stepcast/sim/forecast/seeds.hpp"
#include "stepcast/sim/forecast/step_cost.hpp"
#include "stepcast/sim/forecast/step_statistics.hpp"
#include "stepcast/sim/replay/worst_replicas.hpp"
#include "stepcast/sim/report/campaign_report.hpp"
#include "stepcast/sim/report/names.hpp"
#include "stepcast/sim/report/report.hpp"
#include "stepcast/sim/report/run_operators.hpp"
#include "stepcast/sim/scenario/applied_framework.hpp"
#include "stepcast/sim/scenario/inputs.hpp"

namespace stepcast {
namespace {

/// `interval` of a run with seeds.
nlohmann::ordered_json interval_json(const StepInterval& interval) {
  using Json = nlohmann::ordered_json;
  const auto bounds = [](const StepInterval::Bounds& b) {
    return Json{{"low_s", b.low}, {"high_s", b.high}};
  };
  Json json = bounds(interval.both);
  json["model"] = interval.model ? bounds(*interval.model) : Json(nullptr);
  json["spread"] = bounds(interval.spread);
  return json;
}

/// What an interval was taken from: null where no file says.
nlohmann::ordered_json origin_json(const RangeOrigin& origin) {
  using Json = nlohmann::ordered_json;
  if (origin.of.empty()) return nullptr;
  return {{"class", origin.of},
          {"note", origin.note.empty() ? Json(nullptr) : Json(origin.note)},
          {"kind", origin.why.empty() ? "exact" : "plain"},
          {"why", origin.why.empty() ? Json(nullptr) : Json(origin.why)}};
}

/// `framework` of a scenario: who it is, and each key with the rule that says it.
nlohmann::ordered_json framework_json(const AppliedFramework& framework) {
  using Json = nlohmann::ordered_json;
  const auto list = [](const std::vector<AppliedFramework::Key>& keys) {
    Json all = Json::object();
    for (const AppliedFramework::Key& key : keys) {
      Json& json = all[key.path];
      json = {{"value", key.value}, {"source", key.source}, {"rule", key.place}};
      if (!key.recipe.empty()) json["recipe"] = key.recipe;
      if (!key.why.empty()) json["why"] = key.why;
    }
    return all;
  };
  return {{"name", framework.id},
          {"label", framework.label},
          {"assumed", framework.assumed},
          {"recipe", framework.recipe.empty() ? Json(nullptr) : Json(framework.recipe)},
          {"keys", list(framework.keys)},
          {"left_out", list(framework.left_out)}};
}

using Json = nlohmann::ordered_json;

Json parts(const RankTimes& t) {
  return {{"computing", t.computing.value()},
          {"communication_exposed", t.exposed_total().value()},
          {"bubble", t.bubble.value()},
          {"host_stall", t.host_stall.value()},
          {"compile_stall", t.compile_stall.value()},
          {"other_idle", t.other_idle.value()},
          {"fleet", t.fleet.value()}};
}

Json stage_json(const Scenario& scenario, std::size_t index, const StageForecast& stage) {
  Json json{{"stage", index}};
  const Json times = parts(stage.times);
  for (const auto& [key, value] : times.items()) json[key + "_s"] = value;
  json["host_bound_share"] = stage.times.host_bound_share();
  json["bound_by"] = stage.times.bound_by_host() ? "host" : "device";
  if (!stage.layers.empty()) json["layers"] = stage.layers;
  // Given times say nothing of memory.
  if (!stage.memory) return json;
  const MemoryBudget& m = *stage.memory;
  json["memory_bytes"] = {
      {"parameters", m.parameters.value()}, {"gradients", m.gradients.value()},
      {"optimizer", m.optimizer.value()},   {"activations", m.activations.value()},
      {"buffers", m.buffers.value()},       {"update", m.update.value()},
      {"peak", m.peak().value()},           {"capacity", m.capacity.value()}};
  Json& held = json["memory_bytes"];
  if (const auto shown = shown_memory(scenario, m))
    held.update({{"kept", shown->kept.value()},
                 {"libraries", shown->libraries.value()},
                 {"context", shown->context.value()},
                 {"shown", shown->all().value()}});
  if (m.host > Bytes{0})
    held.update({{"host", m.host.value()}, {"host_capacity", m.host_capacity.value()}});
  if (m.storage > Bytes{0})
    held.update({{"storage", m.storage.value()}, {"storage_capacity", m.storage_capacity.value()}});
  return json;
}

Json split_json(const SplitExperts& s) {
  return {{"cost_s", s.cost.value()}, {"hidden_s", s.hidden.value()}, {"gain_s", s.gain().value()}};
}

Json products_json(const SplitProducts& products) {
  Json json = split_json(products.split);
  json.update({{"launches", products.launches}, {"issue_s", products.issue.value()}});
  return json;
}

Json experts_json(const ExpertForecast& e) {
  Json json{{"expert_max_over_mean", e.expert_imbalance},
            {"rank_max_over_mean", e.rank_imbalance},
            {"dropped", e.dropped},
            {"matmul_balanced_s", e.balanced.value()},
            {"matmul_fullest_s", e.fullest.value()},
            {"imbalance_cost_s", e.cost.value()},
            {"module_forward_s", e.module.forward.value()},
            {"module_backward_s", e.module.backward.value()}};
  // Left out where nothing of the kind was asked, since null would say that it is not known.
  if (e.split) json["split"] = split_json(*e.split);
  if (e.copied > Bytes{0}) json["copied_bytes"] = e.copied.value();
  return json;
}

Json scenario_json(const Scenario& s) {
  const ParallelPlan& p = s.workload.plan;
  Json json{{"name", s.name},
            {"sha256", s.sha256},
            {"devices", s.cluster.devices},
            {"parallel",
             {{"tp", p.tp},
              {"pp", p.pp},
              {"vpp", p.vpp},
              {"cp", p.cp},
              {"ep", p.ep},
              {"etp", p.etp},
              {"dp", p.dp}}},
            {"schedule", s.schedule.name()},
            {"micro_batches", s.micro_batches()}};
  if (!p.slice_tokens.empty()) json["slice_tokens"] = p.slice_tokens;
  if (s.framework) json["framework"] = framework_json(*s.framework);
  Json presets = Json::object();
  for (const char* part : {"cluster", "model"})
    // Programs that show a result name the preset as the file did.
    if (const Node* node = s.document ? s.document->find(part) : nullptr; node && node->extended)
      presets[part] = node->extended->name;
  if (!presets.empty()) json["presets"] = std::move(presets);
  // Paths differ, so that none is looked for among those before.
  Json::object_t inputs, sources;
  std::vector<Input> all = inputs_of(s);
  inputs.reserve(all.size());
  sources.reserve(all.size());
  for (Input& input : all) {
    if (!input.source.empty()) sources.emplace_back(input.path, std::move(input.source));
    inputs.emplace_back(std::move(input.path), std::move(input.value));
  }
  json["inputs"] = std::move(inputs);
  json["sources"] = std::move(sources);
  return json;
}

Json collectives_json(const Forecast& forecast) {
  Json list = Json::array();
  for (const CollectiveUse& use : forecast.collectives) {
    list.push_back({{"name", use.name},
                    {"group", use.group},
                    {"algorithm", use.algorithm},
                    {"bytes", use.bytes.value()},
                    {"alone_s", use.alone.value()}});
  }
  return list;
}

Json or_null(std::optional<Seconds> time) { return time ? Json(time->value()) : Json(nullptr); }
template <class Number>
Json or_null(const std::optional<Number>& number) {
  return number ? Json(*number) : Json(nullptr);
}

void add_steps(Json& json, const std::vector<Seconds>& steps) {
  const StepStatistics s = step_statistics(steps);
  json["steps"] = {{"count", steps.size()},         {"first_s", s.first.value()},
                   {"mean_s", s.mean.value()},      {"p50_s", s.p50.value()},
                   {"p95_s", s.p95.value()},        {"p99_s", s.p99.value()},
                   {"longest_s", s.longest.value()}};
}

Json data_json(const DataForecast& data, Seconds step_time) {
  const PackedBatch& batch = data.batch;
  return {{"documents", batch.documents},
          {"tokens", batch.tokens},
          {"padding_tokens", batch.padding},
          {"truncated_tokens", batch.truncated_tokens},
          {"deferred_tokens", batch.deferred_tokens},
          {"cuts", batch.cuts},
          {"attention_share", data.attention_share},
          {"slot_imbalance", data.imbalance.slot},
          {"replica_imbalance", data.imbalance.replica},
          {"overall_imbalance", data.imbalance.all},
          {"context_imbalance", data.context_imbalance},
          {"even_step_time_s", data.even_step_time.value()},
          // Against the same tokens without differences between slots: what packing costs.
          {"imbalance_cost_s", (step_time - data.even_step_time).value()}};
}

void add_reliability(Json& json, const Reliability& r) {
  json["goodput"] = or_null(r.goodput);
  json["reliability"] = {{"cluster_mtbf_s", or_null(r.cluster_mtbf)},
                         {"checkpoint_steps", or_null(r.checkpoint_steps)},
                         {"checkpoint_interval_s", or_null(r.checkpoint_interval)},
                         {"optimal_interval_s", or_null(r.optimal_interval)},
                         {"optimal_every_steps", or_null(r.optimal_every_steps)},
                         {"goodput_at_optimum", or_null(r.goodput_at_optimum)}};
}

Json quantiles_json(const Quantiles& q) {
  return {{"mean", q.mean}, {"p10", q.p10}, {"p50", q.p50}, {"p90", q.p90}};
}

Json seeds_json(const SeedStatistics& s) {
  return {{"count", s.count},
          {"first", s.first},
          {"median_seed", s.median_seed},
          {"step_time_s", quantiles_json(s.step_time)},
          {"tokens_per_s", s.tokens_per_s ? quantiles_json(*s.tokens_per_s) : Json(nullptr)},
          {"efficiency", quantiles_json(s.efficiency)}};
}

void add_load_steps(Json& json, const LoadSteps& s) {
  json = {{"count", s.count}, {"first", s.first}, {"even_step_time_s", s.even.value()}};
  json["step_time_s"] = quantiles_json(s.step_time);
  json["rank_max_over_mean"] = quantiles_json(s.rank_imbalance);
  if (const auto& r = s.relocation)
    json["relocation"] = {{"times", r->times},
                          {"moved_bytes", r->moved.value()},
                          {"time_s", r->time.value()},
                          {"per_step_s", r->per_step.value()}};
  // Without skew there is nothing to have gained.
  if (!s.skewed) return;
  json["skewed_step_time_s"] = s.skewed->value();
  json["gain"] = *s.skewed / s.mean();
}

void add_spread(Json& json, const Forecast& forecast) {
  const Seconds calm = forecast.spread->calm_step_time;
  json["spread"] = {{"calm_step_time_s", calm.value()}, {"efficiency", calm / forecast.step_time}};
}

Json fleet_json(const FleetForecast& fleet) {
  return {{"flawless_step_time_s", fleet.flawless.value()},
          {"cost_s", fleet.cost.value()},
          {"p10_s", fleet.low.value()},
          {"p90_s", fleet.high.value()},
          {"device_pace", fleet.pace.device},
          {"host_pace", fleet.pace.host}};
}

Json collisions_json(const Scenario& scenario, const Forecast& forecast) {
  const NetworkSpec& network = scenario.cluster.network;
  return {{"routing", network.routing == NetworkSpec::Routing::ecmp ? "ecmp" : "adaptive"},
          {"queue_pairs", network.queue_pairs},
          {"fullest_uplink", *forecast.fullest_uplink}};
}

Json energy_json(const Scenario& scenario, const Energy& energy) {
  const TrainingSpec& training = scenario.workload.training;
  const double tokens =
      static_cast<double>(training.global_batch) * static_cast<double>(training.sequence);
  return {{"step_j", energy.step()},
          {"token_j", scenario.synthetic ? Json(nullptr) : Json(energy.step() / tokens)},
          {"computing_j", energy.computing},
          {"communicating_j", energy.communicating},
          {"idle_j", energy.idle}};
}

Json cost_json(const Scenario& scenario, const StepCost& cost) {
  const auto of_token = [&](double step) {
    return cost.tokens ? Json(step / *cost.tokens) : Json(nullptr);
  };
  return {{"currency", scenario.cluster.costs->currency},
          {"step", cost.step},
          {"token", of_token(cost.step)},
          {"step_j", cost.joules},
          {"token_j", of_token(cost.joules)}};
}

/// What every result has.
Json step_json(const Scenario& scenario, const Metrics& m, const Forecast& forecast) {
  // Given times have neither tokens nor FLOPs: null, with the same fields in each result.
  const auto of_model = [&](double value) { return m.has_model ? Json(value) : Json(nullptr); };
  const RankTimes& mean = forecast.mean;
  Json exposed;
  for (std::size_t k = 0; k < exposed_kinds; ++k) {
    exposed[name(static_cast<ExposedKind>(k))] = mean.exposed[k].value();
  }
  Json stages = Json::array();
  for (std::size_t s = 0; s < forecast.stages.size(); ++s)
    stages.push_back(stage_json(scenario, s, forecast.stages[s]));
  return {{"step_time_s", m.step_time},
          {"step_time_s_low", or_null(m.step_time_low)},
          {"step_time_s_high", or_null(m.step_time_high)},
          {"step_time_interval_of", origin_json(m.step_time_of)},
          {"tokens_per_s", of_model(m.tokens_per_s)},
          {"tokens_per_s_per_device", of_model(m.tokens_per_s_per_device)},
          {"samples_per_s", m.samples_per_s},
          {"model_flops_per_step", of_model(m.model_flops)},
          {"tflops_per_device", of_model(m.tflops_per_device)},
          {"mfu", of_model(m.mfu)},
          {"hfu", of_model(m.hfu)},
          {"mfu_peak_flops_per_s", of_model(m.mfu_peak)},
          {"headline", verdict(forecast)},
          {"bubble_ratio", forecast.bubble_ratio()},
          {"breakdown_s", parts(mean)},
          {"communication_s",
           {{"total", mean.communication.value()},
            {"overlapped", std::max(0.0, (mean.communication - mean.exposed_total()).value())}}},
          {"exposed_by_kind_s", std::move(exposed)},
          {"stages", std::move(stages)},
          {"collectives", collectives_json(forecast)},
          {"fits_memory", m.has_model ? Json(forecast.fits_memory()) : Json(nullptr)},
          {"memory_fit", m.has_model ? Json(name(m.memory_fit)) : Json(nullptr)},
          {"memory_peak_bytes_low", or_null(m.memory_low)},
          {"memory_peak_bytes_high", or_null(m.memory_high)},
          {"memory_interval_of", origin_json(m.memory_of)}};
}

Json result_json(const Scenario& scenario, const Forecast& forecast) {
  Json json = step_json(scenario, metrics_of(scenario, forecast), forecast);
  for (const GroupReach& reach : forecast.groups)
    json["groups"].push_back({{"group", reach.group},
                              {"fabric", reach.fabric},
                              {"groups", reach.groups},
                              {"mixed", reach.mixed}});
  if (forecast.data) json["data"] = data_json(*forecast.data, forecast.step_time);
  if (forecast.experts) json["experts"] = experts_json(*forecast.experts);
  if (forecast.products) json["tensor_split"] = products_json(*forecast.products);
  if (forecast.load_steps) add_load_steps(json["load_steps"], *forecast.load_steps);
  // One step has no distribution.
  if (forecast.timeline.steps.size() > 1) add_steps(json, forecast.timeline.steps);
  if (const auto r = reliability(scenario, forecast.timeline, forecast.mean.fleet))
    add_reliability(json, *r);
  if (forecast.fleet) json["fleet"] = fleet_json(*forecast.fleet);
  if (forecast.spread) add_spread(json, forecast);
  if (forecast.fullest_uplink) json["collisions"] = collisions_json(scenario, forecast);
  if (scenario.cluster.device.idle_clock) json["idle_clock_s"] = forecast.mean.clock.value();
  if (scenario.cluster.device.power_cap) json["power_cap_s"] = 0 - forecast.mean.clock.value();
  if (forecast.energy) json["energy"] = energy_json(scenario, *forecast.energy);
  if (const auto cost = step_cost(scenario, forecast)) json["cost"] = cost_json(scenario, *cost);
  if (forecast.seeds) {
    json["seeds"] = seeds_json(*forecast.seeds);
    json["interval"] = interval_json(step_interval(scenario, *forecast.seeds));
  }
  return json;
}

}  // namespace

std::string report_json(const Scenario& scenario, const Forecast& forecast,
                        const std::optional<RunTiming>& timing) {
  Json assumptions = Json::array();
  for (const Assumption& a : scenario.assumptions) {
    // Measured numbers and those of data sheets are under `sources`.
    if (a.source != "assumed") continue;
    Json::object_t row;
    row.reserve(4);
    row.emplace_back("path", a.path);
    row.emplace_back("value", a.value);
    row.emplace_back("source", a.source);
    if (!a.note.empty()) row.emplace_back("note", a.note);
    assumptions.push_back(std::move(row));
  }
  const Timeline& t = forecast.timeline;
  // Other solvers use nothing of SimGrid.
  const bool in_simgrid = t.solver == Solver::simgrid || t.solver == Solver::reference;
  Json engine{{"simgrid", in_simgrid ? Json(Engine::simgrid_version()) : Json(nullptr)},
              {"solver", name(t.solver)},
              {"ranks", scenario.workload.plan.world()},
              {"simulated_ranks", t.classes.size()},
              {"classes", t.classes.size()},
              {"tasks", t.tasks},
              {"events", t.events},
              {"flows", t.flows},
              {"lone_flows", t.lone_flows},
              {"skipped_micro_batches", t.skipped_micro_batches}};
  if (forecast.spread) {
    const auto& folded = forecast.spread->folded;
    engine["fold"] = folded ? fmt::format("worst_replicas({})", most_replicas) : "off";
    if (folded) {
      engine["replicas"] = folded->replicas;
      engine["replayed_replicas"] = folded->replayed;
      engine["fold_error"] = folded->error_bound;
    }
  }
  if (timing) {
    engine["wall_s"] = timing->wall_s;
    engine["peak_rss_bytes"] = timing->peak_rss_bytes;
  }
  // Written in braces, or without room for all, members are copied with all that they hold.
  Json::object_t json;
  json.reserve(5);
  json.emplace_back("stepcast", program_head<Json>());
  json.emplace_back("scenario", scenario_json(scenario));
  json.emplace_back("result", result_json(scenario, forecast));
  json.emplace_back("assumptions", std::move(assumptions));
  json.emplace_back("engine", std::move(engine));
  return Json(std::move(json)).dump(2) + "\n";
}

std::string campaign_json(const Scenario& scenario, const CampaignForecast& c) {
  const CampaignSpec& spec = *scenario.campaign;
  // What a scenario does not say is null; a run by time has no number of tokens.
  Json result{{"steps", c.steps},
              {"tokens", c.tokens > 0 ? Json(c.tokens) : Json(nullptr)},
              {"runs", c.runs},
              {"seeds", c.seeds},
              {"seed", spec.seed},
              {"spares", spec.spares},
              {"repair_s", spec.repair.value()},
              {"hardware_share", spec.hardware_share},
              {"evict_slow", spec.evict_slow},
              {"step_time_s", c.step_time.value()},
              {"mtbf_s", c.mtbf.value()},
              {"wall_s", quantiles_json(c.wall)},
              {"device_hours", quantiles_json(c.device_hours)},
              {"failures", c.failures},
              {"flaps", c.flaps},
              {"energy_j", or_null(c.energy)},
              {"mean",
               {{"computing_s", c.mean.computing.value()},
                {"saving_s", c.mean.saving.value()},
                {"writing_s", c.mean.writing.value()},
                {"lost_s", c.mean.lost.value()},
                {"restarting_s", c.mean.restarting.value()},
                {"waiting_s", c.mean.waiting.value()},
                {"stopped_s", c.mean.stopped.value()}}},
              {"within", c.within ? Json(*c.within) : Json(nullptr)},
              {"wall_low_s", c.wall_low ? quantiles_json(*c.wall_low) : Json(nullptr)},
              {"wall_high_s", c.wall_high ? quantiles_json(*c.wall_high) : Json(nullptr)},
              {"reached", Json::array()}};
  for (const CampaignForecast::Reached& r : c.reached)
    result["reached"].push_back({{"probability", r.probability}, {"wall_s", r.wall.value()}});
  const Json json{{"stepcast", program_head<Json>()},
                  {"scenario", scenario_json(scenario)},
                  {"campaign", std::move(result)}};
  return json.dump(2) + "\n";
}

std::string run_fields_json(const std::string& pipeline, const std::string& timeline,
                            const std::vector<RunOperator>* operators) {
  Json fields = Json::object();
  if (!pipeline.empty()) fields["pipeline"] = pipeline;
  if (!timeline.empty()) fields["timeline"] = Json::parse(timeline);
  if (operators != nullptr) {
    Json& list = fields["operators"] = Json::array();
    for (const RunOperator& row : *operators) {
      const bool known = row.efficiency > 0;
      list.push_back({{"stage", row.stage},
                      {"name", row.name},
                      {"class", name(row.of)},
                      {"shape", row.shape},
                      {"flops", row.flops},
                      {"bytes", row.bytes},
                      {"launches", row.launches},
                      {"time_s", row.time.value()},
                      {"efficiency", known ? Json(row.efficiency) : Json(nullptr)},
                      {"bound", known ? Json(name(row.bound)) : Json(nullptr)},
                      {"share", row.share},
                      {"fused", row.fused}});
    }
  }
  // Names that come from files need not be UTF-8.
  return fields.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string with_run_fields(const std::string& report, const std::string& fields) {
  Json json = Json::parse(report), more = Json::parse(fields);
  // Tens of thousands of numbers, on one line.
  std::string timeline;
  if (more.contains("timeline")) timeline = ",\n  \"timeline\": " + more["timeline"].dump();
  more.erase("timeline");
  json.update(more);
  std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace);
  text.insert(text.rfind('\n'), timeline);
  return text + "\n";
}

}  // namespace stepcast
