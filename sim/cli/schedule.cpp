#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/scheduler/draw.hpp"
#include "stepcast/scheduler/order_table.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"

namespace stepcast::cli {
namespace {

// Orders of more take seconds and gigabytes; a browser shows no more rectangles than the second.
constexpr std::int64_t most_units = 1 << 18, most_drawn = 1 << 16;

const PipelineSchedule& schedule_of(const std::string& text) {
  std::vector<std::string> known;
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    if (schedule.name == text) return schedule;
    known.emplace_back(schedule.name);
  }
  bad_option("SCHEDULE",
             fmt::format("is '{}', allowed: {}, or a file of orders in YAML", text, joined(known)));
}

bool is_table(const std::string& schedule) {
  return schedule.ends_with(".yaml") || schedule.ends_with(".yml");
}

WarmUp warm_up_of(const std::string& text) {
  if (text.empty() || text == "standard") return {};
  if (text == "less_memory") return {WarmUp::Kind::less_memory};
  constexpr std::string_view open = "extra(";
  if (text.starts_with(open) && text.ends_with(")")) {
    const std::string number = text.substr(open.size(), text.size() - open.size() - 1);
    return {WarmUp::Kind::extra, count_option("--warmup extra", number, 1, any_count)};
  }
  bad_option("--warmup", fmt::format("is '{}', allowed: standard, extra(n), less_memory", text));
}

/// An option that says nothing to this schedule would be taken for one that does.
void refuse_idle_options(const ScheduleOptions& options, const PipelineSchedule& schedule) {
  const auto refuse = [&](const char* option, const std::string& text,
                          bool PipelineSchedule::*has) {
    if (text.empty() || schedule.*has) return;
    std::vector<std::string> serve;
    for (const PipelineSchedule& s : pipeline_schedules())
      if (s.*has) serve.emplace_back(s.name);
    bad_option(option,
               fmt::format("means nothing to {}, allowed: with {}", schedule.name, joined(serve)));
  };
  refuse("--group", options.group, &PipelineSchedule::groups);
  refuse("--put-off", options.put_off, &PipelineSchedule::puts_off);
  refuse("--pair", options.pair, &PipelineSchedule::pairs);
}

PipelineShape shape_of(const ScheduleOptions& options, const PipelineSchedule& schedule) {
  const auto count = [](const char* option, const std::string& text, std::int64_t otherwise) {
    return text.empty() ? otherwise : count_option(option, text, 1, any_count);
  };
  if (options.pp.empty()) bad_option("--pp", "is missing, give the pipeline stages");
  if (options.micro_batches.empty())
    bad_option("--micro-batches", "is missing, give the micro-batches of a step");
  PipelineShape shape;
  shape.stages = count("--pp", options.pp, 1);
  shape.micro_batches = count("--micro-batches", options.micro_batches, 1);
  // What is not given is the least that the schedule serves.
  shape.chunks = count("--vpp", options.vpp, schedule.chunks.low);
  shape.slices = count("--slices", options.slices, schedule.slices.low);
  shape.group = count("--group", options.group, shape.stages);
  shape.warm_up = warm_up_of(options.warmup);
  shape.put_off = count("--put-off", options.put_off, 0);
  shape.placement = schedule.placement;
  // In doubles: the product of four counts may pass 64 bits.
  const double units = static_cast<double>(shape.stages) * static_cast<double>(shape.chunks) *
                       static_cast<double>(shape.micro_batches) * static_cast<double>(shape.slices);
  if (units > static_cast<double>(most_units)) {
    bad_option(
        "--micro-batches",
        fmt::format("gives {:.6g} forwards on all stages, allowed: at most {}", units, most_units));
  }
  const std::string wrong = schedule.rule(shape);
  if (!wrong.empty()) bad_option("SCHEDULE", options.schedule + " " + wrong);
  return shape;
}

double time_option(const std::string& option, const std::string& text, bool zero_is_fine) {
  constexpr double most = 1e9;
  const std::optional<double> time = parse_number(text);
  if (time && *time <= most && (*time > 0 || (zero_is_fine && *time == 0))) return *time;
  bad_option(option, fmt::format("is '{}', allowed: a number {} to {}", text,
                                 zero_is_fine ? "from 0" : "above 0 up", most));
}

UnitCosts costs_of(const ScheduleOptions& options) {
  std::vector<std::string> parts(1);
  // By hand: an empty part between two commas is an error and must not vanish.
  for (const char c : options.costs) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  if (parts.size() != 3) {
    bad_option("--costs", fmt::format("is '{}', allowed: three numbers such as 1,1,1: forward, "
                                      "backward for the input, backward for the weights",
                                      options.costs));
  }
  const auto time = [&](std::size_t i) { return Seconds{time_option("--costs", parts[i], false)}; };
  UnitCosts costs{time(0), time(1), time(2)};
  if (!options.pair.empty()) costs.pair = Seconds{time_option("--pair", options.pair, false)};
  costs.latency = Seconds{time_option("--latency", options.latency, true)};
  return costs;
}

/// Orders to show, from the table of schedules or from a file.
struct Subject {
  PipelineShape shape;
  std::vector<StageOrder> orders;
  bool groups = false, pairs = false;  ///< whether these orders know them
};

Subject known_schedule(const ScheduleOptions& options) {
  const PipelineSchedule& schedule = schedule_of(options.schedule);
  refuse_idle_options(options, schedule);
  const PipelineShape shape = shape_of(options, schedule);
  return {shape, stage_orders(schedule, shape), schedule.groups, schedule.pairs};
}

Subject written_schedule(const ScheduleOptions& options) {
  const std::pair<const char*, const std::string&> said[] = {
      {"--pp", options.pp},          {"--micro-batches", options.micro_batches},
      {"--vpp", options.vpp},        {"--slices", options.slices},
      {"--group", options.group},    {"--warmup", options.warmup},
      {"--put-off", options.put_off}};
  for (const auto& [option, text] : said)
    if (!text.empty())
      bad_option(option, "is for schedules by name, a file of orders says its own");
  const SearchPath search = default_search_path({});
  require_kind(file_kind(load_document(options.schedule, search)), FileKind::orders,
               options.schedule);
  OrderTable table = read_order_table(options.schedule, search);
  // A file may pair units, and knows no groups of visits.
  return {table.shape, std::move(table.orders), false, true};
}

std::string title_of(const std::string& name, const PipelineShape& shape) {
  std::string title =
      fmt::format("{}: {} stages, {} micro-batches", name, shape.stages, shape.micro_batches);
  if (shape.chunks > 1) title += fmt::format(", {} chunks per stage", shape.chunks);
  if (shape.slices > 1) title += fmt::format(", {} slices", shape.slices);
  return title;
}

std::string table_of(const Drawing& drawing, const std::string& title, std::size_t width) {
  const OrderTimes& times = drawing.times;
  std::string text = title + "\n\n" + draw_text(drawing, width) + "\n";
  text += fmt::format("  makespan      {:>10.6g}\n  bubble ratio  {:>9.1f}%\n\n",
                      times.makespan.value(), 100 * times.bubble_ratio());
  text += "  stage    computing       idle        inside  peak in flight\n";
  for (std::uint32_t s = 0; s < times.units.size(); ++s) {
    text += fmt::format("  {:>5}{:>13.6g}{:>11.6g}{:>14.6g}{:>16}\n", s, times.computing[s].value(),
                        times.idle(Stage{s}).value(), times.idle_inside(Stage{s}).value(),
                        times.peak_in_flight[s]);
  }
  return text;
}

std::string orders_of(const Drawing& drawing) {
  std::string text = "\n";
  for (std::size_t s = 0; s < drawing.orders.size(); ++s)
    text += fmt::format("  stage {}: {}\n", s, to_string(drawing.orders[s], drawing.shape));
  return text;
}

nlohmann::ordered_json stage_json(const Drawing& drawing, std::uint32_t stage) {
  nlohmann::ordered_json units = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < drawing.orders[stage].size(); ++i) {
    const UnitTime& time = drawing.times.units[stage][i];
    const Unit& unit = drawing.orders[stage][i];
    nlohmann::ordered_json row{{"unit", to_string(unit, drawing.shape)},
                               {"start", time.start.value()},
                               {"end", time.end.value()}};
    if (unit.with_next) row["pair"] = true;
    units.push_back(std::move(row));
  }
  return {{"stage", stage},
          {"computing", drawing.times.computing[stage].value()},
          {"idle", drawing.times.idle(Stage{stage}).value()},
          {"idle_inside", drawing.times.idle_inside(Stage{stage}).value()},
          {"peak_in_flight", drawing.times.peak_in_flight[stage]},
          {"units", std::move(units)}};
}

