#include "stage_parameters.hpp"

#include <algorithm>

#include "adapters.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

/// Embedding, positions, head and what MTP needs of them, each matrix once.
ParameterGroups ends(const ModelSpec& model, const std::vector<LayerTable::Slice>& slices) {
  bool embedding = false, head = false, mtp = false;
  for (const LayerTable::Slice& slice : slices) {
    embedding |= slice.embedding;
    head |= slice.head;
    mtp |= slice.mtp > 0;
  }
  const double matrix = static_cast<double>(model.vocabulary) * static_cast<double>(model.hidden);
  const bool logits = head || mtp;
  ParameterGroups groups;
  // One table serves tokens, MTP modules and a tied head.
  if (embedding || mtp || (logits && model.tied_embeddings)) groups.tensor += matrix;
  if (logits && !model.tied_embeddings) groups.tensor += matrix;
  if (embedding) groups.replicated += static_cast<double>(model.positions * model.hidden);
  if (head) groups.replicated += norm_width(model);
  return groups;
}

}  // namespace

StageParameters stage_parameters(const WorkloadSpec& spec,
                                 const std::vector<LayerTable::Slice>& slices) {
  const bool casts = spec.communication.gather_precision == CommunicationSpec::GatherPrecision::fp8;
  StageParameters sum;
  const AdapterSpec& adapters = spec.training.adapters;
  const auto add = [&](const ParameterGroups& groups, const ParameterGroups& products,
                       const ParameterGroups& beside) {
    RankParameters rank = on_rank(spec.model, spec.plan, groups);
    const RankParameters small = on_rank(spec.model, spec.plan, beside);
    const RankParameters inside = on_rank(spec.model, spec.plan, products);
    const RankParameters cast = casts ? inside : RankParameters{};
    sum.trained += adapters.any() ? small : rank;
    if (adapters.any()) sum.products += inside;
    rank += small;
    sum.all += rank;
    sum.one_byte += cast;
    return weight_bytes * (rank.dense + rank.experts) -
           (weight_bytes - fp8_weight_bytes) * (cast.dense + cast.experts);
  };
  // No weight here is gathered in FP8.
  add(ends(spec.model, slices), {}, {});
  for (const LayerTable::Slice& slice : slices) {
    for (std::int64_t layer = slice.first; layer < slice.first + slice.count; ++layer) {
      const LayerParts parts = parts_of(spec.model, layer);
      const double size =
          add(layer_parameters(spec.model, parts), product_parameters(spec.model, parts),
              adapter_parameters(spec.model, adapters, parts));
      sum.largest_layer = std::max(sum.largest_layer, size);
    }
    for (std::int64_t module = 0; module < slice.mtp; ++module) {
      sum.largest_layer = std::max(sum.largest_layer, add(mtp_parameters(spec.model),
                                                          mtp_product_parameters(spec.model), {}));
    }
  }
  return sum;
}

}  // namespace stepcast
