#pragma once
#include <string>

#include "stepcast/sim/plan/plan.hpp"

/// What a plan says to people and to other programs.
namespace stepcast {

/// A point that no other of the shortlist beats in time, memory and devices, or one that is beaten,
/// with what beats it.
struct FrontierEntry {
  const PlanPoint* point;
  const PlanPoint* dominator = nullptr;  ///< nothing: the point is on the frontier
  Seconds time{0};                       ///< simulated where it was, otherwise without contention
};
/// All simulated or timed points, by time. The result must outlive the entries.
std::vector<FrontierEntry> frontier(const PlanResult& result);
/// What a beaten entry loses against its dominator: `2.1% slower, 300 MiB more`.
std::string beaten_by(const FrontierEntry& entry);

/// The winner: the best simulated point, placed by integer programme or balanced.
const PlanPoint& best_point(const PlanSpace& space, const PlanResult& result);

/// One sentence on whether the best simulated point is known to be the best of all.
std::string proof_text(const PlanSpace& space, const PlanResult& result);

/// The ranked table, the counts per reason and the frontier, at most 100 columns wide where names
/// allow it.
std::string plan_table(const PlanSpace& space, const PlanResult& result);
/// The same as JSON. Fields: docs/formats.md.
std::string plan_json(const PlanSpace& space, const PlanResult& result);
/// The same as one HTML page that needs no network: frontier, comparison, points, counts.
std::string plan_page(const PlanSpace& space, const PlanResult& result);
/// One line per point of the shortlist, with a head.
std::string plan_csv(const PlanSpace& space, const PlanResult& result);
/// Why nothing is feasible: the tightest constraint, the nearest point, the counts.
std::string plan_failure(const PlanSpace& space, const PlanResult& result);

/// A scenario that extends the plan's file with the values of the point: `stepcast run` takes it.
/// `directory` is where it will stand.
std::string plan_scenario(const PlanSpace& space, const PlanPoint& point,
                          const std::string& directory);
/// The keys of a MindFormers configuration, as YAML.
std::string mindformers_keys(const Scenario& scenario);
/// The arguments of Megatron-LM and MindSpeed-LLM, one line.
std::string megatron_arguments(const Scenario& scenario);

}  // namespace stepcast
