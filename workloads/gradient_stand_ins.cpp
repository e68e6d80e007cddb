#include "gradient_stand_ins.hpp"

#include "parameter_groups.hpp"

namespace stepcast {
namespace {

/// Which weights a stage has.
struct Kinds {
  bool attention = false, linear = false, dense = false, experts = false, head = false;
};

Kinds kinds_of(const ModelSpec& model, const std::vector<LayerTable::Slice>& slices) {
  Kinds kinds;
  const auto add = [&](LayerParts parts) {
    (parts.linear ? kinds.linear : kinds.attention) = true;
    (parts.moe ? kinds.experts : kinds.dense) = true;
  };
  // Layers of the same parts hold parameters of the same shapes, so that one stand-in serves a kind
  // wherever its layers are.
  for (const LayerTable::Slice& slice : slices) {
    for (std::int64_t i = 0; i < slice.count; ++i) add(parts_of(model, slice.first + i));
    if (slice.mtp > 0) add({mtp_is_moe(model)});
    kinds.head = kinds.head || slice.head;
  }
  return kinds;
}

}  // namespace

double stand_in_elements(const WorkloadSpec& spec, const std::vector<LayerTable::Slice>& slices) {
  if (spec.communication.stand_ins == CommunicationSpec::StandIns::none) return 0;
  // Adapters are no products of a library that stands in for their gradients.
  if (spec.training.adapters.any()) return 0;
  ModelSpec model = spec.model;
  // Stand-ins are for weights of products alone.
  model.bias = ModelSpec::Bias::none;
  const Kinds kinds = kinds_of(model, slices);
  ParameterGroups groups;
  if (kinds.attention) groups += mixer_products(model, false);
  if (kinds.linear) groups += mixer_products(model, true);
  if (kinds.dense) groups += dense_ffn_parameters(model);
  double expert = 0;
  if (kinds.experts) {
    const ParameterGroups of_experts = moe_ffn_parameters(model);
    groups.tensor += of_experts.tensor;  // shared ones
    // All experts of a rank have the same shapes, so that they share one stand-in.
    expert = of_experts.experts / static_cast<double>(model.moe->experts * spec.plan.etp);
  }
  double elements = on_rank(model, spec.plan, groups).dense + expert;
  // The output layer has one of its own.
  if (kinds.head)
    elements +=
        static_cast<double>(model.vocabulary * model.hidden) / static_cast<double>(spec.plan.tp);
  return elements;
}

}  // namespace stepcast
