#include "stepcast/base/report_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "agreement.hpp"
#include "shown_memory.hpp"
#include "stepcast/base/palette.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/goodput.hpp"
#include "stepcast/sim/forecast/metrics.hpp"
#include "stepcast/sim/forecast/step_cost.hpp"
#include "stepcast/sim/forecast/step_statistics.hpp"
#include "stepcast/sim/report/report.hpp"

namespace stepcast {
namespace {

/// What pieces cost and hide, in one layer and micro-batch.
std::string split_text(const std::string& name, const SplitExperts& s) {
  const bool loses = s.gain() < Seconds{0};
  return fmt::format(
      "  {:<14} {:>10}    {} a layer and micro-batch: {} {} on the device, {} of exchanges {}",
      name, human(loses ? -1 * s.gain() : s.gain()), loses ? "lost" : "gained",
      human(s.cost < Seconds{0} ? -1 * s.cost : s.cost), s.cost < Seconds{0} ? "less" : "more",
      human(s.hidden < Seconds{0} ? -1 * s.hidden : s.hidden),
      s.hidden < Seconds{0} ? "more waited for" : "hidden");
}

/// What tokens of experts in pieces cost and hide; empty where they are whole.
std::string pieces_line(const Scenario& scenario, const Forecast& forecast) {
  if (!forecast.experts || !forecast.experts->split) return "";
  const MoeSpec& moe = scenario.workload.moe;
  const char* const how = moe.overlap == MoeSpec::Overlap::tiles ? "tiles" : "chunks";
  return split_text(fmt::format("{}({})", how, moe.pieces), *forecast.experts->split) + "\n";
}

/// The same of products beside the exchanges of tensor ranks; what the host issues for it stands
/// apart.
std::string products_line(const Scenario& scenario, const Forecast& forecast) {
  if (!forecast.products) return "";
  const SplitProducts& p = *forecast.products;
  return split_text(fmt::format("tensor x{}", scenario.workload.communication.tensor_chunks),
                    p.split) +
         fmt::format("; {} launches more, {} of the host\n", p.launches, human(p.issue));
}

constexpr std::size_t bar_width = 40, most_columns = 80;
constexpr double rounding = 1e-9;  // of loads that are meant to be even

/// Escape codes of a terminal, or nothing.
class Paint {
 public:
  explicit Paint(bool colour) : on_{colour} {}
  std::string operator()(std::string_view code, const std::string& text) const {
    return on_ && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }

 private:
  bool on_;
};
constexpr const char *bold = "1", *red = "31";

std::string bar(double share) {
  const auto cells = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * bar_width));
  std::string text;
  for (std::size_t i = 0; i < cells; ++i) text += "█";
  return text;
}

std::string head(const Scenario& s) {
  const ParallelPlan& p = s.workload.plan;
  std::string text =
      fmt::format("{} on {} devices of {}\n", s.name, s.cluster.devices, s.cluster.name);
  const std::string plan = fmt::format("  tp {}  pp {}  vpp {}  cp {}  ep {}  dp {}", p.tp, p.pp,
                                       p.vpp, p.cp, p.ep, p.dp);
  std::string order = fmt::format("{}, {} micro-batches", s.schedule.name(), s.micro_batches());
  if (!s.synthetic) {
    order += fmt::format(" of {} x {} tokens", s.workload.training.micro_batch,
                         s.workload.training.sequence);
  }
  // Long plans take a line of their own rather than break one.
  const bool one_line = plan.size() + 3 + order.size() <= most_columns;
  return text + plan + (one_line ? "   " : "\n  ") + order + "\n" + framework_line(s) + "\n";
}

/// Of the host that keeps most there, where something is offloaded and the size is known.
std::string host_line(const Forecast& forecast, const Paint& paint, const char* label,
                      Bytes MemoryBudget::*kept, Bytes MemoryBudget::*capacity) {
  const MemoryBudget* worst = nullptr;
  for (const StageForecast& s : forecast.stages)
    if (s.memory && (!worst || (*s.memory).*kept > worst->*kept)) worst = &*s.memory;
  if (!worst || worst->*kept <= Bytes{0} || worst->*capacity <= Bytes{0}) return "";
  const bool fits = worst->*kept <= worst->*capacity;
  return fmt::format("  {:<15}{:>10}    of {} per host: {}\n", label, human(worst->*kept),
                     human(worst->*capacity), fits ? "fits" : paint(red, "DOES NOT FIT"));
}

