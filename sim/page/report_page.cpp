#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "html.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/explain/explain.hpp"
#include "stepcast/sim/forecast/metrics.hpp"
#include "stepcast/sim/forecast/step_cost.hpp"
#include "stepcast/sim/forecast/step_statistics.hpp"
#include "stepcast/sim/page/pages.hpp"
#include "stepcast/sim/report/names.hpp"
#include "stepcast/sim/report/report.hpp"
#include "stepcast/sim/report/run_operators.hpp"
#include "stepcast/sim/report/usage.hpp"
#include "stepcast/sim/scenario/applied_framework.hpp"
#include "stepcast/sim/scenario/resolved_scenario.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

// Limits keep the page at a few MB, whatever the run: browsers stay quick with as many shapes.
constexpr std::size_t most_rows = 64;  ///< of the timeline and of the memory
constexpr std::size_t most_waits = 40000, most_path = 20000, most_moments = 600;
constexpr std::size_t most_operators = 12;  ///< of a stage
constexpr std::size_t link_parts = 120, most_links = 40;
constexpr int beside_pipeline = 4;  ///< kind of a unit, after those of UnitKind

/// Nine digits: a nanosecond of a step of seconds.
double brief(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10, 8 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

/// Four digits or more without an exponent: "3.146 M".
std::string token_cost(const StepCost& cost, const std::string& currency) {
  constexpr double million = 1e6;
  return cost.tokens ? fmt::format("{:.4g} {} per million tokens",
                                   million * cost.step / *cost.tokens, currency)
                     : std::string();
}

bool fits_device(const MemoryBudget& memory) { return memory.peak() <= memory.capacity; }

/// Of the host that keeps most; none where nothing is offloaded or the size of hosts is not known.
const MemoryBudget* fullest_host(const Forecast& forecast) {
  const MemoryBudget* most = nullptr;
  for (const StageForecast& s : forecast.stages)
    if (s.memory && (!most || s.memory->host > most->host)) most = &*s.memory;
  const bool known = most && most->host > Bytes{0} && most->host_capacity > Bytes{0};
  return known ? most : nullptr;
}

/// card(label, value, note, bad): of the fullest device and of the fullest host.
void memory_cards(const Forecast& forecast, MemoryFit fit, const auto& card) {
  const StageForecast* worst = nullptr;
  for (const StageForecast& s : forecast.stages)
    if (s.memory && (!worst || s.memory->peak() > worst->memory->peak())) worst = &s;
  if (worst)
    card("memory peak", human(worst->memory->peak()),
         fmt::format("of {}: {}{}", human(worst->memory->capacity),
                     fits_device(*worst->memory) ? "fits" : "does not fit",
                     fit == MemoryFit::tight ? ", tight" : ""),
         !fits_device(*worst->memory));
  if (const MemoryBudget* host = fullest_host(forecast))
    card("host memory", human(host->host),
         fmt::format("of {} per host: {}", human(host->host_capacity),
                     host->fits_memory() ? "fits" : "does not fit"),
         !host->fits_memory());
}

Json shares(const std::vector<PathShare>& rows) {
  Json list = Json::array();
  for (const PathShare& row : rows) list.push_back({{"name", row.name}, {"seconds", row.seconds}});
  return list;
}

class PageData {
 public:
  PageData(const Scenario& scenario, const RecordedRun& run) : scenario_{scenario}, run_{run} {
    choose_rows();
  }

  Json all() const {
    return {{"kind", "run"},
            {"step_time", run_.forecast.step_time.value()},
            {"headline", headline()},
            {"stages", stages()},
            {"timeline", timeline()},
            {"memory_over_time", memory()},
            {"links", links()},
            {"path", path()},
            {"operators", operators()},
            {"assumptions", assumptions()},
            {"resolved", resolved_yaml(scenario_)}};
  }

  Json timeline() const {
    const double shortest = shortest_wait();
    Json rows = Json::array();
    for (const std::uint32_t c : rows_) rows.push_back(row(c, shortest));
    return {{"end", run_.recording.end}, {"shortest_wait", shortest}, {"rows", rows}};
  }

 private:
  /// The first class of each stage, then others that are recorded, as far as there is room.
  void choose_rows() {
    const auto& stage = run_.network.classes.stage;
    std::vector<bool> seen(run_.programs.size());
    std::vector<std::uint32_t> others;
    for (std::uint32_t c = 0; c < stage.size(); ++c) {
      if (!seen[stage[c].value]) {
        rows_.push_back(c);
      } else {
        others.push_back(c);
      }
      seen[stage[c].value] = true;
    }
    for (const std::uint32_t c : others)
      if (rows_.size() < most_rows && !run_.recording.ranks[c].entries.empty()) rows_.push_back(c);
    std::ranges::stable_sort(rows_, {}, [&](std::uint32_t c) { return stage[c].value; });
  }

  Json headline() const {
    const Metrics m = metrics_of(scenario_, run_.forecast);
    Json list = Json::array();
    const auto card = [&](const char* label, const std::string& value, const std::string& note,
                          bool bad = false) {
      list.push_back({{"label", label}, {"value", value}, {"note", note}, {"bad", bad}});
    };
    // Interval of the model and spread of the steps share a line.
    std::string spread;
    if (m.step_time_low) {
      spread = fmt::format("80% interval {} to {}{}", human(Seconds{*m.step_time_low}),
                           human(Seconds{*m.step_time_high}), m.step_time_of.clause());
    }
    if (const auto& steps = run_.forecast.timeline.steps; steps.size() > 1) {
      const StepStatistics s = step_statistics(steps);
      if (!spread.empty()) spread += "; ";
      spread += fmt::format("p50 {}, p99 {} of {} steps", human(s.p50), human(s.p99), steps.size());
    }
    card("step time", human(run_.forecast.step_time), spread);
    if (m.has_model) {
      card("tokens per second", rate_text(m.tokens_per_s),
           rate_text(m.tokens_per_s_per_device) + " per device");
      card("MFU", fmt::format("{:.1f} %", 100 * m.mfu),
           fmt::format("{:.0f} TFLOPS per device, HFU {:.1f} %", m.tflops_per_device, 100 * m.hfu));
    }
    card("bubble ratio", fmt::format("{:.1f} %", 100 * run_.forecast.bubble_ratio()),
         "pipeline waiting over step time");
    memory_cards(run_.forecast, m.memory_fit, card);
    if (const auto cost = step_cost(scenario_, run_.forecast)) {
      const std::string& currency = scenario_.cluster.costs->currency;
      card("cost of a step", fmt::format("{:.4g} {}", cost->step, currency),
           token_cost(*cost, currency));
    }
    return list;
  }

  Json stages() const {
    Json list = Json::array({stage("mean", run_.forecast.mean, nullptr)});
    for (std::size_t s = 0; s < run_.forecast.stages.size(); ++s) {
      const StageForecast& each = run_.forecast.stages[s];
      list.push_back(stage("stage " + std::to_string(s), each.times, &each));
    }
    return list;
  }

  Json stage(const std::string& name, const RankTimes& t, const StageForecast* of) const {
    Json exposed;
    for (std::size_t k = 0; k < exposed_kinds; ++k)
      exposed[stepcast::name(static_cast<ExposedKind>(k))] = t.exposed[k].value();
    Json json{{"name", name},
              {"stage", of ? static_cast<std::int64_t>(of - run_.forecast.stages.data()) : -1},
              {"layers", ""},
              {"bound_by", t.bound_by_host() ? "host" : "device"},
              {"parts",
               {{"computing", t.computing.value()},
                {"exposed", t.exposed_total().value()},
                {"bubble", t.bubble.value()},
                {"host", t.host_stall.value()},
                {"compile", t.compile_stall.value()},
                {"idle", t.other_idle.value()},
                {"fleet", t.fleet.value()}}},
              {"exposed", exposed}};
    // The mean over stages has no layers and no memory.
    if (!of) return json;
    std::string layers;
    for (const std::int64_t n : of->layers)
      layers += (layers.empty() ? "" : " + ") + std::to_string(n);
    json["layers"] = layers;
    if (!of->memory) return json;
    const MemoryBudget& m = *of->memory;
    json["memory"] = {{"parameters", m.parameters.value()}, {"gradients", m.gradients.value()},
                      {"optimizer", m.optimizer.value()},   {"activations", m.activations.value()},
                      {"buffers", m.buffers.value()},       {"peak", m.peak().value()},
                      {"capacity", m.capacity.value()}};
    return json;
  }

  Json row(std::uint32_t c, double shortest) const {
    Json waits = Json::array();
    for (const Recording::Piece& p : run_.recording.ranks[c].pieces) {
      if (p.to - p.from > shortest)
        waits.insert(waits.end(), {brief(p.from), brief(p.to), static_cast<int>(p.part)});
    }
    return {{"name", row_name(c)}, {"units", units(c)}, {"waits", waits}};
  }

  /// Flat: start, end, kind, micro-batch, chunk of each unit; then what runs beside them.
  Json units(std::uint32_t c) const {
    const Recording::RankRecord& record = run_.recording.ranks[c];
    Json list = Json::array();
    const auto add = [&](double from, double to, int kind, std::uint32_t mb, std::uint32_t chunk) {
      list.insert(list.end(), {brief(from), brief(to), kind, mb, chunk});
    };
    for (const Recording::UnitSpan& u : record.units)
      add(u.start, u.end, static_cast<int>(u.unit.kind), u.unit.micro_batch.value,
          u.unit.chunk.value);
    for (const Recording::Entry& e : record.entries) {
      if (e.kind == Recording::Kind::segment && e.unit == Recording::none && e.worked > 0)
        add(e.after.device - e.worked, e.after.device, beside_pipeline, 0, 0);
    }
    return list;
  }

  /// What is left when only the longest waits are kept.
  double shortest_wait() const {
    std::vector<double> lengths;
    for (const std::uint32_t c : rows_)
      for (const Recording::Piece& p : run_.recording.ranks[c].pieces)
        lengths.push_back(p.to - p.from);
    if (lengths.size() <= most_waits) return 0;
    // All waits of a length stay or go together, so that equal rows look equal.
    const auto last = lengths.begin() + most_waits;
    std::nth_element(lengths.begin(), last, lengths.end(), std::greater<>{});
    return *last;
  }

  Json memory() const {
    Json list = Json::array();
    for (const std::uint32_t c : rows_) {
      const auto moments = memory_over_time(scenario_, run_, c);
      if (moments.empty()) continue;
      // of several moments in one part of the run the highest
      Json points = Json::array();
      const double part = run_.recording.end / most_moments;
      for (std::size_t i = 0; i < moments.size();) {
        const double until = moments[i].time + part;
        MemoryMoment highest = moments[i];
        for (; i < moments.size() && moments[i].time < until; ++i)
          if (moments[i].bytes > highest.bytes) highest = moments[i];
        points.push_back({brief(highest.time), std::round(highest.bytes)});
      }
      points.push_back({brief(run_.recording.end), std::round(moments.back().bytes)});
      list.push_back({{"name", row_name(c)}, {"points", points}});
    }
    return list;
  }

  Json links() const {
    Json list = Json::array();
    std::map<LinkKind, std::size_t> shown;
    constexpr std::size_t most_of_a_kind = 8;
    for (const LinkUsage& usage : link_usage(run_, link_parts)) {
      if (usage.bytes <= 0 || list.size() == most_links) continue;
      // The busiest ones of each kind come first.
      if (++shown[usage.kind] > most_of_a_kind) continue;
      Json share = Json::array();
      for (const double s : usage.share) share.push_back(std::round(s * 1000) / 1000);
      list.push_back({{"kind", name(usage.kind)},
                      {"name", usage.name},
                      {"count", usage.count},
                      {"stages", usage.stages},
                      {"bandwidth", usage.bandwidth},
                      {"mean", usage.mean},
                      {"share", share}});
    }
    return list;
  }

  /// What a class waited for is known only where every class is recorded.
  Json path() const {
    // The page then says how many classes there are, and no path.
    if (!run_.recording.whole()) return {{"classes", run_.recording.ranks.size()}};
    const CriticalPath path = critical_path(run_);
    std::vector<std::string> names;
    Json spans = Json::array();
    const double shortest = run_.recording.end / most_path;
    for (const CriticalPath::Span& s : path.spans) {
      // Spans that are too short to be seen are left out.
      if (s.to - s.from < shortest) continue;
      const auto known = std::ranges::find(names, s.category);
      const auto index = known - names.begin();
      if (known == names.end()) names.push_back(s.category);
      spans.push_back(
          {brief(s.from), brief(s.to), run_.network.classes.stage[s.rank_class].value, index});
    }
    return {{"total", path.total},
            {"categories", shares(path.categories)},
            {"operators", shares(path.operators)},
            {"links", shares(path.links)},
            {"names", names},
            {"spans", spans}};
  }

  /// The longest of each stage.
  Json operators() const {
    Json list = Json::array();
    std::size_t of_stage = 0;
    std::uint32_t stage = 0;
    for (const RunOperator& row : run_operators(scenario_, run_)) {
      of_stage = row.stage == stage ? of_stage + 1 : 1;
      stage = row.stage;
      if (of_stage > most_operators) continue;
      const bool known = row.efficiency > 0;
      list.push_back({row.stage, row.name, name(row.of), row.shape, brief(row.launches),
                      brief(row.time.value()), brief(row.share),
                      known ? Json(brief(row.efficiency)) : Json(nullptr),
                      known ? name(row.bound) : "", brief(row.flops), brief(row.bytes),
                      fmt::format("{}", fmt::join(row.fused, ", "))});
    }
    return list;
  }

  Json assumptions() const {
    Json list = Json::array();
    for (const Assumption& a : scenario_.assumptions)
      list.push_back(
          {{"path", a.path}, {"value", a.value}, {"source", a.source}, {"note", a.note}});
    return list;
  }

  std::string row_name(std::uint32_t c) const {
    const RankClasses& classes = run_.network.classes;
    // The only row of a stage needs no rank.
    const bool alone = std::ranges::count(classes.stage, classes.stage[c]) == 1;
    return alone ? fmt::format("stage {}", classes.stage[c].value)
                 : fmt::format("s{} r{}", classes.stage[c].value, classes.representative[c].value);
  }

  const Scenario& scenario_;
  const RecordedRun& run_;
  std::vector<std::uint32_t> rows_;  ///< rank classes, by stage
};

std::string lead(const Scenario& s) {
  const ParallelPlan& p = s.workload.plan;
  std::string text = fmt::format(
      "{} devices of {}, tp {}, pp {}, vpp {}, cp {}, ep {}, dp {}, {} with {} micro-batches.",
      s.cluster.devices, s.cluster.name, p.tp, p.pp, p.vpp, p.cp, p.ep, p.dp, s.schedule.pipeline,
      s.micro_batches());
  if (s.framework)
    text += " Framework " + s.framework->label + (s.framework->assumed ? ", assumed." : ".");
  return s.question.empty() ? text : s.question + " " + text;
}

}  // namespace

std::string timeline_json(const Scenario& scenario, const RecordedRun& run) {
  return PageData(scenario, run).timeline().dump();
}

std::string report_page(const Scenario& scenario, const RecordedRun& run) {
  return html_page(scenario.name, lead(scenario), verdict(run.forecast),
                   PageData(scenario, run).all().dump());
}

}  // namespace stepcast
