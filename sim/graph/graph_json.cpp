#include "graph_names.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/graph/task_graph.hpp"

// The graph as JSON: what runs in a unit stands once, and the orders say which units run.
namespace stepcast {
namespace {

std::string json_text(std::string_view text) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (byte < ' ')
      out += std::string("\\u00") + digits[byte >> 4U] + digits[byte & 15U];
    else
      out += c;
  }
  return out + "\"";
}

/// Objects and lists, piece by piece.
class Json {
 public:
  explicit Json(char open) : close_{open == '{' ? '}' : ']'}, text_(1, open) {}
  Json& raw(const std::string& value) {
    if (text_.size() > 1) text_ += ',';
    text_ += value;
    return *this;
  }
  Json& key(std::string_view name, const std::string& value) {
    return raw(json_text(name) + ":" + value);
  }
  std::string done() const { return text_ + close_; }

 private:
  char close_;
  std::string text_;
};

std::string number(double value) { return shortest(value); }
std::string whole(std::integral auto value) { return std::to_string(value); }
std::string flag(bool value) { return value ? "true" : "false"; }

template <class List, class Each>
std::string list_of(const List& list, const Each& each) {
  Json json('[');
  for (const auto& entry : list) json.raw(each(entry));
  return json.done();
}

std::string cost_json(const OperatorCost& cost) {
  return Json('[')
      .raw(number(cost.main))
      .raw(number(cost.worker))
      .raw(number(cost.launch))
      .raw(number(cost.device))
      .done();
}

std::string instruction_json(const Instruction& instruction) {
  Json json('[');
  if (const auto* run = std::get_if<Compute>(&instruction))
    json.raw(json_text("compute")).raw(whole(run->segment));
  else if (const auto* start = std::get_if<Communicate>(&instruction))
    json.raw(json_text("communicate"))
        .raw(whole(start->call))
        .raw(whole(start->slot))
        .raw(flag(start->after_compute));
  else if (const auto* wait = std::get_if<Wait>(&instruction))
    json.raw(json_text("wait")).raw(whole(wait->slot));
  else if (const auto* sync = std::get_if<HostSync>(&instruction))
    json.raw(json_text("host_sync")).raw(flag(sync->of_copy));
  else
    json.raw(json_text("host_copy"));
  return json.done();
}

std::string code_json(const Instructions& code) { return list_of(code, instruction_json); }

std::string call_json(const StageCall& call) {
  Json json('{');
  json.key("name", json_text(call.name))
      .key("group", json_text(name(call.group)))
      .key("kind", json_text(name(call.call.kind)))
      .key("bytes", number(call.call.bytes.value()))
      .key("stream", json_text(graph::stream_names[static_cast<std::size_t>(call.stream)]))
      .key("exposed", json_text(name(call.kind)))
      .key("issue", cost_json(call.issue))
      .key("algorithm", json_text(call.algorithm))
      .key("host_link", number(call.host_link.value()))
      .key("in_kernel", flag(call.in_kernel));
  if (!call.call.skew.factor.empty())
    json.key("skew", list_of(call.call.skew.factor, number))
        .key("senders", flag(call.call.skew.senders));
  return json.done();
}

std::string segment_json(const StageProgram& program, std::size_t index) {
  Json names('[');
  if (!program.segment_names.empty())
    for (const std::uint32_t name : program.segment_names[index])
      names.raw(json_text(program.operator_names[name]));
  return Json('{')
      .key("operators", names.done())
      .key("costs", list_of(program.segments[index].operators(), cost_json))
      .done();
}

std::string chunk_json(const ChunkProgram& chunk) {
  return Json('{')
      .key("forward", code_json(chunk.forward))
      .key("first_forward", code_json(chunk.first_forward))
      .key("backward", code_json(chunk.backward))
      .key("last_backward", code_json(chunk.last_backward))
      .key("backward_input", code_json(chunk.backward_input))
      .key("backward_weight", code_json(chunk.backward_weight))
      .key("last_backward_weight", code_json(chunk.last_backward_weight))
      .key("paired", list_of(chunk.paired, code_json))
      .key("send_forward", number(chunk.send_forward.value()))
      .key("send_backward", number(chunk.send_backward.value()))
      .done();
}

std::string unit_json(const Unit& unit) {
  return Json('[')
      .raw(json_text(graph::unit_names[static_cast<std::size_t>(unit.kind)]))
      .raw(whole(unit.micro_batch.value))
      .raw(whole(unit.chunk.value))
      .raw(whole(unit.slice.value))
      .raw(flag(unit.with_next))
      .done();
}

std::string stage_json(const StageProgram& program, const StageOrder& order) {
  Json segments('[');
  for (std::size_t i = 0; i < program.segments.size(); ++i)
    segments.raw("\n" + segment_json(program, i));
  return Json('{')
      .key("segments", segments.done())
      .key("calls", list_of(program.calls, call_json))
      .key("slots", whole(program.slots))
      .key("send_issue", cost_json(program.send_issue))
      .key("prologue", code_json(program.prologue))
      .key("epilogue", code_json(program.epilogue))
      .key("chunks", list_of(program.chunks, chunk_json))
      .key("order", list_of(order, unit_json))
      .done();
}

std::string plan_json(const ParallelPlan& plan) {
  Json json('{');
  json.key("tp", whole(plan.tp))
      .key("pp", whole(plan.pp))
      .key("cp", whole(plan.cp))
      .key("dp", whole(plan.dp))
      .key("ep", whole(plan.ep))
      .key("etp", whole(plan.etp))
      .key("order", list_of(plan.order, json_text))
      .key("expert_part", whole(plan.expert_part));
  if (plan.shard_groups() > 1) json.key("shard_groups", whole(plan.shard_groups()));
  return json.done();
}

std::string schedule_json(const TaskGraph& graph) {
  const PipelineShape& shape = graph.shape;
  return Json('{')
      .key("chunks", whole(shape.chunks))
      .key("micro_batches", whole(shape.micro_batches))
      .key("slices", whole(shape.slices))
      .key("group", whole(shape.group))
      .key("placement",
           json_text(graph::placement_names[static_cast<std::size_t>(shape.placement)]))
      .key("blocking", flag(graph.p2p == ScheduleSpec::PointToPoint::blocking))
      .key("micro_batch", whole(graph.micro_batch))
      .key("global_batch", whole(graph.global_batch))
      .key("boundary_latency",
           graph.boundary_latency ? number(graph.boundary_latency->value()) : "null")
      .done();
}

}  // namespace

std::string graph_json(const TaskGraph& graph) {
  Json algorithms('{'), stages('[');
  for (std::size_t k = 0; k < collective_kinds; ++k)
    algorithms.key(name(static_cast<CollectiveKind>(k)), json_text(graph.algorithms.algorithm[k]));
  for (std::size_t s = 0; s < graph.programs.size(); ++s)
    stages.raw("\n" + stage_json(graph.programs[s], graph.orders[s]));
  return Json('{')
             .key("stepcast_graph", "1")
             .key("name", json_text(graph.name))
             .key("time", json_text("s"))
             .key("bytes", json_text("B"))
             .key("plan", plan_json(graph.plan))
             .key("schedule", schedule_json(graph))
             .key("algorithms", algorithms.done())
             .key("stages", stages.done())
             .done() +
         "\n";
}

}  // namespace stepcast
