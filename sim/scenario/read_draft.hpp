#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "stepcast/base/section.hpp"
#include "stepcast/sim/scenario/draft.hpp"
#include "stepcast/topology/cluster_spec.hpp"

/// Private to sim/scenario/: documents become drafts.
namespace stepcast {

inline void append_errors(Reading& reading, const InputError& error) {
  reading.diagnostics.insert(reading.diagnostics.end(), error.diagnostics().begin(),
                             error.diagnostics().end());
}

/// Reads the config.json that stands at `path`.
void read_config(const Node& root, const std::string& path, const std::string& config,
                 ModelSpec& model, const SearchPath& search, Reading& reading);
/// Reads every key by itself, and the files that keys name.
void read_draft(const Node& root, const SearchPath& search, ScenarioDraft& draft, Reading& reading);
/// Settles what was read, and checks keys against each other.
void check_draft(const Node& root, ScenarioDraft& draft, Reading& reading);

// A cluster whose links are those of a file of SimGrid's: docs/models/platform.md.

/// The document with what `network.platform` stands for: keys of nodes, NICs and switches that come
/// from other files (a preset) are left out, and nodes are of `devices_per_node` devices. Those
/// that stand in the same file stay, for the reader to refuse. Nothing where there is no platform.
/// `prefix` as in check_cluster().
std::optional<Node> with_platform(const Node& root, const std::string& prefix);

/// Reads the file that `network.platform` names, if any, and reports what it may not hold, each at
/// its line.
void read_platform_file(const Node& root, const SearchPath& search, const std::string& prefix,
                        ClusterSpec& cluster, Reading& reading);

/// Reports what a platform file may not hold: what SimGrid would do while it simulates, other files
/// that it reads, models whose links are no links, and names given twice.
void scan_platform(const std::string& text, const std::string& file, const std::string& key,
                   Reading& reading);

/// A `model.hf_config` from --set replaces the model of the file: its other keys go, but those that
/// --set gives as well.
void give_way_to_config(Node& root);

/// The document with nothing of a model beside its `hf_config` and name; nothing where it is so
/// already.
std::optional<Node> without_config_keys(const Node& root);

/// The keys that without_config_keys leaves out, over what the config.json gave. Another kind of
/// attention and experts that the config.json lacks are reported.
void read_beside_config(const Node& root, ModelSpec& model, Reading& reading);

/// The folder of the file in which a value stands; the working folder for a setting.
std::filesystem::path directory_of(const Place& place);

/// Notes what of the file is not known because a preset was not found: a key that it would have
/// given is no error of its own.
bool note_missing_presets(const std::vector<Diagnostic>& wrong, Reading& reading);
void drop_consequences(Reading& reading);

/// Adds to unknown keys where a key of that name does stand: `tp` is `parallel.tp`.
void suggest_paths(Reading& reading);

}  // namespace stepcast
