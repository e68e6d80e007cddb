#include "stage_pieces.hpp"

namespace stepcast {

namespace {

/// Layers of the chunk that run their forward pass again, counted from its first.
std::int64_t recomputed_layers(const WorkloadSpec& spec, const LayerTable::Slice& slice,
                               std::size_t chunk, Stage stage) {
  switch (spec.training.recompute) {
    case TrainingSpec::Recompute::full:
      return slice.count;
    case TrainingSpec::Recompute::table:
      return spec.training.recompute_layers[chunk][stage.value];
    default:
      return 0;
  }
}

}  // namespace

Share& Share::operator+=(const Share& other) {
  dense += other.dense;
  expert += other.expert;
  return *this;
}

LayerContext layer_context(const WorkloadSpec& spec, std::int64_t slice) {
  return {spec.model, spec.plan, spec.training, spec.moe, 1, gradient_bytes(spec.communication),
          slice};
}

Passes build_passes(const WorkloadSpec& spec, PieceKind kind, std::int64_t slice) {
  const LayerContext context = layer_context(spec, slice);
  switch (kind) {
    case PieceKind::embedding:
      return embedding(context);
    case PieceKind::dense_layer:
      return transformer_layer(context, LayerKind::dense);
    case PieceKind::moe_layer:
      return transformer_layer(context, LayerKind::moe);
    case PieceKind::mtp_module:
      return mtp_module(context);
    case PieceKind::head:
      break;
  }
  return head(context);
}

PieceKind layer_kind(const ModelSpec& model, std::int64_t layer) {
  return model.is_moe_layer(layer) ? PieceKind::moe_layer : PieceKind::dense_layer;
}

const Piece& PieceLibrary::piece(PieceKind kind, std::int64_t slice) {
  const auto [place, fresh] = lowered_.try_emplace({kind, slice});
  Piece& piece = place->second;
  if (!fresh) return piece;
  const Passes passes = build_passes(spec_, kind, slice);
  piece.kind = kind;
  builder_.lower(passes.forward, piece.forward);
  builder_.lower(passes.backward, piece.backward);
  builder_.lower(passes.backward_input, piece.backward_input);
  builder_.lower(passes.backward_weight, piece.backward_weight);
  builder_.lower(passes.recomputed, piece.recompute);
  piece.parameters = {passes.dense_parameters, passes.expert_parameters};
  piece.replicated = passes.replicated_parameters;
  piece.forward_flops = total_flops(passes.forward).value();
  piece.backward_flops = total_flops(passes.backward).value();
  piece.recompute_flops = total_flops(passes.recomputed).value();
  return piece;
}

/// Whether some chunk of the stage reads the input.
bool PieceLibrary::holds_embedding(Stage stage) const {
  const ChunkMap map = spec_.plan.chunk_map();
  for (std::uint32_t chunk = 0; chunk < spec_.plan.vpp; ++chunk)
    if (map.virtual_stage({{chunk}, stage}) == 0) return true;
  return false;
}

Pieces PieceLibrary::pieces(const LayerTable::Slice& layers, std::size_t chunk, Stage stage,
                            std::int64_t slice) {
  Pieces pieces;
  const auto place = [&](PieceKind kind, bool again) {
    const Piece& lowered = piece(kind, slice);
    pieces.push_back({&lowered, again, lowered.parameters});
  };
  const std::int64_t recomputed = recomputed_layers(spec_, layers, chunk, stage);
  if (layers.embedding) place(PieceKind::embedding, false);
  for (std::int64_t i = 0; i < layers.count; ++i)
    place(layer_kind(spec_.model, layers.first + i), i < recomputed);
  if (layers.head) place(PieceKind::head, false);
  for (std::int64_t i = 0; i < layers.mtp; ++i) {
    place(PieceKind::mtp_module, spec_.training.recompute == TrainingSpec::Recompute::full);
    const bool copies = i == 0 && !holds_embedding(stage) && !spec_.model.tied_embeddings;
    if (copies)
      pieces.back().parameters.dense += static_cast<double>(spec_.model.vocabulary) *
                                        static_cast<double>(spec_.model.hidden) /
                                        static_cast<double>(spec_.plan.tp);
  }
  return pieces;
}

}  // namespace stepcast
