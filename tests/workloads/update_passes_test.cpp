#include "stepcast/workloads/update_passes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "replicated_steps.hpp"
#include "stepcast/workloads/memory.hpp"

namespace stepcast {
namespace {

using namespace lowering;

RuntimeSpec running(std::initializer_list<UpdatePass> passes) {
  RuntimeSpec runtime;
  for (const UpdatePass pass : passes) runtime.update |= 1U << static_cast<unsigned>(pass);
  return runtime;
}

constexpr std::array all_moments{UpdateMoment::before_reduction, UpdateMoment::behind_reduction,
                                 UpdateMoment::before_norm, UpdateMoment::behind_norm,
                                 UpdateMoment::at_end};

double bytes_of(const RuntimeSpec& runtime, const UpdateSizes& sizes) {
  double sum = 0;
  for (const UpdateMoment moment : all_moments)
    for (const Operator& op : update_operators(runtime, sizes, moment)) sum += op.bytes.value();
  return sum;
}

// Each pass by itself: 80 gradients held, 10 of them updated with, of 2 and of 4 bytes.
TEST(UpdatePasses, MoveWhatTheirCodeReadsAndWrites) {
  struct Row {
    UpdatePass pass;
    double of_half, of_single;
  };
  using enum UpdatePass;
  const Row expected[] = {{flatten, 80 * 4, 80 * 8},   {divide, 80 * 4, 80 * 8},
                          {unflatten, 80 * 4, 80 * 8}, {check, 80 * (2 + 4 + 4), 80 * 4},
                          {join, 10 * 4, 10 * 8},      {cast, 10 * (2 + 4), 10 * (4 + 4)},
                          {join_fp32, 10 * 8, 10 * 8}, {unscale, 10 * 8, 10 * 8},
                          {clip, 10 * 8, 10 * 8},      {copy, 10 * 4, 10 * 4},
                          {zero, 80 * 2, 80 * 4},      {square, 10 * 8, 10 * 8}};
  for (const Row& row : expected) {
    const RuntimeSpec runtime = running({row.pass});
    EXPECT_EQ(bytes_of(runtime, {80, 10, 2}), row.of_half) << static_cast<int>(row.pass);
    EXPECT_EQ(bytes_of(runtime, {80, 10, 4}), row.of_single) << static_cast<int>(row.pass);
  }
  EXPECT_EQ(bytes_of(RuntimeSpec{}, {80, 10, 2}), 0);
}

// A cast is there when the norm is taken.
TEST(UpdatePasses, MakeGradientsOfTheNormSingle) {
  EXPECT_EQ(updated_gradient_bytes(running({UpdatePass::cast}), 2), 4);
  EXPECT_EQ(updated_gradient_bytes(running({UpdatePass::clip}), 2), 2);
}

// Of 80 gradients 10 are updated with; the largest tensor has 3.
TEST(UpdatePasses, HoldWhatTheirCodeAllocates) {
  using enum UpdatePass;
  const auto held = [](std::initializer_list<UpdatePass> passes, UpdateSizes sizes) {
    return update_held(running(passes), sizes, 3);
  };
  EXPECT_EQ(held({}, {80, 10, 2}), 0);
  EXPECT_EQ(held({flatten, divide, unflatten, unscale, clip, copy, zero}, {80, 80, 4}), 0);
  EXPECT_EQ(held({check}, {80, 80, 2}), 4 * 3);
  EXPECT_EQ(held({check}, {80, 80, 4}), 0);
  // Megatron-LM: each gradient goes when its FP32 copy is there
  EXPECT_EQ(held({cast}, {80, 80, 2}), (4 - 2) * 80 + 2 * 3);
  // DeepSpeed without sharding: copies, and what they are joined to, beside all gradients
  EXPECT_EQ(held({check, cast, join_fp32}, {80, 80, 2}), 8 * 80);
  EXPECT_EQ(held({join_fp32}, {80, 80, 4}), 4 * 80);
  // stage 1: joined, then cast, when the gradients of the others are gone
  EXPECT_EQ(held({join, cast}, {80, 80, 2}), 6 * 80);
  EXPECT_EQ(held({join, cast}, {80, 40, 2}), 6 * 40 - 2 * 40);
  EXPECT_EQ(held({join, cast}, {80, 10, 2}), 0);
  // its norm is that of FP64 copies, each of no more than a tensor's own part
  EXPECT_EQ(held({join, cast, check}, {80, 10, 2}), 8 * 3);
  EXPECT_EQ(held({join, cast, check}, {80, 2, 2}), 8 * 2);
}

// What an update holds counts when the activations are gone; that of a flat one is DeepSpeed's, and
// is not counted twice.
TEST(UpdatePasses, AreInTheBudget) {
  using enum UpdatePass;
  const auto update = [](const WorkloadSpec& spec) {
    const ClusterSpec cluster = plain_cluster();
    return stage_memory(spec, assign_layers(spec, cluster), cluster, Stage{0}, std::vector<int>{1})
        .update.value();
  };
  WorkloadSpec spec = replicated(0, false);
  spec.communication.gradient_precision = CommunicationSpec::GradientPrecision::bf16;
  const double held = count_parameters(spec.model).total;
  const double largest = static_cast<double>(spec.model.vocabulary * spec.model.hidden);
  EXPECT_EQ(update(spec), 0);
  spec.runtime = running({cast, unscale, copy});
  EXPECT_NEAR(update(spec), 2 * held + 2 * largest, 1e-9 * held);
  spec.runtime = running({cast, join_fp32, unscale, copy});
  EXPECT_NEAR(update(spec), 8 * held, 1e-9 * held);
  spec.training.update_memory = TrainingSpec::UpdateMemory::flat;
  spec.communication.bucket = std::nullopt;
  EXPECT_NEAR(update(spec), 8 * held, 1e-9 * held);
  spec.training.update_memory = TrainingSpec::UpdateMemory::tensor;
  EXPECT_NEAR(update(spec), 8 * held + 4 * largest, 1e-9 * held);
}

double seconds_at_the_end(const WorkloadSpec& spec) {
  const StageProgram program = lower_all(spec)[0];
  double sum = 0;
  for (const Instruction& instruction : program.epilogue)
    if (const auto* run = std::get_if<Compute>(&instruction))
      sum += program.segments[run->segment].device_time();
  return sum;
}

// Four replicas hold all gradients and update a quarter of them, or all.
TEST(UpdatePasses, LengthenTheEndOfAStepByWhatTheyMove) {
  using enum UpdatePass;
  const RuntimeSpec runtime = running({divide, zero, unscale, clip, copy});
  for (const std::int64_t zero_stage : {0, 1})
    for (const bool overlap : {true, false}) {
      WorkloadSpec spec = replicated(zero_stage, overlap);
      const double held = count_parameters(spec.model).total;
      const double owned = zero_stage == 0 ? held : held / 4;
      const double alone = seconds_at_the_end(spec);
      spec.runtime = runtime;
      const double added = 5 * 2e-6 + (12 * held + 20 * owned) / 1.6e12;
      EXPECT_NEAR(seconds_at_the_end(spec), alone + added, 1e-9 * (alone + added));
    }
}

// Gradients are divided before they travel and copied back behind that.
TEST(UpdatePasses, StandAroundTheReduction) {
  WorkloadSpec spec = replicated(0, false);
  const auto reduced_after = [](const WorkloadSpec& of) {
    const StageProgram program = lower_all(of)[0];
    const auto reduction = std::ranges::find_if(program.epilogue, [](const Instruction& i) {
      return std::holds_alternative<Communicate>(i);
    });
    return std::count_if(program.epilogue.begin(), reduction,
                         [](const Instruction& i) { return std::holds_alternative<Compute>(i); });
  };
  EXPECT_EQ(reduced_after(spec), 0);
  spec.runtime = running({UpdatePass::unflatten});
  EXPECT_EQ(reduced_after(spec), 0);
  spec.runtime = running({UpdatePass::divide});
  EXPECT_EQ(reduced_after(spec), 1);
}

}  // namespace
}  // namespace stepcast
