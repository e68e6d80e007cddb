#include "stepcast/sim/forecast/step_key.hpp"

#include "step_setup.hpp"
#include "stepcast/base/canonical.hpp"
#include "stepcast/base/key_writer.hpp"
#include "stepcast/base/overloaded.hpp"
#include "stepcast/sim/network/kept_network_map.hpp"
#include "stepcast/sim/scenario/draft.hpp"

namespace stepcast {
namespace {

void write_cost(const OperatorCost& cost, KeyWriter& key) {
  for (const double time : {cost.main, cost.worker, cost.launch, cost.device}) key.number(time);
}

void write_segments(const std::vector<Segment>& segments, KeyWriter& key) {
  key.number(segments.size());
  for (const Segment& segment : segments) {
    key.number(segment.size());
    for (const OperatorCost& cost : segment.operators()) write_cost(cost, key);
  }
}

void write_code(const Instructions& code, KeyWriter& key) {
  key.number(code.size());
  for (const Instruction& instruction : code) {
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

/// All keys but those of the cluster, which is in the programs and the network.
std::string text_of(Scenario scenario) {
  scenario.cluster = {};
  ScenarioDraft draft;
  if (scenario.synthetic) draft.synthetic = *scenario.synthetic;
  draft.scenario = std::move(scenario);
  return canonical_text([&](Visitor& visitor) { describe_content(visitor, draft); });
}

}  // namespace

std::optional<std::string> step_key(const Scenario& scenario, const LayerTable& layers) {
  if (scenario.synthetic || scenario.graph || scenario.workload.documents) return {};
  Ideal same_cut;
  same_cut.layers = &layers;
  const StepSetup setup(scenario, nullptr, same_cut, false);
  if (!setup.intact() || setup.stalls(scenario.stalls).any()) return {};
  KeyWriter key;
  setup.with_network_input(false, [&](const NetworkMapInput& input) {
    key.text(network_key(input));
    return NetworkMap{};
  });
  key.text(text_of(scenario));
  key.number(setup.host.queue_depth);
  key.number(setup.host.synchronise.value());
  for (const StageProgram& program : setup.programs) write_program(program, key);
  return key.take();
}

}  // namespace stepcast
