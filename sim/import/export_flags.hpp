#pragma once
#include <string>
#include <vector>

#include "flags.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

/// Launch files in the making. Private to sim/import.
namespace stepcast {

/// Flags of the table with their values, as a shell reads them.
struct Flags {
  launch::Framework framework;
  std::vector<std::string> words;  ///< `--flag value`, one each

  void add(const std::string& flag, const std::string& value = {}) {
    expects(launch::find_flag(framework, flag).has_value(), "an exported flag is in the table");
    words.push_back(flag + (value.empty() ? "" : " " + value));
  }
  void add(const std::string& flag, std::int64_t value) { add(flag, std::to_string(value)); }
  void when(bool wanted, const std::string& flag) {
    if (wanted) add(flag);
  }
};

/// Precision, recomputation, states, kernels and graphs.
void add_training(Flags& flags, const Scenario& scenario);

using ChunkLayers = std::vector<std::vector<std::int64_t>>;
/// Layers of each chunk and stage, whoever chose them: [chunk][stage].
ChunkLayers chunk_layers(const Scenario& scenario);

/// A scenario as the text of a launch file; what it cannot say is found by reading it back.
std::string megatron_script(const Scenario& scenario);
std::string mindspeed_script(const Scenario& scenario);
std::string mindformers_yaml(const Scenario& scenario);

/// Every key that an import of `text` as `kind`, on the same cluster, reads otherwise, with both
/// values; what the import refuses, if it does.
std::vector<std::string> lacking_keys(const Scenario& scenario, std::string_view kind,
                                      const std::string& text);

}  // namespace stepcast
