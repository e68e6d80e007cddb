#pragma once
#include "stepcast/workloads/states.hpp"

/// Bytes of scales beside each FP8 element, for the kernels that write them and the transfers that
/// carry them.
namespace stepcast {

/// One in FP32 for 128 elements: tiles of 1 x 128 (DeepSeek-V3, section 3.3; `blockwise` of
/// Transformer Engine).
inline constexpr double tile_scale = single_bytes / 128;
/// One byte for 32 elements (OCP Microscaling, MXFP8).
inline constexpr double mx_scale = 1.0 / 32;

}  // namespace stepcast
