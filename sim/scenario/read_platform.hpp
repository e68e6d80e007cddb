#pragma once
#include <optional>
#include <string>

#include "stepcast/base/section.hpp"
#include "stepcast/topology/cluster_spec.hpp"

/// A cluster whose links are those of a file of SimGrid's: docs/models/platform.md.
namespace stepcast {

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

}  // namespace stepcast
