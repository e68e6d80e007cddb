#include <algorithm>
#include <array>

#include "stepcast/base/suggest.hpp"
#include "stepcast/sim/kernels/profile_compare.hpp"

// Which kernel belongs to which class. The table stands in docs/profile.md too.
namespace stepcast {
namespace {

struct Patterns {
  std::string_view of, contained;  ///< in small letters, with | between them
  bool communication = false;
};

/// The first that a name contains is its class, so narrow words stand before wide ones.
constexpr std::array patterns{
    Patterns{"send", "hcom_send", true},
    Patterns{"receive", "hcom_receive|hcom_batchsendrecv", true},
    Patterns{"all_reduce", "hcom_allreduce", true},
    Patterns{"reduce_scatter", "hcom_reducescatter", true},
    Patterns{"all_gather", "hcom_allgather", true},
    Patterns{"all_to_all", "hcom_alltoall", true},
    Patterns{"broadcast", "hcom_broadcast", true},
    Patterns{"all_reduce", "nccldevkernel_allreduce|ncclkernel_allreduce", true},
    Patterns{"reduce_scatter", "nccldevkernel_reducescatter|ncclkernel_reducescatter", true},
    Patterns{"all_gather", "nccldevkernel_allgather|ncclkernel_allgather", true},
    Patterns{"all_to_all", "nccldevkernel_alltoall", true},
    Patterns{"broadcast", "nccldevkernel_broadcast|ncclkernel_broadcast", true},
    Patterns{"receive", "nccldevkernel_sendrecv|ncclkernel_sendrecv", true},
    Patterns{"all_to_all", "deep_ep|moedistribute", true},
    Patterns{"copy", "memcpy_async|memcpy htod|memcpy dtoh", true},
    Patterns{"linear attention", "gateddelta|gated_delta|chunk_delta|lightning_attn"},
    Patterns{"sparse attention", "sparseflash|sparse_attn|indexer"},
    Patterns{"attention", "attn|attention|flash_|fmha|sdpa"},
    Patterns{"routing", "moetoken|moegating|moeinit|permute|topk"},
    Patterns{"grouped matmul",
             "groupedmatmul|grouped_gemm|groupedgemm|gemmgrouped|group_gemm|"
             "m_grouped"},
    Patterns{"matmul", "matmul|gemm|nvjet|xmma|cutlass|splitkreduce|wgrad"},
    Patterns{"optimizer", "adam|l2norm|multi_tensor"},
    Patterns{"norm", "rmsnorm|rms_norm|layernorm|layer_norm|ln_fwd|ln_bwd"},
    Patterns{"activation", "swiglu|gelu|silu|act_and_mul|gated_act"},
    Patterns{"rotary", "rotary|rope"},
    Patterns{"loss", "cross_entropy|crossentropy|softmax"},
    Patterns{"routing", "sort|histogram|indexput"},
    Patterns{"elementwise",
             "elementwise|reduce_kernel|triton_|catarray|memset|memcpy|copy|"
             "tensormove|cast|quant|transdata|transpose|amax|reducesum|concat|slice"}};

/// Types of the Ascend profiler too short to be looked for inside of other names.
constexpr std::array<std::string_view, 8> short_types{"add",  "mul",  "sub",  "div",
                                                      "adds", "muls", "sqrt", "fill"};

}  // namespace

KernelName classified(std::string_view name) {
  const std::string small = lower_case(std::string(name));
  for (const Patterns& pattern : patterns)
    for (std::string_view rest = pattern.contained; !rest.empty();) {
      const std::size_t end = std::min(rest.find('|'), rest.size());
      if (small.find(rest.substr(0, end)) != std::string::npos)
        return {std::string(pattern.of), pattern.communication};
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  if (small == "given") return {"given"};
  if (std::ranges::find(short_types, small) != short_types.end()) return {"elementwise"};
  // A communication of a kind that the forecast has no class for is one all the same.
  return {"other", small.starts_with("hcom_") || small.starts_with("nccl")};
}

}  // namespace stepcast
