#include "stepcast/topology/kernel_efficiency.hpp"

namespace stepcast {
namespace {

constexpr Range ramp_range = between(0, 1e6);
constexpr Range cache_range = between(0, 1e18);
constexpr Range some_keys = between(0, 1e9);

void describe(Visitor& visitor, MatmulEfficiency& spec) {
  // The time of a product from these numbers is in docs/models/operators.md: waves of tiles, fill
  // of the pipeline, then the longer of computing and moving.
  visitor.field({"peak", &spec.peak,
                 "fraction of the cube peak that full waves of full tiles reach", fraction()});
  visitor.field({"tile_m", &spec.tile_m, "one side of the largest output tile", between(1, 65536)});
  visitor.field({"tile_n", &spec.tile_n, "its other side", between(1, 65536)});
  visitor.field({"fill", &spec.fill, "fill and drain of the tile pipeline, as extra elements of K",
                 between(0, 1e6)});
  visitor.field(
      {"tile_exponent", &spec.tile_exponent,
       "a tile of a share a of the largest one's area runs at a^tile_exponent of its rate",
       between(0, 4)});
  visitor.field({"sustained", &spec.sustained,
                 "fraction of the cube peak at which the power limit holds long products",
                 fraction()});
  visitor.field({"memory", OptionalNumber{&spec.memory, "peak"},
                 "fraction of the memory bandwidth at which operands are read and written; peak: "
                 "that of elementwise kernels",
                 fraction()});
  visitor.field({"exposed", &spec.exposed,
                 "part of the shorter of computing and moving operands that is not hidden",
                 between(0, 1)});
  visitor.field({"ramp", &spec.ramp, "start and drain of the kernel", ramp_range});
}

/// Numbers in FP8 that a file leaves out are those of the 16-bit kernel, not the defaults.
void describe_fp8(Visitor& visitor, std::string_view key, std::string_view doc,
                  std::optional<MatmulEfficiency>& spec, const MatmulEfficiency& of) {
  optional_part(
      visitor, key, doc, spec, [](Visitor& v, auto& part) { describe(v, part); }, "none", of);
}

void describe(Visitor& visitor, AttentionPass& spec) {
  // Compared kernels differ by generation and direction; each number is of one kernel measured
  // alone (docs/models/operators.md).
  visitor.field({"cube", &spec.cube,
                 "fraction of the cube peak, of the FP8 one in cudnn_mxfp8, at head size 128 and "
                 "long sequences",
                 fraction()});
  visitor.field({"vector", &spec.vector,
                 "FLOPs of the vector peak that each score costs, beside the products; 0: none",
                 between(0, 1e6)});
  visitor.field({"start", &spec.start, "time lost per query, in keys", some_keys});
  visitor.field({"diagonal", &spec.diagonal,
                 "the same, of a causal kernel alone: blocks that the mask cuts", some_keys});
  visitor.field({"head_exponent", &spec.head_exponent,
                 "cube is multiplied by (128 / head size)^head_exponent", between(-4, 4)});
  visitor.field({"block", &spec.block,
                 "query rows of a block that one core takes; 0: any number of cores shares them "
                 "evenly",
                 between(0, 65536)});
  visitor.field({"ramp", &spec.ramp, "start and drain of the kernel", ramp_range});
}

void describe(Visitor& visitor, AttentionKernel& spec) {
  visitor.section("forward", "the forward kernel", [&](Visitor& v) { describe(v, spec.forward); });
  visitor.section("backward", "the backward kernel",
                  [&](Visitor& v) { describe(v, spec.backward); });
}

void describe(Visitor& visitor, std::string_view key, std::string_view doc,
              std::optional<AttentionKernel>& kernel) {
  optional_part(visitor, key, doc, kernel, [](Visitor& v, auto& part) { describe(v, part); });
}

void describe(Visitor& visitor, AttentionEfficiency& spec) {
  // Generations that no training key names exist for published kernel tables.
  visitor.section("fused", "what training.attention fused runs: the device's usual library",
                  [&](Visitor& v) { describe(v, spec.fused); });
  describe(visitor, "flash_1", "FlashAttention 1", spec.flash_1);
  describe(visitor, "flash_2", "FlashAttention 2", spec.flash_2);
  describe(visitor, "flash_3", "FlashAttention 3", spec.flash_3);
  describe(visitor, "cudnn", "attention of cuDNN 9", spec.cudnn);
  describe(visitor, "flash_triton", "FlashAttention 1 in Triton (flash_attn_triton.py)",
           spec.flash_triton);
  describe(visitor, "cudnn_mxfp8", "attention of cuDNN 9 in MXFP8", spec.cudnn_mxfp8);
  describe(visitor, "flash_4", "FlashAttention 4, of stepcast operator alone", spec.flash_4);
  describe(visitor, "hand_tuned", "a kernel tuned by hand, of stepcast operator alone",
           spec.hand_tuned);
  visitor.field({"tile", &spec.tile,
                 "rows that one core takes at least: the shortest kernel is one such tile behind "
                 "the ramp of memory-bound ones; 0: no limit",
                 between(0, 65536)});
}

void describe(Visitor& visitor, MemoryEfficiency& spec) {
  visitor.field({"peak", &spec.peak,
                 "fraction of the memory bandwidth that large elementwise kernels reach",
                 fraction()});
  // Kinds without a number reach what elementwise kernels do; a better number may be given one by
  // one.
  const auto part = [&](const char* key, std::optional<double>& target, const char* doc) {
    visitor.field({key, OptionalNumber{&target, "peak"}, doc, fraction()});
  };
  part("norm", spec.norm, "the same of a fused norm");
  part("activation", spec.activation, "the same of a fused activation");
  part("gather", spec.gather, "the same of rows that are copied by an index");
  part("scatter_add", spec.scatter_add, "the same of rows that are added by an index");
  part("block_norm", spec.block_norm,
       "the same of a norm of an inference library, a block of threads per token");
  part("block_activation", spec.block_activation,
       "the same of an activation of an inference library, a block of threads per token");
  // A persistent kernel exists only where a library ships it for the device, so that it has no
  // default to fall back to.
  const auto persistent = [&](const char* key, std::optional<double>& target, const char* doc) {
    visitor.field({key, OptionalNumber{&target, "none"}, doc, fraction()});
  };
  persistent("persistent_norm", spec.persistent_norm,
             "the same of a layer norm that reads its rows once (Apex's FastLayerNorm); none: the "
             "device has no number for it");
  persistent("persistent_norm_backward", spec.persistent_norm_backward, "and of its backward");
  visitor.field({"backward", &spec.backward,
                 "share of that rate in backward kernels of norm and activation", fraction()});
  visitor.field({"activation_backward", OptionalNumber{&spec.activation_backward, "backward"},
                 "fraction of the memory bandwidth that the backward of a fused activation "
                 "reaches; backward: activation times backward",
                 fraction()});
  visitor.field({"block_row", &spec.block_row,
                 "row length at which such an activation takes twice as long", between(0, 1e6)});
  visitor.field({"ramp", &spec.ramp, "start and drain of a kernel", ramp_range});
  visitor.section("cache", "last level cache, in front of the memory", [&](Visitor& v) {
    v.field({"size", &spec.cache, "of the device; 0B: nothing is found there", cache_range});
    v.field({"share", &spec.cache_share, "share of the cache with what the kernel before has left",
             between(0, 1)});
    v.field({"speedup", &spec.cache_speedup, "of bytes that are found there over others",
             between(1, 100)});
  });
}

}  // namespace

/// No kernel where the file has no numbers for that generation; fused has always some.
const AttentionKernel* AttentionEfficiency::of(AttentionGeneration generation) const {
  // A pointer and no copy, as this is asked for every attention operator.
  const auto given = [](const std::optional<AttentionKernel>& kernel) {
    return kernel ? &*kernel : nullptr;
  };
  switch (generation) {
    case AttentionGeneration::fused:
      return &fused;
    case AttentionGeneration::flash_1:
      return given(flash_1);
    case AttentionGeneration::flash_2:
      return given(flash_2);
    case AttentionGeneration::flash_3:
      return given(flash_3);
    case AttentionGeneration::cudnn:
      return given(cudnn);
    case AttentionGeneration::flash_triton:
      return given(flash_triton);
    case AttentionGeneration::cudnn_mxfp8:
      return given(cudnn_mxfp8);
    case AttentionGeneration::flash_4:
      return given(flash_4);
    case AttentionGeneration::hand_tuned:
      return given(hand_tuned);
  }
  return nullptr;
}

double MemoryEfficiency::fraction(VectorKind kind) const {
  switch (kind) {
    case VectorKind::elementwise:
      return peak;
    case VectorKind::norm:
      return norm.value_or(peak);
    case VectorKind::norm_backward:
      // docs/models/operators.md: a backward kernel reaches that part of its forward's bandwidth.
      return norm.value_or(peak) * backward;
    case VectorKind::persistent_norm:
      return persistent_norm.value_or(peak);
    case VectorKind::persistent_norm_backward:
      return persistent_norm_backward.value_or(peak);
    case VectorKind::activation:
      return activation.value_or(peak);
    case VectorKind::activation_backward:
      // A number of its own, where one was measured, wins over the product of two.
      return activation_backward.value_or(activation.value_or(peak) * backward);
    case VectorKind::gather:
      return gather.value_or(peak);
    case VectorKind::scatter_add:
      return scatter_add.value_or(peak);
    case VectorKind::block_norm:
      return block_norm.value_or(peak);
    case VectorKind::block_activation:
      return block_activation.value_or(peak);
  }
  return peak;
}

void describe(Visitor& visitor, EfficiencySpec& spec) {
  // Kernels in FP8 begin with the numbers of the 16-bit kernel, which is why the latter is
  // described before.
  visitor.section("matmul", "matrix products", [&](Visitor& v) { describe(v, spec.matmul); });
  describe_fp8(visitor, "matmul_fp8", "matrix products in FP8; none: as matmul", spec.matmul_fp8,
               spec.matmul);
  visitor.section("grouped_matmul", "matrix products of several experts in one kernel",
                  [&](Visitor& v) { describe(v, spec.grouped_matmul); });
  describe_fp8(visitor, "grouped_matmul_fp8", "the same in FP8; none: as grouped_matmul",
               spec.grouped_matmul_fp8, spec.grouped_matmul);
  visitor.section("attention", "fused attention", [&](Visitor& v) { describe(v, spec.attention); });
  visitor.section("memory", "memory-bound kernels", [&](Visitor& v) { describe(v, spec.memory); });
  visitor.field(
      {"vector", &spec.vector, "fraction of the vector peak that kernels reach", fraction()});
  visitor.field({"unaligned", &spec.unaligned,
                 "fraction of the cube peak that is left to batched products whose rows are no "
                 "multiple of 16 bytes",
                 fraction()});
}

}  // namespace stepcast