std::string host_memory_line(const Forecast& forecast, const Paint& paint) {
  using Budget = MemoryBudget;
  return host_line(forecast, paint, "host memory", &Budget::host, &Budget::host_capacity) +
         host_line(forecast, paint, "host drives", &Budget::storage, &Budget::storage_capacity);
}

/// Words behind `begin`, on lines of at most most_columns that are indented.
std::string listed(std::string begin, const std::vector<std::string>& words) {
  std::string text, line = "    " + std::move(begin);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = " " + words[i] + (i + 1 < words.size() ? "," : "");
    if (line.size() + word.size() > most_columns) {
      text += line + "\n";
      line = "     ";
    }
    line += word;
  }
  return text + line + "\n";
}

/// Its parts, which add up to the peak, and what people will read off.
std::string memory_parts(const MemoryBudget& m, const Scenario& scenario) {
  const bool update = m.update > m.activations;
  std::vector<std::string> parts;
  for (const auto& [name, bytes] :
       {std::pair{"weights", m.parameters}, std::pair{"gradients", m.gradients},
        std::pair{"optimizer", m.optimizer},
        std::pair{update ? "update" : "activations", update ? m.update : m.activations},
        std::pair{"buffers", m.buffers}})
    if (bytes > Bytes{0}) parts.push_back(fmt::format("{} {}", name, human(bytes)));
  std::string text = listed("made of", parts);
  if (const auto shown = shown_memory(scenario, m))
    text += listed(fmt::format("{} will show about {}, with", shown->tool, human(shown->all())),
                   {"allocator " + human(shown->kept), "communicators " + human(shown->libraries),
                    "context " + human(shown->context)});
  return text;
}

std::string memory_line(const Metrics& metrics, const Scenario& scenario, const Forecast& forecast,
                        const Paint& paint) {
  const MemoryBudget* worst = nullptr;
  for (const StageForecast& s : forecast.stages) {
    if (s.memory && (!worst || s.memory->peak() > worst->peak())) worst = &*s.memory;
  }
  if (!worst) return "";
  const bool tight = metrics.memory_fit == MemoryFit::tight;
  std::string text =
      fmt::format("  memory peak    {:>10}    of {} per device: {}{}\n", human(worst->peak()),
                  human(worst->capacity),
                  worst->peak() <= worst->capacity ? "fits" : paint(red, "DOES NOT FIT"),
                  tight ? ", tight" : "");
  text += memory_parts(*worst, scenario);
  text += host_memory_line(forecast, paint);
  // Where the capacity lies between both ends the peak alone says too little.
  if (tight)
    text += fmt::format("  peak, 80%      {:>10}    to {}{}\n", human(Bytes{*metrics.memory_low}),
                        human(Bytes{*metrics.memory_high}), metrics.memory_of.clause());
  return text;
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f}%", 100 * *share) : "-";
}

/// What failures and checkpoints leave, and what the best interval would.
std::string reliability_line(const Scenario& scenario, const Forecast& forecast) {
  const auto r = reliability(scenario, forecast.timeline, forecast.mean.fleet);
  if (!r) return "";
  std::string text = fmt::format("  goodput        {:>10}   ", percent(r->goodput));
  if (r->checkpoint_interval) {
    text += fmt::format(" checkpoint every {} steps ({})", *r->checkpoint_steps,
                        human(*r->checkpoint_interval));
  } else {
    text += " no checkpoint";
  }
  if (r->cluster_mtbf) text += fmt::format(", a failure every {}", human(*r->cluster_mtbf));
  if (r->optimal_every_steps) {
    text += fmt::format("\n  {:<25}    best: every {} steps, {}", "", *r->optimal_every_steps,
                        percent(r->goodput_at_optimum));
  }
  return text + "\n";
}

