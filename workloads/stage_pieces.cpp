#include "stage_pieces.hpp"

#include <algorithm>
#include <set>

#include "activations.hpp"
#include "layers/received.hpp"
#include "parameter_groups.hpp"
#include "stepcast/workloads/memory.hpp"
#include "stepcast/workloads/rewrites.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {

namespace {

/// Of attention cores, without their projections.
double attention_flops(const LayerItems& items) {
  double sum = 0;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item);
        op != nullptr && (std::holds_alternative<AttentionWork>(op->work) ||
                          std::holds_alternative<SparseAttentionWork>(op->work)))
      sum += op->flops.value();
  return sum;
}

/// Weights of products that are cast before they are gathered.
Share gathered_in_fp8(const WorkloadSpec& spec, const PieceKey& key) {
  using enum PieceKind;
  const bool layer = key.kind == dense_layer || key.kind == moe_layer;
  if (spec.communication.gather_precision == CommunicationSpec::GatherPrecision::bf16 ||
      (!layer && key.kind != mtp_module))
    return {};
  const LayerParts parts{key.kind == moe_layer, key.linear};
  const RankParameters rank =
      on_rank(spec.model, spec.plan,
              layer ? product_parameters(spec.model, parts) : mtp_product_parameters(spec.model));
  return {rank.dense, rank.experts};
}

bool has_experts(const ModelSpec& model, PieceKind kind) {
  return kind == PieceKind::moe_layer || (kind == PieceKind::mtp_module && mtp_is_moe(model));
}

}  // namespace

std::int64_t recomputed_layers(const WorkloadSpec& spec, const LayerTable::Slice& slice,
                               std::size_t chunk, Stage stage) {
  switch (spec.training.recompute) {
    case TrainingSpec::Recompute::full:
      return slice.count;
    case TrainingSpec::Recompute::table:
      return spec.training.recompute_layers[chunk][stage.value];
    case TrainingSpec::Recompute::none:
    case TrainingSpec::Recompute::selective:
    case TrainingSpec::Recompute::modules:
      break;
  }
  return 0;
}

Share& Share::operator+=(const Share& other) {
  dense += other.dense;
  expert += other.expert;
  return *this;
}

namespace {

/// What the rows of a layer may depend on.
LayerContext context_of(const WorkloadSpec& spec, const PieceKey& key, const ExpertLoads& loads,
                        double load) {
  return {.model = spec.model,
          .plan = spec.plan,
          .training = spec.training,
          .moe = spec.moe,
          .load = load,
          .gradient_bytes = gradient_bytes(spec.communication),
          .tensor_chunks = spec.communication.tensor_chunks,
          .loads = &loads,
          .slice = key.slice,
          .router = spec.runtime.kernels.router,
          .window = key.window,
          .linear = key.linear,
          .graphs = spec.runtime.graphs,
          .block = spec.runtime.kernels.block,
          .softmax = spec.runtime.kernels.softmax,
          .rope = spec.runtime.kernels.rope,
          .ring = spec.runtime.kernels.ring,
          .tensor_backward = spec.communication.tensor_backward,
          .lowest = key.lowest};
}

/// Rows as the model asks for them; what a framework makes of them comes behind.
Passes unfused_passes(const WorkloadSpec& spec, const PieceKey& key, const ExpertLoads& loads,
                      double load) {
  const LayerContext context = context_of(spec, key, loads, load);
  switch (key.kind) {
    case PieceKind::embedding:
      return embedding(context);
    case PieceKind::dense_layer:
      return transformer_layer(context, LayerKind::dense);
    case PieceKind::moe_layer:
      return transformer_layer(context, LayerKind::moe);
    case PieceKind::mtp_module:
      return mtp_module(context);
    case PieceKind::received_input:
      return received(context, false);
    case PieceKind::received_gradient:
      return received(context, true);
    case PieceKind::head:
      break;
  }
  return head(context);
}

Passes run_of(Passes passes, const WorkloadSpec& spec, const DeviceSpec& device,
              FusionChoices& choices) {
  // Choices are repeated in the order in which they were made.
  for (LayerItems* items : {&passes.forward, &passes.backward_input, &passes.backward_weight,
                            &passes.backward, &passes.recomputed})
    *items = as_run(std::move(*items), spec, device, choices);
  return passes;
}

/// Weight gradients by themselves stay as they are written.
Passes reordered(Passes passes, const PassOrders& orders) {
  passes.forward = in_order(passes.forward, orders.forward);
  passes.backward = in_order(passes.backward, orders.backward);
  passes.backward_input = in_order(passes.backward_input, orders.backward_input);
  passes.recomputed = in_order(passes.recomputed, orders.recomputed);
  return passes;
}

}  // namespace

