#include "stepcast/sim/forecast/metrics.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "stepcast/sim/scenario/applied_framework.hpp"
#include "stepcast/topology/hardware_id.hpp"

namespace stepcast {
namespace {

/// 8 devices of 300 TFLOPS, 32 sequences of 1024 tokens.
Scenario scenario() {
  Scenario result;
  result.cluster.devices = 8;
  result.cluster.device.matmul_peak = FlopsPerSecond{300e12};
  result.cluster.device.matmul_peak_fp8 = FlopsPerSecond{500e12};
  result.workload.training.global_batch = 32;
  result.workload.training.sequence = 1024;
  return result;
}

/// A step of two seconds that recomputes a quarter of the model.
Forecast step() {
  Forecast result;
  result.step_time = Seconds{2};
  result.model_flops = 1.2e15;
  result.executed_flops = 1.5e15;
  return result;
}

TEST(Metrics, FollowFromTimeBatchAndFlops) {
  const Metrics m = metrics_of(scenario(), step());
  EXPECT_DOUBLE_EQ(m.step_time, 2);
  EXPECT_DOUBLE_EQ(m.samples_per_s, 16);
  EXPECT_DOUBLE_EQ(m.tokens_per_s, 16384);
  EXPECT_DOUBLE_EQ(m.tokens_per_s_per_device, 2048);
  EXPECT_DOUBLE_EQ(m.model_flops, 1.2e15);
  EXPECT_DOUBLE_EQ(m.tflops_per_device, 75);
  EXPECT_DOUBLE_EQ(m.mfu, 75.0 / 300);
  EXPECT_DOUBLE_EQ(m.hfu, 93.75 / 300);
  EXPECT_FALSE(m.step_time_low);
}

TEST(Metrics, ArePartsOfThePeakOfThePrecision) {
  Scenario fp8 = scenario();
  fp8.workload.training.precision = TrainingSpec::Precision::fp8_mixed;
  EXPECT_DOUBLE_EQ(metrics_of(fp8, step()).mfu, 75.0 / 500);
}

TEST(Metrics, OfSeveralKindsArePartsOfTheirMeanPeak) {
  Scenario mixed = scenario();
  mixed.cluster.node_devices = 2;
  for (const auto& [nodes, peak] : {std::pair{1, 300e12}, {3, 100e12}}) {
    NodeKind& kind = mixed.cluster.kinds.emplace_back();
    kind.nodes = nodes;
    kind.device.matmul_peak = FlopsPerSecond{peak};
  }
  EXPECT_DOUBLE_EQ(metrics_of(mixed, step()).mfu, 75.0 / 150);
}

TEST(Metrics, TheIntervalOfTheHardwareIsAroundTheStepTime) {
  Scenario known = scenario();
  known.cluster.interval.emplace();
  known.cluster.interval->steps = {{0.9, 1.25}};
  const Metrics m = metrics_of(known, step());
  EXPECT_DOUBLE_EQ(*m.step_time_low, 1.8);
  EXPECT_DOUBLE_EQ(*m.step_time_high, 2.5);
  known.cluster.interval->experts = ClassRange{{0.75, 2}};
  EXPECT_DOUBLE_EQ(*metrics_of(known, step()).step_time_low, 1.8);
  known.workload.model.moe.emplace();
  EXPECT_DOUBLE_EQ(*metrics_of(known, step()).step_time_low, 1.5);
  EXPECT_DOUBLE_EQ(*metrics_of(known, step()).step_time_high, 4);
}

TEST(Metrics, AQuestionWhoseFrameworkIsAssumedHasTheIntervalOfPlainQuestions) {
  Scenario known = scenario();
  ForecastInterval& interval = known.cluster.interval.emplace();
  interval.steps = {{0.9, 1.25}};
  interval.plain = ClassRange{{0.8, 1.5}};
  const auto low_by = [&](const AppliedFramework& framework) {
    known.framework = std::make_shared<const AppliedFramework>(framework);
    return *metrics_of(known, step()).step_time_low / metrics_of(known, step()).step_time;
  };
  EXPECT_DOUBLE_EQ(low_by({}), 0.8);
  AppliedFramework named{"megatron-core-0.14"};
  EXPECT_DOUBLE_EQ(low_by(named), 0.9);
  EXPECT_EQ(metrics_of(known, step()).step_time_of.why, "");
  named.keys = {{"runtime.dispatch", "eager", "assumed"}};
  EXPECT_DOUBLE_EQ(low_by(named), 0.8);
  EXPECT_EQ(metrics_of(known, step()).step_time_of.clause(), ", a rule assumed");
  named.keys.clear();
  named.assumed = true;
  EXPECT_DOUBLE_EQ(low_by(named), 0.8);
  EXPECT_EQ(metrics_of(known, step()).step_time_of.clause(), ", framework assumed");
  named.assumed = false;
  named.vendor = "nvidia";
  EXPECT_DOUBLE_EQ(low_by(named), 0.8);
  EXPECT_EQ(metrics_of(known, step()).step_time_of.clause(), ", framework of nvidia devices");
}

/// A device that is told apart by its memory alone.
DeviceSpec device_of(double gigabytes) {
  DeviceSpec device;
  device.name = "any";
  device.memory_capacity = Bytes{gigabytes * 1e9};
  return device;
}

/// What a run on it says of an interval whose class is this.
RangeOrigin said(const ClassRange& range, double gigabytes) {
  Scenario known = scenario();
  known.cluster.device = device_of(gigabytes);
  known.cluster.interval.emplace();
  known.cluster.interval->steps = range;
  return metrics_of(known, step()).step_time_of;
}

TEST(Metrics, AnIntervalSaysWhenItIsOfAWiderClassThanItsDevice) {
  const auto names = [](double gigabytes) { return "h@" + hardware_id(device_of(gigabytes)); };
  const ClassRange own{{0.9, 1.25}, "20 measured dense steps", false, {names(80), names(96)}};
  EXPECT_EQ(said(own, 96).of, "20 measured dense steps");
  EXPECT_EQ(said(own, 96).clause(), "");
  EXPECT_EQ(said(own, 141).clause(), ", taken from 20 measured dense steps, none on this device");
  const ClassRange wider{{0.9, 1.25}, "115 measured MoE steps", true, {names(80)}};
  EXPECT_EQ(said(wider, 80).clause(), ", taken from 115 measured MoE steps, few on this device");
  EXPECT_EQ(said(wider, 40).clause(), ", taken from 115 measured MoE steps, none on this device");
  EXPECT_EQ(said(ClassRange{{0.9, 1.25}}, 141).clause(), "");  // a file that does not tell
}

/// A peak of 50 on a device of `capacity`, measured peaks between 0.9 and 1.2 of it.
MemoryFit fit_on(double capacity, bool known) {
  Scenario on = scenario();
  if (known) {
    on.cluster.interval.emplace();
    on.cluster.interval->memory = ClassRange{{0.9, 1.2}};
  }
  Forecast forecast = step();
  forecast.stages.resize(2);
  forecast.stages[1].memory.emplace();
  forecast.stages[1].memory->parameters = Bytes{50};
  forecast.stages[1].memory->capacity = Bytes{capacity};
  const Metrics m = metrics_of(on, forecast);
  EXPECT_EQ(m.memory_low.has_value(), known);
  if (known) {
    EXPECT_DOUBLE_EQ(*m.memory_low, 45);
    EXPECT_DOUBLE_EQ(*m.memory_high, 60);
  }
  return m.memory_fit;
}

TEST(Metrics, MemoryIsTightWhereMeasuredPeaksAreOnBothSides) {
  EXPECT_EQ(fit_on(61, true), MemoryFit::fits);
  EXPECT_EQ(fit_on(59, true), MemoryFit::tight);
  EXPECT_EQ(fit_on(46, true), MemoryFit::tight);
  EXPECT_EQ(fit_on(44, true), MemoryFit::does_not_fit);
  EXPECT_EQ(fit_on(50, false), MemoryFit::fits);
  EXPECT_EQ(fit_on(49, false), MemoryFit::does_not_fit);
  EXPECT_STREQ(name(MemoryFit::tight), "tight");
}

TEST(Metrics, OfGivenTimesKnowNoModel) {
  Scenario known = scenario();
  known.cluster.interval.emplace();
  Forecast synthetic;
  synthetic.step_time = Seconds{2};
  const Metrics m = metrics_of(known, synthetic);
  EXPECT_FALSE(m.has_model);
  EXPECT_DOUBLE_EQ(m.samples_per_s, 16);
  EXPECT_EQ(m.tokens_per_s, 0);
  EXPECT_EQ(m.hfu, 0);
  EXPECT_FALSE(m.step_time_low);
}

}  // namespace
}  // namespace stepcast
