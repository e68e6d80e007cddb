#pragma once
#include <cstdint>
#include <vector>

/// Chooses how long the slices of a sequence should be. Source and objective:
/// docs/models/pipeline.md.
namespace stepcast {

/// The table has the time of a slice on one stage, on a grid of equal steps of the sequence: [first
/// step][steps - 1], all >= 0. Row i has as many entries as there are steps from i on.
using SliceTimes = std::vector<std::vector<double>>;

/// The objective is micro_batches x the sum of the slices' times + fill x the longest of them. With
/// `fill` stages before the last one that is the time of all forwards of a pipeline that runs slice
/// after slice, exact where every stage takes equal times (TeraPipe, Li et al. 2021, section 3.3).
double sliced_pipeline_time(const std::vector<std::int64_t>& lengths, const SliceTimes& times,
                            double micro_batches, double fill);

/// `fill` of a pipeline of `stages` stages whose ranks have `chunks` chunks each (the slices' times
/// are of all chunks): (stages - 1) / chunks. Both are at least 1.
double pipeline_fill(std::int64_t stages, std::int64_t chunks);

/// The lengths [steps] of `slices` slices for which that time is least; each has at least
/// one step, together they have all. It is TeraPipe's dynamic programme for a given number of
/// slices, which is at most the steps. It costs O(slices steps^2) for each bound of the longest
/// slice that is tried, at most steps^2 / 2.
std::vector<std::int64_t> balanced_slices(const SliceTimes& times, std::int64_t slices,
                                          double micro_batches, double fill);

}  // namespace stepcast
