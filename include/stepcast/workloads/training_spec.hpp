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
  enum class Attention { fused, unfused };
  std::int64_t sequence = 0;      ///< tokens
  std::int64_t global_batch = 0;  ///< sequences per step
  std::int64_t micro_batch = 1;   ///< sequences
  Precision precision = Precision::bf16;
  Recompute recompute = Recompute::none;
  Table recompute_layers;  ///< [chunk][stage] fully recomputed layers, of `table`
  Attention attention = Attention::fused;  ///< one kernel, or products, softmax and dropout apart
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
  Dispatch dispatch = Dispatch::eager;
  double host_speed = 1;  ///< all host times are divided by it
};
void describe(Visitor& visitor, RuntimeSpec& spec);

}  // namespace stepcast
