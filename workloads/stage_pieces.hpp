#pragma once
#include <map>
#include <vector>

#include "program_builder.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/operators.hpp"

/// The pieces of a stage (layers, embedding, head, MTP modules), lowered once per kind. Private to
/// workloads/.
namespace stepcast {

enum class PieceKind { embedding, dense_layer, moe_layer, mtp_module, head };

/// Parameters on one rank by what they are reduced over.
struct Share {
  double dense = 0, expert = 0;
  Share& operator+=(const Share& other);
};

struct Piece {
  Instructions forward, backward, recompute;
  Share parameters;
  double replicated = 0;  ///< parameters that every tensor rank holds whole
  double forward_flops = 0, backward_flops = 0, recompute_flops = 0;
  double attention_flops = 0, recompute_attention_flops = 0;  ///< of those: forward and backward
};

struct PlacedPiece {
  const Piece* piece;
  bool recomputed;
  Share parameters;      ///< of the piece, plus the embedding copy that an MTP module needs off the
                         ///< first stage
  double offloaded = 0;  ///< bytes of activations that one micro-batch leaves on the host
};
using Pieces = std::vector<PlacedPiece>;  ///< of one chunk, in forward order

/// The passes of a piece on a rank whose experts have `load`, one of those of `loads`.
Passes build_passes(const WorkloadSpec& spec, PieceKind kind, const ExpertLoads& loads,
                    double load);
PieceKind layer_kind(const ModelSpec& model, std::int64_t layer);

class PieceLibrary {
 public:
  PieceLibrary(const WorkloadSpec& spec, const ExpertLoads& loads, ProgramBuilder& builder)
      : spec_{spec}, loads_{loads}, builder_{builder} {}
  Pieces pieces(const LayerTable::Slice& slice, std::size_t chunk, Stage stage);

 private:
  const Piece& piece(PieceKind kind);
  double ranks_with(double load) const;
  void place(Pieces& pieces, PieceKind kind, bool recomputed);
  double offloaded(PieceKind kind, bool recomputed) const;

  const WorkloadSpec& spec_;
  const ExpertLoads& loads_;
  ProgramBuilder& builder_;
  std::map<PieceKind, Piece> lowered_;
};

}  // namespace stepcast
