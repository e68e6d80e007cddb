#include <algorithm>
#include <array>
#include <map>

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/graph/task_graph.hpp"
#include "stepcast/topology/placement.hpp"

// A rank's programs written out unit by unit, as the replay executes them (docs/models/replay.md).
namespace stepcast {
namespace {

class Unroller {
 public:
  Unroller(const TaskGraph& graph, Rank rank)
      : graph_{graph},
        placement_{graph.plan},
        rank_{rank},
        stage_{placement_.stage_of(rank)},
        program_{graph.programs[stage_.value]},
        forwards_(static_cast<std::size_t>(graph.shape.chunks)),
        gradients_(static_cast<std::size_t>(graph.shape.chunks)) {}

  std::vector<TaskNode> run() {
    key_ = "prologue";
    execute(program_.prologue);
    const StageOrder& order = graph_.orders[stage_.value];
    for (std::size_t u = 0; u < order.size(); u += order[u].with_next ? 2 : 1) {
      // Units that run as one follow each other in the order.
      const std::size_t units = order[u].with_next ? 2 : 1;
      for (std::size_t i = 0; i < units; ++i) receive(order[u + i]);
      // Before they run: the first forward and the last backward of a chunk are other code.
      for (std::size_t i = 0; i < units; ++i) count(order[u + i]);
      run_units(&order[u], units);
      for (std::size_t i = 0; i < units; ++i) send(order[u + i]);
    }
    key_ = "epilogue";
    execute(program_.epilogue);
    return std::move(tasks_);
  }

 private:
  void count(const Unit& unit) {
    if (unit.kind == UnitKind::forward) ++forwards_[unit.chunk.value];
    if (unit.kind == UnitKind::backward || unit.kind == UnitKind::backward_weight)
      ++gradients_[unit.chunk.value];
  }
  bool is_last(const Unit& unit) const {
    return gradients_[unit.chunk.value] ==
           micro_batches_per_chunk(graph_.shape) * graph_.shape.slices;
  }

  const Instructions& code_of(const Unit& unit) const {
    const ChunkProgram& chunk = program_.of(unit.chunk, unit.slice);
    switch (unit.kind) {
      case UnitKind::forward:
        return forwards_[unit.chunk.value] == 1 ? chunk.first_forward : chunk.forward;
      case UnitKind::backward_input:
        return chunk.backward_input;
      case UnitKind::backward_weight:
        return is_last(unit) ? chunk.last_backward_weight : chunk.backward_weight;
      case UnitKind::backward:
        break;
    }
    return is_last(unit) ? chunk.last_backward : chunk.backward;
  }

  /// A pair has code of its own but for the first forward and the last backward.
  void run_units(const Unit* unit, std::size_t units) {
    if (units == 2) {
      const auto& paired = program_.of(unit[0].chunk, unit[0].slice).paired;
      if (!paired.empty() && forwards_[unit[0].chunk.value] != 1 && !is_last(unit[1])) {
        key_ = to_string(unit[0], graph_.shape) + "|" + to_string(unit[1], graph_.shape);
        return execute(paired[unit[1].chunk.value]);
      }
    }
    for (std::size_t i = 0; i < units; ++i) {
      key_ = to_string(unit[i], graph_.shape);
      execute(code_of(unit[i]));
    }
  }

  /// What stands behind everything that the compute stream has so far.
  std::vector<std::uint32_t> here() const {
    std::vector<std::uint32_t> needs = awaited_;
    if (compute_) needs.push_back(*compute_);
    std::ranges::sort(needs);
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    return needs;
  }
  std::uint32_t add(TaskNode task) {
    task.key = key_ + "#" + std::to_string(numbers_[key_]++);
    tasks_.push_back(std::move(task));
    return static_cast<std::uint32_t>(tasks_.size() - 1);
  }

  void execute(const Instructions& code) {
    // What the host does alone is no task of a trace.
    for (const Instruction& instruction : code) {
      if (const auto* run = std::get_if<Compute>(&instruction)) compute(run->segment);
      if (const auto* start = std::get_if<Communicate>(&instruction)) communicate(*start);
      // A slot without a task had nobody to exchange with.
      if (const auto* wait = std::get_if<Wait>(&instruction))
        if (const auto found = slots_.find(wait->slot); found != slots_.end())
          awaited_.push_back(found->second);
    }
  }

