#pragma once
#include <vector>

#include "stepcast/workloads/program.hpp"

/// How often the kernel of a routed operator has to be made: docs/models/fusion.md, "Kernels for
/// new shapes".
namespace stepcast {

/// So many shapes that come with this probability each.
struct LikelyShapes {
  double count = 0, probability = 0;
};

/// The shapes of the products of routed experts on a rank, by the spread of the rows that a
/// micro-batch brings it. The model has experts.
std::vector<LikelyShapes> routed_shapes(const WorkloadSpec& spec);

/// The part of look-ups that find no kernel where the latest `kept` shapes have theirs, and each
/// look-up is drawn by itself: formula (4), exact for shapes that are equally likely.
double cache_misses(const std::vector<LikelyShapes>& shapes, double kept);

/// The same with `compile_misses` as it follows from the cache, where there is one.
RuntimeSpec with_misses(const WorkloadSpec& spec);

}  // namespace stepcast
