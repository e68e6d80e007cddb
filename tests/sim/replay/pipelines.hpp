#pragma once
#include <vector>

#include "stepcast/sim/replay/replay.hpp"

/// Replays of synthetic pipelines on a network that costs nothing but a given latency.
namespace stepcast::testing {

struct PipelineCase {
  std::string schedule;
  PipelineShape shape;
  SyntheticChunk costs{Seconds{1}, Seconds{1}, Seconds{1}};
  double latency = 0;
  double draw = 1;  ///< OperatorCost::draw of all work
  ScheduleSpec::PointToPoint p2p = ScheduleSpec::PointToPoint::overlapped;
  std::int64_t steps = 1;
  bool skip_recurring = true;
  bool exchanging = false;  ///< exchanging_orders() of the schedule
  const StallPlan* stalls = nullptr;
};

/// Hops between neighbouring stages without bytes.
inline NetworkMap free_network(std::uint32_t stages) {
  NetworkMap map;
  for (std::uint32_t s = 0; s < stages; ++s) {
    map.classes.representative.push_back(Rank{s});
    map.classes.stage.push_back(Stage{s});
    map.classes.variant.push_back(0);
    map.classes.ranks.push_back(1);
    map.classes.class_of.push_back(s);
    map.call_of.emplace_back();
    for (const Channel next : {Channel::output_next, Channel::gradient_next})
      map.hops[static_cast<std::size_t>(next)].push_back({(s + 1) % stages, {}});
    for (const Channel previous : {Channel::output_previous, Channel::gradient_previous})
      map.hops[static_cast<std::size_t>(previous)].push_back({(s + stages - 1) % stages, {}});
  }
  return map;
}

inline Segment drawing(const Segment& segment, double draw) {
  std::vector<OperatorCost> operators = segment.operators();
  for (OperatorCost& op : operators) op.draw = draw;
  return Segment{std::move(operators)};
}

inline Timeline run_pipeline(const PipelineCase& c) {
  ParallelPlan plan;
  plan.pp = c.shape.stages;
  plan.vpp = c.shape.chunks;
  plan.slices = c.shape.slices;
  plan.chunk_placement = c.shape.placement;
  SyntheticSpec synthetic;
  synthetic.chunks = {c.costs};
  std::vector<StageProgram> programs;
  for (std::uint32_t s = 0; s < plan.pp; ++s)
    programs.push_back(lower_synthetic(synthetic, plan, Stage{s}));
  for (StageProgram& program : programs)
    for (Segment& segment : program.segments) segment = drawing(segment, c.draw);
  const NetworkMap network = free_network(static_cast<std::uint32_t>(plan.pp));
  const PipelineSchedule& schedule = pipeline_schedule(c.schedule);
  const auto orders =
      c.exchanging ? exchanging_orders(schedule, c.shape) : stage_orders(schedule, c.shape);
  return replay({programs, network, HostSpec{}, c.shape, orders, c.p2p, Seconds{c.latency},
                 c.stalls, c.steps, c.skip_recurring});
}

}  // namespace stepcast::testing
