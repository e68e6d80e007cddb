#include "stepcast/workloads/operators.hpp"

#include <type_traits>

#include "stepcast/base/errors.hpp"

namespace stepcast {

Operator optimizer_step(double owned_parameters, const RuntimeSpec& runtime) {
  const bool fused = runtime.optimizer == RuntimeSpec::OptimizerKernels::fused;
  const double bytes = fused ? 30 : 156;
  return {.name = "optimizer",
          .work = MemoryBoundWork{},
          .flops = Flops{14 * owned_parameters},
          .bytes = Bytes{bytes * owned_parameters},
          .launch = LaunchClass::vector};
}

Operator gradient_norm(double owned_parameters, double gradient_bytes) {
  return {.name = "gradient norm",
          .work = MemoryBoundWork{},
          .flops = Flops{2 * owned_parameters},
          .bytes = Bytes{gradient_bytes * owned_parameters},
          .launch = LaunchClass::vector};
}

FusedStage fused_stage(const Operator& op) {
  return std::visit(
      [&](const auto& work) -> FusedStage {
        if constexpr (std::is_constructible_v<PlainWork, decltype(work)>)
          return {work, op.flops, op.bytes, op.fp8};
        expects(false, "a fused kernel is made of plain operators");
        return {};
      },
      op.work);
}

Flops total_flops(const LayerItems& items) {
  Flops sum{0};
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item)) sum += op->flops;
  return sum;
}

}  // namespace stepcast
