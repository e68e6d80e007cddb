#include "layer_costs.hpp"

#include <algorithm>

#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/operators.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

using Slice = LayerTable::Slice;

constexpr std::size_t index_of(PlanPiece piece) { return static_cast<std::size_t>(piece); }

/// The first layer of the wanted kind; nothing when the model has none.
std::optional<std::int64_t> layer_of(const ModelSpec& model, bool moe) {
  // Layers of a kind are alike.
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    if (model.is_moe_layer(layer) == moe) return layer;
  return {};
}

/// A chunk of its own for each kind that the model has.
struct Chunks {
  std::vector<PlanPiece> pieces;
  LayerTable table;
  void add(PlanPiece piece, const Slice& slice) {
    pieces.push_back(piece);
    table.slices.push_back({slice});
  }
};

/// Times of a chunk are sums over its pieces, so that one chunk for each kind is enough.
Chunks chunks_of(const ModelSpec& model) {
  // A chunk per kind of piece: stages are sums of them.
  Chunks chunks;
  chunks.add(PlanPiece::embedding, {.embedding = true});
  if (const auto dense = layer_of(model, false))
    chunks.add(PlanPiece::dense_layer, {.first = *dense, .count = 1});
  if (const auto moe = layer_of(model, true))
    chunks.add(PlanPiece::moe_layer, {.first = *moe, .count = 1});
  if (model.mtp_layers > 0) chunks.add(PlanPiece::mtp_module, {.mtp = 1});
  chunks.add(PlanPiece::head, {.head = true});
  return chunks;
}

/// The host's busier thread over the code [s].
double host_time(const Instructions& code, const StageProgram& program) {
  double main = 0, worker = 0;
  const auto add = [&](const OperatorCost& cost) {
    main += cost.main;
    worker += cost.worker;
  };
  for (const Instruction& instruction : code) {
    if (const auto* run = std::get_if<Compute>(&instruction)) {
      for (const OperatorCost& cost : program.segments[run->segment].operators()) add(cost);
    } else if (const auto* start = std::get_if<Communicate>(&instruction)) {
      add(program.calls[start->call].issue);
    }
  }
  // Both threads work at once; the busier one bounds.
  return std::max(main, worker);
}

/// The compute stream alone bounds pairs, whose communication hides behind the other half.
double compute_time(const Instructions& code, const StageProgram& program) {
  double sum = 0;
  for (const Instruction& instruction : code)
    if (const auto* run = std::get_if<Compute>(&instruction))
      sum += program.segments[run->segment].device_time();
  return sum;
}

/// Adds the times of the calls that may meet gradients and parameters: those that leave the node,
/// and inside it those of the context group, whose ranks are replicas of each other.
void add_calls(const Instructions& code, const StageProgram& program,
               const std::vector<double>& call_times, const Placement& placement,
               const Fabric& fabric, PieceCost& cost) {
  for (const Instruction& instruction : code) {
    const auto* start = std::get_if<Communicate>(&instruction);
    if (start == nullptr) continue;
    const GroupKind group = program.calls[start->call].group;
    const std::vector<Rank> members = placement.group(group, Rank{0});
    // Members ascend: the first and the last tell whether the group leaves the node.
    const bool leaves = fabric.node_of(placement.device_of(members.back())).value !=
                        fabric.node_of(placement.device_of(members.front())).value;
    if (leaves) cost.wide += call_times[start->call];
    if (!leaves && group == GroupKind::context) cost.near += call_times[start->call];
  }
}

/// Transfers from the host, each as long as that to it [s].
double fetch_time(const Instructions& code, const StageProgram& program) {
  double time = 0;
  // The other direction moves as much, beside it.
  for (const Instruction& instruction : code)
    if (const auto* start = std::get_if<Communicate>(&instruction))
      if (program.calls[start->call].stream == Stream::from_host)
        time += program.calls[start->call].host_link.value();
  return time;
}

/// A date, and how much of the way to it the device computes [s].
struct Way {
  double time = 0, computing = 0;
};

Way later(const Way& a, const Way& b) { return a.time < b.time ? b : a; }

