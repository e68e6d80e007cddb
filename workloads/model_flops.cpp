#include "model_flops.hpp"

#include "adapters.hpp"

namespace stepcast {

namespace {

/// Of the first `count` layers alone.
double layers_flops(ModelSpec model, std::int64_t count, std::int64_t sequence) {
  model.layers = count;
  model.vocabulary = 0;
  return training_flops_per_token(model, sequence, false);
}

double full_flops(const ModelSpec& model, const LayerTable::Slice& slice, std::int64_t sequence) {
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

/// Frozen products lack the gradient of their weights, a third of what tokens cost without
/// attention; adapters have all three.
double with_adapters(double full, double without_attention, double adapters, double unneeded) {
  return full - without_attention / 3 + 6 * adapters - unneeded;
}

double adapter_weights(const WorkloadSpec& spec, std::int64_t first, std::int64_t count) {
  double sum = 0;
  for (std::int64_t layer = first; layer < first + count; ++layer)
    sum +=
        adapter_parameters(spec.model, spec.training.adapters, parts_of(spec.model, layer)).sum();
  return sum;
}

double flops_per_token(const WorkloadSpec& spec, std::int64_t sequence) {
  const double full = training_flops_per_token(spec.model, sequence, true);
  const AdapterSpec& adapters = spec.training.adapters;
  if (!adapters.any()) return full;
  return with_adapters(full, training_flops_per_token(spec.model, 0, true),
                       adapter_weights(spec, 0, spec.model.layers),
                       unneeded_flops(spec.model, adapters, sequence));
}

}  // namespace

double slice_training_flops(const WorkloadSpec& spec, const LayerTable::Slice& slice) {
  const std::int64_t sequence = spec.training.sequence;
  const double full = full_flops(spec.model, slice, sequence);
  const AdapterSpec& adapters = spec.training.adapters;
  // With adapters the frozen weights get no gradient: docs/models/adapters.md subtracts it, and the
  // input gradient below the first adapter with it.
  if (!adapters.any()) return full;
  const bool first = slice.first == 0 && slice.count > 0;
  return with_adapters(full, full_flops(spec.model, slice, 0),
                       adapter_weights(spec, slice.first, slice.count),
                       first ? unneeded_flops(spec.model, adapters, sequence) : 0);
}

double model_flops_per_step(const WorkloadSpec& spec) {
  const TrainingSpec& training = spec.training;
  return flops_per_token(spec, training.sequence) * static_cast<double>(training.sequence) *
         static_cast<double>(training.global_batch);
}

double model_attention_flops_per_step(const WorkloadSpec& spec) {
  const TrainingSpec& training = spec.training;
  // Attention is what a sequence without any tokens does not need.
  return (flops_per_token(spec, training.sequence) - flops_per_token(spec, 0)) *
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