/// How the steps differ.
std::string steps_line(const Timeline& timeline) {
  if (timeline.steps.size() < 2) return "";
  const StepStatistics s = step_statistics(timeline.steps);
  return fmt::format(
      "  steps          {:>10}    p50 {}, p95 {}, p99 {}, longest {}; the first {}\n",
      timeline.steps.size(), human(s.p50), human(s.p95), human(s.p99), human(s.longest),
      human(s.first));
}

/// Who bounds most segments of a stage, or, where few segments wait long, most of its time: `host
/// 83%`, `device 100%`.
std::string bound_by(const RankTimes& times) {
  const double host = times.host_bound_share();
  if (!times.bound_by_host()) return fmt::format("device {:.0f}%", 100 * (1 - host));
  return fmt::format("host {:.0f}%", 100 * std::max(host, times.late_host() / times.total()));
}

/// What the documents of the step are, and what their imbalance costs.
std::string data_lines(const Scenario& scenario, const Forecast& forecast) {
  if (!forecast.data) return "";
  const DataForecast& d = *forecast.data;
  const auto all = static_cast<double>(d.batch.tokens + d.batch.padding);
  std::string text = fmt::format(
      "  documents      {:>10}    packed {}, padding {:.1f}%, attention {:.1f}% of whole "
      "sequences\n",
      d.batch.documents, scenario.schedule.data.packing,
      100 * static_cast<double>(d.batch.padding) / all, 100 * d.attention_share);
  text += fmt::format(
      "  data imbalance {:>9.1f}%    of the step; slots {:.2f}, replicas {:.2f} (max over mean)\n",
      100 * (1 - d.even_step_time / forecast.step_time), d.imbalance.slot, d.imbalance.replica);
  return text;
}

/// Only where they are unequal.
std::string slices_line(const Scenario& scenario) {
  const std::vector<std::int64_t>& tokens = scenario.workload.plan.slice_tokens;
  constexpr std::size_t most_shown = 8;
  if (tokens.empty()) return "";
  std::string text = fmt::format("  slices         {:>10}    of ", tokens.size());
  if (tokens.size() > most_shown)
    return text +
           fmt::format("{} to {} tokens\n", std::ranges::min(tokens), std::ranges::max(tokens));
  for (std::size_t k = 0; k < tokens.size(); ++k)
    text += fmt::format("{}{}", k > 0 ? "+" : "", tokens[k]);
  return text + " tokens\n";
}

/// Only where they are loaded unevenly.
std::string experts_line(const Forecast& forecast) {
  if (!forecast.experts || forecast.experts->rank_imbalance <= 1 + rounding) return "";
  const ExpertForecast& e = *forecast.experts;
  std::string text = fmt::format(
      "  expert load    {:>9.2f}x    fullest rank over mean (fullest expert {:.2f}x): {} of "
      "products a step\n",
      e.rank_imbalance, e.expert_imbalance, human(e.cost));
  if (e.dropped > 0) text += fmt::format("  {:<25}    {:.1f}% dropped\n", "", 100 * e.dropped);
  if (e.copied > Bytes{0})
    text += fmt::format("  expert copies  {:>10}    of weights for the busiest rank, each step\n",
                        human(e.copied));
  return text;
}

/// How the steps of changing loads differ, and what balances them.
std::string load_lines(const Forecast& forecast) {
  if (!forecast.load_steps) return "";
  const LoadSteps& s = *forecast.load_steps;
  const auto time = [](double seconds) { return human(Seconds{seconds}); };
  std::string text =
      fmt::format("  load steps     {:>10}    mean {}, p10 {}, p50 {}, p90 {}; even loads {}\n",
                  s.count, time(s.step_time.mean), time(s.step_time.p10), time(s.step_time.p50),
                  time(s.step_time.p90), human(s.even));
  if (s.relocation)
    text += fmt::format(
        "  relocation     {:>10}    a step: {} times {}, {} through the busiest rank, exposed\n",
        human(s.relocation->per_step), s.relocation->times, human(s.relocation->time),
        human(s.relocation->moved));
  if (s.skewed)
    text += fmt::format("  balance        {:>9.3f}x    over {} of contiguous experts\n",
                        *s.skewed / s.mean(), human(*s.skewed));
  return text;
}

