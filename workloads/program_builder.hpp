#pragma once
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "stepcast/workloads/operators.hpp"
#include "stepcast/workloads/program.hpp"

/// Puts the program of one stage together. Private to workloads/.
namespace stepcast {

/// Host and launch cost of issuing one operator of a class under a runtime; device time 0.
OperatorCost issue_cost(LaunchClass launch, const RuntimeSpec& runtime, const ClusterSpec& cluster);

/// Ranks of a group under the plan.
double group_size(const ParallelPlan& plan, GroupKind group);

/// Equal segments and equal calls are stored once, so that a deep stage stays small.
class ProgramBuilder {
 public:
  ProgramBuilder(const WorkloadSpec& spec, const ClusterSpec& cluster);

  /// Appends the items: operators between communications become one segment.
  void lower(const LayerItems& items, Instructions& out);
  /// A segment of one operator.
  void compute(const Operator& op, Instructions& out);
  /// The host launches the sunk graph of the step.
  /// Work of the host alone, before it issues what follows.
  void host_work(Seconds time, Instructions& out);
  /// Issues a collective on the stream of its group, to be waited for by slot; by `algorithm`
  /// unless that is empty.
  void issue(const std::string& name, GroupKind group, CollectiveCall call, std::uint32_t slot,
             bool after_compute, Instructions& out, const std::string& algorithm = {});
  /// Issues it and waits.
  void blocking(const std::string& name, GroupKind group, CollectiveCall call, Instructions& out);
  std::uint32_t new_slot() { return program_.slots++; }
  bool reads_back() const { return spec_.runtime.dispatch != RuntimeSpec::Dispatch::graph_sink; }

  StageProgram& program() { return program_; }

 private:
  OperatorCost cost(const Operator& op) const;
  std::uint32_t slot_of(const std::string& name);
  std::uint32_t segment_of(std::vector<OperatorCost> operators);
  std::uint32_t call_of(const std::string& name, GroupKind group, CollectiveCall call,
                        const std::string& algorithm);

  using SegmentKey = std::vector<std::array<double, 4>>;
  using CallKey = std::tuple<std::string, GroupKind, CollectiveKind, double, std::string>;
  const WorkloadSpec& spec_;
  const ClusterSpec& cluster_;
  StageProgram program_;
  std::map<SegmentKey, std::uint32_t> segments_;
  std::map<CallKey, std::uint32_t> calls_;
  std::map<std::string, std::uint32_t> slots_;
};

}  // namespace stepcast
