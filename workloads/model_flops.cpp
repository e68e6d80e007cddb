#include "model_flops.hpp"

namespace stepcast {

namespace {

struct Widths {
  double projections, core;  ///< weights of all projections; heads * (qk_dim + v_dim)
};

Widths widths(const ModelSpec& model, const GroupedQueryAttention& a) {
  const auto h = static_cast<double>(model.hidden);
  const auto d = static_cast<double>(a.head_dim);
  const auto heads = static_cast<double>(a.heads);
  return {2 * h * d * (heads + static_cast<double>(a.kv_heads)), 2 * heads * d};
}

Widths widths(const ModelSpec& model, const LatentAttention& a) {
  const auto h = static_cast<double>(model.hidden);
  const auto heads = static_cast<double>(a.heads);
  const auto qk = static_cast<double>(a.nope_dim + a.rope_dim);
  const auto q_rank = static_cast<double>(a.q_lora_rank);
  const auto kv_rank = static_cast<double>(a.kv_lora_rank);
  const auto v = static_cast<double>(a.v_dim);
  const double q = q_rank > 0 ? h * q_rank + q_rank * heads * qk : h * heads * qk;
  const double kv = h * (kv_rank + static_cast<double>(a.rope_dim)) +
                    kv_rank * heads * (static_cast<double>(a.nope_dim) + v);
  return {q + kv + heads * v * h, heads * (qk + v)};
}

double feed_forward_weights(const ModelSpec& model, std::int64_t layer) {
  const auto h = static_cast<double>(model.hidden);
  if (!model.is_moe_layer(layer))
    return (model.ffn.kind == FeedForwardSpec::Kind::swiglu ? 3 : 2) * h *
           static_cast<double>(model.ffn.hidden);
  const ExpertSpec& e = *model.moe;
  return 3 * h *
             static_cast<double>(e.top_k * e.expert_hidden + e.shared_experts * e.shared_hidden) +
         h * static_cast<double>(e.experts);
}

}  // namespace

double layer_forward_flops(const ModelSpec& model, std::int64_t layer, std::int64_t sequence) {
  const Widths attention =
      std::visit([&](const auto& a) { return widths(model, a); }, model.attention);
  return 2 * (attention.projections + feed_forward_weights(model, layer)) +
         attention.core * static_cast<double>(sequence);
}

double slice_training_flops(const ModelSpec& model, const LayerTable::Slice& slice,
                            std::int64_t sequence) {
  const auto h = static_cast<double>(model.hidden);
  const double head = 2 * h * static_cast<double>(model.vocabulary);
  double forward = slice.head ? head : 0;
  for (std::int64_t layer = slice.first; layer < slice.first + slice.count; ++layer)
    forward += layer_forward_flops(model, layer, sequence);
  forward += static_cast<double>(slice.mtp) *
             (4 * h * h + layer_forward_flops(model, model.layers - 1, sequence) + head);
  return 3 * forward;
}

double model_flops_per_step(const WorkloadSpec& spec) {
  const TrainingSpec& training = spec.training;
  return training_flops_per_token(spec.model, training.sequence, spec.model.mtp_layers > 0) *
         static_cast<double>(training.sequence) * static_cast<double>(training.global_batch);
}

}  // namespace stepcast