/// What else a step waits for, and what it takes.
std::string state_lines(const Scenario& scenario, const Forecast& forecast) {
  std::string text;
  if (forecast.fullest_uplink)
    text += fmt::format("  collisions     {:>10.2f}    senders on the fullest uplink\n",
                        *forecast.fullest_uplink);
  if (scenario.cluster.device.idle_clock)
    text += fmt::format("  idle clock     {:>10}    more computing\n", human(forecast.mean.clock));
  if (scenario.cluster.device.power_cap)
    text += fmt::format("  power cap      {:>10}    less computing, by power that was saved up\n",
                        human(Seconds{0} - forecast.mean.clock));
  constexpr double mega = 1e6;
  if (const auto cost = step_cost(scenario, forecast)) {
    text += fmt::format("  cost           {:>10.4g}    {} a step", cost->step,
                        scenario.cluster.costs->currency);
    if (cost->tokens)
      text += fmt::format(", {:.4g} per million tokens", cost->step / *cost->tokens * mega);
    text += "\n";
  }
  if (!forecast.energy) return text;
  return text + fmt::format("  energy         {:>7.4g} MJ    {:.3g} kW per device\n",
                            forecast.energy->step() / mega,
                            forecast.energy->step() / forecast.step_time.value() / 1e3 /
                                static_cast<double>(scenario.cluster.devices));
}

/// Slower computing that shortens waits for exchanges, hosts or data costs little, which surprises.
std::string hidden_fleet(const Forecast& forecast) {
  const Seconds slower = forecast.mean.computing * (forecast.fleet->pace.device - 1);
  const Seconds hidden = slower - forecast.fleet->cost;
  if (hidden < slower / 2) return {};
  return fmt::format("; {} more are hidden in other waits", human(hidden));
}

/// What persistent differences cost, and how the steps of several seeds differ.
std::string spread_lines(const Scenario& scenario, const Forecast& forecast) {
  std::string text;
  // The shipped fleet first, then what the scenario itself spreads.
  if (forecast.fleet)
    text += fmt::format(
        "  fleet          {:>9.1f}%    of the step; equal devices: {}; 80% of fleets {} to {}{}\n",
        100 * (forecast.fleet->cost / forecast.step_time), human(forecast.fleet->flawless),
        human(forecast.fleet->low), human(forecast.fleet->high), hidden_fleet(forecast));
  if (forecast.spread) {
    const auto& folded = forecast.spread->folded;
    text += fmt::format(
        "  spread         {:>9.1f}%    of the step; {}\n",
        100 * (1 - forecast.spread->calm_step_time / forecast.step_time),
        folded ? fmt::format("slowest of {} replicas, {} replayed, error below {:.2f}%",
                             folded->replicas, folded->replayed, 100 * folded->error_bound)
               : "every rank by itself");
    // Who adds a spread to a cluster with a fleet gives one for the other.
    const std::optional<FleetSpec>& fleet = scenario.cluster.fleet;
    if (scenario.stalls.spread && fleet && !fleet->flawless())
      text += fmt::format("  {:<25}    in place of cluster.fleet\n", "");
  }
  // Seeds have lines only where several were run.
  if (!forecast.seeds) return text;
  const SeedStatistics& s = *forecast.seeds;
  const auto time = [](double seconds) { return human(Seconds{seconds}); };
  text += fmt::format("  seeds          {:>10}    mean {}, p10 {}, p50 {}, p90 {}\n", s.count,
                      time(s.step_time.mean), time(s.step_time.p10), time(s.step_time.p50),
                      time(s.step_time.p90));
  return text +
         fmt::format("  {:<25}    efficiency mean {:.1f}%, p10 {:.1f}%, p50 {:.1f}%, p90 {:.1f}%\n",
                     "", 100 * s.efficiency.mean, 100 * s.efficiency.p10, 100 * s.efficiency.p50,
                     100 * s.efficiency.p90);
}