PassOrders pass_orders(const WorkloadSpec& spec, const ClusterSpec& cluster, const PieceKey& key,
                       const ExpertLoads& loads) {
  if (spec.runtime.layer_order == RuntimeSpec::LayerOrder::plain) return {};
  // All ranks follow the order of the fullest one, which is found before kernels are fused.
  const Passes passes = unfused_passes(spec, key, loads, loads.largest());
  const DeviceSpec device = in_step(cluster.device);
  const bool fp8 = spec.training.precision == TrainingSpec::Precision::fp8_mixed;
  const auto order = [&](const LayerItems& items) {
    return overlapping_order(items, expected_times(items, cluster, spec.plan, device, fp8));
  };
  PassOrders orders{order(passes.forward), order(passes.backward), order(passes.backward_input),
                    order(passes.recomputed)};
  orders.waiting = waiting_gradients(passes.backward, orders.backward);
  return orders;
}

FusionChoices fusion_choices(const WorkloadSpec& spec, const DeviceSpec& device,
                             const PieceKey& key, const ExpertLoads& loads,
                             const PassOrders& orders) {
  FusionChoices choices;
  if (spec.runtime.fusion == RuntimeSpec::Fusion::none) return choices;
  run_of(reordered(unfused_passes(spec, key, loads, loads.largest()), orders), spec, device,
         choices);
  choices.repeat();
  return choices;
}

Passes build_passes(const WorkloadSpec& spec, const DeviceSpec& device, const PieceKey& key,
                    const ExpertLoads& loads, double load, const PassOrders& orders,
                    FusionChoices choices) {
  return run_of(reordered(unfused_passes(spec, key, loads, load), orders), spec, device, choices);
}

Passes build_passes(const WorkloadSpec& spec, const DeviceSpec& device, const PieceKey& key,
                    const ExpertLoads& loads, double load, const PassOrders& orders) {
  // The fullest rank chooses for itself.
  return build_passes(
      spec, device, key, loads, load, orders,
      load == loads.largest() ? FusionChoices{} : fusion_choices(spec, device, key, loads, orders));
}

Passes expert_passes(const WorkloadSpec& spec, const DeviceSpec& device, const ExpertLoads& loads) {
  const PieceKey layer{PieceKind::moe_layer, 0, {}};
  FusionChoices choices;
  return run_of(expert_module(context_of(spec, layer, loads, loads.largest())), spec, device,
                choices);
}

PieceKey layer_key(const ModelSpec& model, std::int64_t layer, std::int64_t slice) {
  return {model.is_moe_layer(layer) ? PieceKind::moe_layer : PieceKind::dense_layer, slice,
          model.window_of(layer), model.is_linear(layer)};
}

Bytes waiting_gradients(const WorkloadSpec& spec, const ClusterSpec& cluster,
                        const std::vector<LayerTable::Slice>& slices) {
  if (spec.runtime.layer_order == RuntimeSpec::LayerOrder::plain) return Bytes{0};
  const LayerLoads loads = layer_loads(spec);
  // Layers that are alike wait alike.
  std::set<PieceKey> kinds;
  for (const LayerTable::Slice& slice : slices) {
    for (std::int64_t i = 0; i < slice.count; ++i)
      kinds.insert(layer_key(spec.model, slice.first + i));
    if (slice.mtp > 0) kinds.insert({PieceKind::mtp_module, 0});
  }
  double most = 0;
  for (const PieceKey& key : kinds)
    most = std::max(most, pass_orders(spec, cluster, key, loads.of(0)).waiting);
  return Bytes{most};
}

const PieceRows::Rows& PieceRows::of(const PieceKey& key, const DeviceSpec& device) {
  const auto [place, fresh] = made_.try_emplace(key);
  Rows& rows = place->second;
  if (!fresh) return rows;
  Piece& piece = rows.counted;
  const bool experts = has_experts(spec_.model, key.kind) && !loads_.even();
  const ExpertLoads& of_layer = loads_.of(key.loads);
  const PassOrders orders = pass_orders(spec_, cluster_, key, of_layer);
  FusionChoices choices;
  if (experts) choices = fusion_choices(spec_, device, key, of_layer, orders);
  // Ranks with other loads run the same instructions on other amounts of work.
  for (std::size_t variant = 0; variant < (experts ? loads_.rank_of.size() : 1); ++variant) {
    const double load = experts ? loads_.load(key.loads, variant) : of_layer.largest();
    Passes passes = build_passes(spec_, device, key, of_layer, load, orders, choices);
    const double ranks = experts ? loads_.part_of_ranks(variant) : 1;
    piece.forward_flops += ranks * total_flops(passes.forward).value();
    piece.backward_flops += ranks * total_flops(passes.backward).value();
    piece.recompute_flops += ranks * total_flops(passes.recomputed).value();
    // Loads of experts do not change attention.
    piece.attention_flops = attention_flops(passes.forward) + attention_flops(passes.backward);
    piece.recompute_attention_flops = attention_flops(passes.recomputed);
    piece.parameters = {passes.dense_parameters, passes.expert_parameters};
    piece.trained = {passes.trained_dense, passes.trained_expert};
    piece.replicated = passes.replicated_parameters;
    rows.items[0].push_back(std::move(passes.forward));
    rows.items[1].push_back(std::move(passes.backward));
    rows.items[2].push_back(std::move(passes.backward_input));
    rows.items[3].push_back(std::move(passes.backward_weight));
    rows.items[4].push_back(std::move(passes.recomputed));
  }
  piece.key = key;
  piece.one_byte = gathered_in_fp8(spec_, key);
  return rows;
}

