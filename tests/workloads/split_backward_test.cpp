#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "lowered_steps.hpp"

// Split and paired units: the same work in other places.
namespace stepcast {
namespace {

using namespace lowering;

/// Any plan in any placement; several slices only without context parallelism.
WorkloadSpec any_placed_workload() {
  WorkloadSpec spec = any_workload();
  ParallelPlan& plan = spec.plan;
  if (plan.vpp == 2)
    plan.chunk_placement = *rc::gen::element(ChunkPlacement::loop, ChunkPlacement::v_shape,
                                             ChunkPlacement::bidirectional);
  if (plan.cp == 1) plan.slices = *rc::gen::element(1, 2, 4);
  spec.pairs = *rc::gen::arbitrary<bool>();
  const bool exchanges = spec.model.moe && plan.ep > 1;
  if (exchanges && *rc::gen::arbitrary<bool>()) spec.moe.overlap = MoeSpec::Overlap::fb_pair;
  return spec;
}

/// A step whose backwards are split, and before whose last micro-batch pairs ran where there are
/// any.
Instructions split_step(const StageProgram& program) {
  Instructions all = program.prologue;
  const auto append = [&](const Instructions& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  for (const ChunkProgram& chunk : program.chunks) append(chunk.first_forward);
  for (const ChunkProgram& chunk : program.chunks)
    for (const Instructions& pair : chunk.paired) append(pair);
  for (auto chunk = program.chunks.rbegin(); chunk != program.chunks.rend(); ++chunk)
    append(chunk->backward_input);
  for (const ChunkProgram& chunk : program.chunks) {
    append(chunk.backward_weight);
    append(chunk.last_backward_weight);
  }
  append(program.epilogue);
  return all;
}

TEST(Lower, EveryCommunicationOfSplitAndPairedUnitsIsAwaited) {
  EXPECT_TRUE(rc::check([] {
    const WorkloadSpec spec = any_placed_workload();
    for (const StageProgram& program : lower_all(spec)) {
      check_slots(program, step(program, 2));
      check_slots(program, split_step(program));
    }
  }));
}

/// What code does, whatever the order: operators, collectives and waits of the host.
struct Content {
  std::multiset<std::array<double, 4>> operators;
  std::map<std::uint32_t, int> calls;
  int host_syncs = 0;
  bool operator==(const Content&) const = default;
};

Content content(const StageProgram& program, std::initializer_list<const Instructions*> codes) {
  Content sum;
  for (const Instructions* code : codes)
    for (const Instruction& instruction : *code) {
      if (const auto* run = std::get_if<Compute>(&instruction)) {
        for (const OperatorCost& c : program.segments[run->segment].operators())
          sum.operators.insert({c.main, c.worker, c.launch, c.device});
      } else if (const auto* call = std::get_if<Communicate>(&instruction)) {
        ++sum.calls[call->call];
      } else if (std::holds_alternative<HostSync>(instruction)) {
        ++sum.host_syncs;
      }
    }
  return sum;
}

TEST(Lower, BothPartsOfABackwardAreTheWhole) {
  EXPECT_TRUE(rc::check([] {
    const WorkloadSpec spec = any_placed_workload();
    for (const StageProgram& program : lower_all(spec)) {
      for (const ChunkProgram& c : program.chunks) {
        RC_ASSERT(content(program, {&c.backward}) ==
                  content(program, {&c.backward_input, &c.backward_weight}));
        RC_ASSERT(content(program, {&c.last_backward}) ==
                  content(program, {&c.backward_input, &c.last_backward_weight}));
      }
    }
  }));
}

TEST(Lower, APairIsItsForwardAndItsBackward) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = any_placed_workload();
    spec.pairs = true;
    spec.plan.slices = 1;
    spec.plan.zero = *rc::gen::element(0, 1);
    for (const StageProgram& program : lower_all(spec)) {
      for (const ChunkProgram& forward : program.chunks) {
        RC_ASSERT(forward.paired.size() == program.chunks.size());
        for (std::size_t b = 0; b < program.chunks.size(); ++b)
          RC_ASSERT(content(program, {&forward.paired[b]}) ==
                    content(program, {&forward.forward, &program.chunks[b].backward}));
      }
    }
  }));
}

}  // namespace
}  // namespace stepcast
