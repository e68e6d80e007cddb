#include "point_times.hpp"

#include <algorithm>
#include <limits>
#include <sstream>
#include <string_view>

#include "stepcast/base/canonical.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/phases.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/step_alone.hpp"
#include "stepcast/sim/scenario/checks.hpp"

namespace stepcast {
namespace {

// Starting a process costs as much as several of these, and collectives are planned anew in each.
constexpr std::size_t bounded_together = 256, replayed_together = 4;
/// Before what the reader finds wrong with a point.
constexpr std::string_view finding_mark = "wrong ";

/// A process or a store of answers gave less than was put into it.
[[noreturn]] void refuse_line(const std::string& line) {
  throw EngineError("a point could not be timed: its answer is '" + visible(shortened(line)) +
                    "', which is no time; with --store, a new file may help");
}

}  // namespace

/// A line for each point, so many points to a process.
void PointTimes::ask(const char* job, const std::vector<PlanPoint*>& points, std::size_t together,
                     const Ask& ask, const Told& told) {
  const std::size_t blocks = (points.size() + together - 1) / together;
  const auto each = [&](std::size_t block, const auto& use) {
    const std::size_t end = std::min((block + 1) * together, points.size());
    for (std::size_t i = block * together; i < end; ++i) use(*points[i]);
  };
  run_kept(
      store_, blocks, workers_,
      [&](std::size_t block) {
        std::string keys;
        each(block, [&](const PlanPoint& point) { keys += key_(job, point); });
        return sha256(keys);
      },
      [&](std::size_t block) {
        std::string text;
        each(block, [&](const PlanPoint& point) { text += ask(point) + "\n"; });
        return text;
      },
      [&](const WorkerAnswer& answer) {
        if (answer.failed()) throw_failure("a point could not be timed", answer);
        std::istringstream lines(answer.text);
        std::string line;
        each(answer.index, [&](PlanPoint& point) {
          if (!std::getline(lines, line)) refuse_line("");
          told(point, line);
        });
      });
}

/// A replay costs many times as much, so that most points should need none.
void PointTimes::bound(const std::vector<PlanPoint*>& points) {
  begin_phase("bounding points by their units");
  ask(
      "units", points, bounded_together,
      [&](const PlanPoint& point) {
        const Scenario scenario = scenario_of(space_, point.strategy);
        const std::string finding = reader_finding(scenario);
        if (!finding.empty()) return std::string(finding_mark) + finding;
        return shortest(LoneStep(scenario, costs_[point.strategy.base].times).bound().value());
      },
      [&](PlanPoint& point, const std::string& line) {
        if (const auto time = parse_number(line)) {
          point.unit_bound = Seconds{*time};
          counts_.unit_bounded += 1;
        } else if (line.starts_with(finding_mark)) {
          point.alone = Seconds{std::numeric_limits<double>::infinity()};
          counts_.infeasible[line.substr(finding_mark.size())] += 1;
        } else {
          refuse_line(line);
        }
      });
}

void PointTimes::replay(const std::vector<PlanPoint*>& points) {
  begin_phase("timing points without contention");
  ask(
      "time", points, replayed_together,
      [&](const PlanPoint& point) {
        return shortest(
            step_alone(scenario_of(space_, point.strategy), costs_[point.strategy.base].times)
                .value());
      },
      [&](PlanPoint& point, const std::string& line) {
        const auto time = parse_number(line);
        // An answer of another form means that worker and parent are not the same program: no time
        // is guessed from it.
        if (!time) refuse_line(line);
        point.alone = Seconds{*time};
        counts_.timed += 1;
      });
}

}  // namespace stepcast
