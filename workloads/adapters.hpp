#pragma once
#include <vector>

#include "parameter_groups.hpp"
#include "stepcast/workloads/training_spec.hpp"

/// What `training.adapters` puts beside frozen weights: docs/models/adapters.md. Private to
/// workloads/.
namespace stepcast {

/// Products of a layer that adapters stand beside, in the order of the forward pass.
enum class AdapterPlace { qkv, attention_out, up, down };
/// Which of its `parts` are targets: query, key and value; gate and up, or up alone; of others the
/// one that there is.
std::vector<std::size_t> adapted_parts(const AdapterSpec& adapters, AdapterPlace place,
                                       std::size_t parts);
/// How many adapters stand beside a product of so many parts.
double adapter_count(const AdapterSpec& adapters, AdapterPlace place, std::size_t parts);
/// The first place that has some; `down` where none before it has.
AdapterPlace lowest_place(const AdapterSpec& adapters);

/// Parameters of the adapters of one layer.
ParameterGroups adapter_parameters(const ModelSpec& model, const AdapterSpec& adapters,
                                   LayerParts parts);
/// Elements of the largest matrix of an adapter, of all tensor ranks together.
double largest_adapter(const ModelSpec& model, const AdapterSpec& adapters);
/// Bytes of a weight of a product that they stand beside, with its scales.
double frozen_bytes(const AdapterSpec& adapters);
/// FLOPs per token that the first layer leaves out, where no gradient flows below the lowest
/// adapter.
double unneeded_flops(const ModelSpec& model, const AdapterSpec& adapters, std::int64_t sequence);

}  // namespace stepcast