/// One run of instructions from a drained device, host free. Streams begin free and empty, so that
/// a piece costs what it adds to a stage that keeps up.
Way device_time(const Instructions& code, const StageProgram& program,
                const std::vector<double>& call_times) {
  Way device;
  std::array<Way, streams> free{};
  std::vector<Way> slots(program.slots);
  for (const Instruction& instruction : code) {
    if (const auto* run = std::get_if<Compute>(&instruction)) {
      const double time = program.segments[run->segment].device_time();
      device.time += time, device.computing += time;
    } else if (const auto* start = std::get_if<Communicate>(&instruction)) {
      // Streams run beside the device and in order.
      Way& stream = free[static_cast<std::size_t>(program.calls[start->call].stream)];
      if (start->after_compute) stream = later(stream, device);
      stream.time += call_times[start->call];
      slots[start->slot] = stream;
    } else if (const auto* wait = std::get_if<Wait>(&instruction)) {
      device = later(device, slots[wait->slot]);
    }
  }
  return device;
}

double sum(const std::array<PieceCost, plan_pieces>& pieces, const PieceCounts& counts,
           double PieceCost::*part) {
  double total = 0;
  for (std::size_t i = 0; i < plan_pieces; ++i) total += counts[i] * (pieces[i].*part);
  return total;
}

}  // namespace

/// A mean stage has an even share of these, whatever the layout is.
PieceCounts model_pieces(const ModelSpec& model) {
  PieceCounts counts{};
  counts[index_of(PlanPiece::embedding)] = counts[index_of(PlanPiece::head)] = 1;
  counts[index_of(PlanPiece::mtp_module)] = static_cast<double>(model.mtp_layers);
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    counts[index_of(model.is_moe_layer(layer) ? PlanPiece::moe_layer : PlanPiece::dense_layer)] +=
        1;
  return counts;
}

/// The busier of device and host sets the pace, and the host adds up over a whole chunk.
double LayerCosts::forward(const PieceCounts& counts) const {
  return std::max(sum(pieces, counts, &PieceCost::forward),
                  sum(pieces, counts, &PieceCost::host_forward) + host_unit);
}

double LayerCosts::backward(const PieceCounts& counts) const {
  return std::max(sum(pieces, counts, &PieceCost::backward),
                  sum(pieces, counts, &PieceCost::host_backward) + host_unit);
}

/// Without the host: a bound has to hold for one that keeps ahead.
double LayerCosts::device(const PieceCounts& counts) const {
  return sum(pieces, counts, &PieceCost::forward) + sum(pieces, counts, &PieceCost::backward);
}

double LayerCosts::compute(const PieceCounts& counts) const {
  return sum(pieces, counts, &PieceCost::compute);
}

double LayerCosts::part(const PieceCounts& counts, double PieceCost::*part) const {
  return sum(pieces, counts, part);
}

double LayerCosts::near(const PieceCounts& counts) const {
  return sum(pieces, counts, &PieceCost::near);
}

double LayerCosts::wide(const PieceCounts& counts) const {
  return sum(pieces, counts, &PieceCost::wide);
}

double LayerCosts::dense(const PieceCounts& counts) const {
  return sum(pieces, counts, &PieceCost::dense);
}

double LayerCosts::expert(const PieceCounts& counts) const {
  return sum(pieces, counts, &PieceCost::expert);
}

LayerCosts LayerCosts::at(double pace) const {
  // A slower device stretches what it computes. Communication and the work of the host keep their
  // time, so that only the computing part of each sum is scaled.
  LayerCosts slower = *this;
  for (std::size_t k = 0; k < plan_pieces; ++k)
    for (double PieceCost::*part :
         {&PieceCost::forward, &PieceCost::backward, &PieceCost::compute, &PieceCost::input,
          &PieceCost::weight, &PieceCost::entry_forward, &PieceCost::entry_backward,
          &PieceCost::pair})
      slower.pieces[k].*part += (pace - 1) * computing[k].*part;
  return slower;
}

