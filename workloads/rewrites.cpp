#include "stepcast/workloads/rewrites.hpp"

#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

/// A vector operator beside a product, started the way the product is.
Operator beside(const Operator& product, const char* what, double flops, double bytes) {
  const bool in_kernel = product.launch == LaunchClass::in_kernel;
  return {.name = product.name + what,
          .work = MemoryBoundWork{},
          .flops = Flops{flops},
          .bytes = Bytes{bytes},
          .launch = in_kernel ? LaunchClass::in_kernel : LaunchClass::vector,
          .routed = product.routed,
          .role = product.role,
          .captured = product.captured};
}

}  // namespace

LayerItems with_separate_accumulation(LayerItems items, double gradient_bytes) {
  LayerItems out;
  for (LayerItem& item : items) {
    auto* op = std::get_if<Operator>(&item);
    const double weights = op != nullptr ? op->accumulated : 0;
    if (weights == 0) {
      out.push_back(std::move(item));
      continue;
    }
    op->bytes += Bytes{(half_bytes - 2 * gradient_bytes) * weights};
    op->accumulated = 0;
    Operator sum =
        beside(*op, " accumulation", weights, (half_bytes + 2 * gradient_bytes) * weights);
    out.push_back(std::move(item));
    out.push_back(std::move(sum));
  }
  return out;
}

LayerItems as_run(LayerItems items, const WorkloadSpec& spec, const DeviceSpec& device,
                  FusionChoices& choices) {
  if (!spec.runtime.kernels.all_fused())
    items = with_unfused_kernels(std::move(items), spec.runtime.kernels, spec.model);
  if (spec.runtime.fusion == RuntimeSpec::Fusion::dvm)
    items = fuse_statements(std::move(items), device, choices);
  items = fuse(std::move(items), spec.runtime.fusion, device, choices);
  if (spec.training.precision == TrainingSpec::Precision::fp8_mixed)
    items = with_fp8_casts(std::move(items),
                           {.recipe = spec.training.fp8_recipe,
                            .scales = spec.runtime.kernels.scales,
                            .per_expert = spec.moe.products != MoeSpec::Products::grouped});
  if (spec.communication.accumulation == CommunicationSpec::Accumulation::separate)
    items = with_separate_accumulation(std::move(items), gradient_bytes(spec.communication));
  return items;
}

LayerItems as_run(LayerItems items, const WorkloadSpec& spec, const DeviceSpec& device) {
  FusionChoices choices;
  return as_run(std::move(items), spec, device, choices);
}

}  // namespace stepcast
