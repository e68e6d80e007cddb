#pragma once
#include "stepcast/topology/parallel_plan.hpp"
#include "stepcast/workloads/model_spec.hpp"

/// Parameters of the parts of a model, sorted by how they are spread over ranks
/// (docs/models/parameters.md).
namespace stepcast {

struct ParameterGroups {
  double tensor = 0;      ///< split over the tensor group
  double key_value = 0;   ///< split over it as far as there are key/value heads, replicated beyond
  double replicated = 0;  ///< on every rank of the tensor group: norms, router, latent projections
  double experts = 0;     ///< routed experts, split over expert and expert-tensor groups

  ParameterGroups& operator+=(const ParameterGroups& other);
  friend ParameterGroups operator*(double factor, ParameterGroups groups);
  double dense() const { return tensor + key_value + replicated; }
  double sum() const { return dense() + experts; }
};

ParameterGroups attention_parameters(const ModelSpec& model);
/// Of a layer with linear attention; needs `model.linear`.
ParameterGroups linear_attention_parameters(const ModelSpec& model);
ParameterGroups dense_ffn_parameters(const ModelSpec& model);
/// Router, routed and shared experts. Needs `model.moe`.
ParameterGroups moe_ffn_parameters(const ModelSpec& model);
ParameterGroups norm_parameters(const ModelSpec& model);
/// What a layer consists of.
struct LayerParts {
  bool moe = false, linear = false;
};
LayerParts parts_of(const ModelSpec& model, std::int64_t layer);
/// Attention, feed-forward part and norms of one layer.
ParameterGroups layer_parameters(const ModelSpec& model, LayerParts parts);
/// Of these, weights of products: no norms, no biases, no router.
ParameterGroups product_parameters(const ModelSpec& model, LayerParts parts);
/// Of the attention of a layer alone.
ParameterGroups mixer_products(const ModelSpec& model, bool linear);
/// Of these, weights of the indexer; 0: there is none.
double indexer_products(const ModelSpec& model);
/// What one MTP module adds; embedding and head are the model's own.
ParameterGroups mtp_parameters(const ModelSpec& model);

/// Of these, weights of products in the layer and before it.
ParameterGroups mtp_product_parameters(const ModelSpec& model);

/// Parameters of one norm: a scale, and a shift for LayerNorm.
double norm_width(const ModelSpec& model);
/// The MTP modules repeat the model's last layer.
bool mtp_is_moe(const ModelSpec& model);

/// Parameters on one rank: replicated over the dense_data group, and over the expert_data group.
struct RankParameters {
  double dense = 0, experts = 0;
  RankParameters& operator+=(RankParameters other);
};
RankParameters on_rank(const ModelSpec& model, const ParallelPlan& plan,
                       const ParameterGroups& groups);

}  // namespace stepcast
