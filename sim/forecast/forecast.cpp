#include "stepcast/sim/forecast/forecast.hpp"

#include <algorithm>
#include <variant>

#include "forecast_parts.hpp"
#include "node_kinds.hpp"
#include "refuse_key.hpp"
#include "spread_step.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/phases.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/engine.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/stage_programs.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/sim/replay/replay.hpp"
#include "stepcast/topology/collisions.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/relocation.hpp"

namespace stepcast {
namespace {

/// One forward and one backward of a program on one rank, whose exchanges meet no other.
struct LoneRun {
  ExpertModuleTimes times;
  Seconds device{0};         ///< of its kernels
  Seconds issue{0};          ///< of its host: of the thread that has more to do
  std::size_t launches = 0;  ///< of kernels and exchanges

  Seconds waited() const { return times.forward + times.backward - device; }
};

/// What device and host threads spend on the instructions, waiting left out.
struct Spent {
  double device = 0, main = 0, worker = 0;
  std::size_t launches = 0;

  void add(const OperatorCost& op) {
    main += op.main;
    worker += op.worker;
    // A launch costs host time; what the host does not issue is none.
    launches += op.main > 0 || op.worker > 0;
  }
  void add(const StageProgram& program, const Instructions& code) {
    for (const Instruction& instruction : code) {
      if (const auto* run = std::get_if<Compute>(&instruction)) {
        device += program.segments[run->segment].device_time();
        for (const OperatorCost& op : program.segments[run->segment].operators()) add(op);
      } else if (const auto* call = std::get_if<Communicate>(&instruction)) {
        // Exchanges that a kernel makes itself are not launched.
        if (!program.calls[call->call].in_kernel) add(program.calls[call->call].issue);
      }
    }
  }
};

/// Runs the first chunk of the program.
LoneRun run_alone(const Scenario& scenario, const Placement& placement, StageProgram program) {
  CollectiveTimes times{scenario.cluster, scenario.workload.communication.algorithms};
  const std::vector<StageProgram> programs{std::move(program)};
  const NetworkMap map = map_without_contention(placement, programs, times);
  // One forward and one backward: nothing before or behind hides anything.
  const std::vector<StageOrder> orders{{{UnitKind::forward, {}, {}}, {UnitKind::backward, {}, {}}}};
  Recording recording;
  replay({.programs = programs,
          .network = map,
          .host = scenario.cluster.host,
          .shape = {.group = 1},
          .orders = orders,
          .record = &recording});
  const auto& units = recording.ranks.at(0).units;
  expects(units.size() == 2, "it runs forward and backward");
  Spent spent;
  spent.add(programs[0], programs[0].chunks[0].forward);
  spent.add(programs[0], programs[0].chunks[0].backward);
  return {{Seconds{units[0].end - units[0].start}, Seconds{units[1].end - units[1].start}},
          Seconds{spent.device},
          Seconds{std::max(spent.main, spent.worker)},
          spent.launches};
}

/// What the first is more, and hides more, than the second.
SplitExperts difference(const LoneRun& split, const LoneRun& whole) {
  return {split.device - whole.device, whole.waited() - split.waited()};
}

/// The last layer, which has experts where the model has some, on the first chunk of a stage.
LayerTable last_layer(const WorkloadSpec& spec) {
  LayerTable table;
  table.slices.assign(static_cast<std::size_t>(spec.plan.vpp),
                      std::vector<LayerTable::Slice>(static_cast<std::size_t>(spec.plan.pp)));
  // One layer on the first stage, nothing on the others.
  table.slices.front().front() = {.first = spec.model.layers - 1, .count = 1};
  return table;
}

/// Forward and backward as one stage has them to itself: no neighbour, nothing shared out over
/// data ranks that would have to be gathered.
StageProgram layer_program(const Scenario& scenario, std::int64_t pieces) {
  WorkloadSpec spec = scenario.workload;
  spec.communication.tensor_chunks = pieces;
  // Sharded states would bring gathers that have nothing to do with the products.
  spec.plan.zero = 0;
  spec.pairs = false;
  StageProgram program = lower_stage(spec, last_layer(spec), scenario.cluster, Stage{0});
  // Nothing is sent and nothing stands around the layer.
  program.chunks.resize(1);
  program.slices = 1;
  ChunkProgram& chunk = program.chunks.front();
  chunk.first_forward = chunk.forward;
  chunk.last_backward = chunk.backward;
  chunk.send_forward = chunk.send_backward = Bytes{0};
  program.prologue.clear();
  program.epilogue.clear();
  return program;
}

/// Holds the last layer of the model by itself against the same layer with whole products;
/// nothing where they are whole (docs/models/expert_parallel.md, "When products in pieces lose").
std::optional<SplitProducts> split_products(const Scenario& scenario, const Placement& placement) {
  const WorkloadSpec& spec = scenario.workload;
  const std::int64_t pieces = spec.communication.tensor_chunks;
  // Whole products, or a single rank, split nothing.
  if (scenario.synthetic || pieces <= 1 || spec.plan.tp <= 1 || spec.plan.slices > 1)
    return std::nullopt;
  const LoneRun split = run_alone(scenario, placement, layer_program(scenario, pieces));
  const LoneRun whole = run_alone(scenario, placement, layer_program(scenario, 1));
  return SplitProducts{difference(split, whole), split.issue - whole.issue,
                       split.launches - whole.launches};
}

LoneRun run_module(const Scenario& scenario, const Placement& placement) {
  return run_alone(scenario, placement, lower_expert_module(scenario.workload, scenario.cluster));
}

/// The time of the routed experts of one MoE layer by themselves, from dispatch to combine,
/// with the host that issues them and exchanges that meet no other (docs/models/expert_parallel.md,
/// "The module by itself").
ExpertModuleTimes expert_module_times(const Scenario& scenario, const Placement& placement) {
  return run_module(scenario, placement).times;
}

/// Against the same module with its tokens in one piece; nothing where they are.
std::optional<SplitExperts> split_experts(const Scenario& scenario, const Placement& placement) {
  const WorkloadSpec& spec = scenario.workload;
  // Without pieces there is nothing to compare with.
  if (!spec.moe.in_pieces() || spec.plan.ep <= 1) return std::nullopt;
  Scenario in_one = scenario;
  in_one.workload.moe.overlap = MoeSpec::Overlap::none;
  in_one.workload.moe.pieces = 1;
  return difference(run_module(scenario, placement), run_module(in_one, placement));
}

/// MoE layers of the stage that has most, MTP modules included.
double most_moe_layers(const ModelSpec& model, const LayerTable& layers, std::size_t stages) {
  double most = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    double sum = 0;
    for (const auto& chunk : layers.slices) {
      // Slices stand by chunk and stage; the stage has all of its chunks.
      const LayerTable::Slice& slice = chunk[s];
      for (std::int64_t l = slice.first; l < slice.first + slice.count; ++l)
        sum += model.is_moe_layer(l) ? 1 : 0;
      if (model.is_moe_layer(model.layers - 1)) sum += static_cast<double>(slice.mtp);
    }
    most = std::max(most, sum);
  }
  return most;
}

/// Products of a layer on its fullest rank, mean over the layers.
Seconds mean_fullest(const Scenario& scenario, const LayerLoads& loads) {
  Seconds sum{0};
  for (const ExpertLoads& of_layer : loads.layers)
    sum += expert_matmul_time(scenario.workload, scenario.cluster.device, of_layer.largest());
  return sum / static_cast<double>(loads.layers.size());
}

ExpertForecast expert_forecast(const Scenario& scenario, const StepSetup& setup) {
  const LayerTable& layers = setup.layers;
  const LayerLoads& loads = setup.experts;
  const WorkloadSpec& spec = scenario.workload;
  // Tokens that experts drop are no work in either case.
  ExpertForecast result{loads.expert_imbalance(), loads.rank_imbalance(), loads.dropped()};
  result.balanced = expert_matmul_time(spec, scenario.cluster.device, 1 - loads.dropped());
  result.fullest = loads.even() ? result.balanced : mean_fullest(scenario, loads);
  // In every micro-batch the fullest rank of every layer holds the others up.
  result.cost = (result.fullest - result.balanced) *
                (most_moe_layers(spec.model, layers, static_cast<std::size_t>(spec.plan.pp)) *
                 static_cast<double>(scenario.micro_batches()));
  result.module = expert_module_times(scenario, setup.placement);
  result.split = split_experts(scenario, setup.placement);
  for (const StageProgram& program : setup.programs)
    for (const StageCall& call : program.calls)
      if (call.name == weights_of_copies)
        result.copied = std::max(result.copied, busiest_rank(call, spec.plan.ep));
  return result;
}

/// Distinct collectives of all classes, each once.
std::vector<CollectiveUse> collective_uses(const NetworkMap& network,
                                           const std::vector<StageProgram>& programs) {
  std::vector<CollectiveUse> uses;
  std::vector<bool> seen(network.calls.size());
  for (std::size_t c = 0; c < network.call_of.size(); ++c) {
    const auto& calls = programs[network.classes.stage[c].value].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      // Classes share calls: each is told once.
      const std::uint32_t index = network.call_of[c][i];
      if (seen[index]) continue;
      seen[index] = true;
      const NetworkCall& planned = network.calls[index];
      const CollectiveUse use{
          .name = calls[i].name,
          .group = calls[i].over_host_link() ? "host link" : name(calls[i].group),
          .algorithm = planned.algorithm,
          .bytes = calls[i].call.bytes,
          .alone = Seconds{planned.one_group}};
      if (std::ranges::find(uses, use) == uses.end()) uses.push_back(use);
    }
  }
  return uses;
}

