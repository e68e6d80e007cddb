#pragma once
#include <cstdint>

#include "stepcast/sim/network/network_map.hpp"

namespace stepcast {

/// Replicas that lie alike on the fabric do alike things: a job is then its first replicas, its
/// period, so many times over. docs/models/folding.md.
class JobPeriod {
 public:
  /// The data-parallel sizes of the job are multiples of `copies`, and no coordinate of a stage
  /// runs slower than theirs.
  explicit JobPeriod(const Placement& job, std::int64_t copies = 1);

  std::uint32_t copies() const { return copies_; }
  /// The first copy as a job of its own, its ranks counted without gaps, in the order of the job.
  const Placement& ranks() const { return ranks_; }
  Rank in_job(Rank own) const;
  /// Of a rank of any copy.
  Rank own(Rank of_job) const;

 private:
  Placement ranks_;
  std::uint32_t copies_;
  /// Ranks that follow each other without a gap, in the job and in its period.
  std::uint32_t block_, own_block_;
};

/// The shortest period that the plan and the fabric have, as far as they tell: collectives may
/// still treat their members differently. Calls of the world have to run alone.
JobPeriod shortest_period(const NetworkMapInput& input);

/// Devices after which the fabric repeats.
std::int64_t fabric_period(const Fabric& fabric);

}  // namespace stepcast
