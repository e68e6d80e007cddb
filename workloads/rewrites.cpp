#include "stepcast/workloads/rewrites.hpp"

#include <algorithm>
#include <optional>

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

enum class Gradients { all, of_tables };

bool by_product(const Operator& op) { return !std::holds_alternative<MemoryBoundWork>(op.work); }

/// Each weight gradient is written in BF16, and a vector operator behind it moves `moved` bytes per
/// weight in `flops` operations each.
LayerItems behind_gradients(LayerItems items, double gradient_bytes, const char* what, double flops,
                            double moved, Gradients which) {
  const auto accumulates = [](const LayerItem& item) {
    const auto* op = std::get_if<Operator>(&item);
    return op != nullptr && op->accumulated != 0;
  };
  // Operators are large, and a list that grows moves all of them each time.
  LayerItems out;
  out.reserve(items.size() + static_cast<std::size_t>(std::ranges::count_if(items, accumulates)));
  for (LayerItem& item : items) {
    auto* op = std::get_if<Operator>(&item);
    const double weights = op != nullptr ? op->accumulated : 0;
    if (weights == 0 || (which == Gradients::of_tables && by_product(*op))) {
      out.push_back(std::move(item));
      continue;
    }
    // The product no longer reads and writes the sum of all micro-batches.
    op->bytes += Bytes{(half_bytes - 2 * gradient_bytes) * weights};
    op->accumulated = 0;
    Operator more = beside(*op, what, flops * weights, moved * weights);
    out.push_back(std::move(item));
    out.push_back(std::move(more));
  }
  return out;
}

/// The gradient of a table never goes into a product that adds.
LayerItems with_accumulated_tables(LayerItems items, double gradient_bytes) {
  return behind_gradients(std::move(items), gradient_bytes, " accumulation", 0,
                          half_bytes + 2 * gradient_bytes, Gradients::of_tables);
}

}  // namespace

LayerItems with_separate_accumulation(LayerItems items, double gradient_bytes) {
  return behind_gradients(std::move(items), gradient_bytes, " accumulation", 1,
                          half_bytes + 2 * gradient_bytes, Gradients::all);
}

LayerItems with_flat_gradients(LayerItems items, double gradient_bytes) {
  const double joined = 2 * half_bytes, divided = 2 * gradient_bytes;
  const double cast = gradient_bytes > half_bytes ? half_bytes + gradient_bytes : 0;
  return behind_gradients(std::move(items), gradient_bytes, " flattened", 0,
                          joined + cast + divided, Gradients::all);
}

LayerItems with_weight_casts(LayerItems items) {
  constexpr double moved = half_bytes + single_bytes;
  LayerItems out;
  for (LayerItem& item : items) {
    const auto* op = std::get_if<Operator>(&item);
    const double read = op != nullptr ? op->weights : 0;
    const double written = op != nullptr && by_product(*op) ? op->accumulated : 0;
    // In front of the product that reads them; gradients behind the one that makes them.
    if (read > 0) out.push_back(beside(*op, " weights cast", 0, moved * read));
    std::optional<Operator> gradient;
    if (written > 0) gradient = beside(*op, " cast", 0, moved * written);
    out.push_back(std::move(item));
    if (gradient) out.push_back(std::move(*gradient));
  }
  return out;
}

LayerItems with_persistent_norms(LayerItems items) {
  for (LayerItem& item : items) {
    auto* op = std::get_if<Operator>(&item);
    auto* work = op != nullptr ? std::get_if<MemoryBoundWork>(&op->work) : nullptr;
    if (work == nullptr) continue;
    // Only the rate of the kernel differs; bytes and FLOPs stay.
    if (work->kind == VectorKind::norm) work->kind = VectorKind::persistent_norm;
    if (work->kind == VectorKind::norm_backward) work->kind = VectorKind::persistent_norm_backward;
  }
  return items;
}

LayerItems as_run(LayerItems items, const WorkloadSpec& spec, const DeviceSpec& device,
                  FusionChoices& choices) {
  // Kernels are taken apart before statements are fused. Casts come last: nothing fuses them.
  if (spec.runtime.kernels.norm == KernelSpec::Norm::persistent)
    items = with_persistent_norms(std::move(items));
  if (!spec.runtime.kernels.all_fused())
    items = with_unfused_kernels(std::move(items), spec.runtime.kernels, spec.model);
  if (spec.runtime.fusion == RuntimeSpec::Fusion::dvm)
    items = fuse_statements(std::move(items), device, choices);
  items = fuse(std::move(items), spec.runtime.fusion, device, choices);
  if (spec.training.precision == TrainingSpec::Precision::fp8_mixed)
    items = with_fp8_casts(std::move(items),
                           {.recipe = spec.training.fp8_recipe,
                            .scales = spec.runtime.kernels.scales,
                            .per_expert = spec.moe.products != MoeSpec::Products::grouped,
                            .frozen = spec.training.adapters.any()});
  // Beside adapters all other weights stay in BF16.
  if (spec.training.master_weights == TrainingSpec::MasterWeights::stored &&
      !spec.training.adapters.any())
    items = with_weight_casts(std::move(items));
  const double bytes = gradient_bytes(spec.communication);
  switch (spec.communication.accumulation) {
    case CommunicationSpec::Accumulation::fused:
      return with_accumulated_tables(std::move(items), bytes);
    case CommunicationSpec::Accumulation::separate:
      return with_separate_accumulation(std::move(items), bytes);
    case CommunicationSpec::Accumulation::flat:
      return with_flat_gradients(std::move(items), bytes);
  }
  return items;
}

LayerItems as_run(LayerItems items, const WorkloadSpec& spec, const DeviceSpec& device) {
  FusionChoices choices;
  return as_run(std::move(items), spec, device, choices);
}

}  // namespace stepcast
