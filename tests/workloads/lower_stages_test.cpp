#include "stepcast/workloads/lower_stages.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "lowered_steps.hpp"
#include "stepcast/base/overloaded.hpp"

// What the stages of a job share must not show: each program is that of its stage by itself.
namespace stepcast::lowering {
namespace {

void write_code_of(const Instructions& code, std::ostream& text) {
  for (const Instruction& instruction : code) {
    text << instruction.index();
    std::visit(
        Overloaded{[&](const Compute& run) { text << ' ' << run.segment; },
                   [&](const Communicate& start) {
                     text << ' ' << start.call << ' ' << start.slot << start.after_compute;
                   },
                   [&](const Wait& wait) { text << ' ' << wait.slot; },
                   [&](const HostSync& sync) { text << sync.of_copy; }, [](const HostCopy&) {}},
        instruction);
    text << '\n';
  }
  text << "--\n";
}

void write_operators_of(const std::vector<Segment>& segments, std::ostream& text) {
  for (const Segment& segment : segments) {
    for (const OperatorCost& cost : segment.operators())
      text << cost.main << ' ' << cost.worker << ' ' << cost.launch << ' ' << cost.device << '\n';
    text << "--\n";
  }
}

/// All numbers of a program, to the bit.
std::string everything_of(const StageProgram& program) {
  std::ostringstream text;
  text << std::hexfloat;
  write_operators_of(program.segments, text);
  for (const auto& variant : program.variants) write_operators_of(variant, text);
  for (const StageCall& call : program.calls)
    text << call.name << ' ' << static_cast<int>(call.group) << ' ' << call.call.bytes.value()
         << ' ' << static_cast<int>(call.stream) << ' ' << call.issue.main << '\n';
  for (const ChunkProgram& chunk : program.chunks) {
    for (const Instructions* code :
         {&chunk.forward, &chunk.first_forward, &chunk.backward, &chunk.last_backward,
          &chunk.backward_input, &chunk.backward_weight, &chunk.last_backward_weight})
      write_code_of(*code, text);
    text << chunk.send_forward.value() << ' ' << chunk.send_backward.value() << '\n';
  }
  write_code_of(program.prologue, text);
  write_code_of(program.epilogue, text);
  text << program.slots << ' ' << program.model_flops << ' ' << program.executed_flops << ' '
       << program.update_flops << ' ' << program.executed_attention_flops << '\n';
  return text.str();
}

WorkloadSpec any_job() {
  const std::vector<ModelSpec> models{small_dense(), small_moe(), small_latent()};
  WorkloadSpec spec = workload(*rc::gen::elementOf(models));
  spec.plan.pp = *rc::gen::elementOf(std::vector<std::int64_t>{1, 2, 4});
  spec.plan.vpp = *rc::gen::elementOf(std::vector<std::int64_t>{1, 2});
  spec.plan.dp = 2;
  spec.plan.zero = *rc::gen::inRange(0, 3);
  if (spec.model.moe) {
    spec.plan.ep = 2;
    spec.moe.routing.distribution = *rc::gen::elementOf(
        std::vector{RoutingSpec::Distribution::uniform, RoutingSpec::Distribution::zipf});
  }
  using Recompute = TrainingSpec::Recompute;
  spec.training.recompute =
      *rc::gen::elementOf(std::vector{Recompute::none, Recompute::full, Recompute::table});
  if (spec.training.recompute == Recompute::table)
    for (std::int64_t chunk = 0; chunk < spec.plan.vpp; ++chunk)
      spec.training.recompute_layers.push_back(*rc::gen::container<std::vector<std::int64_t>>(
          static_cast<std::size_t>(spec.plan.pp), rc::gen::inRange<std::int64_t>(0, 2)));
  return spec;
}

TEST(LowerStages, AreEachLoweredAsByThemselves) {
  EXPECT_TRUE(rc::check([] {
    const WorkloadSpec spec = any_job();
    const ClusterSpec cluster = plain_cluster();
    const LayerTable layers = assign_layers(spec, cluster);
    const std::vector<StageProgram> all = lower_stages(spec, layers, cluster);
    RC_ASSERT(all.size() == static_cast<std::size_t>(spec.plan.pp));
    for (std::uint32_t stage = 0; stage < spec.plan.pp; ++stage)
      RC_ASSERT(everything_of(all[stage]) ==
                everything_of(lower_stage(spec, layers, cluster, Stage{stage})));
  }));
}

}  // namespace
}  // namespace stepcast::lowering
