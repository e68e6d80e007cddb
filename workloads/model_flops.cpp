#include "model_flops.hpp"

namespace stepcast {

namespace {

/// Of the first `count` layers alone.
double layers_flops(ModelSpec model, std::int64_t count, std::int64_t sequence) {
  model.layers = count;
  model.vocabulary = 0;
  return training_flops_per_token(model, sequence, false);
}

}  // namespace

double slice_training_flops(const ModelSpec& model, const LayerTable::Slice& slice,
                            std::int64_t sequence) {
  // Layers may differ, so that those in between are the difference of two beginnings.
  double flops = layers_flops(model, slice.first + slice.count, sequence) -
                 layers_flops(model, slice.first, sequence);
  if (slice.head) {
    ModelSpec head = model;
    head.layers = 0;
    flops += training_flops_per_token(head, sequence, false);
  }
  if (slice.mtp > 0)
    flops += training_flops_per_token(model, sequence, true) -
             training_flops_per_token(model, sequence, false);
  return flops;
}

double model_flops_per_step(const WorkloadSpec& spec) {
  const TrainingSpec& training = spec.training;
  return training_flops_per_token(spec.model, training.sequence, true) *
         static_cast<double>(training.sequence) * static_cast<double>(training.global_batch);
}

double model_attention_flops_per_step(const WorkloadSpec& spec) {
  const TrainingSpec& training = spec.training;
  // Attention is what a sequence without any tokens does not need.
  return (training_flops_per_token(spec.model, training.sequence, true) -
          training_flops_per_token(spec.model, 0, true)) *
         static_cast<double>(training.sequence) * static_cast<double>(training.global_batch);
}

double model_expert_flops_per_step(const WorkloadSpec& spec) {
  if (!spec.model.moe) return 0;
  // With no expert chosen, router and shared experts are left.
  WorkloadSpec without = spec;
  without.model.moe->top_k = 0;
  return model_flops_per_step(spec) - model_flops_per_step(without);
}

}  // namespace stepcast
