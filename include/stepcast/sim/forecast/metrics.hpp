#pragma once
#include <optional>
#include <string>

#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

/// Figures that follow from a forecast, for every form of report. Definitions: docs/formats.md.
namespace stepcast {

/// Whether the fullest stage fits its device; tight: measured peaks of such forecasts lie on both
/// sides of the capacity.
enum class MemoryFit { fits, tight, does_not_fit };
/// `fits`, `tight`, `does_not_fit`.
const char* name(MemoryFit fit);
/// By the cluster's interval of measured over forecast peaks; without one the peak itself decides.
MemoryFit memory_fit(Bytes peak, Bytes capacity, const ClusterSpec& cluster);

/// What an interval is taken from: docs/accuracy.md, Intervals.
struct RangeOrigin {
  std::string of;    ///< the measured rows ("115 measured MoE steps"); empty: not known
  std::string note;  ///< why it is wider than rows of this device; empty: it is not
  std::string why;   ///< it is that of plain questions ("framework assumed"); empty: an exact one
  /// ", taken from 115 measured MoE steps, few on this device; framework assumed"; empty where
  /// nothing is to be said.
  std::string clause() const;
};

/// Why a question does not say all that its framework launches; empty: it does.
std::string why_plain(const Scenario& scenario);
/// The range of its step; `interval` is its cluster's.
const ClassRange& step_range(const Scenario& scenario, const ForecastInterval& interval);

/// The metrics of docs/formats.md. Times in seconds, rates per second, ratios as fractions.
struct Metrics {
  double step_time = 0, samples_per_s = 0;
  double tokens_per_s = 0, tokens_per_s_per_device = 0;  ///< these and the next are of a model only
  double model_flops = 0, tflops_per_device = 0, mfu = 0, hfu = 0;
  double mfu_peak = 0;  ///< FLOP/s per device that MFU and HFU are shares of
  bool has_model = false;
  /// 80 % of the measured steps of this hardware lie between; nothing where none are known, or for
  /// a synthetic workload, whose times are given.
  std::optional<double> step_time_low, step_time_high;
  RangeOrigin step_time_of;                ///< what rows that interval was taken from
  MemoryFit memory_fit = MemoryFit::fits;  ///< of a model
  /// 80 % of the measured peaks of this hardware lie between, where they are known [B].
  std::optional<double> memory_low, memory_high;
  RangeOrigin memory_of;
};

/// The figures of a forecast of that scenario. MFU and HFU are parts of the peak of the
/// precision that the matrix products run in, the mean over all devices.
Metrics metrics_of(const Scenario& scenario, const Forecast& forecast);

}  // namespace stepcast
