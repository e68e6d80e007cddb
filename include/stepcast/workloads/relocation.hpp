#pragma once
#include "stepcast/workloads/program.hpp"

/// What moves when experts change their ranks. docs/models/expert_parallel.md, "Loads that live".
namespace stepcast {

/// The exchange in each expert group of a stage before `moe.routing.step`: weights of the
/// experts that change who updates them, and of their optimizer states the part that a rank holds,
/// over all layers of the stage. Its bytes are 0 where no relocation is due (`moe.relocation`) and
/// where nothing moves.
StageCall relocation_call(const WorkloadSpec& spec, const LayerTable& layers, Stage stage);

/// The name of the exchange by which copies of experts get their weights in every step.
inline constexpr const char* weights_of_copies = "weights of expert copies";

/// The bytes that pass the busiest rank of an exchange of experts, in one direction.
Bytes busiest_rank(const StageCall& call, std::int64_t ranks);

}  // namespace stepcast
