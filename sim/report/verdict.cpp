#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "stepcast/sim/report/report.hpp"

namespace stepcast {
namespace {

/// A large part of a step; `kind` is what most of it is.
struct LargePart {
  std::string name, kind;
  double time = 0, of_kind = 0;
};

std::string kind_name(ExposedKind kind) {
  if (kind == ExposedKind::expert) return "expert exchanges";
  if (kind == ExposedKind::pipeline) return "pipeline transfers";
  if (kind == ExposedKind::offload) return "transfers of what is offloaded";
  return std::string(name(kind)) + " communication";
}

LargePart communication_of(const RankTimes& times) {
  LargePart part{"exposed communication", {}, times.exposed_total().value(), 0};
  for (std::size_t k = 0; k < exposed_kinds; ++k) {
    const double time = times.exposed[k].value();
    if (time <= part.of_kind) continue;
    part.of_kind = time;
    part.kind = kind_name(static_cast<ExposedKind>(k));
  }
  return part;
}

LargePart host_of(const RankTimes& times) {
  const double stall = times.host_stall.value(), compile = times.compile_stall.value();
  LargePart part{"waiting for the host", {}, stall + compile, 0};
  if (compile > 0) {
    part.kind = compile > stall ? "compiling" : "issuing";
    part.of_kind = std::max(stall, compile);
  }
  return part;
}

/// How much of a step that share is; the number stands behind it.
const char* amount(double share) {
  if (share >= 0.9) return "Nearly all";
  if (share >= 0.55) return "Most";
  if (share >= 0.45) return "Half";
  if (share >= 0.37) return "Two fifths";
  return share >= 0.3 ? "A third" : "The largest part";
}

}  // namespace

std::string rate_text(double rate) {
  constexpr double thousand = 1e3, million = 1e6;
  constexpr int digits = 4;
  const auto fixed = [](double number) {
    const int whole = number < 1 ? 1 : static_cast<int>(std::floor(std::log10(number))) + 1;
    return fmt::format("{:.{}f}", number, std::max(0, digits - whole));
  };
  if (rate >= million) return fixed(rate / million) + " M";
  return rate >= 10 * thousand ? fixed(rate / thousand) + " k" : fixed(rate);
}

std::string verdict(const Forecast& forecast) {
  const RankTimes& times = forecast.mean;
  const double step = forecast.step_time.value();
  std::vector<LargePart> parts{
      {"computing", {}, times.computing.value(), 0},
      communication_of(times),
      {"pipeline bubble", {}, times.bubble.value(), 0},
      host_of(times),
      {"other idle time", {}, times.other_idle.value(), 0},
      {"waiting for the slowest of the fleet", {}, times.fleet.value(), 0}};
  std::ranges::stable_sort(parts, std::greater<>{}, &LargePart::time);
  const auto percent = [&](double time) { return step > 0 ? 100 * time / step : 0; };
  const LargePart &first = parts[0], &second = parts[1];
  std::string text =
      fmt::format("{} of the step is {} ({:.0f} %)", amount(percent(first.time) / 100), first.name,
                  percent(first.time));
  constexpr double all = 0.995, most = 0.5;
  if (!first.kind.empty()) {
    const double of = first.of_kind / first.time;
    text += of >= all ? ", all of it " + first.kind
            : of >= most
                ? fmt::format(", most of it {} ({:.0f} %)", first.kind, percent(first.of_kind))
                : fmt::format(", {} first ({:.0f} %)", first.kind, percent(first.of_kind));
  }
  text += ".";
  // A part that rounds to 0 % is not worth a sentence.
  if (percent(second.time) >= most)
    text += fmt::format(" Next comes {} ({:.0f} %).", second.name, percent(second.time));
  return text;
}

}  // namespace stepcast
