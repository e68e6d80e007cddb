#pragma once
#include <cstdint>
#include <optional>

#include "stepcast/base/describe.hpp"
#include "stepcast/workloads/collectives.hpp"

namespace stepcast {

/// `training:`
struct TrainingSpec {
  enum class Precision { bf16, fp16, fp8_mixed };
  enum class Recompute { none, selective, full, table };
  std::int64_t sequence = 0;      ///< tokens
  std::int64_t global_batch = 0;  ///< sequences per step
  std::int64_t micro_batch = 1;   ///< sequences
  Precision precision = Precision::bf16;
  Recompute recompute = Recompute::none;
  Table recompute_layers;          ///< [chunk][stage] fully recomputed layers, of `table`
  double offload_activations = 0;  ///< part of the layers' activations that waits on the host
  bool offload_optimizer = false;  ///< master weights and moments live on the host
};
void describe(Visitor& visitor, TrainingSpec& spec);

/// `moe:` - how experts are reached; the model file says what they are.
struct MoeSpec {
  enum class Dispatch { flat };
  enum class Overlap { none, shared_expert };
  Dispatch dispatch = Dispatch::flat;
  Overlap overlap = Overlap::none;
};
void describe(Visitor& visitor, MoeSpec& spec);

/// `communication:`
struct CommunicationSpec {
  enum class GradientPrecision { fp32, bf16 };
  GradientPrecision gradient_precision = GradientPrecision::fp32;
  bool gradient_overlap = true;        ///< reduce buckets while the backward pass still runs
  std::optional<std::int64_t> bucket;  ///< elements per gradient bucket; nothing for `auto`
  CollectiveChoice algorithms;
};
/// Bytes of one gradient, accumulated and sent: 4 or 2.
double gradient_bytes(const CommunicationSpec& spec);
void describe(Visitor& visitor, CommunicationSpec& spec);

/// `runtime:`
struct RuntimeSpec {
  enum class Dispatch { eager, task_queue, graph_sink };
  enum class Fusion { none, pattern, dvm };
  Dispatch dispatch = Dispatch::eager;
  Fusion fusion = Fusion::none;
  double compile_misses = 0;    ///< part of the routed operators whose shape is new
  bool compile_hidden = false;  ///< other threads compile, and old kernels serve meanwhile
  double host_speed = 1;        ///< all host times are divided by it
};
void describe(Visitor& visitor, RuntimeSpec& spec);

}  // namespace stepcast