/// Mean over the ranks of each stage, and over all.
void add_times(Forecast& result, const RankClasses& classes, std::size_t stages) {
  const auto world = static_cast<double>(classes.class_of.size());
  // A class counts with its ranks, in its stage and in all.
  const double per_stage = world / static_cast<double>(stages);
  result.stages.resize(stages);
  for (std::size_t c = 0; c < classes.ranks.size(); ++c) {
    const RankTimes& times = result.timeline.classes[c];
    add(result.stages[classes.stage[c].value].times, times, classes.ranks[c] / per_stage);
    add(result.mean, times, classes.ranks[c] / world);
  }
}

/// Part of the activations that the weight gradients of the layers need: all but the states of
/// softmax in attention cores. What else backward_input has read gives its place to the gradients
/// of outputs. Counted where the schedule is told how many weight gradients wait.
double kept_for_weights(const Scenario& scenario) {
  const WorkloadSpec& spec = scenario.workload;
  const bool told = scenario.schedule.put_off.has_value();
  if (!told || spec.model.moe || spec.training.recompute != TrainingSpec::Recompute::none) return 1;
  const SoftmaxState state = scenario.cluster.device.softmax_state;
  double linear = 0;
  // Layers of linear attention keep other states than softmax.
  for (std::int64_t layer = 0; layer < spec.model.layers; ++layer)
    linear += spec.model.is_linear(layer) ? 1 : 0;
  const double share = linear / static_cast<double>(spec.model.layers);
  const auto bytes = [&](TrainingSpec::Recompute mode) {
    const Bytes softmax = (1 - share) * layer_activations(spec, false, mode, state);
    return share > 0 ? softmax + share * layer_activations(spec, false, mode, state, true)
                     : softmax;
  };
  return bytes(TrainingSpec::Recompute::selective) / bytes(TrainingSpec::Recompute::none);
}

