#pragma once
#include "arguments.hpp"
#include "draft.hpp"

namespace stepcast::launch {

/// One launch of Megatron-LM or MindSpeed-LLM on its way into a scenario. What flags join is read
/// once and stands here; the topics are functions of files of their own.
struct MegatronLaunch {
  Framework framework;
  Arguments& args;
  Arguments& environment;
  Draft& draft;
  std::optional<std::int64_t> devices;

  std::int64_t tp = 1, pp = 1, cp = 1, ep = 1, etp = 1, vpp = 1;
  std::int64_t layers = 0;  ///< no-op layers included
  std::set<std::int64_t> noop;
  bool latent = false, experts = false, dual_pipe = false;
  /// Layers of each chunk and stage with the no-op layers, [chunk][stage].
  std::vector<std::vector<std::int64_t>> cut;

  bool mindspeed() const { return framework == Framework::mindspeed; }
  const Setting* flag(std::string_view name) const { return args.find(name); }
  std::int64_t model_layers() const { return layers - static_cast<std::int64_t>(noop.size()); }
  /// Numbers of the layers of a chunk, no-op layers included: V placement turns the second chunk.
  std::int64_t first_layer(std::size_t chunk, std::size_t stage) const;
  /// Of the first `most` layers of a chunk those that the model has.
  std::int64_t real_layers(std::size_t chunk, std::size_t stage, std::int64_t most) const;
};

void import_model(MegatronLaunch& launch);     ///< megatron_model.cpp
void import_variant(MegatronLaunch& launch);   ///< megatron_attention.cpp: linear and sparse
void import_experts(MegatronLaunch& launch);   ///< megatron_experts.cpp
void import_router(MegatronLaunch& launch);    ///< megatron_router.cpp: beside its product
void import_plan(MegatronLaunch& launch);      ///< megatron_plan.cpp
void import_layers(MegatronLaunch& launch);    ///< megatron_layers.cpp: the cut into chunks
void import_training(MegatronLaunch& launch);  ///< megatron_training.cpp
void import_states(MegatronLaunch& launch);    ///< megatron_states.cpp: of the optimizer, gathers
void import_runtime(MegatronLaunch& launch);   ///< megatron_training.cpp: kernels, environment

/// All of it, in order.
void import_megatron(MegatronLaunch& launch);

/// Which layers are MoE layers: `([0]*3+[1]*58)` has digits, lists, + and * and brackets. Nothing
/// where the text is no such pattern.
std::optional<std::vector<bool>> layer_pattern(std::string_view text);

/// Chunks of a layout such as `Et*2|(tt|)*5t|tmL`: layers of each. Nothing where it is none.
struct PipelineLayout {
  std::vector<std::int64_t> layers;  ///< of each chunk
  std::int64_t mtp = 0;
};
std::optional<PipelineLayout> pipeline_layout(std::string_view text);

}  // namespace stepcast::launch