/// Parameters need no programs, so that memory can refuse a point before anything is lowered.
std::array<PieceCost, plan_pieces> piece_parameters(const Scenario& scenario) {
  const WorkloadSpec& w = scenario.workload;
  // Times do not matter here, so that loads and kernels stay at their defaults.
  const LayerContext context{.model = w.model,
                             .plan = w.plan,
                             .training = w.training,
                             .moe = w.moe,
                             .gradient_bytes = gradient_bytes(w.communication)};
  std::array<PieceCost, plan_pieces> pieces;
  const auto set = [&](PlanPiece piece, const Passes& passes) {
    pieces[index_of(piece)].dense = passes.dense_parameters;
    pieces[index_of(piece)].expert = passes.expert_parameters;
  };
  set(PlanPiece::embedding, embedding(context));
  set(PlanPiece::head, head(context));
  if (layer_of(w.model, false))
    set(PlanPiece::dense_layer, transformer_layer(context, LayerKind::dense));
  if (layer_of(w.model, true))
    set(PlanPiece::moe_layer, transformer_layer(context, LayerKind::moe));
  if (w.model.mtp_layers > 0) set(PlanPiece::mtp_module, mtp_module(context));
  return pieces;
}

/// All kinds of pieces are lowered as one stage, so that they come from the same functions as the
/// programs of a forecast.
LayerCosts layer_costs(const Scenario& scenario, CollectiveTimes& times) {
  const Chunks chunks = chunks_of(scenario.workload.model);
  WorkloadSpec spec = scenario.workload;
  // One stage with a chunk per piece, nothing sharded: only layers count.
  spec.plan.pp = 1;
  spec.plan.vpp = static_cast<std::int64_t>(chunks.pieces.size());
  spec.plan.zero = 0;
  spec.plan.chunk_placement = ChunkPlacement::loop;
  const StageProgram program = lower_stage(spec, chunks.table, scenario.cluster, Stage{0});
  const Placement placement(scenario.workload.plan);
  std::vector<double> call_times;
  for (const StageCall& call : program.calls) {
    // Gradients and copies are counted by formulas of their own.
    const bool inside = call.stream != Stream::data && !call.over_host_link();
    call_times.push_back(inside ? times.alone(placement, call, Rank{0}) : 0);
  }
  LayerCosts costs;
  costs.pieces = piece_parameters(scenario);
  const double active = active_experts(spec.model, spec.training, spec.moe);
  // Experts that work in no step are updated by nobody.
  for (PieceCost& piece : costs.pieces) piece.expert *= active;
  for (std::size_t c = 0; c < chunks.pieces.size(); ++c) {
    PieceCost& cost = costs.pieces[index_of(chunks.pieces[c])];
    PieceCost& computing = costs.computing[index_of(chunks.pieces[c])];
    const auto add = [&](double PieceCost::*part, const Instructions& code) {
      const Way way = device_time(code, program, call_times);
      cost.*part += way.time;
      computing.*part += way.computing;
    };
    // Slices add up to the piece; they differ by what they attend to.
    for (std::size_t slice = 0; slice < program.slices; ++slice) {
      const ChunkProgram& chunk = program.chunks[c * program.slices + slice];
      add(&PieceCost::forward, chunk.forward);
      add(&PieceCost::backward, chunk.backward);
      add(&PieceCost::input, chunk.backward_input);
      add(&PieceCost::weight, chunk.backward_weight);
      cost.compute += compute_time(chunk.forward, program) + compute_time(chunk.backward, program);
      for (const Instructions* code : {&chunk.forward, &chunk.backward})
        add_calls(*code, program, call_times, placement, times.fabric(), cost);
      cost.host_forward += host_time(chunk.forward, program);
      cost.host_backward += host_time(chunk.backward, program);
      cost.fetched += fetch_time(chunk.backward, program);
      if (!chunk.paired.empty()) {
        cost.pair = computing.pair = 0;
        add(&PieceCost::pair, chunk.paired[c]);
      }
      // The first slice is what enters the pipeline.
      for (PieceCost* part : {&cost, &computing})
        if (slice == 0) part->entry_forward = part->forward, part->entry_backward = part->backward;
      costs.boundary = std::max(costs.boundary, chunk.send_forward.value());
    }
    computing.compute = cost.compute;
  }
  // A receive and a send for each slice.
  const OperatorCost& send = program.send_issue;
  costs.host_unit = 2 * std::max(send.main, send.worker) * static_cast<double>(program.slices);
  return costs;
}

}  // namespace stepcast
