#include "stepcast/sim/forecast/metrics.hpp"

#include <algorithm>

#include "stepcast/sim/scenario/applied_framework.hpp"
#include "stepcast/topology/hardware_id.hpp"

namespace stepcast {
namespace {

/// The peak of the precision that the matrix products run in, the mean over all devices.
double matmul_peak(const Scenario& scenario) {
  const bool fp8 = scenario.workload.training.precision == TrainingSpec::Precision::fp8_mixed;
  const auto peak = [fp8](const DeviceSpec& device) {
    // Peaks of FP8 count only where products run in FP8.
    return (fp8 ? device.matmul_peak_fp8 : device.matmul_peak).value();
  };
  const ClusterSpec& cluster = scenario.cluster;
  double sum = 0;
  for (const NodeKind& kind : cluster.kinds)
    sum += static_cast<double>(kind.nodes) * peak(kind.device);
  // Kinds count by their devices: nodes of one cluster have equally many.
  return cluster.kinds.empty() ? peak(cluster.device) : sum / static_cast<double>(cluster.nodes());
}

/// A class that has the rows of one type and kind is as narrow as intervals get; nothing is said of
/// one whose file does not tell.
RangeOrigin origin_of(const ClassRange& range, const ClusterSpec& cluster) {
  RangeOrigin origin{range.of, {}, {}};
  if (range.of.empty()) return origin;
  // Files name a device and, behind an @, its data sheet, which alone counts.
  const auto measured = [&range](const DeviceSpec& device) {
    const std::string id = "@" + hardware_id(device);
    return std::ranges::any_of(range.devices,
                               [&id](const std::string& of) { return of.ends_with(id); });
  };
  if (range.wider) origin.note = "few on this device";
  if (cluster.kinds.empty() && !measured(cluster.device)) origin.note = "none on this device";
  // Kinds of nodes take the place of the cluster's own device.
  for (const NodeKind& kind : cluster.kinds)
    if (!measured(kind.device)) {
      origin.note = "none on " + kind.device.name;
      break;
    }
  return origin;
}

void add_memory(Metrics& m, const Scenario& scenario, const Forecast& forecast) {
  const auto& interval = scenario.cluster.interval;
  double peak = 0;
  for (const StageForecast& stage : forecast.stages) {
    if (!stage.memory) continue;
    peak = std::max(peak, stage.memory->peak().value());
    const MemoryFit fit =
        stage.memory->fits_host()
            ? memory_fit(stage.memory->peak(), stage.memory->capacity, scenario.cluster)
            : MemoryFit::does_not_fit;
    // The worst stage decides for the job.
    m.memory_fit = std::max(m.memory_fit, fit);
  }
  if (!interval || !interval->memory) return;
  const QuotientRange& range = *interval->memory;
  m.memory_of = origin_of(*interval->memory, scenario.cluster);
  // The fullest device bounds the interval.
  m.memory_low = range.low * peak;
  m.memory_high = range.high * peak;
}

}  // namespace

std::string RangeOrigin::clause() const {
  std::string text;
  if (!note.empty()) text += ", taken from " + of + ", " + note;
  if (!why.empty()) text += (text.empty() ? ", " : "; ") + why;
  return text;
}

MemoryFit memory_fit(Bytes peak, Bytes capacity, const ClusterSpec& cluster) {
  const auto& interval = cluster.interval;
  const QuotientRange range =
      interval && interval->memory ? QuotientRange{*interval->memory} : QuotientRange{};
  // Tight where the upper end of the interval exceeds the device, no fit where the lower does.
  if (range.low * peak > capacity) return MemoryFit::does_not_fit;
  return range.high * peak > capacity ? MemoryFit::tight : MemoryFit::fits;
}

std::string why_plain(const Scenario& scenario) {
  if (!scenario.framework || scenario.framework->id.empty()) return "no framework";
  if (scenario.framework->assumed) return "framework assumed";
  if (!scenario.framework->vendor.empty())
    return "framework of " + scenario.framework->vendor + " devices";
  for (const AppliedFramework::Key& key : scenario.framework->keys)
    if (key.source.starts_with("assumed")) return "a rule assumed";  // run --keys says which
  return "";
}

const ClassRange& step_range(const Scenario& scenario, const ForecastInterval& interval) {
  return interval.of(scenario.workload.model.moe.has_value(), why_plain(scenario).empty());
}

const char* name(MemoryFit fit) {
  switch (fit) {
    case MemoryFit::fits:
      return "fits";
    case MemoryFit::tight:
      return "tight";
    case MemoryFit::does_not_fit:
      break;
  }
  return "does_not_fit";
}

Metrics metrics_of(const Scenario& scenario, const Forecast& forecast) {
  const auto devices = static_cast<double>(scenario.cluster.devices);
  const TrainingSpec& training = scenario.workload.training;
  Metrics m;
  m.step_time = forecast.step_time.value();
  m.samples_per_s = static_cast<double>(training.global_batch) / m.step_time;
  // Given times have neither tokens nor FLOPs to divide by.
  m.has_model = forecast.model_flops.has_value();
  if (!m.has_model) return m;
  if (const auto& interval = scenario.cluster.interval) {
    const ClassRange& range = step_range(scenario, *interval);
    m.step_time_of = origin_of(range, scenario.cluster);
    if (interval->plain) m.step_time_of.why = why_plain(scenario);
    m.step_time_low = m.step_time * range.low;
    m.step_time_high = m.step_time * range.high;
  }
  add_memory(m, scenario, forecast);
  m.tokens_per_s = m.samples_per_s * static_cast<double>(training.sequence);
  m.tokens_per_s_per_device = m.tokens_per_s / devices;
  m.model_flops = *forecast.model_flops;
  // MFU counts what the model needs, HFU also what recomputation repeats.
  const double per_device = m.model_flops / m.step_time / devices;
  const double peak = matmul_peak(scenario);
  m.tflops_per_device = per_device / 1e12;
  m.mfu = per_device / peak;
  m.mfu_peak = peak;
  m.hfu = *forecast.executed_flops / m.step_time / devices / peak;
  return m;
}

}  // namespace stepcast
