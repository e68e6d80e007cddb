#pragma once
#include <cstdint>
#include <vector>

#include "stepcast/workloads/program.hpp"

/// How popular experts are, by layer and step. docs/models/expert_parallel.md, "Loads that live".
/// Private to workloads/.
namespace stepcast {

/// Where experts work: the MoE layer, counted over the model with its MTP modules last (0 where all
/// layers are alike), and the step.
struct ExpertMoment {
  std::size_t layer = 0;
  std::int64_t step = 0;
};

/// (token, expert) pairs of one micro-batch in one expert group.
double pairs_of_group(const WorkloadSpec& spec);
/// [expert] Its load over the mean, as `moe.routing` draws or reads it.
std::vector<double> popularity(const WorkloadSpec& spec, ExpertMoment moment);
/// The same of a layer at `moe.routing.step` where pairs are not counted: random draws are alike in
/// the mean.
std::vector<double> mean_popularity(const ModelSpec& model, const RoutingSpec& routing,
                                    std::size_t layer);

}  // namespace stepcast
