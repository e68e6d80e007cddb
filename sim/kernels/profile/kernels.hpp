#pragma once
#include "stepcast/sim/kernels/profile.hpp"

/// Kernels of kernel_details.csv as rows of the model. Private to sim/kernels.
namespace stepcast {

/// What a kernel is: its type, and its shapes and data types as the profiler writes them
/// ("4096,1024;1024,512", "DT_BF16;DT_BF16").
struct KernelRow {
  std::string type, input_shapes, input_types, output_shapes, output_types;
};

/// The row of the model for a kernel; nothing for types and shapes that it does not know. Fused
/// attention needs the layout [batch, heads, sequence, head size] and is taken as causal.
std::optional<Operator> kernel_operator(const KernelRow& row);

void read_kernel_details(const std::string& path, Profile& profile);

}  // namespace stepcast