std::string headline(const Scenario& scenario, const Forecast& forecast, const Paint& paint) {
  const Metrics m = metrics_of(scenario, forecast);
  std::string text =
      fmt::format("  step time      {}    {:.4g} samples/s\n",
                  paint(bold, fmt::format("{:>10}", human(forecast.step_time))), m.samples_per_s);
  if (m.step_time_low) {
    std::string clause = m.step_time_of.clause();
    // Both reasons are too long for one line.
    if (const auto second = clause.find("; "); second != std::string::npos)
      clause.replace(second, 2, ",\n" + std::string(29, ' '));
    text += fmt::format("  80% interval   {:>10}    to {}{}\n", human(Seconds{*m.step_time_low}),
                        human(Seconds{*m.step_time_high}), clause);
  }
  text += steps_line(forecast.timeline) + spread_lines(scenario, forecast) + load_lines(forecast) +
          state_lines(scenario, forecast);
  if (m.has_model) {
    text += fmt::format("  tokens/s       {:>10}    {} per device\n", rate_text(m.tokens_per_s),
                        rate_text(m.tokens_per_s_per_device));
    constexpr double tera = 1e12;
    const bool fp8 = scenario.workload.training.precision == TrainingSpec::Precision::fp8_mixed;
    text += fmt::format(
        "  MFU            {:>9.1f}%    {:.1f} of {:.4g} TFLOPS ({} peak), HFU {:.1f}%\n",
        100 * m.mfu, m.tflops_per_device, m.mfu_peak / tera, fp8 ? "FP8" : "BF16, FP16",
        100 * m.hfu);
  }
  text += fmt::format("  bubble ratio   {:>9.1f}%\n", 100 * forecast.bubble_ratio());
  return text + slices_line(scenario) + data_lines(scenario, forecast) +
         reliability_line(scenario, forecast) +
         memory_line(metrics_of(scenario, forecast), scenario, forecast, paint) +
         experts_line(forecast) + pieces_line(scenario, forecast) +
         products_line(scenario, forecast) + "\n";
}

struct Part {
  enum class Level { part, sum, of_sum };  ///< `of_sum`: one of what the sum above it adds up
  std::string name;
  Seconds time;
  std::string_view shade;  ///< of the palette
  Level level = Level::part;
};

std::vector<Part> parts_of(const RankTimes& t) {
  using enum Part::Level;
  // Parts in the order of breakdown_names(); those that seldom occur are shown only when they do.
  std::vector<Part> parts{{"computing", t.computing, "computing"},
                          {"exposed communication", t.exposed_total(), "exposed", sum}};
  for (std::size_t k = 0; k < exposed_kinds; ++k) {
    if (t.exposed[k] > Seconds{0})
      parts.push_back({name(static_cast<ExposedKind>(k)), t.exposed[k], "exposed", of_sum});
  }
  parts.push_back({"bubble", t.bubble, "bubble"});
  parts.push_back({"host stall", t.host_stall, "host"});
  if (t.compile_stall > Seconds{0}) parts.push_back({"compile stall", t.compile_stall, "compile"});
  parts.push_back({"other idle", t.other_idle, "idle"});
  if (t.fleet > Seconds{0}) parts.push_back({"fleet", t.fleet, "fleet"});
  return parts;
}

std::string breakdown(const Forecast& forecast, const Paint& paint) {
  std::string text = "  where the time goes (mean over ranks)\n";
  for (const Part& part : parts_of(forecast.mean)) {
    const double share = part.time / forecast.step_time;
    const bool indented = part.level == Part::Level::of_sum;
    // Parts of a sum have no bars, so that all bars add up to the step.
    const std::string cells = indented ? "" : bar(share);
    text += fmt::format("  {:<24}{:>10}  {:>5.1f}%{}{}\n", (indented ? "  " : "") + part.name,
                        human(part.time), 100 * share, cells.empty() ? "" : "  ",
                        paint(terminal_code(part.shade), cells));
  }
  return text + "\n";
}

std::string layer_text(const std::vector<std::int64_t>& layers) {
  std::string text;
  for (const std::int64_t n : layers) text += (text.empty() ? "" : "+") + std::to_string(n);
  if (text.size() <= 8) return text;  // the column
  const auto total = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  return fmt::format("{} in {}", total, layers.size());
}