const Piece& PieceLibrary::piece(const PieceKey& key) {
  const auto [place, fresh] = lowered_.try_emplace(key);
  Piece& piece = place->second;
  // Layers of one key are lowered once however many there are: the template that chunks repeat.
  if (!fresh) return piece;
  const PieceRows::Rows& rows = rows_.of(key, builder_.device());
  piece = rows.counted;
  builder_.lower(rows.items[0], piece.forward);
  builder_.lower(rows.items[1], piece.backward);
  builder_.lower(rows.items[2], piece.backward_input);
  builder_.lower(rows.items[3], piece.backward_weight);
  builder_.lower(rows.items[4], piece.recompute);
  return piece;
}

PieceKey PieceLibrary::with_loads(PieceKey key, std::size_t moe_layer) const {
  if (has_experts(spec_.model, key.kind) && loads_.layers.size() > 1) key.loads = moe_layer;
  return key;
}

double PieceLibrary::offloaded(const PieceKey& key, bool recomputed) const {
  using Recompute = TrainingSpec::Recompute;
  const TrainingSpec& training = spec_.training;
  const bool moe = key.kind == PieceKind::moe_layer;
  // Embedding, head and MTP modules keep what they have.
  if ((key.kind != PieceKind::dense_layer && !moe) || !training.offloads_activations()) return 0;
  Recompute mode = recomputed ? Recompute::full : Recompute::none;
  if (training.recompute == Recompute::selective || training.recompute == Recompute::modules)
    mode = training.recompute;
  const Bytes away =
      away_activations(spec_, loads_.fullest(), moe, mode, builder_.softmax_state(), key.linear);
  return away.value() * spec_.plan.slice_weight(training.sequence, key.slice) /
         static_cast<double>(spec_.plan.slices);
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
  const auto put = [&](const PieceKey& key, bool again) {
    const Piece& lowered = piece(key);
    pieces.push_back({&lowered, again, lowered.parameters, lowered.trained, lowered.one_byte,
                      offloaded(key, again)});
    // Only experts that work in the step have gradients to exchange.
    pieces.back().parameters.expert *= active_;
    pieces.back().trained.expert *= active_;
  };
  const auto place = [&](PieceKind kind, bool again) { put({kind, slice}, again); };
  const std::int64_t recomputed = recomputed_layers(spec_, layers, chunk, stage);
  const bool in_parts = spec_.communication.scatter_gather;
  if (layers.embedding) place(PieceKind::embedding, false);
  if (in_parts && !layers.embedding) place(PieceKind::received_input, false);
  // MoE layers of the model before this chunk: where LayerLoads has those of the first one.
  std::size_t moe_layer = 0;
  for (std::int64_t i = 0; i < layers.first; ++i) moe_layer += spec_.model.is_moe_layer(i) ? 1 : 0;
  for (std::int64_t i = 0; i < layers.count; ++i) {
    PieceKey key = layer_key(spec_.model, layers.first + i, slice);
    // What runs again is given an input that has a gradient, as a checkpoint needs one.
    key.lowest = spec_.training.adapters.any() && layers.first + i == 0 && i >= recomputed &&
                 spec_.model.block == ModelSpec::Block::serial;
    put(with_loads(key, moe_layer), i < recomputed);
    moe_layer += spec_.model.is_moe_layer(layers.first + i) ? 1 : 0;
  }
  if (layers.head) place(PieceKind::head, false);
  if (in_parts && !layers.head) place(PieceKind::received_gradient, false);
  for (std::int64_t i = 0; i < layers.mtp; ++i) {
    put(with_loads({PieceKind::mtp_module, slice}, moe_layer + static_cast<std::size_t>(i)),
        spec_.training.recompute == TrainingSpec::Recompute::full);
    // The first module reads the embedding, of which the stage may have no other copy.
    const bool copies = i == 0 && !holds_embedding(stage) && !spec_.model.tied_embeddings;
    if (!copies) continue;
    const double table = static_cast<double>(spec_.model.vocabulary) *
                         static_cast<double>(spec_.model.hidden) /
                         static_cast<double>(spec_.plan.tp);
    pieces.back().parameters.dense += table;
    if (!spec_.training.adapters.any()) pieces.back().trained.dense += table;
  }
  return pieces;
}

}  // namespace stepcast
