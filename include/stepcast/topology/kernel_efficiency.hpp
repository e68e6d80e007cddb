#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/units.hpp"

/// The numbers in `device.efficiency` of a cluster file: how much of the peaks the kernels of one
/// device reach. Their forms and sources stand in docs/models/operators.md.
namespace stepcast {

/// Parameters of the time of a matrix product: tiles, waves over the cores, fill and drain along K,
/// the clock under sustained load.
struct MatmulEfficiency {
  double peak = 1;  ///< fraction of the datasheet peak that a full wave of full tiles reaches
  std::int64_t tile_m = 128;  ///< one side of the largest output tile
  std::int64_t tile_n = 256;  ///< its other side
  double fill = 0;            ///< fill and drain of the tile pipeline, as extra elements of K
  /// A tile of a share `a` of the largest tile's area runs at a^tile_exponent of its rate.
  double tile_exponent = 0;
  double sustained = 1;  ///< fraction of the datasheet peak at which the power limit holds it
  /// Fraction of the HBM bandwidth at which operands are read and written; nothing: memory.peak.
  std::optional<double> memory;
  /// Part of the shorter of computing and moving operands that the longer one does not hide.
  double exposed = 0;
  Seconds ramp{0};  ///< start and drain of the kernel
};

/// One pass of a fused attention kernel.
struct AttentionPass {
  double cube = 1;      ///< fraction of the cube peak (`cudnn_mxfp8`: of the FP8 one) at head
                        ///< size 128 and long sequences
  double vector = 0;    ///< FLOPs of the vector cores' peak that each score costs, beside the cube
  double start = 0;     ///< keys' worth of time lost per query
  double diagonal = 0;  ///< the same, of a causal kernel alone: blocks that the mask cuts
  double head_exponent = 0;  ///< `cube` is multiplied by (128 / head size)^head_exponent
  std::int64_t block = 0;    ///< query rows of a block that one core takes; 0: cores are even
  Seconds ramp{0};           ///< start and drain of the kernel
};
struct AttentionKernel {
  AttentionPass forward, backward;
};

/// Generations of fused attention kernels. `fused` is what the usual library of the device runs.
/// Those behind `cudnn_mxfp8` are for single kernels alone (`stepcast operator`).
enum class AttentionGeneration {
  fused,
  flash_1,
  flash_2,
  flash_3,
  cudnn,
  flash_triton,
  cudnn_mxfp8,
  flash_4,
  hand_tuned
};

/// Numbers of fused attention by library, of which a device need not have all.
struct AttentionEfficiency {
  AttentionKernel fused;
  std::optional<AttentionKernel> flash_1, flash_2, flash_3, cudnn, flash_triton, cudnn_mxfp8,
      flash_4, hand_tuned;
  /// Rows that one core takes at least, where cores are even: no kernel is shorter than one such
  /// tile on one core and the ramp of memory-bound kernels. 0: no limit.
  std::int64_t tile = 0;

  /// The numbers of a generation, nothing where the device has none.
  const AttentionKernel* of(AttentionGeneration generation) const;
};

/// What a memory-bound kernel does with its bytes. Kernels of one kind reach the same fraction of
/// the HBM bandwidth; `block_norm` and `block_activation` are those of an inference library, with
/// one block of threads per token; the persistent norms are Apex's FastLayerNorm.
enum class VectorKind {
  elementwise,
  norm,
  norm_backward,
  persistent_norm,
  persistent_norm_backward,
  activation,
  activation_backward,
  gather,
  scatter_add,
  block_norm,
  block_activation
};

/// Fractions of the memory bandwidth that kernels reach, by kind. docs/models/operators.md.
struct MemoryEfficiency {
  double peak = 1;  ///< fraction of the HBM bandwidth that large elementwise kernels reach
  /// The same of other kinds, each in its forward pass; nothing: as `peak`.
  std::optional<double> norm, activation, gather, scatter_add, block_norm, block_activation;
  /// Of persistent norms in either pass; nothing: the device has no such kernel.
  std::optional<double> persistent_norm, persistent_norm_backward;
  double backward = 1;  ///< what backward kernels of norm and activation reach of it
  /// Of activations in their backward pass; nothing: `activation` times `backward`.
  std::optional<double> activation_backward;
  double block_row = 0;      ///< row length at which a block_activation takes twice as long
  Seconds ramp{0};           ///< start and drain of the kernel
  Bytes cache{0};            ///< last level; what is found there is read faster
  double cache_share = 0;    ///< part of `cache` that holds what the kernel before has left
  double cache_speedup = 1;  ///< of what is found there

  double fraction(VectorKind kind) const;
};

/// How much of the peaks of a device its kernels reach, each as a fraction.
struct EfficiencySpec {
  MatmulEfficiency matmul;
  std::optional<MatmulEfficiency> matmul_fp8;  ///< nothing: as `matmul`
  MatmulEfficiency grouped_matmul;
  std::optional<MatmulEfficiency> grouped_matmul_fp8;  ///< nothing: as `grouped_matmul`
  AttentionEfficiency attention;
  MemoryEfficiency memory;
  double vector = 1;  ///< fraction of the vector peak
  /// This fraction of the cube peak is left to batched products with rows that are no multiple of
  /// 16 bytes.
  double unaligned = 1;
};

/// The keys of `device.efficiency`.
void describe(Visitor& visitor, EfficiencySpec& spec);

}  // namespace stepcast
