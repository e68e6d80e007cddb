#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stepcast/sim/report/kernel_trace.hpp"

/// Profiles made from a trace of ours, with changes of known size.
namespace stepcast::testing {

struct SeededChanges {
  std::string slower;    ///< class whose kernels take 1.3 times as long
  std::string repeated;  ///< class of which the first 40 kernels come twice
  double slower_seconds = 0, repeated_seconds = 0;  ///< what that adds
};

/// Stretches time: all that lasts while a kernel is made longer, or while the device is made to
/// wait for 5 ms in the middle of the step, lasts as much longer.
inline KernelTrace seeded(const KernelTrace& trace, SeededChanges& made) {
  constexpr double factor = 1.3, wait = 5e-3;
  constexpr int repeats = 40;
  struct Stretch {
    double from, to, by;
  };
  std::vector<Stretch> stretches;
  KernelTrace result;
  int repeated = 0;
  bool waited = false;
  std::vector<TracedKernel> more;
  for (const TracedKernel& kernel : trace.kernels) {
    const double end = kernel.start + kernel.duration;
    const double own = kernel.of == made.slower ? factor : 1;
    if (!kernel.communication && !waited && kernel.start > trace.step / 2) {
      stretches.push_back({kernel.start, kernel.start, wait});
      waited = true;
    }
    if (own > 1) {
      stretches.push_back({kernel.start, end, (own - 1) * kernel.duration});
      made.slower_seconds += (own - 1) * kernel.duration;
    }
    if (kernel.of != made.repeated || repeated == repeats) continue;
    ++repeated;
    stretches.push_back({end, end, own * kernel.duration});
    made.repeated_seconds += own * kernel.duration;
    more.push_back(kernel);
  }
  const auto later = [&](double time, bool as_end) {
    double shift = 0;
    for (const Stretch& s : stretches) {
      const bool point = s.to == s.from;
      if (point ? (as_end ? s.from < time : s.from <= time) : s.to <= time)
        shift += s.by;
      else if (!point && s.from < time)
        shift += s.by * (time - s.from) / (s.to - s.from);
    }
    return time + shift;
  };
  for (TracedKernel kernel : trace.kernels) {
    const double end = later(kernel.start + kernel.duration, true);
    kernel.start = later(kernel.start, false);
    kernel.duration = end - kernel.start;
    result.kernels.push_back(kernel);
  }
  for (TracedKernel kernel : more) {
    const double own = kernel.of == made.slower ? factor : 1;
    kernel.start = later(kernel.start + kernel.duration, true);
    kernel.duration *= own;
    result.kernels.push_back(kernel);
  }
  std::ranges::stable_sort(result.kernels, {}, &TracedKernel::start);
  result.step = later(trace.step, true);
  return result;
}

/// The trace as PyTorch's profiler writes one, with names of NVIDIA's kernels.
inline std::string chrome_trace(const KernelTrace& trace) {
  static const std::vector<std::pair<std::string, std::string>> names{
      {"matmul", "nvjet_hsh_128x256"},
      {"attention", "flash_fwd_kernel"},
      {"norm", "rmsnorm_fwd_kernel"},
      {"activation", "swiglu_kernel"},
      {"rotary", "rotary_embedding"},
      {"optimizer", "multi_tensor_apply_kernel<AdamFunctor>"},
      {"loss", "cross_entropy_kernel"},
      {"elementwise", "vectorized_elementwise_kernel"},
      {"all_reduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"},
      {"all_gather", "ncclDevKernel_AllGather_RING_LL"},
      {"reduce_scatter", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"},
      {"send", "hcom_send_"},
      {"receive", "ncclDevKernel_SendRecv"}};
  std::string text = "{\"schemaVersion\": 1, \"traceEvents\": [\n";
  for (const TracedKernel& kernel : trace.kernels) {
    const auto found =
        std::ranges::find(names, kernel.of, &std::pair<std::string, std::string>::first);
    text += fmt::format(
        "{}{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"{}\", \"pid\": 0, \"tid\": 7, \"ts\": "
        "{:.6f}, \"dur\": {:.6f},\n\"args\": {{\"device\": 0, \"stream\": 7}}}}",
        text.back() == '}' ? ",\n" : "", found == names.end() ? "unknown" : found->second,
        1e6 * kernel.start, 1e6 * kernel.duration);
  }
  return text + "\n]}\n";
}

}  // namespace stepcast::testing
