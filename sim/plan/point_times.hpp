#pragma once
#include <functional>
#include <string>
#include <vector>

#include "answer_store.hpp"
#include "enumerate.hpp"

namespace stepcast {

/// The times of points without contention, in processes of their own: their bounds by units, and
/// what a replay says.
class PointTimes {
 public:
  /// Under the key of a job and a point the store has its answer.
  using Key = std::function<std::string(const char* job, const PlanPoint& point)>;
  /// All of them outlive it; no store: nothing is kept.
  PointTimes(const PlanSpace& space, std::vector<BaseCosts>& costs, int workers, AnswerStore* store,
             Key key, PlanCounts& counts)
      : space_{space},
        costs_{costs},
        workers_{workers},
        store_{store},
        key_{std::move(key)},
        counts_{counts} {}

  /// Sets unit_bound, or an infinite `alone` where the reader finds something wrong.
  void bound(const std::vector<PlanPoint*>& points);
  /// Sets `alone` of points that have a unit_bound.
  void replay(const std::vector<PlanPoint*>& points);

 private:
  using Ask = std::function<std::string(const PlanPoint& point)>;
  using Told = std::function<void(PlanPoint& point, const std::string& line)>;
  void ask(const char* job, const std::vector<PlanPoint*>& points, std::size_t together,
           const Ask& ask, const Told& told);

  const PlanSpace& space_;
  std::vector<BaseCosts>& costs_;
  int workers_;
  AnswerStore* store_;
  Key key_;
  PlanCounts& counts_;
};

}  // namespace stepcast
