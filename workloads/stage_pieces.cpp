#include "stage_pieces.hpp"

#include <algorithm>

#include "parameter_groups.hpp"
#include "stepcast/workloads/fusion.hpp"
#include "stepcast/workloads/memory.hpp"

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

double attention_flops(const LayerItems& items) {
  double sum = 0;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item);
        op != nullptr && std::holds_alternative<AttentionWork>(op->work))
      sum += op->flops.value();
  return sum;
}

bool has_experts(const ModelSpec& model, PieceKind kind) {
  return kind == PieceKind::moe_layer || (kind == PieceKind::mtp_module && mtp_is_moe(model));
}

}  // namespace

Share& Share::operator+=(const Share& other) {
  dense += other.dense;
  expert += other.expert;
  return *this;
}

namespace {

Passes unfused_passes(const WorkloadSpec& spec, PieceKind kind, const ExpertLoads& loads,
                      double load) {
  const LayerContext context{spec.model,
                             spec.plan,
                             spec.training,
                             spec.moe,
                             load,
                             gradient_bytes(spec.communication),
                             spec.communication.tensor_chunks,
                             &loads};
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

}  // namespace

Passes build_passes(const WorkloadSpec& spec, PieceKind kind, const ExpertLoads& loads,
                    double load) {
  Passes passes = unfused_passes(spec, kind, loads, load);
  for (LayerItems* items : {&passes.forward, &passes.backward_input, &passes.backward_weight,
                            &passes.backward, &passes.recomputed})
    *items = fuse(std::move(*items), spec.runtime.fusion);
  return passes;
}

PieceKind layer_kind(const ModelSpec& model, std::int64_t layer) {
  return model.is_moe_layer(layer) ? PieceKind::moe_layer : PieceKind::dense_layer;
}

const Piece& PieceLibrary::piece(PieceKind kind) {
  const auto [place, fresh] = lowered_.try_emplace(kind);
  Piece& piece = place->second;
  if (!fresh) return piece;
  const bool experts = has_experts(spec_.model, kind) && !loads_.even();
  const std::vector<double> all = experts ? loads_.distinct : std::vector<double>{loads_.largest()};
  std::vector<LayerItems> forward, backward, recomputed;
  for (const double load : all) {
    Passes passes = build_passes(spec_, kind, loads_, load);
    const double ranks = experts ? ranks_with(load) : 1;
    piece.forward_flops += ranks * total_flops(passes.forward).value();
    piece.backward_flops += ranks * total_flops(passes.backward).value();
    piece.recompute_flops += ranks * total_flops(passes.recomputed).value();
    piece.attention_flops = attention_flops(passes.forward) + attention_flops(passes.backward);
    piece.recompute_attention_flops = attention_flops(passes.recomputed);
    piece.parameters = {passes.dense_parameters, passes.expert_parameters};
    piece.replicated = passes.replicated_parameters;
    forward.push_back(std::move(passes.forward));
    backward.push_back(std::move(passes.backward));
    recomputed.push_back(std::move(passes.recomputed));
  }
  builder_.lower(forward, piece.forward);
  builder_.lower(backward, piece.backward);
  builder_.lower(recomputed, piece.recompute);
  return piece;
}

/// Part of the expert ranks that have this load.
double PieceLibrary::ranks_with(double load) const {
  return static_cast<double>(std::ranges::count(loads_.of_rank, load)) /
         static_cast<double>(loads_.of_rank.size());
}

void PieceLibrary::place(Pieces& pieces, PieceKind kind, bool recomputed) {
  const Piece& lowered = piece(kind);
  pieces.push_back({&lowered, recomputed, lowered.parameters, offloaded(kind, recomputed)});
}

double PieceLibrary::offloaded(PieceKind kind, bool recomputed) const {
  using Recompute = TrainingSpec::Recompute;
  const TrainingSpec& training = spec_.training;
  const bool layer = kind == PieceKind::dense_layer || kind == PieceKind::moe_layer;
  if (!layer || training.offload_activations <= 0) return 0;
  Recompute mode = recomputed ? Recompute::full : Recompute::none;
  if (training.recompute == Recompute::selective) mode = Recompute::selective;
  return training.offload_activations *
         layer_activations(spec_, kind == PieceKind::moe_layer, mode, builder_.softmax_state())
             .value();
}

Pieces PieceLibrary::pieces(const LayerTable::Slice& slice, std::size_t chunk, Stage stage) {
  Pieces pieces;
  const std::int64_t recomputed = recomputed_layers(spec_, slice, chunk, stage);
  if (slice.embedding) place(pieces, PieceKind::embedding, false);
  for (std::int64_t i = 0; i < slice.count; ++i)
    place(pieces, layer_kind(spec_.model, slice.first + i), i < recomputed);
  if (slice.head) place(pieces, PieceKind::head, false);
  for (std::int64_t i = 0; i < slice.mtp; ++i) {
    place(pieces, PieceKind::mtp_module, spec_.training.recompute == TrainingSpec::Recompute::full);
    const bool copies = i == 0 && spec_.plan.pp > 1 && !spec_.model.tied_embeddings;
    if (copies)
      pieces.back().parameters.dense += static_cast<double>(spec_.model.vocabulary) *
                                        static_cast<double>(spec_.model.hidden) /
                                        static_cast<double>(spec_.plan.tp);
  }
  return pieces;
}

}  // namespace stepcast
