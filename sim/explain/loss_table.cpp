#include <fmt/format.h>

#include "stepcast/base/report_table.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/explain/loss.hpp"

namespace stepcast {
namespace {

std::string efficiency_points(double seconds, double step) {
  return fmt::format("{:+.2f}", 100 * seconds / step);
}

}  // namespace

/// Points of efficiency: seconds lost over the large step.
std::string loss_table(const LossSplit& split) {
  std::string text =
      fmt::format("From {} to {} devices the step goes from {} to {}, efficiency {:.1f}%{}.\n\n",
                  split.small_devices, split.large_devices, human(Seconds{split.small_step}),
                  human(Seconds{split.large_step}), 100 * split.efficiency(),
                  split.seeds > 1 ? fmt::format(" (means of {} seeds)", split.seeds) : "");
  ReportTable table({text_column("points of efficiency"), number_column("in micro-batches"),
                     number_column("once per step"), number_column("together")});
  double in_micro_batches = 0, once = 0;
  const auto row = [&](const std::string& name, double in, double at_once) {
    table.add({name, efficiency_points(in, split.large_step),
               efficiency_points(at_once, split.large_step),
               efficiency_points(in + at_once, split.large_step)});
  };
  for (const LossCause& cause : split.causes) {
    const double in = split.lost_in_micro_batches(cause), at_once = split.lost_once(cause);
    in_micro_batches += in;
    once += at_once;
    row(cause.name, in, at_once);
  }
  row("lost", in_micro_batches, once);
  return text + table.text("  ");
}

}  // namespace stepcast