void add_stages(Forecast& result, const Scenario& scenario, const LayerTable& layers,
                const LayerLoads& loads, const std::vector<StageOrder>& orders) {
  const ParallelPlan& plan = scenario.workload.plan;
  // Micro-batches count by slice, since a longer slice holds more.
  std::vector<double> weights;
  for (std::int64_t slice = 0; slice < plan.slices; ++slice)
    weights.push_back(plan.slice_weight(scenario.workload.training.sequence, slice));
  const double kept = scenario.synthetic ? 1 : kept_for_weights(scenario);
  const double fullest = loads.layers.empty() ? 1 : loads.fullest();
  for (std::uint32_t s = 0; s < orders.size(); ++s) {
    if (scenario.synthetic) continue;
    StageForecast& stage = result.stages[s];
    // What is held differs from stage to stage with the order of units.
    const auto held = in_flight_moments(orders[s], scenario.workload.plan.vpp, weights, kept);
    stage.memory = tightest_memory(scenario, layers, Stage{s}, held, fullest);
    for (const auto& chunk : layers.slices) stage.layers.push_back(chunk[s].count);
  }
}

}  // namespace

Forecast memory_forecast(const Scenario& scenario) {
  const std::vector<StageOrder> orders = scenario.orders();
  Forecast result;
  result.stages.resize(orders.size());
  add_stages(result, scenario, layers_of(scenario), step_loads(scenario), orders);
  return result;
}

bool Forecast::fits_memory() const {
  return std::ranges::all_of(stages,
                             [](const StageForecast& s) { return !s.memory || s.memory->fits(); });
}

