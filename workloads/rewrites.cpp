#include "stepcast/workloads/rewrites.hpp"

#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

/// Elements of the left operand of a product; nothing of other work.
double left_operand(const Work& work) {
  if (const auto* w = std::get_if<MatmulWork>(&work)) return w->m * w->k;
  if (const auto* w = std::get_if<GroupedMatmulWork>(&work)) return w->groups * w->m * w->k;
  return 0;
}

/// A vector operator beside a product, started the way the product is.
Operator beside(const Operator& product, const char* what, double flops, double bytes) {
  const bool in_kernel = product.launch == LaunchClass::in_kernel;
  return {.name = product.name + what,
          .work = MemoryBoundWork{},
          .flops = Flops{flops},
          .bytes = Bytes{bytes},
          .launch = in_kernel ? LaunchClass::in_kernel : LaunchClass::vector,
          .routed = product.routed,
          .role = product.role};
}

}  // namespace

LayerItems with_fp8_casts(LayerItems items) {
  const double bytes = half_bytes + 2 * 1;  // the copy and its transpose, of one byte each
  LayerItems out;
  for (LayerItem& item : items) {
    const auto* op = std::get_if<Operator>(&item);
    if (op != nullptr && op->fp8 == Fp8::casts)
      out.push_back(beside(*op, " to fp8", 0, bytes * left_operand(op->work)));
    out.push_back(std::move(item));
  }
  return out;
}

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
    items = with_fp8_casts(std::move(items));
  if (spec.communication.accumulation == CommunicationSpec::Accumulation::separate)
    items = with_separate_accumulation(std::move(items), gradient_bytes(spec.communication));
  return items;
}

LayerItems as_run(LayerItems items, const WorkloadSpec& spec, const DeviceSpec& device) {
  FusionChoices choices;
  return as_run(std::move(items), spec, device, choices);
}

}  // namespace stepcast
