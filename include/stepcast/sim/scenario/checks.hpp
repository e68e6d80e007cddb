#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// Here checks between keys find places and leave their errors. A key that failed makes every check
/// on it pass, so that one mistake is one error.
class Checks {
 public:
  Checks(const Node& root, Reading& reading) : root_{root}, reading_{reading} {}

  /// Says whether all of the keys read well so far.
  bool good(std::initializer_list<std::string_view> paths) const;
  /// Says whether nothing at or below the key failed.
  bool good_below(std::string_view path) const;
  /// Says whether the file has the key, by its path with dots.
  bool given(std::string_view path) const;
  bool all_good() const { return reading_.diagnostics.empty(); }
  void fail(const std::string& path, const std::string& message);
  /// Spares `path` further checks after an error elsewhere that leaves it unknown.
  void skip(const std::string& path) { reading_.failed.insert(path); }
  /// Reports unless `holds`, and says whether it does.
  bool require(bool holds, const std::string& path, const std::string& message);
  /// require() of a key that changes nothing unless `holds`: a framework's key is passed over then.
  bool require_use(bool holds, const std::string& path, const std::string& message);

 private:
  const Node& root_;
  Reading& reading_;
};

/// `prefix` stands before the key paths: empty for a preset file, `cluster.` or `model.` in a
/// scenario.
void check_cluster(const ClusterSpec& cluster, const std::string& prefix, Checks& checks);
void check_model(const ModelSpec& model, const std::string& prefix, Checks& checks);
/// Checks `network.platform` against the keys that it replaces.
void check_platform(const ClusterSpec& cluster, const std::string& prefix, Checks& checks);
/// Checks where `collectives.all_to_all: pipeline` has nodes to run on.
void check_exchange(const ClusterSpec& cluster, const std::string& prefix, Checks& checks);
/// Checks which nodes of the machine `allocation` names.
void check_allocation(const ClusterSpec& cluster, const std::string& prefix, Checks& checks);
/// Checks that planes of nodes and super-nodes are the same.
void check_planes(const ClusterSpec& cluster, const std::string& prefix, Checks& checks);
/// Checks what a job may ask of links that a platform file has.
void check_platform_job(const Scenario& scenario, Checks& checks);
/// Checks the links that `stalls:` names; check_stalls() does where the fabric is known.
void check_stalled_links(const Scenario& scenario, Checks& checks);
/// Checks what `stalls:` names against the cluster, and its entries against each other.
void check_stalls(const Scenario& scenario, Checks& checks);
/// Checks what `simulate.engine: simgrid` can replay.
void check_step_engine(const Scenario& scenario, Checks& checks);
/// Checks what the host does: `training.offload`, `runtime.compile`.
void check_host(const Scenario& scenario, Checks& checks);
/// Of what data ranks share out, and of the precision in which it is kept and gathered.
void check_sharding(const Scenario& scenario, Checks& checks);
/// Checks what `training.adapters` stands beside, and what that leaves nothing to do.
void check_adapters(const Scenario& scenario, Checks& checks);
/// Of keys about FP8 operands and captured graphs.
void check_kernels(const Scenario& scenario, Checks& checks);
/// Checks that the device has the attention kernel of `training.attention`, and the heads that
/// are padded for it.
void check_attention_kernel(const Scenario& scenario, Checks& checks);
/// Whether some layer of the model has no experts.
bool has_dense_layers(const ModelSpec& model);
/// Checks that the model has the modules that `training.recompute` names, and that nothing
/// else runs them at once.
void check_modules(const WorkloadSpec& workload, Checks& checks);
/// Of a model with experts.
void check_dispatcher(const WorkloadSpec& workload, Checks& checks);
/// Of a model with experts: popularity by layer and step, copies, relocation.
void check_loads(const WorkloadSpec& workload, Checks& checks);
/// Of one without.
void check_no_loads(const MoeSpec& moe, Checks& checks);
/// Whether loads are others at another step.
bool loads_change(const WorkloadSpec& workload);
/// Checks `schedule.data` against the model and the sizes of a step.
void check_data(const Scenario& scenario, Checks& checks);
/// Checks a workload of given times: its chunks, and keys that say nothing of it.
void check_synthetic(const Scenario& scenario, Checks& checks);
/// Sets what follows from the keys by arithmetic: `dp: auto`, how the schedule places chunks
/// and cuts sequences, and the parts of expert groups. It comes before the checks, which change
/// nothing.
void settle(Scenario& scenario, const Checks& checks);
/// Checks what does not depend on the sizes of the plan, which a search varies: the rank
/// order, and that the algorithms serve their collectives.
void check_without_sizes(const Scenario& scenario, Checks& checks);
/// Checks everything between cluster, model, plan, training and schedule of a settled
/// scenario.
void check_scenario(const Scenario& scenario, Checks& checks);
/// What these checks say of a settled scenario that no file wrote, as a plan or a varied
/// number makes it: the first finding with its key, empty when there is none.
std::string reader_finding(const Scenario& scenario);

/// Tells the plan how the schedule places chunks and cuts sequences. It comes before the other
/// checks.
void place_chunks(Scenario& scenario);
/// Cuts the expert groups where the dispatch has an inner and an outer hop. `moe.inner` fits
/// the cluster; whether the parts are equal, Placement::cuts_experts_evenly() says.
void cut_expert_groups(Scenario& scenario);
/// Says what `moe.overlap: fb_pair` does not go with; it is empty where that is nothing, or
/// another overlap is asked for.
std::vector<std::string> pair_findings(const Scenario& scenario, const PipelineShape& shape);
/// Checks the micro-batches, and what the schedule can do with the plan.
void check_schedule(const Scenario& scenario, Checks& checks);

/// Writes a number inside a message.
inline std::string count_text(std::int64_t n) { return std::to_string(n); }
/// Writes "1, 2, 4": the divisors of `n`, the sixteen smallest.
std::string divisors(std::int64_t n);

}  // namespace stepcast