std::string as_json(const Drawing& drawing, const Subject& subject,
                    const ScheduleOptions& options) {
  const UnitCosts costs = costs_of(options);
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (std::uint32_t s = 0; s < drawing.orders.size(); ++s)
    stages.push_back(stage_json(drawing, s));
  const nlohmann::ordered_json json{
      {"schedule", options.schedule},
      {"pp", drawing.shape.stages},
      {"micro_batches", drawing.shape.micro_batches},
      {"vpp", drawing.shape.chunks},
      {"slices", drawing.shape.slices},
      {"group", subject.groups ? nlohmann::ordered_json(drawing.shape.group) : nullptr},
      {"warmup", options.warmup.empty() ? "standard" : options.warmup},
      {"put_off",
       drawing.shape.put_off > 0 ? nlohmann::ordered_json(drawing.shape.put_off) : nullptr},
      {"costs",
       {{"forward", costs.forward.value()},
        {"backward_input", costs.backward_input.value()},
        {"backward_weight", costs.backward_weight.value()},
        {"pair", subject.pairs ? nlohmann::ordered_json(costs.whole_pair().value()) : nullptr},
        {"latency", costs.latency.value()}}},
      {"makespan", drawing.times.makespan.value()},
      {"bubble_ratio", drawing.times.bubble_ratio()},
      {"stages", std::move(stages)}};
  return json.dump(2) + "\n";
}

