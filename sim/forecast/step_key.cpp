#include "stepcast/sim/forecast/step_key.hpp"

#include "forecast_parts.hpp"
#include "step_setup.hpp"
#include "stepcast/base/canonical.hpp"
#include "stepcast/base/key_writer.hpp"
#include "stepcast/base/overloaded.hpp"
#include "stepcast/sim/engine/engine.hpp"
#include "stepcast/sim/network/kept_network_map.hpp"
#include "stepcast/sim/scenario/draft.hpp"

namespace stepcast {
namespace {

void write_cost(const OperatorCost& cost, KeyWriter& key) {
  for (const double number :
       {cost.main, cost.worker, cost.launch, cost.device, cost.draw, cost.compile})
    key.number(number);
}

void write_segments(const std::vector<Segment>& segments, KeyWriter& key) {
  // Counts come before their lists, so that two keys cannot run into each other.
  key.number(segments.size());
  for (const Segment& segment : segments) {
    key.number(segment.size());
    for (const OperatorCost& cost : segment.operators()) write_cost(cost, key);
  }
}

void write_code(const Instructions& code, KeyWriter& key) {
  key.number(code.size());
  for (const Instruction& instruction : code) {
    // The kind of instruction, then what belongs to it.
    key.number(instruction.index());
    std::visit(
        Overloaded{[&](const Compute& run) { key.number(run.segment); },
                   [&](const Communicate& start) {
                     key.number(start.call);
                     key.number(start.slot);
                     key.number(start.after_compute);
                   },
                   [&](const Wait& wait) { key.number(wait.slot); },
                   [&](const HostSync& sync) { key.number(sync.of_copy); }, [](const HostCopy&) {}},
        instruction);
  }
}

void write_chunk(const ChunkProgram& chunk, KeyWriter& key) {
  for (const Instructions* code :
       {&chunk.forward, &chunk.first_forward, &chunk.backward, &chunk.last_backward,
        &chunk.backward_input, &chunk.backward_weight, &chunk.last_backward_weight})
    write_code(*code, key);
  key.number(chunk.paired.size());
  for (const Instructions& pair : chunk.paired) write_code(pair, key);
}

void write_program(const StageProgram& program, KeyWriter& key) {
  write_segments(program.segments, key);
  key.number(program.variants.size());
  for (const auto& variant : program.variants) write_segments(variant, key);
  key.number(program.attention.size());
  for (const AttentionScaling& scaling : program.attention)
    for (const double part : {scaling.fixed, scaling.work, scaling.floor, scaling.half})
      key.number(part);
  // Kind and bytes of calls stand in the network's key; here is what the replay adds.
  for (const StageCall& call : program.calls) {
    write_cost(call.issue, key);
    key.number(call.kind);
  }
  key.number(program.slots);
  for (const ChunkProgram& chunk : program.chunks) write_chunk(chunk, key);
  write_code(program.prologue, key);
  write_code(program.epilogue, key);
  write_cost(program.send_issue, key);
}

/// What makes the expected step longer than the one that is replayed.
void write_fleet(const Scenario& scenario, KeyWriter& key) {
  key.number(counts_fleet(scenario));
  if (!counts_fleet(scenario)) return;
  const FleetSpec& fleet = *scenario.cluster.fleet;
  for (const double number :
       {fleet.device_sigma, fleet.slow_share(), fleet.slow_nodes.factor, fleet.throttled.share,
        fleet.throttled.factor, static_cast<double>(scenario.cluster.node_devices)})
    key.number(number);
}

/// All keys but those of the cluster, which is in the programs and the network.
std::string text_of(Scenario scenario) {
  // What the cluster says is in programs and network: names and costs do not matter.
  scenario.cluster = {};
  ScenarioDraft draft;
  if (scenario.synthetic) draft.synthetic = *scenario.synthetic;
  draft.scenario = std::move(scenario);
  return canonical_text([&](Visitor& visitor) { describe_content(visitor, draft); });
}

bool may_have_key(const Scenario& scenario) {
  // None of these: not all of their inputs are in the text of the scenario.
  return !scenario.synthetic && !scenario.graph && !scenario.workload.documents;
}

std::optional<std::string> key_of(const Scenario& scenario, const StepSetup& setup) {
  // Stalls and broken links change what is replayed without changing the text.
  if (!setup.intact() || setup.stalls(scenario.stalls).any()) return {};
  KeyWriter key;
  setup.with_network_input(false, [&](const NetworkMapInput& input) {
    key.text(network_key(input));
    return NetworkMap{};
  });
  key.text(text_of(scenario));
  key.number(setup.host.queue_depth);
  key.number(setup.host.synchronise.value());
  write_fleet(setup.scenario, key);
  for (const StageProgram& program : setup.programs) write_program(program, key);
  return key.take();
}

Ideal cut_at(const LayerTable& layers) {
  Ideal same_cut;
  same_cut.layers = &layers;
  return same_cut;
}

}  // namespace

std::optional<std::string> step_key(const Scenario& scenario, const LayerTable& layers) {
  if (!may_have_key(scenario)) return {};
  const Ideal same_cut = cut_at(layers);
  return key_of(scenario, StepSetup(scenario, nullptr, same_cut, false));
}

/// What has a key suffers no stalls, so that its setup is replayed as it is.
Seconds step_time_beside(const KnownStep& known, const Scenario& scenario,
                         const LayerTable& layers) {
  // Without a key the step is forecast as any other.
  const Ideal same_cut = cut_at(layers);
  if (!known.key || !may_have_key(scenario)) return forecast(scenario, same_cut).step_time;
  const StepSetup setup(scenario, nullptr, same_cut, false);
  const auto key = key_of(scenario, setup);
  if (!key) return forecast(scenario, same_cut).step_time;
  // The same key: the same step to the bit.
  if (key == known.key) return known.time;
  Seconds time = setup.replayed(setup.stalls(scenario.stalls)).step_time;
  if (const auto fleet = fleet_forecast(setup, time)) time += fleet->cost;
  // A time beyond the clock's range is no time.
  if (!(time.value() <= latest_date)) refuse_late_date();
  return time;
}

KeptNetwork::KeptNetwork(const Scenario& scenario, const LayerTable& layers) {
  // The layers are given, so that every later step is cut at the same places.
  Ideal same_cut;
  same_cut.layers = &layers;
  StepSetup setup(scenario, nullptr, same_cut, false);
  // Slow or broken links belong to one scenario: its map serves no other.
  if (!setup.intact()) return;
  setup.with_network_input(false, [&](const NetworkMapInput& input) {
    map_.emplace(input, std::move(setup.network));
    return NetworkMap{};
  });
}

}  // namespace stepcast
