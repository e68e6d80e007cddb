#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/section.hpp"
#include "stepcast/scheduler/order_table.hpp"
#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/sim/scenario/campaign_spec.hpp"
#include "stepcast/sim/scenario/options.hpp"
#include "stepcast/sim/scenario/stalls_spec.hpp"
#include "stepcast/topology/cluster_spec.hpp"
#include "stepcast/workloads/memory.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

struct TaskGraph;
struct AppliedFramework;

/// The keys of `simulate:`.
struct SimulateSpec {
  std::int64_t steps = 1;
  StepEngine engine = StepEngine::fast;
  Fold fold = Fold::automatic;
  NetworkForm network = NetworkForm::ports;
  Sharing sharing = Sharing::automatic;
};

/// What a value should be, in SI units, and how far it may be off.
struct Expectation {
  double value = 0;         ///< in SI units
  double tolerance = 0.01;  ///< of the value when `relative`, otherwise in SI units
  bool relative = true;
};
/// The keys of `expect:`.
struct ExpectSpec {
  std::optional<Expectation> step_time, mfu, peak_memory, bubble_ratio;
  MemoryCount memory_count = MemoryCount::budget;                 ///< of peak_memory
  std::array<std::optional<Expectation>, exposed_kinds> exposed;  ///< by ExposedKind
  /// Where the time went when the values were taken, by breakdown_names(). It is not
  /// compared; it tells what changed where a value is off. It is empty when it is not given.
  std::vector<double> breakdown;
  std::string source;
};
/// The names are computing, the kinds of exposed communication, bubble, host_stall, compile_stall
/// and other_idle: what adds up to the step time.
const std::vector<std::string>& breakdown_names();

/// A scenario is checked and holds everything that is known before a run. Exactly one of
/// `workload.model` and `synthetic` counts.
struct Scenario {
  std::string name;
  ClusterSpec cluster;
  WorkloadSpec workload;  ///< plan, training, moe, communication, runtime; model when not synthetic
  std::optional<SyntheticSpec> synthetic;
  /// Of `workload.graph` and `workload.chakra`: plan, orders and programs are its own, and
  /// `synthetic` is empty.
  std::shared_ptr<const TaskGraph> graph;
  std::string graph_path;  ///< where it was found, an absolute path
  ScheduleSpec schedule;
  std::optional<OrderTable> order_table;  ///< the file that schedule.table names
  std::string order_file;                 ///< where it was found, an absolute path
  StallsSpec stalls;
  SimulateSpec simulate;
  std::optional<ExpectSpec> expect;
  std::optional<CampaignSpec> campaign;
  /// Has every number that a file marks with a source, in the order of the description,
  /// without the factors of affinities that no host has.
  std::vector<Assumption> assumptions;
  /// The hash of the canonical text of everything above but name, expect and campaign,
  /// `auto` resolved where it is known.
  std::string sha256;
  /// That text: one line `path=value` per key.
  std::string content;
  /// The text of the first `# question:` comment, and empty without one.
  std::string question;
  /// It was read from this document, so that later findings have their places; nothing for a
  /// scenario that no file says.
  std::shared_ptr<const Node> document;
  /// Where keys come from that the scenario does not say; nothing without a framework.
  std::shared_ptr<const AppliedFramework> framework;

  std::int64_t micro_batches() const {
    return workload.training.global_batch / (workload.training.micro_batch * workload.plan.dp);
  }
  /// So many steps are replayed: those of simulate.steps, and two at least where steps overlap
  /// (`schedule.post_validation`), because the first one fills an empty pipeline.
  std::int64_t replayed_steps() const {
    return std::max(simulate.steps, std::int64_t{schedule.post_validation ? 2 : 1});
  }
  PipelineShape pipeline_shape() const;
  /// The units of each stage. [stage]
  std::vector<StageOrder> orders() const;
};

/// Reads, merges and checks. Throws InputError with every error of the file at once.
/// `overrides` are `path.to.key=value` texts.
Scenario read_scenario(const std::string& path, const std::vector<std::string>& overrides,
                       const SearchPath& search);

/// A scenario as a document: merged, with its overrides, not read yet. What varies it sets
/// values in `root` and reads each variant.
struct ScenarioDocument {
  Node root;
  std::string path;      ///< of the file
  std::string question;  ///< as Scenario has it
};
/// Throws InputError where the file, an override or a repeated key is wrong.
ScenarioDocument load_scenario(const std::string& path, const std::vector<std::string>& overrides,
                               const SearchPath& search);
/// Reads and checks a document. Throws InputError with every error at once.
Scenario read_scenario(const ScenarioDocument& document, const SearchPath& search);
/// The text of the first `# question:` comment of a file, and empty without one.
std::string question_of(std::string_view text);
/// Says what is wrong with setting `path` of a scenario to `value`, taken alone: an unknown
/// key, or a value that its key cannot have. It is empty when nothing is.
std::string wrong_scenario_value(std::string_view path, const Node& value);

/// Read the presets alone, for `stepcast topology`, `collective` and `model` (a YAML file or
/// an HF config.json). Overrides are paths inside the cluster, `devices=64`. Throw InputError.
ClusterSpec read_cluster(const std::string& path, const std::vector<std::string>& overrides,
                         const SearchPath& search);
/// `as` is the family that a config.json of another type is read by.
ModelSpec read_model(const std::string& path, const SearchPath& search, const std::string& as = {});
/// Checks the keys, one by one, of a cluster file that names no device: a part that other
/// cluster files extend. Throws InputError.
void check_cluster_part(const std::string& path, const SearchPath& search);

/// The `--presets` directories, $STEPCAST_PRESETS, the installed share directory, and the
/// source tree's scenarios.
SearchPath default_search_path(const std::vector<std::string>& presets);

}  // namespace stepcast
