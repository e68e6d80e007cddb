#include <algorithm>

#include "stepcast/sim/kernels/operator_rows.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

/// What measurements call a device, and the preset that stands for it.
struct DevicePreset {
  std::string_view device, preset;
};
constexpr std::array<DevicePreset, 13> device_presets{{{"a100", "dgx-a100"},
                                                       {"a800", "dgx-a800"},
                                                       {"h100", "dgx-h100"},
                                                       {"h200", "dgx-h200"},
                                                       {"h800", "dgx-h800"},
                                                       {"h20", "hgx-h20"},
                                                       {"b200", "dgx-b200"},
                                                       {"b300", "dgx-b300"},
                                                       {"gb200", "gb200-nvl72"},
                                                       {"gb300", "gb300-nvl72"},
                                                       {"ascend-910b", "atlas-800t-a2"},
                                                       {"ascend-910b1", "atlas-900-a2-pod"},
                                                       {"ascend-a3", "atlas-900-a3"}}};

/// Nothing that could lead out of the folder of presets.
bool is_file_name(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !text.empty() && std::ranges::all_of(text, allowed);
}

/// The file of a device; nothing where there is none.
std::optional<std::string> preset_file(const std::string& device, const SearchPath& search) {
  const auto* known = std::ranges::find(device_presets, device, &DevicePreset::device);
  const std::string preset = known == device_presets.end() ? device : std::string(known->preset);
  if (!is_file_name(preset)) return {};
  const std::string path = "clusters/" + preset + ".yaml";
  if (!find_file(path, {}, search)) return {};
  return path;
}

/// The cluster with a whole node, or super-node, whatever part of one its file counts.
ClusterSpec with_whole_node(ClusterSpec cluster) {
  const std::int64_t nodes = cluster.super_node ? cluster.super_node->nodes : 1;
  if (cluster.allocation.empty() && cluster.kinds.empty())
    cluster.devices = std::max(cluster.devices, nodes * cluster.node_devices);
  return cluster;
}

}  // namespace

OperatorClusters::OperatorClusters(const std::string& path, std::vector<std::string> overrides,
                                   SearchPath search)
    : overrides_{std::move(overrides)}, search_{std::move(search)} {
  if (!path.empty()) all_.emplace(with_whole_node(read_cluster(path, overrides_, search_)));
}

const OperatorForecaster* OperatorClusters::find(const std::string& device) {
  if (all_) return &*all_;
  // Each cluster is read once.
  const auto [at, added] = by_device_.try_emplace(device);
  if (added) {
    const auto file = preset_file(device, search_);
    if (file) at->second.emplace(with_whole_node(read_cluster(*file, overrides_, search_)));
  }
  return at->second ? &*at->second : nullptr;
}

std::string OperatorClusters::known_devices() {
  std::string names;
  for (const DevicePreset& known : device_presets) names += std::string(known.device) + ", ";
  return names + "or the name of a file of clusters/, or give --cluster";
}

}  // namespace stepcast
