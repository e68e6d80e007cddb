#include "point_times.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

#include "stepcast/base/canonical.hpp"
#include "stepcast/base/phases.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/step_alone.hpp"
#include "stepcast/sim/scenario/checks.hpp"

namespace stepcast {
namespace {

// Starting a process costs as much as several of these, and collectives are planned anew in each.
constexpr std::size_t bounded_together = 256, replayed_together = 4;

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
          std::getline(lines, line);
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
        if (!finding.empty()) return "wrong " + finding;
        return shortest(LoneStep(scenario, costs_[point.strategy.base].times).bound().value());
      },
      [&](PlanPoint& point, const std::string& line) {
        if (const auto time = parse_number(line)) {
          point.unit_bound = Seconds{*time};
          counts_.unit_bounded += 1;
        } else {
          point.alone = Seconds{std::numeric_limits<double>::infinity()};
          counts_.infeasible[line.substr(line.find(' ') + 1)] += 1;
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
        point.alone = Seconds{*parse_number(line)};
        counts_.timed += 1;
      });
}

}  // namespace stepcast
