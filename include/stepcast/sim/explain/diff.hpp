#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/sim/explain/pairs.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// What one side of a comparison is made of.
struct SideRequest {
  std::string file;                         ///< scenario, or result of `stepcast run --json`
  std::vector<std::string> overrides = {};  ///< `path.to.key=value`, of a scenario only
  std::vector<std::string> launch = {};     ///< `launch.devices=64`, of launch files alone
  /// More of them, which every scenario has and no result: they are no part of the label.
  std::vector<std::string> common = {};
};

/// What a step costs, of a cluster with prices.
struct SideCost {
  std::string currency;
  double step = 0;
  std::optional<double> token;  ///< nothing for a synthetic workload
};

/// One side of a comparison: what went in and what came out.
struct DiffSide {
  std::string name;
  std::string label;  ///< the overrides of a variant, otherwise the name
  std::string build;  ///< version, commit and fingerprint of what made it, as far as it says them
  /// Has `path` and `value` of every key, or only of the summary that a result has when an
  /// older version wrote it.
  std::vector<std::pair<std::string, std::string>> inputs;
  bool whole = false;                      ///< all inputs are there
  double step_time = 0;                    ///< [s]
  std::optional<double> mfu, peak_memory;  ///< nothing for a synthetic workload; [bytes]
  std::optional<double> tokens_per_s, device_tokens_per_s;  ///< nothing for a synthetic workload
  std::optional<SideCost> cost;
  /// Seconds by breakdown_names(), nothing for a part that a result does not have.
  std::vector<std::optional<double>> parts;
  std::vector<std::string> layers;  ///< of each stage, `3+2` in two chunks; empty without a model
  std::map<std::string, std::string> sources = {};  ///< of `inputs` that are no defaults
  std::map<std::string, std::string> presets = {};  ///< of `cluster` and `model`, where known
};

/// Reads results and simulates scenarios in so many processes. Throws InputError for what
/// is neither, for overrides of a result and for those that are wrong; EngineError where a
/// simulation fails.
std::vector<DiffSide> read_sides(const std::vector<SideRequest>& requests, const SearchPath& search,
                                 int workers = 1);

/// One input that differs, with its value on each side; nothing where a side lacks it.
struct InputRow {
  std::string path;
  std::vector<std::optional<std::string>> values;
};
/// All inputs that are not the same on every side, in the order of the first side that
/// has them. They are empty where one side has all keys and another only a summary: comparable()
/// says so.
std::vector<InputRow> differing_inputs(const std::vector<DiffSide>& sides);
bool comparable(const std::vector<DiffSide>& sides);
/// The same of stages whose layers differ; `stage 3`.
std::vector<InputRow> differing_layers(const std::vector<DiffSide>& sides);

/// What a person looks at first.
struct ShownInputs {
  /// Those that somebody wrote, with units; another preset is one row that counts its keys.
  std::vector<InputRow> rows;
  std::size_t of_presets = 0;  ///< so many keys differ because presets do
  std::size_t followed = 0;    ///< so many nobody wrote: they follow from others
};
/// differing_inputs() without what presets and defaults bring and without what rounding leaves.
ShownInputs shown_inputs(const std::vector<DiffSide>& sides);

/// Whether all inputs are listed or those of shown_inputs().
enum class InputList { shown, all };

/// One text is for people, the other is JSON (docs/formats.md).
std::string diff_table(const DiffSide& before, const DiffSide& after,
                       InputList inputs = InputList::shown,
                       const std::vector<PublishedPair>& pairs = {});
std::string diff_json(const DiffSide& before, const DiffSide& after,
                      const std::vector<PublishedPair>& pairs = {});

/// All sides beside the first, with the change of each part: for people in at most `width` columns
/// (at least 80), as Markdown and as JSON.
std::string compare_table(const std::vector<DiffSide>& sides, std::size_t width,
                          InputList inputs = InputList::shown,
                          const std::vector<PublishedPair>& pairs = {});
std::string compare_markdown(const std::vector<DiffSide>& sides,
                             InputList inputs = InputList::shown);
std::string compare_json(const std::vector<DiffSide>& sides,
                         const std::vector<PublishedPair>& pairs = {});

}  // namespace stepcast
