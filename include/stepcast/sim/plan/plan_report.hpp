#pragma once
#include <string>

#include "stepcast/sim/explain/pairs.hpp"
#include "stepcast/sim/plan/plan.hpp"

/// What a plan says to people and to other programs.
namespace stepcast {

/// A point that no other of the shortlist beats in time, memory and devices, or one that is
/// beaten, with what beats it.
struct FrontierEntry {
  const PlanPoint* point;
  const PlanPoint* dominator = nullptr;  ///< nothing: the point is on the frontier
  Seconds time{0};                       ///< simulated where it was, otherwise without contention
  const std::vector<PlanMeasure>* measures = nullptr;  ///< of the result
};
/// All simulated or timed points, by time. The result must outlive the entries.
std::vector<FrontierEntry> frontier(const PlanResult& result);
/// What a beaten entry loses against its dominator: `2.1% slower, 300 MiB more`.
std::string beaten_by(const FrontierEntry& entry);

/// The winner is the best simulated point, placed by integer programme or balanced; with seeds the
/// finalist that is best under stalls.
const PlanPoint& best_point(const PlanSpace& space, const PlanResult& result);

/// How many of the other finalists have a median within the interval of the first, times of other
/// numbers of devices as the objective weighs them: between these the model does not decide.
std::size_t finalists_within(const PlanSpace& space, const PlanResult& result);

/// Says whether the best simulated point is known to be the best of all, splits of layers included.
std::string proof_text(const PlanSpace& space, const PlanResult& result);

/// How much of a result the table shows.
enum class PlanDetail {
  brief,  ///< the answer, five rows and the proof; what the objective or seeds ask for
  all     ///< with all rows, placements, the frontier and the counts per reason
};
/// "10.3 s instead of 16.4 s (-37 %), fits with 5.00 GiB to spare" of the winner; what it is
/// compared with is the baseline of the plan.
std::string plan_sentence(const PlanSpace& space, const PlanResult& result);
/// Begins with the winner and its sentence; rows that published pairs do not tell from the first
/// are marked; at most 100 columns wide where names allow it.
std::string plan_table(const PlanSpace& space, const PlanResult& result,
                       PlanDetail detail = PlanDetail::all,
                       const std::vector<PublishedPair>& pairs = {});
/// The same as JSON. Fields: docs/formats.md.
std::string plan_json(const PlanSpace& space, const PlanResult& result);
/// The same as one HTML page that needs no network: frontier, comparison, points, counts.
std::string plan_page(const PlanSpace& space, const PlanResult& result);
/// Has one line per point of the shortlist, with a head.
std::string plan_csv(const PlanSpace& space, const PlanResult& result);
/// Says why nothing is feasible: the tightest constraint, the nearest point, the counts.
std::string plan_failure(const PlanSpace& space, const PlanResult& result);

/// The scenario of a point, which stands alone: it extends presets and no other file, and `stepcast
/// run` takes it. `directory` is where it will stand, `idle` what the point has from the plan and
/// makes no use of (idle_algorithms()): a run would refuse it. What cannot be written so to the
/// same hash extends the plan's file.
std::string plan_scenario(const PlanSpace& space, const PlanPoint& point,
                          const std::string& directory, const std::vector<std::string>& idle,
                          const SearchPath& search);
/// The launch file of a scenario that was read from a document, for the first framework of
/// its hardware that can say it (Megatron-LM; with HCCL MindFormers or MindSpeed-LLM), and what
/// those before it lack, a key per line.
std::string launch_files(const Scenario& scenario);

}  // namespace stepcast
