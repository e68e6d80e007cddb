#pragma once
#include <cstddef>
#include <cstdint>

#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/program.hpp"

/// How a stage cuts its gradients, and with them the parameters that it gathers ahead:
/// docs/models/data_parallel.md, "Buckets".
namespace stepcast {

/// Elements of a bucket of what this group (dense_data or expert_data) reduces: as given, or
/// Megatron-LM's default for its replicas, which cuts no expert's matrix.
double bucket_elements(const WorkloadSpec& spec, GroupKind group);
/// Whether this chunk of a stage is cut into buckets; others are gathered and reduced at once. With
/// zero 0 and 1 the first one is, and all where chunks go in two directions (`copies` 2).
bool has_buckets(std::size_t chunk, std::int64_t zero, std::int64_t copies);

}  // namespace stepcast