namespace {

/// All ranks wait for the slowest devices alike.
void add_fleet(Forecast& result, const std::optional<FleetForecast>& fleet) {
  result.fleet = fleet;
  if (!fleet) return;
  result.step_time += fleet->cost;
  result.mean.fleet += fleet->cost;
  for (StageForecast& stage : result.stages) stage.times.fleet += fleet->cost;
}

/// A checkpoint in time is not replayed, so that it has to be behind the steps that are.
void check_checkpoint(const Scenario& scenario, const Forecast& forecast) {
  const auto& saved = scenario.stalls.checkpoint;
  if (!saved || saved->every <= Seconds{0}) return;
  const auto steps = static_cast<std::int64_t>(forecast.timeline.steps.size());
  if (saved->steps_between(forecast.step_time) > steps) return;
  refuse_key(scenario, "stalls.checkpoint.every",
             "is " + human(saved->every) + ", within the " + std::to_string(steps) +
                 " simulated step" + (steps == 1 ? "" : "s") + " of " + human(forecast.step_time) +
                 ", allowed: a longer time, or every_steps");
}

/// The step with attention as `loads` has it; nothing: over whole sequences.
Forecast run(const Scenario& scenario, const AttentionLoads* loads, const Ideal& ideal,
             const RecordedClasses& recorded, RecordedRun* record) {
  begin_phase("lowering the model to programs");
  StepSetup setup(scenario, loads, ideal, record != nullptr);
  if (!setup.judged()) begin_phase("replaying the step");
  Forecast result;
  Recording* recording = record ? &record->recording : nullptr;
  // Under spread the slowest replica is looked for, which takes several replays.
  if (setup.step_kind != StepKind::even) {
    SpreadStep step = step_under_spread(setup, recording, recorded);
    result.timeline = std::move(step.timeline);
    result.spread = step.spread;
  } else {
    result.timeline = setup.replayed(setup.stalls(scenario.stalls), recording, recorded);
  }
  begin_phase("counting memory, FLOPs and times");
  result.step_time = result.timeline.step_time;
  // Beyond its range the clock no longer adds up.
  if (!(result.step_time.value() <= latest_date)) refuse_late_date();
  add_times(result, setup.network.classes, setup.programs.size());
  add_fleet(result, fleet_forecast(setup, result.step_time));
  check_checkpoint(scenario, result);
  add_stages(result, scenario, setup.layers, setup.experts, setup.orders);
  // Only clusters of several kinds ask which groups reach where.
  if (setup.kinds)
    result.groups = group_fabrics(scenario, setup.fabric, setup.placement, setup.programs);
  if (!scenario.synthetic) {
    result.collectives = collective_uses(setup.network, setup.programs);
    const StepFlops flops = step_flops(scenario, setup.programs, setup.experts.dropped(), loads);
    result.model_flops = flops.model;
    result.executed_flops = flops.executed;
    if (scenario.workload.model.moe) result.experts = expert_forecast(scenario, setup);
    result.products = split_products(scenario, setup.placement);
  }
  if (routing_choices(scenario.cluster.network.routing) > 0)
    result.fullest_uplink = setup.network.fullest_uplink;
  if (scenario.cluster.device.power) result.energy = step_energy(scenario, result);
  check_laws(scenario, setup.layers, result);
  // What a recording refers to must outlive the setup.
  if (record) {
    record->exact = setup.replays_all();
    record->layers = std::move(setup.layers);
    record->programs = std::move(setup.programs);
    record->network = std::move(setup.network);
  }
  return result;
}

/// Step time when all slots hold the mean, from a process of its own where it needs one.
Seconds even_step_time(const Scenario& scenario, const AttentionLoads& loads, const Ideal& ideal) {
  const auto even = [&] {
    const AttentionLoads evened = loads.evened();
    return run(scenario, &evened, ideal, {}, nullptr).step_time;
  };
  if (!needs_simgrid(scenario)) return even();
  WorkerAnswer answer;
  run_in_workers(
      1, 1, [&](std::size_t) { return shortest(even().value()); },
      [&](const WorkerAnswer& a) { answer = a; });
  const auto seconds = parse_number(answer.text);
  if (answer.failed() || !seconds) throw_failure("the step of even slots", answer);
  return Seconds{*seconds};
}

Forecast run_with_documents(const Scenario& scenario, const Ideal& ideal,
                            const RecordedClasses& recorded, RecordedRun* record) {
  const auto data = plan_data(scenario.schedule.data, scenario.workload, scenario.micro_batches(),
                              Placement(scenario.workload.plan));
  if (!data) return run(scenario, nullptr, ideal, recorded, record);
  std::optional<Seconds> even;
  // Equal loads are the even step already.
  if (!data->loads.even()) even = even_step_time(scenario, data->loads, ideal);
  Forecast result = run(scenario, &data->loads, ideal, recorded, record);
  result.data = {.batch = data->batch,
                 .imbalance = imbalance(data->batch),
                 .context_imbalance = data->context_imbalance,
                 .attention_share = data->loads.mean_pairs(),
                 .even_step_time = even.value_or(result.step_time)};
  return result;
}

}  // namespace

Forecast forecast(const Scenario& scenario) { return forecast(scenario, Ideal{}); }

Forecast forecast(const Scenario& scenario, const Ideal& ideal) {
  return run_with_documents(scenario, ideal, {}, nullptr);
}

RecordedRun record(const Scenario& scenario, const RecordedClasses& recorded) {
  RecordedRun result;
  result.forecast = run_with_documents(scenario, Ideal{}, recorded, &result);
  return result;
}

}  // namespace stepcast