std::string stage_rows(const Forecast& forecast) {
  // The column appears only where something compiles, with its width as an argument of the format.
  const int compile = forecast.mean.compile_stall > Seconds{0} ? 9 : 0;  // columns
  static constexpr char row[] = "  {:>5} {:<8} {:>9} {:>7} {:>7} {:>7}{:>{}} {:>7} {:>8} {:>11}\n";
  std::string text =
      fmt::format(row, "stage", "layers", "computing", "exposed", "bubble", "host",
                  compile > 0 ? "compile" : "", compile, "idle", "memory", "bound by");
  for (std::size_t s = 0; s < forecast.stages.size(); ++s) {
    const StageForecast& stage = forecast.stages[s];
    const RankTimes& t = stage.times;
    text += fmt::format(row, s, layer_text(stage.layers), human(t.computing),
                        human(t.exposed_total()), human(t.bubble), human(t.host_stall),
                        compile > 0 ? human(t.compile_stall) : "", compile, human(t.other_idle),
                        stage.memory ? human(stage.memory->peak()) : "-", bound_by(t));
  }
  return text + "\n";
}

/// Which group crosses which fabric, where nodes differ.
std::string group_rows(const Forecast& forecast) {
  if (forecast.groups.empty()) return "";
  ReportTable table({text_column("groups"), text_column("reach"), number_column("count"),
                     number_column("mixed")});
  for (const GroupReach& g : forecast.groups)
    table.add({fmt::format("{}", g.group), fmt::format("{}", g.fabric), fmt::format("{}", g.groups),
               fmt::format("{}", g.mixed)});
  return table.text("  ") + "\n";
}

/// Who gave transfers their shares of links, and how far the judge is from it.
std::string who_shared(Solver solver) {
  switch (solver) {
    case Solver::closed_form:
      return fmt::format("No transfers met on a link; {}", agreement);
    case Solver::simgrid:
      return fmt::format("Links shared by SimGrid {}", Engine::simgrid_version());
    case Solver::incremental:
      return fmt::format("Links shared by our own solver; {}", agreement);
    case Solver::reference:
      break;
  }
  return fmt::format("All of the step ran on SimGrid {}", Engine::simgrid_version());
}

/// The headline on lines of the table's width.
std::string headline_lines(const Forecast& forecast, const Paint& paint) {
  constexpr std::size_t width = 96;
  std::string text;
  for (std::string rest = verdict(forecast); !rest.empty();) {
    const std::size_t end = rest.size() <= width ? rest.size() : rest.rfind(' ', width);
    text += "  " + paint(bold, rest.substr(0, end)) + "\n";
    rest.erase(0, std::min(end + 1, rest.size()));
  }
  return text;
}

}  // namespace

std::string report_table(const Scenario& scenario, const Forecast& forecast,
                         const std::optional<RunTiming>& timing, bool colour) {
  const Paint paint(colour);
  std::string text = head(scenario) + headline(scenario, forecast, paint) +
                     breakdown(forecast, paint) + stage_rows(forecast) + group_rows(forecast) +
                     headline_lines(forecast, paint);
  const auto assumed = std::ranges::count(scenario.assumptions, "assumed", &Assumption::source);
  if (assumed > 0) {
    text +=
        fmt::format("  {} numbers behind this forecast are assumed; --json lists them.\n", assumed);
  }
  if (scenario.simulate.engine == StepEngine::simgrid && scenario.cluster.fleet &&
      !scenario.cluster.fleet->flawless())
    text +=
        "  SimGrid replays one step of equal devices: the fast engine adds what the fleet costs.\n";
  text += fmt::format("  {}.\n", who_shared(forecast.timeline.solver));
  if (timing) {
    text += fmt::format(
        "  Simulated in {} with {} of memory; {} tasks, {} flows shared the network.\n",
        human(Seconds{timing->wall_s}), human(Bytes{static_cast<double>(timing->peak_rss_bytes)}),
        forecast.timeline.tasks, forecast.timeline.flows);
  }
  return text;
}

}  // namespace stepcast
