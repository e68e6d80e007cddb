#pragma once
#include <array>
#include <compare>
#include <map>
#include <utility>
#include <vector>

#include "layer_order.hpp"
#include "program_builder.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/fusion.hpp"
#include "stepcast/workloads/operators.hpp"

/// The pieces of a stage (layers, embedding, head, MTP modules), lowered once per kind. Private to
/// workloads/.
namespace stepcast {

/// received_input and received_gradient put together what the neighbouring stages hand over in
/// parts: CommunicationSpec::scatter_gather.
enum class PieceKind {
  embedding,
  dense_layer,
  moe_layer,
  mtp_module,
  head,
  received_input,
  received_gradient
};

/// What the operators of a piece depend on beside the workload.
struct PieceKey {
  PieceKind kind = PieceKind::embedding;
  std::int64_t slice = 0;   ///< of the sequence
  std::int64_t window = 0;  ///< ModelSpec::window_of the layer
  bool linear = false;      ///< ModelSpec::is_linear of the layer
  bool lowest = false;      ///< LayerContext::lowest
  std::size_t loads = 0;    ///< LayerLoads::layers of the layer; 0 where all are alike
  friend auto operator<=>(const PieceKey&, const PieceKey&) = default;
};

/// Parameters on one rank by what they are reduced over.
struct Share {
  double dense = 0, expert = 0;
  Share& operator+=(const Share& other);
};

struct Piece {
  PieceKey key;
  Instructions forward, backward, backward_input, backward_weight, recompute;
  Share parameters;
  Share trained;          ///< of these
  Share one_byte;         ///< of these, what is gathered in FP8
  double replicated = 0;  ///< of what is trained, what every tensor rank holds whole
  double forward_flops = 0, backward_flops = 0, recompute_flops = 0;
  double attention_flops = 0, recompute_attention_flops = 0;  ///< of those: forward and backward
};

struct PlacedPiece {
  const Piece* piece;
  bool recomputed;
  Share parameters;      ///< of the piece with its active experts, plus the embedding copy that an
                         ///< MTP module needs off the first stage
  Share trained;         ///< of these, what has gradients
  Share one_byte;        ///< of these, what is gathered in FP8
  double offloaded = 0;  ///< bytes of activations that one unit leaves on the host
};
using Pieces = std::vector<PlacedPiece>;  ///< of one chunk, in forward order

/// The orders of the passes of a piece, which all ranks share (`runtime.layer_order`).
struct PassOrders {
  LayerOrder forward, backward, backward_input, recomputed;
  double waiting = 0;  ///< bytes of gradients that wait for weight gradients, at most
};
/// Found for the rank whose experts have most to do; none where layers stay as written.
PassOrders pass_orders(const WorkloadSpec& spec, const ClusterSpec& cluster, const PieceKey& key,
                       const ExpertLoads& loads);

/// What all ranks fuse of a piece: what pays for the fullest one.
FusionChoices fusion_choices(const WorkloadSpec& spec, const DeviceSpec& device,
                             const PieceKey& key, const ExpertLoads& loads,
                             const PassOrders& orders);
/// The passes of a piece on a rank whose experts have `load`, one of those of `loads`, of the
/// device as kernels of a step find it.
Passes build_passes(const WorkloadSpec& spec, const DeviceSpec& device, const PieceKey& key,
                    const ExpertLoads& loads, double load, const PassOrders& orders = {});
/// With choices that are known.
Passes build_passes(const WorkloadSpec& spec, const DeviceSpec& device, const PieceKey& key,
                    const ExpertLoads& loads, double load, const PassOrders& orders,
                    FusionChoices choices);
/// Those of the routed experts of one layer alone, on the fullest rank.
Passes expert_passes(const WorkloadSpec& spec, const DeviceSpec& device, const ExpertLoads& loads);
/// Of a transformer layer.
PieceKey layer_key(const ModelSpec& model, std::int64_t layer, std::int64_t slice = 0);
/// Gradients that layers in another order keep for their weight gradients; one layer at a time
/// does.
Bytes waiting_gradients(const WorkloadSpec& spec, const ClusterSpec& cluster,
                        const std::vector<LayerTable::Slice>& slices);

class HostOffload;

/// Layers of the chunk that run their forward pass again, counted from its first.
std::int64_t recomputed_layers(const WorkloadSpec& spec, const LayerTable::Slice& slice,
                               std::size_t chunk, Stage stage);

/// The rows of pieces before they are lowered, which are the same on all stages of a job.
class PieceRows {
 public:
  struct Rows {
    Piece counted;  ///< all of the piece but its instructions
    /// Forward, backward, backward_input, backward_weight and recompute, by variant.
    std::array<std::vector<LayerItems>, 5> items;
  };
  /// All outlive the rows.
  PieceRows(const WorkloadSpec& spec, const LayerLoads& loads, const ClusterSpec& cluster)
      : spec_{spec}, loads_{loads}, cluster_{cluster} {}
  /// `device` as kernels of a step find it.
  const Rows& of(const PieceKey& key, const DeviceSpec& device);

 private:
  const WorkloadSpec& spec_;
  const LayerLoads& loads_;
  const ClusterSpec& cluster_;
  std::map<PieceKey, Rows> made_;
};

class PieceLibrary {
 public:
  PieceLibrary(const WorkloadSpec& spec, const LayerLoads& loads, PieceRows& rows,
               ProgramBuilder& builder)
      : spec_{spec},
        loads_{loads},
        rows_{rows},
        builder_{builder},
        active_{active_experts(spec.model, spec.training, spec.moe)} {}
  /// Of the layers of one chunk, for one slice of the sequence.
  Pieces pieces(const LayerTable::Slice& layers, std::size_t chunk, Stage stage,
                std::int64_t slice);
  /// The forward of one chunk's pieces and the backward of another's as one, with what `offload`
  /// moves beside MoE layers that are paired (`moe.overlap: fb_pair`).
  Instructions pair(const Pieces& forward, const Pieces& backward, HostOffload& offload);

 private:
  const Piece& piece(const PieceKey& key);
  /// Of the next layer or MTP module that is placed, from the number of its first on.
  PieceKey with_loads(PieceKey key, std::size_t moe_layer) const;
  double offloaded(const PieceKey& key, bool recomputed) const;
  const Instructions& moe_pair(const PieceKey& forward, const PieceKey& backward);
  Instructions zipped(const Pieces& forward, const Pieces& backward, HostOffload& offload);
  Instructions with_own_slots(Instructions code);
  bool holds_embedding(Stage stage) const;

  const WorkloadSpec& spec_;
  const LayerLoads& loads_;
  PieceRows& rows_;
  ProgramBuilder& builder_;
  const double active_;  ///< part of the experts that work in a step
  std::map<PieceKey, Piece> lowered_;
  std::map<std::pair<PieceKey, PieceKey>, Instructions> moe_pairs_;
  std::map<std::uint32_t, std::uint32_t> own_slots_;  ///< of backwards in pairs
};

}  // namespace stepcast