  void compute(std::uint32_t index) {
    TaskNode task{.seconds = program_.segments[index].device_time(), .needs = here()};
    if (!program_.segment_names.empty()) {
      const auto& names = program_.segment_names[index];
      if (!names.empty()) task.name = program_.operator_names[names.front()];
      if (names.size() > 1)
        task.name += " .. " + program_.operator_names[names.back()] + " (" +
                     std::to_string(names.size()) + ")";
    }
    // Later tasks wait for this one, and through it for all that it waited for.
    compute_ = add(std::move(task));
    awaited_.clear();
  }

  void communicate(const Communicate& start) {
    const StageCall& call = program_.calls[start.call];
    if (call.over_host_link())
      refuse_input({}, call.name,
                   "uses the host's link, which no trace has, allowed: a graph as JSON");
    const auto stream = static_cast<std::size_t>(call.stream);
    TaskNode task{.kind = TaskNode::Kind::collective,
                  .name = call.name,
                  .stream = call.stream,
                  .collective = call.call.kind,
                  .bytes = call.call.bytes.value(),
                  .group = placement_.group(call.group, rank_)};
    if (task.group.size() < 2) {  // nobody to exchange with
      slots_.erase(start.slot);
      return;
    }
    if (start.after_compute) task.needs = here();
    // Calls of a stream run one behind the other.
    if (streams_[stream]) task.needs.push_back(*streams_[stream]);
    const std::uint32_t index = add(std::move(task));
    streams_[stream] = index;
    slots_[start.slot] = index;
  }

  /// Both ends name a transfer by the unit that consumes it.
  std::uint32_t tag(const Unit& unit, Chunk consumer) const {
    const auto chunks = static_cast<std::uint32_t>(graph_.shape.chunks);
    const auto slices = static_cast<std::uint32_t>(graph_.shape.slices);
    const std::uint32_t nth =
        (unit.micro_batch.value * chunks + consumer.value) * slices + unit.slice.value;
    return 2 * nth + (unit.kind == UnitKind::forward ? 0 : 1);
  }
  /// Bytes of the unit's output on `stage`; the largest of those that share the channel, as the
  /// network map has it, is not looked for: a trace may say each as it is.
  static double bytes_of(const StageProgram& program, Chunk chunk, const Unit& unit) {
    const ChunkProgram& code = program.of(chunk, unit.slice);
    return (unit.kind == UnitKind::forward ? code.send_forward : code.send_backward).value();
  }

  void receive(const Unit& unit) {
    const auto source = source_of(graph_.shape, unit, stage_);
    // Nothing to receive, or the stage has it already.
    if (!source || source->stage == stage_) return;
    key_ = to_string(unit, graph_.shape);
    TaskNode task{.kind = TaskNode::Kind::receive,
                  .name = "receive",
                  .bytes = bytes_of(graph_.programs[source->stage.value], source->chunk, unit),
                  .peer = placement_.on_stage(rank_, source->stage).value,
                  .tag = tag(unit, unit.chunk)};
    awaited_.push_back(add(std::move(task)));
  }
  void send(const Unit& unit) {
    const auto reader = reader_of(graph_.shape, unit, stage_);
    if (!reader || reader->stage == stage_) return;
    key_ = to_string(unit, graph_.shape);
    TaskNode task{.kind = TaskNode::Kind::send,
                  .name = "send",
                  .bytes = bytes_of(program_, unit.chunk, unit),
                  .peer = placement_.on_stage(rank_, reader->stage).value,
                  .tag = tag(unit, reader->chunk),
                  .needs = here()};
    const std::uint32_t index = add(std::move(task));
    // The compute stream goes on when a blocking send has ended.
    if (graph_.p2p == ScheduleSpec::PointToPoint::blocking) awaited_.push_back(index);
  }

  const TaskGraph& graph_;
  Placement placement_;
  Rank rank_;
  Stage stage_;
  const StageProgram& program_;
  std::vector<std::int64_t> forwards_, gradients_;  ///< by chunk, so far
  std::vector<TaskNode> tasks_;
  std::string key_;
  std::map<std::string, std::uint32_t> numbers_;
  std::optional<std::uint32_t> compute_;
  std::vector<std::uint32_t> awaited_;  ///< by the compute stream since its last task
  std::array<std::optional<std::uint32_t>, streams> streams_;
  std::map<std::uint32_t, std::uint32_t> slots_;
};

}  // namespace

std::vector<TaskNode> rank_tasks(const TaskGraph& graph, Rank rank) {
  return Unroller(graph, rank).run();
}

}  // namespace stepcast
