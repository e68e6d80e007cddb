#pragma once
#include <string>

#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// The draft is a scenario while it is read: the values, and which of several ways to write them
/// the file took.
struct ScenarioDraft {
  enum Source : std::size_t { from_model, from_workload };
  enum ModelSource : std::size_t { from_keys, from_config };
  Scenario scenario;
  SyntheticSpec synthetic;
  enum WorkloadSource : std::size_t { from_times, from_graph, from_chakra };
  std::size_t source = from_model;
  std::size_t workload_source = from_times;
  std::string graph;         ///< file or folder as written
  bool names_graph = false;  ///< which says the job: its sections are not there
  std::size_t model_source = from_keys;
  std::string hf_config;           ///< as written
  bool job_only = false;           ///< cluster and model were read before, and are not described
  bool launches = false;           ///< names a launch file: who reads that takes it out before
  std::string framework = "none";  ///< for the description: who reads it takes it out before
};

/// The keys of a scenario file.
void describe(Visitor& visitor, ScenarioDraft& draft);
/// A forecast depends on these keys: all but name, expect, campaign and the format's version.
void describe_content(Visitor& visitor, ScenarioDraft& draft);
/// The key `framework`, which the reader takes out.
void describe_framework_key(Visitor& visitor, ScenarioDraft& draft);
/// The keys of a model file: a model, or the name of a Hugging Face config.json that
/// holds one.
void describe_model(Visitor& visitor, ModelSpec& model, std::string& hf_config,
                    std::size_t& source);

/// The scenario of a document without the checks between its plan, its schedule and the
/// rest, and without its framework; what is wrong goes to `reading`.
Scenario read_values(const Node& root, const SearchPath& search, Reading& reading);

}  // namespace stepcast
