#include "step_code.hpp"

#include <limits>

#include "../unit_code.hpp"

namespace stepcast {
namespace {

/// A message by the unit that reads it: each is sent once in a step.
std::uint32_t message_of(const PipelineShape& shape, bool gradient, const Unit& unit, Chunk chunk) {
  const auto count = [](std::int64_t number) { return static_cast<std::uint32_t>(number); };
  const std::uint32_t unit_number =
      (unit.micro_batch.value * count(shape.chunks) + chunk.value) * count(shape.slices) +
      unit.slice.value;
  return 2 * unit_number + (gradient ? 1 : 0);
}

class CodeWriter {
 public:
  CodeWriter(const ReplayInput& input, Stage stage)
      : input_{input},
        stage_{stage},
        program_{input.programs[stage.value]},
        begun_{std::vector<std::uint32_t>(static_cast<std::size_t>(input.shape.chunks)),
               std::vector<std::uint32_t>(static_cast<std::size_t>(input.shape.chunks))} {}

  std::vector<StepOp> write() {
    // No time decides what comes next: prologue, units and epilogue in one list.
    append(program_.prologue);
    const StageOrder& order = input_.orders[stage_.value];
    for (std::size_t u = 0; u < order.size(); u += order[u].with_next ? 2 : 1) append(&order[u]);
    append(program_.epilogue);
    return std::move(ops_);
  }

 private:
  void append(const Instructions& code) {
    for (const Instruction& instruction : code) append(instruction);
  }

  void append(const Instruction& instruction) {
    using Kind = StepOp::Kind;
    if (const auto* run = std::get_if<Compute>(&instruction)) {
      ops_.push_back({.kind = Kind::compute, .index = run->segment});
    } else if (const auto* start = std::get_if<Communicate>(&instruction)) {
      ops_.push_back({.kind = Kind::communicate,
                      .after_compute = start->after_compute,
                      .index = start->call,
                      .slot = start->slot});
    } else if (const auto* wait = std::get_if<Wait>(&instruction)) {
      ops_.push_back({.kind = Kind::wait, .slot = wait->slot});
    } else if (const auto* sync = std::get_if<HostSync>(&instruction)) {
      ops_.push_back({.kind = sync->of_copy ? Kind::sync_of_copy : Kind::sync});
    } else {
      ops_.push_back({.kind = Kind::copy});
    }
  }

  /// A unit, or a pair of which `unit` is the first.
  void append(const Unit* unit) {
    const std::size_t units = unit->with_next ? 2 : 1;
    // The same order as in Replayer: inputs, code, outputs, then waits.
    for (std::size_t i = 0; i < units; ++i) receive(unit[i]);
    for (std::size_t i = 0; i < units; ++i) begun_.begin(unit[i]);
    const Instructions* together =
        unit->with_next ? pair_code(begun_, program_, input_.shape, unit[0], unit[1]) : nullptr;
    if (together) {
      append(*together);
    } else {
      for (std::size_t i = 0; i < units; ++i)
        append(unit_code(begun_, program_, input_.shape, unit[i]));
    }
    for (std::size_t i = 0; i < units; ++i) send(unit[i]);
    // Blocking transfers are waited for behind the unit.
    if (input_.p2p != ScheduleSpec::PointToPoint::overlapped)
      ops_.push_back({.kind = StepOp::Kind::settle});
    if (input_.stalls->spec.host_sync == StallsSpec::HostSyncAt::unit)
      ops_.push_back({.kind = StepOp::Kind::sync});
  }

  void receive(const Unit& unit) {
    const auto source = source_of(input_.shape, unit, stage_);
    if (!source || source->stage == stage_) return;
    const bool gradient = unit.kind != UnitKind::forward;
    ops_.push_back({.kind = StepOp::Kind::receive,
                    .index = message_of(input_.shape, gradient, unit, unit.chunk)});
  }

  void send(const Unit& unit) {
    const auto reader = reader_of(input_.shape, unit, stage_);
    if (!reader || reader->stage == stage_) return;
    const bool output = unit.kind == UnitKind::forward;
    ops_.push_back({.kind = StepOp::Kind::send,
                    .channel = channel_of(input_.shape.placement, unit.chunk, output),
                    .index = message_of(input_.shape, !output, unit, reader->chunk)});
  }

  const ReplayInput& input_;
  Stage stage_;
  const StageProgram& program_;
  UnitCounts begun_;
  std::vector<StepOp> ops_;
};

}  // namespace

StepCode step_code(const ReplayInput& input, Stage stage, std::uint32_t variant,
                   const std::vector<bool>& shared) {
  const StageProgram& program = input.programs[stage.value];
  std::vector<StepOp> ops = CodeWriter(input, stage).write();
  // Only segments with operators are runs of the queue.
  std::vector<std::size_t> sizes;
  for (const StepOp& op : ops) {
    if (op.kind != StepOp::Kind::compute) continue;
    const std::size_t size = program.segment(op.index, variant).size();
    if (size > 0) sizes.push_back(size);
  }
  StepCode code{std::move(ops), {}, {static_cast<std::uint64_t>(input.host.queue_depth), sizes}};
  code.ahead.resize(code.ops.size() + 1);
  // From the end backwards: device time until others could next feel the rank.
  double ahead = code.ahead.back() = std::numeric_limits<double>::infinity();
  for (std::size_t i = code.ops.size(); i-- > 0;) {
    const StepOp& op = code.ops[i];
    if (op.kind == StepOp::Kind::compute) ahead += program.segment(op.index, variant).device_time();
    const bool felt = op.kind == StepOp::Kind::send ||
                      (op.kind == StepOp::Kind::communicate &&
                       shared[static_cast<std::size_t>(program.calls[op.index].stream)]);
    if (felt) ahead = 0;
    code.ahead[i] = ahead;
  }
  return code;
}

}  // namespace stepcast
