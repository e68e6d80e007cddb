#include <fmt/format.h>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/report/campaign_report.hpp"

namespace stepcast {
namespace {

/// A campaign takes days or weeks, of which three digits are enough.
std::string days(double seconds) {
  constexpr double hour = 3600, day = 24 * hour;
  return seconds < 2 * day ? fmt::format("{:.3g} h", seconds / hour)
                           : fmt::format("{:.4g} d", seconds / day);
}

std::string share_line(const std::string& name, Seconds part, Seconds whole) {
  return fmt::format("  {:<34} {:>9}  {:5.1f} %\n", name, days(part.value()), 100 * (part / whole));
}

std::string head(const Scenario& s, const CampaignForecast& c) {
  std::string text = fmt::format("{} on {} devices of {}\n  {} steps of {}", s.name,
                                 s.cluster.devices, s.cluster.name, c.steps, human(c.step_time));
  if (c.tokens > 0) text += fmt::format(", {:.4g} tokens", static_cast<double>(c.tokens));
  text += fmt::format("; a failure every {}", days(c.mtbf.value()));
  return text +
         fmt::format("\n  played {} times{}\n\n", c.runs,
                     c.seeds > 1 ? fmt::format(" with {} draws of the spread", c.seeds) : "");
}

}  // namespace

std::string campaign_text(const Scenario& s, const CampaignForecast& c) {
  std::string text = head(s, c);
  text += fmt::format("finishes after {} (median), 10 % within {}, 90 % within {}\n",
                      days(c.wall.p50), days(c.wall.p10), days(c.wall.p90));
  // Only with --within.
  if (c.within)
    text += fmt::format("  {:.1f} % of the runs meet the date asked for\n", 100 * *c.within);
  // The band of the step time moves every run alike and is no part of their spread.
  if (c.wall_low && c.wall_high)
    text +=
        fmt::format("  the error of the step time alone (80 %) puts the median between {} and {}\n",
                    days(c.wall_low->p50), days(c.wall_high->p50));
  text += fmt::format("  device hours: {:.4g} (median), {:.4g} to {:.4g}\n\n", c.device_hours.p50,
                      c.device_hours.p10, c.device_hours.p90);
  if (c.energy) {
    constexpr double megawatt_hour = 3.6e9;
    text += fmt::format("  energy of the mean run: {:.4g} MWh\n\n", *c.energy / megawatt_hour);
  }
  text += fmt::format("where the time goes, mean of the runs ({:.4g} failures)\n", c.failures);
  text += share_line("steps that were kept", c.mean.computing, c.mean.wall);
  text += share_line("checkpoints", c.mean.saving, c.mean.wall);
  // Parts that did not occur get no line, apart from failures.
  if (c.mean.writing > Seconds{0})
    text += share_line("slower steps beside writing", c.mean.writing, c.mean.wall);
  text += share_line("steps lost and done again", c.mean.lost, c.mean.wall);
  if (c.mean.lost > Seconds{0} && !(c.mean.saving + c.mean.writing > Seconds{0}))
    text +=
        "    no checkpoint before the end (stalls.checkpoint): a failure loses all steps before "
        "it\n";
  text += share_line("restarts", c.mean.restarting, c.mean.wall);
  text += share_line("waiting for a node", c.mean.waiting, c.mean.wall);
  if (c.flaps > 0)
    text += share_line(fmt::format("waiting for a link ({:.4g} flaps)", c.flaps), c.mean.stopped,
                       c.mean.wall);
  return text;
}

}  // namespace stepcast
