#include <cmath>
#include <nlohmann/json.hpp>

#include "graph_names.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/graph/task_graph.hpp"

// The graph as JSON: what runs in a unit stands once, and the orders say which units run. The
// library writes the shortest digits that read back as the same double.
namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

template <class List, class Each>
Json list_of(const List& list, const Each& each) {
  Json json = Json::array();
  for (const auto& entry : list) json.push_back(each(entry));
  return json;
}

Json cost_json(const OperatorCost& cost) {
  Json json = Json::array({cost.main, cost.worker, cost.launch, cost.device});
  // The fifth number is there where something is compiled, and only there.
  if (cost.compile > 0) json.push_back(cost.compile);
  return json;
}

Json instruction_json(const Instruction& instruction) {
  // Short lists instead of mappings, since a graph has thousands of instructions.
  if (const auto* run = std::get_if<Compute>(&instruction))
    return Json::array({"compute", run->segment});
  if (const auto* start = std::get_if<Communicate>(&instruction))
    return Json::array({"communicate", start->call, start->slot, start->after_compute});
  if (const auto* wait = std::get_if<Wait>(&instruction)) return Json::array({"wait", wait->slot});
  if (const auto* sync = std::get_if<HostSync>(&instruction))
    return Json::array({"host_sync", sync->of_copy});
  return Json::array({"host_copy"});
}

Json code_json(const Instructions& code) { return list_of(code, instruction_json); }

Json call_json(const StageCall& call) {
  Json json{{"name", call.name},
            {"group", name(call.group)},
            {"kind", name(call.call.kind)},
            {"bytes", call.call.bytes.value()},
            {"stream", graph::stream_names[static_cast<std::size_t>(call.stream)]},
            {"exposed", name(call.kind)},
            {"issue", cost_json(call.issue)},
            {"algorithm", call.algorithm},
            {"host_link", call.host_link.value()},
            {"in_kernel", call.in_kernel}};
  if (call.kernel != ExchangeKernel::library) json["kernel"] = name(call.kernel);
  // Fields of uneven loads are left out where loads are even.
  if (call.call.skew.factor.empty()) return json;
  json["skew"] = call.call.skew.factor;
  json["senders"] = call.call.skew.senders;
  return json;
}

Json segment_json(const StageProgram& program, std::size_t index) {
  Json names = Json::array();
  if (!program.segment_names.empty())
    for (const std::uint32_t name : program.segment_names[index])
      names.push_back(program.operator_names[name]);
  return {{"operators", std::move(names)},
          {"costs", list_of(program.segments[index].operators(), cost_json)}};
}

Json chunk_json(const ChunkProgram& chunk) {
  return {{"forward", code_json(chunk.forward)},
          {"first_forward", code_json(chunk.first_forward)},
          {"backward", code_json(chunk.backward)},
          {"last_backward", code_json(chunk.last_backward)},
          {"backward_input", code_json(chunk.backward_input)},
          {"backward_weight", code_json(chunk.backward_weight)},
          {"last_backward_weight", code_json(chunk.last_backward_weight)},
          {"paired", list_of(chunk.paired, code_json)},
          {"send_forward", chunk.send_forward.value()},
          {"send_backward", chunk.send_backward.value()}};
}

Json unit_json(const Unit& unit) {
  return Json::array({graph::unit_names[static_cast<std::size_t>(unit.kind)],
                      unit.micro_batch.value, unit.chunk.value, unit.slice.value, unit.with_next});
}

Json stage_json(const StageProgram& program, const StageOrder& order) {
  Json segments = Json::array();
  for (std::size_t i = 0; i < program.segments.size(); ++i)
    segments.push_back(segment_json(program, i));
  return {{"segments", std::move(segments)},
          {"calls", list_of(program.calls, call_json)},
          {"slots", program.slots},
          {"send_issue", cost_json(program.send_issue)},
          {"prologue", code_json(program.prologue)},
          {"epilogue", code_json(program.epilogue)},
          {"chunks", list_of(program.chunks, chunk_json)},
          {"order", list_of(order, unit_json)}};
}

Json plan_json(const ParallelPlan& plan) {
  Json json{
      {"tp", plan.tp}, {"pp", plan.pp},   {"cp", plan.cp},       {"dp", plan.dp},
      {"ep", plan.ep}, {"etp", plan.etp}, {"order", plan.order}, {"expert_part", plan.expert_part}};
  if (plan.shard_groups() > 1) json["shard_groups"] = plan.shard_groups();
  return json;
}

Json schedule_json(const TaskGraph& graph) {
  const PipelineShape& shape = graph.shape;
  Json json{{"chunks", shape.chunks},
            {"micro_batches", shape.micro_batches},
            {"slices", shape.slices},
            {"group", shape.group},
            {"placement", graph::placement_names[static_cast<std::size_t>(shape.placement)]},
            {"blocking", graph.p2p == ScheduleSpec::PointToPoint::blocking},
            {"micro_batch", graph.micro_batch},
            {"global_batch", graph.global_batch},
            {"boundary_latency", nullptr}};
  if (graph.boundary_latency) json["boundary_latency"] = graph.boundary_latency->value();
  return json;
}

/// Values of a document: what is a number or a truth value there stays one.
Json value_json(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return nullptr;
    case Node::Kind::list:
      return list_of(node.items, value_json);
    case Node::Kind::mapping: {
      Json json = Json::object();
      for (const Node::Entry& entry : node.entries) json[entry.key] = value_json(entry.value);
      return json;
    }
    case Node::Kind::scalar:
      break;
  }
  if (node.is_word("true") || node.is_word("false")) return node.is_word("true");
  const auto number = node.quoted ? std::nullopt : parse_number(node.text);
  if (!number) return node.text;
  constexpr double most_whole = 9e15;  // beyond it a double does not tell whole numbers apart
  if (!(std::abs(*number) < most_whole)) return *number;
  const auto whole = static_cast<std::int64_t>(*number);
  if (static_cast<double>(whole) == *number) return whole;
  return *number;
}

}  // namespace

std::string graph_json(const TaskGraph& graph) {
  Json algorithms = Json::object(), stages = Json::array();
  for (std::size_t k = 0; k < collective_kinds; ++k)
    algorithms[name(static_cast<CollectiveKind>(k))] = graph.algorithms.algorithm[k];
  for (std::size_t s = 0; s < graph.programs.size(); ++s)
    stages.push_back(stage_json(graph.programs[s], graph.orders[s]));
  Json json{{"stepcast_graph", 1},
            {"name", graph.name},
            {"time", "s"},
            {"bytes", "B"},
            {"plan", plan_json(graph.plan)},
            {"schedule", schedule_json(graph)},
            {"algorithms", std::move(algorithms)},
            {"stages", std::move(stages)}};
  if (graph.stalls) json["stalls"] = value_json(*graph.stalls);
  // On one line: files are large, and programs read them.
  return json.dump() + "\n";
}

}  // namespace stepcast
