#pragma once
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/section.hpp"
#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/sim/engine.hpp"
#include "stepcast/sim/network_map.hpp"
#include "stepcast/sim/stalls.hpp"
#include "stepcast/topology/cluster_spec.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// `simulate:`
struct SimulateSpec {
  std::int64_t steps = 1;
  Fold fold = Fold::automatic;
  NetworkForm network = NetworkForm::ports;
  Sharing sharing = Sharing::automatic;
};

struct Expectation {
  double value = 0;         ///< in SI units
  double tolerance = 0.01;  ///< relative
};
/// `expect:`
struct ExpectSpec {
  std::optional<Expectation> step_time, mfu, peak_memory, bubble_ratio;
  std::string source;
};

/// A checked scenario: everything that is known before a run. Exactly one of `workload.model` and
/// `synthetic` counts.
struct Scenario {
  std::string name;
  ClusterSpec cluster;
  WorkloadSpec workload;  ///< plan, training, moe, communication, runtime; model when not synthetic
  std::optional<SyntheticSpec> synthetic;
  ScheduleSpec schedule;
  StallsSpec stalls;
  SimulateSpec simulate;
  std::optional<ExpectSpec> expect;
  /// Every number that a file marks with a source, in the order of the description; without the
  /// factors of affinities that no host has.
  std::vector<Assumption> assumptions;
  /// Of the canonical text of everything above but name and expect, `auto` resolved where it is
  /// known.
  std::string sha256;
  /// Text of the first `# question:` comment, empty without one.
  std::string question;

  std::int64_t micro_batches() const {
    return workload.training.global_batch / (workload.training.micro_batch * workload.plan.dp);
  }
  PipelineShape pipeline_shape() const;
};

enum class FileKind { scenario, cluster, model };
/// What the keys of a document say it is; nothing when they do not say.
std::optional<FileKind> file_kind(const Node& root);

/// Reads, merges, checks. Throws InputError with every error of the file at once.
/// `overrides` are `path.to.key=value` texts.
Scenario read_scenario(const std::string& path, const std::vector<std::string>& overrides,
                       const SearchPath& search);

/// Readers of the presets alone, for `stepcast topology`, `collective` and `model` (a YAML file or
/// an HF config.json). Overrides are paths inside the cluster, `devices=64`. Throw InputError.
ClusterSpec read_cluster(const std::string& path, const std::vector<std::string>& overrides,
                         const SearchPath& search);
ModelSpec read_model(const std::string& path, const SearchPath& search);

/// JSON Schema of the scenario format, from the same descriptions.
std::string scenario_schema();

/// `--presets` directories, $STEPCAST_PRESETS, the installed share directory, the source tree's
/// scenarios.
SearchPath default_search_path(const std::vector<std::string>& presets);

}  // namespace stepcast
