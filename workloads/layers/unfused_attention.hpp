#pragma once
#include "context_parallel.hpp"
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

/// The core as kernels of its own: products, softmax and dropout over all scores.
/// Megatron-LM's causal softmax reads no score above the diagonal and writes all.
LayerItems unfused_forward(const Shape& shape, const Core& core, KernelSpec::Softmax softmax);
LayerItems unfused_backward(const Shape& shape, const Core& core, KernelSpec::Softmax softmax);

}  // namespace stepcast::rows
