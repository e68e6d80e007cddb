#pragma once
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "stepcast/workloads/memory.hpp"
#include "stepcast/workloads/operator_inventory.hpp"
#include "stepcast/workloads/operators.hpp"
#include "stepcast/workloads/program.hpp"

/// Puts the program of one stage together. Private to workloads/.
namespace stepcast {

/// Host and launch cost of issuing one operator of a class under a runtime; device time 0.
/// `in_call`: Operator::in_call.
OperatorCost issue_cost(LaunchClass launch, const RuntimeSpec& runtime, const ClusterSpec& cluster,
                        bool in_call = false);

/// Of one operator, with what it waits for kernels of routed shapes. `in_graph`: the operator
/// before was launched with a graph, and what is in one graph with it is launched with it.
OperatorCost operator_issue(const Operator& op, const RuntimeSpec& runtime,
                            const ClusterSpec& cluster, bool in_graph);

/// Of an exchange; `in_kernel`: LayerCommunication::in_kernel.
OperatorCost exchange_issue(bool in_kernel, ExchangeKernel kernel, const RuntimeSpec& runtime,
                            const ClusterSpec& cluster);

/// The stream that communications of a group run on.
Stream stream_of(GroupKind group);
/// From when the device may start a kernel until it does.
Seconds start_cost(LaunchClass launch, const DeviceSpec& device);

/// Equal segments and equal calls are stored once, so that a deep stage stays small.
class ProgramBuilder {
 public:
  /// `variants` >= 1 of each segment are kept (StageProgram::variants). What the operators are goes
  /// to `inventory` unless that is nullptr.
  ProgramBuilder(const WorkloadSpec& spec, const ClusterSpec& cluster, std::size_t variants = 1,
                 OperatorInventory* inventory = nullptr);

  /// Appends the items: operators between communications become one segment. Given are those of
  /// each variant, which differ in the work of operators only, or of one that stands for all.
  void lower(const std::vector<LayerItems>& variants, Instructions& out);
  /// As kernels of a step find it.
  const DeviceSpec& device() const { return device_; }
  const ClusterSpec& cluster() const { return cluster_; }
  /// A segment of one operator.
  void compute(const Operator& op, Instructions& out);
  /// Work of the host alone, before it issues what follows.
  void host_work(const char* name, Seconds time, Instructions& out);
  /// The same, bound by the host's memory, so that runtime.host_speed does not change it.
  void memory_work(const char* name, Seconds time, Instructions& out);
  /// What the host takes for so many launches inside one call of a library, each with so many
  /// statements of the framework that launch nothing.
  void library_launches(const char* name, double count, int statements, Instructions& out);
  /// Issues a collective on the stream of its group, to be waited for by slot; by `algorithm`
  /// unless that is empty.
  void issue(const std::string& name, GroupKind group, CollectiveCall call, std::uint32_t slot,
             bool after_compute, Instructions& out, const std::string& algorithm = {},
             bool in_kernel = false, ExchangeKernel kernel = ExchangeKernel::library);
  /// Issues it and waits.
  void blocking(const std::string& name, GroupKind group, CollectiveCall call, Instructions& out);
  /// Issues a transfer to or from host memory behind what is computed so far, to be waited for by
  /// slot.
  void to_host(Bytes bytes, std::uint32_t slot, Instructions& out);
  void from_host(Bytes bytes, std::uint32_t slot, Instructions& out);
  /// The same of states, to and from where training.offload.store keeps them.
  void to_store(Bytes bytes, std::uint32_t slot, Instructions& out);
  void from_store(Bytes bytes, std::uint32_t slot, Instructions& out);
  std::uint32_t new_slot() { return program_.slots++; }
  const HostSpec& host() const { return cluster_.host; }
  SoftmaxState softmax_state() const { return cluster_.device.softmax_state; }
  bool reads_back() const { return spec_.runtime.dispatch != RuntimeSpec::Dispatch::graph_sink; }

  StageProgram& program() { return program_; }

 private:
  /// Operators with no communication between them.
  struct Run {
    std::vector<OperatorCost> costs;
    std::vector<std::uint32_t> names;
    std::vector<std::uint32_t> kept;  ///< places in the inventory; empty without one
  };

  OperatorCost cost(const Operator& op, bool in_graph = false) const;
  void over_host_link(const char* name, Stream stream, Bytes bytes, BytesPerSecond bandwidth,
                      std::uint32_t slot, Instructions& out);
  /// Of what is offloaded.
  BytesPerSecond copy_bandwidth() const;
  OperatorCost beside_communication(OperatorCost cost, const Operator& op) const;
  void communicate(const LayerItem& item, Instructions& out);
  std::uint32_t slot_of(const CommunicationId& id);
  std::uint32_t name_of(const std::string& name);
  void add(std::uint32_t called, const OperatorCost& cost, Run& run);
  void add(const std::string& name, const OperatorCost& cost, Run& run);
  void add(const Operator& op, const OperatorCost& cost, Run& run, std::uint32_t called);
  void add(const Operator& op, const OperatorCost& cost, Run& run);
  /// The place of an operator in the inventory.
  std::uint32_t keep(const Operator& op, const OperatorCost& cost);
  /// Of one run for all variants, or one each.
  std::uint32_t segment_of(std::vector<Run> variants, const AttentionScaling& scaling = {});
  /// One attention operator, to be scaled by the documents of the micro-batch.
  std::uint32_t scaled_segment(const Operator& op, const AttentionWork& work, bool in_graph);
  std::uint32_t call_of(const StageCall& call);

  using SegmentKey = std::vector<std::array<double, 7>>;
  using CallKey =
      std::tuple<std::string, GroupKind, CollectiveKind, double, std::string, Skew, bool>;
  const WorkloadSpec& spec_;
  const ClusterSpec& cluster_;
  const DeviceSpec device_;  ///< as kernels of a step find it
  StageProgram program_;
  std::map<SegmentKey, std::uint32_t> segments_;
  std::map<CallKey, std::uint32_t> calls_;
  std::map<CommunicationId, std::uint32_t> slots_;
  std::map<std::string, std::uint32_t> names_;  ///< of operators
  OperatorInventory* inventory_;
  /// Name, FLOPs, bytes and device time tell operators apart.
  std::map<std::tuple<std::string, double, double, double>, std::uint32_t> kept_;
  std::set<CommunicationId> under_way_;  ///< communications beside which operators are lowered
};

}  // namespace stepcast
