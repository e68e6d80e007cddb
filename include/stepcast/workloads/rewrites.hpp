#pragma once
#include "stepcast/workloads/fusion.hpp"
#include "stepcast/workloads/operators.hpp"
#include "stepcast/workloads/program.hpp"

/// A precision or a framework puts operators of its own beside the products of a layer. Models and
/// sources: docs/models/operators.md.
namespace stepcast {

/// How operands of FP8 products are made.
struct Fp8Casts {
  TrainingSpec::Fp8Recipe recipe = TrainingSpec::Fp8Recipe::delayed;
  KernelSpec::Scales scales = KernelSpec::Scales::joined;  ///< of MXFP8
  bool per_expert = false;  ///< a kernel for each expert of a grouped product
  bool frozen = false;      ///< no product reads a copy along the other side
};

/// Gives the items with the kernels that make operands before each FP8 product, by recipe
/// (docs/models/fp8.md): with `delayed` a vector operator `NAME to fp8` before each product that
/// casts its left operand [m x k]: 2 bytes read, two FP8 copies written per element, as it stands
/// for this product and transposed for the weight gradient. But for `rowwise`, weights are cast
/// once per step, which is left out.
LayerItems with_fp8_casts(LayerItems items, const Fp8Casts& how = {});

/// Gives the items with every weight gradient written in BF16 and added to the sum of earlier
/// micro-batches by a vector operator `NAME accumulation` of its own, `gradient_bytes` per weight
/// read and written there, which is what the product did itself before.
LayerItems with_separate_accumulation(LayerItems items, double gradient_bytes);

/// Gives the items with every weight gradient written in BF16 and, behind it, a vector
/// operator `NAME flattened` that copies it into the flat gradient of its layer, casts that to
/// `gradient_bytes` where they are more, and divides it before it is reduced.
LayerItems with_flat_gradients(LayerItems items, double gradient_bytes);

/// Gives the items of a layer whose weights are FP32: each forward product has its weights
/// cast by a vector operator `NAME weights cast` before it, which backward passes read again, and
/// each weight gradient is cast back behind it, as the gradient of that cast.
LayerItems with_weight_casts(LayerItems items);

/// Gives the items with the norms, rotations and activations that `kernels` does not fuse as
/// the kernels that eager PyTorch launches for them, forward and in autograd, each with the bytes
/// of its operands. Layer norms stay. Kernels and sources: docs/models/operators.md.
LayerItems with_unfused_kernels(LayerItems items, const KernelSpec& kernels,
                                const ModelSpec& model);

/// Gives the items with every norm as a persistent kernel.
LayerItems with_persistent_norms(LayerItems items);

/// Gives the items of a layer as this workload runs them: unfused, fused, with casts and
/// accumulations. A fuser joins what does not take the device longer, or what it joined before.
LayerItems as_run(LayerItems items, const WorkloadSpec& spec, const DeviceSpec& device,
                  FusionChoices& choices);
LayerItems as_run(LayerItems items, const WorkloadSpec& spec, const DeviceSpec& device);

}  // namespace stepcast