std::string svg_of(const Drawing& drawing, const std::string& title) {
  std::size_t units = 0;
  for (const StageOrder& order : drawing.orders) units += order.size();
  if (units > static_cast<std::size_t>(most_drawn)) {
    bad_option("--svg", fmt::format("would hold {} units, allowed: at most {}", units, most_drawn));
  }
  return draw_svg(drawing,
                  fmt::format("{}; makespan {:.6g}, bubble ratio {:.1f}%", title,
                              drawing.times.makespan.value(), 100 * drawing.times.bubble_ratio()));
}

}  // namespace

Outcome schedule(const ScheduleOptions& options) {
  constexpr std::int64_t narrowest = 40, widest = 10000;
  if (options.svg == "-" && options.json == "-")
    bad_option("--svg", "is -, as --json is; give one of them a file");
  const UnitCosts costs = costs_of(options);
  const auto width =
      static_cast<std::size_t>(count_option("--width", options.width, narrowest, widest));
  const Subject subject =
      is_table(options.schedule) ? written_schedule(options) : known_schedule(options);
  const OrderTimes times = time_orders(subject.orders, subject.shape, costs);
  const Drawing drawing{subject.orders, subject.shape, times};
  const std::string title = title_of(options.schedule, subject.shape);
  if (options.svg == "-") return {svg_of(drawing, title)};
  if (!options.svg.empty()) write_file(options.svg, svg_of(drawing, title));
  std::string text = table_of(drawing, title, width);
  if (options.orders) text += orders_of(drawing);
  return shown(std::move(text), options.json,
               options.json.empty() ? std::string() : as_json(drawing, subject, options));
}

}  // namespace stepcast::cli
