#pragma once
#include <cstdint>

#include "stepcast/workloads/training_spec.hpp"

/// Bytes that a parameter takes on its ranks and in what they exchange, and how states are cut into
/// shards, parts and buckets. docs/models/memory.md, data_parallel.md and offload.md.
namespace stepcast {

inline constexpr double half_bytes = 2;    ///< of BF16 or FP16
inline constexpr double single_bytes = 4;  ///< of FP32

/// Of a weight, as the passes read it and as it is gathered.
inline constexpr double weight_bytes = half_bytes;
/// Of one that is gathered in FP8 (CommunicationSpec::gather_precision), its scales left out.
inline constexpr double fp8_weight_bytes = half_bytes / 2;
/// Of one as it is gathered, where no product's precision says otherwise: FP32 of stored weights.
double gathered_weight_bytes(const TrainingSpec& training);
/// As it is gathered, and kept with it, at least: of a weight of products.
double least_weight_bytes(const CommunicationSpec& spec);
/// Of a weight of products, as its ranks keep it: shards of zero 3 are cast when they are gathered.
double kept_product_bytes(const CommunicationSpec& spec, std::int64_t zero);
/// Both moments of Adam, as they are kept; scales of FP8 are left out.
double moment_bytes(const TrainingSpec& training);
/// Of a master weight, as the update reads and writes it.
double moved_master_bytes(const TrainingSpec& training);
/// Master weight and both moments, as they are held; of a master weight that shares its upper half
/// with the weight, the lower half.
double optimizer_state_bytes(const TrainingSpec& training);
/// What a flat update allocates (DeepSpeed, stage_1_and_2.py and fused_optimizer.py): gradients to
/// update with, in FP16 twice and in FP32, or in FP32 twice.
inline constexpr double flat_update_bytes = 2 * single_bytes;
/// Of a gradient, accumulated and sent.
double gradient_bytes(const CommunicationSpec& spec);

/// What ranks with the same parameters share out, and `parallel.zero` from which they do.
enum class Shards : std::int64_t { optimizer = 1, gradients = 2, parameters = 3 };
/// Ranks of a group of `replicas` over which it is spread; 1: each holds all of it.
constexpr double shards(std::int64_t zero, Shards what, double replicas) {
  return zero >= static_cast<std::int64_t>(what) ? replicas : 1;
}

/// Parts in which an offloaded optimizer goes over the device (swap-optimizer-times of MindSpeed).
inline constexpr int optimizer_parts = 16;

/// Elements of a bucket of gradients: as given, or Megatron-LM's default for so many replicas.
double bucket_elements(const CommunicationSpec& spec, double replicas);

}  // namespace stepcast
