#pragma once
#include "program_builder.hpp"
#include "stepcast/workloads/expert_loads.hpp"

/// What copies of experts make their ranks exchange in a step. docs/models/expert_parallel.md,
/// "Loads that live". Private to workloads/.
namespace stepcast {

class ExpertCopies {
 public:
  /// Of the layers of one stage.
  ExpertCopies(const WorkloadSpec& spec, const LayerLoads& loads, const LayerTable& layers,
               Stage stage);
  /// Copies get the weights that were updated in the last step.
  void get_weights(ProgramBuilder& builder, Instructions& out) const;
  /// Gradients of copies go to who updates the expert.
  void give_gradients(ProgramBuilder& builder, Instructions& out) const;

 private:
  void exchange(const char* name, double bytes, ProgramBuilder& builder, Instructions& out) const;

  const WorkloadSpec& spec_;
  std::vector<double> experts_;  ///< by expert rank, that pass it
};

/// What passes the ranks of an expert group: `experts` of them, each of so many bytes.
CollectiveCall expert_traffic(const std::vector<double>& experts, double bytes);
/// The MoE layers of a stage, counted over those of the model, MTP modules last.
std::vector<std::size_t> moe_layers_of(const ModelSpec& model, const LayerTable& layers,
                                       Stage stage);
/// Parameters of one routed expert of a layer on a rank.
double parameters_of_expert(const ModelSpec& model, const ParallelPlan& plan);

}  // namespace stepcast
