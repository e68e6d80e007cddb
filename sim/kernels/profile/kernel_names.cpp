#include <algorithm>
#include <array>
#include <cctype>

#include "stepcast/sim/kernels/profile_compare.hpp"

// Which kernel belongs to which class. The table stands in docs/profile.md too.
namespace stepcast {
namespace {

struct Pattern {
  std::string_view contains;  ///< in small letters
  std::string_view of;
  bool communication = false;
};

/// The first that a name contains is its class, so narrow words stand before wide ones.
constexpr std::array patterns{
    Pattern{"hcom_send", "send", true},
    Pattern{"hcom_receive", "receive", true},
    Pattern{"hcom_batchsendrecv", "receive", true},
    Pattern{"hcom_allreduce", "all_reduce", true},
    Pattern{"hcom_reducescatter", "reduce_scatter", true},
    Pattern{"hcom_allgather", "all_gather", true},
    Pattern{"hcom_alltoall", "all_to_all", true},
    Pattern{"hcom_broadcast", "broadcast", true},
    Pattern{"nccldevkernel_allreduce", "all_reduce", true},
    Pattern{"ncclkernel_allreduce", "all_reduce", true},
    Pattern{"nccldevkernel_reducescatter", "reduce_scatter", true},
    Pattern{"ncclkernel_reducescatter", "reduce_scatter", true},
    Pattern{"nccldevkernel_allgather", "all_gather", true},
    Pattern{"ncclkernel_allgather", "all_gather", true},
    Pattern{"nccldevkernel_alltoall", "all_to_all", true},
    Pattern{"nccldevkernel_broadcast", "broadcast", true},
    Pattern{"ncclkernel_broadcast", "broadcast", true},
    Pattern{"nccldevkernel_sendrecv", "receive", true},
    Pattern{"ncclkernel_sendrecv", "receive", true},
    Pattern{"deep_ep", "all_to_all", true},
    Pattern{"moedistribute", "all_to_all", true},
    Pattern{"memcpy_async", "copy", true},
    Pattern{"memcpy htod", "copy", true},
    Pattern{"memcpy dtoh", "copy", true},
    Pattern{"gateddelta", "linear attention"},
    Pattern{"gated_delta", "linear attention"},
    Pattern{"chunk_delta", "linear attention"},
    Pattern{"lightning_attn", "linear attention"},
    Pattern{"sparseflash", "sparse attention"},
    Pattern{"sparse_attn", "sparse attention"},
    Pattern{"indexer", "sparse attention"},
    Pattern{"attn", "attention"},
    Pattern{"attention", "attention"},
    Pattern{"flash_", "attention"},
    Pattern{"fmha", "attention"},
    Pattern{"sdpa", "attention"},
    Pattern{"moetoken", "routing"},
    Pattern{"moegating", "routing"},
    Pattern{"moeinit", "routing"},
    Pattern{"permute", "routing"},
    Pattern{"topk", "routing"},
    Pattern{"groupedmatmul", "grouped matmul"},
    Pattern{"grouped_gemm", "grouped matmul"},
    Pattern{"groupedgemm", "grouped matmul"},
    Pattern{"gemmgrouped", "grouped matmul"},
    Pattern{"group_gemm", "grouped matmul"},
    Pattern{"m_grouped", "grouped matmul"},
    Pattern{"matmul", "matmul"},
    Pattern{"gemm", "matmul"},
    Pattern{"nvjet", "matmul"},
    Pattern{"xmma", "matmul"},
    Pattern{"cutlass", "matmul"},
    Pattern{"splitkreduce", "matmul"},
    Pattern{"wgrad", "matmul"},
    Pattern{"adam", "optimizer"},
    Pattern{"l2norm", "optimizer"},
    Pattern{"multi_tensor", "optimizer"},
    Pattern{"rmsnorm", "norm"},
    Pattern{"rms_norm", "norm"},
    Pattern{"layernorm", "norm"},
    Pattern{"layer_norm", "norm"},
    Pattern{"ln_fwd", "norm"},
    Pattern{"ln_bwd", "norm"},
    Pattern{"swiglu", "activation"},
    Pattern{"gelu", "activation"},
    Pattern{"silu", "activation"},
    Pattern{"act_and_mul", "activation"},
    Pattern{"gated_act", "activation"},
    Pattern{"rotary", "rotary"},
    Pattern{"rope", "rotary"},
    Pattern{"cross_entropy", "loss"},
    Pattern{"crossentropy", "loss"},
    Pattern{"softmax", "loss"},
    Pattern{"sort", "routing"},
    Pattern{"histogram", "routing"},
    Pattern{"indexput", "routing"},
    Pattern{"elementwise", "elementwise"},
    Pattern{"reduce_kernel", "elementwise"},
    Pattern{"triton_", "elementwise"},
    Pattern{"catarray", "elementwise"},
    Pattern{"memset", "elementwise"},
    Pattern{"memcpy", "elementwise"},
    Pattern{"copy", "elementwise"},
    Pattern{"tensormove", "elementwise"},
    Pattern{"cast", "elementwise"},
    Pattern{"quant", "elementwise"},
    Pattern{"transdata", "elementwise"},
    Pattern{"transpose", "elementwise"},
    Pattern{"amax", "elementwise"},
    Pattern{"reducesum", "elementwise"},
    Pattern{"concat", "elementwise"},
    Pattern{"slice", "elementwise"},
};

/// Types of the Ascend profiler too short to be looked for inside of other names.
constexpr std::array<std::string_view, 8> short_types{"add",  "mul",  "sub",  "div",
                                                      "adds", "muls", "sqrt", "fill"};

}  // namespace

KernelName classified(std::string_view name) {
  std::string small(name);
  std::ranges::transform(small, small.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Pattern& pattern : patterns)
    if (small.find(pattern.contains) != std::string::npos)
      return {std::string(pattern.of), pattern.communication};
  if (small == "given") return {"given"};
  if (std::ranges::find(short_types, small) != short_types.end()) return {"elementwise"};
  // A communication of a kind that the forecast has no class for is one all the same.
  return {"other", small.starts_with("hcom_") || small.starts_with("nccl")};
}

}  // namespace stepcast
