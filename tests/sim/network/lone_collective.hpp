#pragma once
#include <string>

#include "stepcast/sim/replay/replay.hpp"

/// One collective of one group with nothing else in the step, through the real replay.
namespace stepcast::testing {

struct LoneCase {
  ClusterSpec cluster;
  std::int64_t ranks = 2;
  std::int64_t stride = 1;  ///< between members, from device 0 on
  CollectiveCall call{CollectiveKind::all_reduce, Bytes{1}};
  std::string algorithm;
};

inline ParallelPlan plan_of(const LoneCase& c) {
  ParallelPlan plan;
  plan.tp = c.ranks;
  plan.pp = c.stride;
  plan.order = {"pp", "tp", "cp", "ep", "dp"};
  return plan;
}

/// Only the first stage does anything; its ranks are `stride` apart.
inline std::vector<StageProgram> programs_of(const LoneCase& c) {
  std::vector<StageProgram> programs(static_cast<std::size_t>(c.stride));
  for (StageProgram& program : programs) program.chunks.resize(1);
  StageProgram& first = programs.front();
  first.calls.push_back(
      {"lone", GroupKind::tensor, c.call, Stream::tensor, ExposedKind::tensor, {}, c.algorithm});
  first.slots = 1;
  first.epilogue = {Communicate{0, 0, true}, Wait{0}};
  return programs;
}

struct LoneResult {
  double time = 0;   ///< of the collective, as its members wait for it [s]
  double alone = 0;  ///< as the network map tells it [s]
  double flows = 0;  ///< that met others
};

/// Makes a run in which flows meet when the form is pairwise.
inline LoneResult run_lone(const LoneCase& c, NetworkForm form, Fold fold = Fold::automatic) {
  const Fabric fabric(c.cluster);
  const Placement placement(plan_of(c));
  const CollectiveChoice algorithms;
  const std::vector<StageProgram> programs = programs_of(c);
  const NetworkMap network =
      build_network_map({placement, fabric, programs, algorithms, fold, {}, form});
  const PipelineShape shape{c.stride, 1, 1, c.stride};
  const Timeline t = replay(
      {programs, network, c.cluster.host, shape, stage_orders(pipeline_schedule("1f1b"), shape)});
  const RankTimes& times = t.classes[network.classes.class_of[0]];
  const auto tensor = static_cast<std::size_t>(ExposedKind::tensor);
  return {times.exposed[tensor].value(), network.calls.front().alone, static_cast<double>(t.flows)};
}

}  // namespace stepcast::testing
