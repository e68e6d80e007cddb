#include "expert_copies.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "parameter_groups.hpp"
#include "stepcast/workloads/relocation.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {

double parameters_of_expert(const ModelSpec& model, const ParallelPlan& plan) {
  const RankParameters rank = on_rank(model, plan, moe_ffn_parameters(model));
  // A rank holds experts / ep of them.
  return rank.experts * static_cast<double>(plan.ep) / static_cast<double>(model.moe->experts);
}

/// Every rank gets what passes it, in equal parts from all others: of two unequal directions the
/// busier one counts.
CollectiveCall expert_traffic(const std::vector<double>& experts, double bytes) {
  const auto ranks = static_cast<double>(experts.size());
  const double mean = std::accumulate(experts.begin(), experts.end(), 0.0) / ranks;
  CollectiveCall call{CollectiveKind::all_to_all, Bytes{0}};
  if (mean == 0) return call;
  // Of an all-to-all each rank keeps 1 / ranks, which passes no link.
  call.bytes = Bytes{bytes * mean * ranks / (ranks - 1)};
  call.skew.factor = experts;
  for (double& factor : call.skew.factor) factor /= mean;
  if (std::ranges::all_of(experts, [&](double e) { return e == experts.front(); })) call.skew = {};
  return call;
}

std::vector<std::size_t> moe_layers_of(const ModelSpec& model, const LayerTable& layers,
                                       Stage stage) {
  // MoE layers before each layer: where LayerLoads has those of this one.
  std::vector<std::size_t> before(static_cast<std::size_t>(model.layers) + 1, 0);
  for (std::size_t layer = 0; layer + 1 < before.size(); ++layer)
    before[layer + 1] =
        before[layer] + (model.is_moe_layer(static_cast<std::int64_t>(layer)) ? 1 : 0);
  std::vector<std::size_t> result;
  for (const auto& chunk : layers.slices) {
    const LayerTable::Slice& held = chunk.at(stage.value);
    for (std::int64_t layer = held.first; layer < held.first + held.count; ++layer)
      if (model.is_moe_layer(layer)) result.push_back(before[static_cast<std::size_t>(layer)]);
    // MTP modules count on behind all layers of the model.
    for (std::int64_t module = 0; mtp_is_moe(model) && module < held.mtp; ++module)
      result.push_back(before.back() + static_cast<std::size_t>(module));
  }
  return result;
}

ExpertCopies::ExpertCopies(const WorkloadSpec& spec, const LayerLoads& loads,
                           const LayerTable& layers, Stage stage)
    : spec_{spec} {
  if (!spec.model.moe || spec.moe.spare_experts == 0) return;
  const auto ranks = static_cast<std::uint32_t>(spec.plan.ep);
  experts_.resize(ranks, 0);
  // One exchange moves the copies of all layers of the stage.
  for (const std::size_t layer : moe_layers_of(spec.model, layers, stage)) {
    const auto copied = copied_experts(loads.of(layer).holders, ranks);
    std::ranges::transform(experts_, copied, experts_.begin(), std::plus<>{});
  }
}

void ExpertCopies::exchange(const char* name, double bytes, ProgramBuilder& builder,
                            Instructions& out) const {
  if (experts_.empty()) return;
  CollectiveCall call =
      expert_traffic(experts_, bytes * parameters_of_expert(spec_.model, spec_.plan));
  if (call.bytes > Bytes{0}) builder.blocking(name, GroupKind::expert, std::move(call), out);
}

void ExpertCopies::get_weights(ProgramBuilder& builder, Instructions& out) const {
  exchange(weights_of_copies, gathered_weight_bytes(spec_.training), builder, out);
}

void ExpertCopies::give_gradients(ProgramBuilder& builder, Instructions& out) const {
  exchange("gradients of expert copies", gradient_bytes(spec_.communication), builder, out);
}

namespace {

/// Per parameter: the weight, whole, and what a rank holds of its states. A stored weight is its
/// own master weight.
double relocated_bytes(const WorkloadSpec& spec) {
  const bool stored = spec.training.master_weights == TrainingSpec::MasterWeights::stored;
  const double states = stored ? moment_bytes(spec.training) : optimizer_state_bytes(spec.training);
  return gathered_weight_bytes(spec.training) +
         states / shards(spec.plan.zero, Shards::optimizer,
                         static_cast<double>(spec.plan.expert_shards()));
}

}  // namespace

StageCall relocation_call(const WorkloadSpec& spec, const LayerTable& layers, Stage stage) {
  StageCall call{.name = "relocation of experts",
                 .group = GroupKind::expert,
                 .call = {CollectiveKind::all_to_all, Bytes{0}},
                 .stream = Stream::expert,
                 .kind = ExposedKind::expert,
                 .issue = {}};
  if (!spec.model.moe || !spec.moe.relocation.every || spec.plan.ep == 1) return call;
  std::vector<double> moved(static_cast<std::size_t>(spec.plan.ep), 0);
  // Where layers are alike, the same experts move in each.
  const bool own = spec.moe.routing.layers == RoutingSpec::Layers::own;
  for (const std::size_t layer : moe_layers_of(spec.model, layers, stage)) {
    const auto of_layer = relocated_experts(spec, own ? layer : 0);
    std::ranges::transform(moved, of_layer, moved.begin(), std::plus<>{});
  }
  call.call =
      expert_traffic(moved, relocated_bytes(spec) * parameters_of_expert(spec.model, spec.plan));
  return call;
}

Bytes busiest_rank(const StageCall& call, std::int64_t ranks) {
  const auto& factors = call.call.skew.factor;
  const double most = factors.empty() ? 1 : std::ranges::max(factors);
  const auto count = static_cast<double>(ranks);
  // The inverse of expert_traffic(): what really passes the rank.
  return most * (count - 1) / count * call.call.bytes;
}

}  // namespace stepcast
