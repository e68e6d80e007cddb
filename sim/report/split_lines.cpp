#include "split_lines.hpp"

#include <fmt/format.h>

#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

/// What pieces cost and hide, in one layer and micro-batch.
std::string split_text(const std::string& name, const SplitExperts& s) {
  const bool loses = s.gain() < Seconds{0};
  return fmt::format(
      "  {:<14} {:>10}    {} a layer and micro-batch: {} {} on the device, {} of exchanges {}",
      name, human(loses ? -1 * s.gain() : s.gain()), loses ? "lost" : "gained",
      human(s.cost < Seconds{0} ? -1 * s.cost : s.cost), s.cost < Seconds{0} ? "less" : "more",
      human(s.hidden < Seconds{0} ? -1 * s.hidden : s.hidden),
      s.hidden < Seconds{0} ? "more waited for" : "hidden");
}

}  // namespace

std::string pieces_line(const Scenario& scenario, const Forecast& forecast) {
  if (!forecast.experts || !forecast.experts->split) return "";
  const MoeSpec& moe = scenario.workload.moe;
  const char* const how = moe.overlap == MoeSpec::Overlap::tiles ? "tiles" : "chunks";
  return split_text(fmt::format("{}({})", how, moe.pieces), *forecast.experts->split) + "\n";
}

std::string products_line(const Scenario& scenario, const Forecast& forecast) {
  if (!forecast.products) return "";
  const SplitProducts& p = *forecast.products;
  return split_text(fmt::format("tensor x{}", scenario.workload.communication.tensor_chunks),
                    p.split) +
         fmt::format("; {} launches more, {} of the host\n", p.launches, human(p.issue));
}

}  // namespace stepcast
