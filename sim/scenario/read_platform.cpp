#include <filesystem>
#include <set>

#include "read_draft.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/scenario/platform_text.hpp"

namespace stepcast {
namespace {

const Node* mapping_at(const Node* node, std::string_view key) {
  const Node* found = node != nullptr ? node->find(key) : nullptr;
  return found != nullptr && found->kind == Node::Kind::mapping ? found : nullptr;
}

/// Where the platform was given: a file, or several where one extends another.
std::set<std::string> origins(const Node& platform) {
  std::set<std::string> files{platform.place.file};
  for (const Node::Entry& entry : platform.entries) files.insert(entry.place.file);
  return files;
}

Node scalar(const Place& place, std::string text) {
  Node node;
  node.kind = Node::Kind::scalar;
  node.place = place;
  node.text = std::move(text);
  return node;
}

Node mapping(const Place& place, std::vector<Node::Entry> entries) {
  Node node;
  node.kind = Node::Kind::mapping;
  node.place = place;
  node.entries = std::move(entries);
  return node;
}

// A cluster is made of nodes with a fabric; that of a platform is the file itself, in which nothing
// is known below a host.
Node nodes_of(const Node& platform) {
  const Place& place = platform.place;
  const Node* size = platform.find("devices_per_node");
  Node fabric = mapping(place, {{"kind", place, scalar(place, "platform")}});
  return mapping(place, {{"devices", place, size != nullptr ? *size : scalar(place, "1")},
                         {"fabric", place, std::move(fabric)}});
}

/// Written by programs, for thousands of devices: larger than files that people write.
std::string platform_file_text(const std::string& file) {
  constexpr std::uintmax_t most = 64U << 20U;
  const bool large = size_of(file) > most;
  std::optional<std::string> text = large ? std::nullopt : bytes_of(file);
  if (!text)
    refuse_input(Place{file}, {},
                 std::string(large ? "is larger than 64 MiB" : "cannot be read") +
                     ", allowed: a platform file of SimGrid (XML)");
  return *std::move(text);
}

}  // namespace

std::optional<Node> with_platform(const Node& root, const std::string& prefix) {
  // Keys are those of a cluster file, or stand below `cluster` in a scenario.
  const Node* stated = prefix.empty() ? &root : root.find("cluster");
  const Node* platform = mapping_at(mapping_at(stated, "network"), "platform");
  if (platform == nullptr) return {};
  const Node& given = *platform;
  Node changed = root;
  Node* cluster = prefix.empty() ? &changed : changed.find("cluster");
  // What the same file says beside the platform is meant; what a preset said of nodes and links
  // described another network.
  const std::set<std::string> files = origins(given);
  const auto replaced = [&](const Node::Entry& entry) { return !files.contains(entry.place.file); };
  std::erase_if(cluster->find("network")->entries, [&](const Node::Entry& entry) {
    return entry.key != "platform" && entry.key != "extends" && replaced(entry);
  });
  std::erase_if(cluster->entries, [&](const Node::Entry& entry) {
    const bool said = entry.key == "node" || entry.key == "super_node" || entry.key == "costs";
    return said && replaced(entry);
  });
  if (cluster->find("node") == nullptr)
    cluster->entries.push_back({"node", given.place, nodes_of(given)});
  return changed;
}

void read_platform_file(const Node& root, const SearchPath& search, const std::string& prefix,
                        ClusterSpec& cluster, Reading& reading) {
  const std::string key = prefix + "network.platform.file";
  if (!cluster.network.platform || reading.failed.contains(key)) return;
  PlatformSpec& platform = *cluster.network.platform;
  const Place place = place_of(root, key);
  const auto file = find_file(platform.file, directory_of(place), search);
  const auto fail = [&](const std::string& message) {
    reading.failed.insert(key);
    reading.report(place, key, "names '" + shortened(platform.file) + "', " + message);
  };
  if (!file)
    return fail("which does not exist, allowed: the path of a platform file of SimGrid (XML)");
  try {
    platform.text = std::make_shared<const std::string>(platform_file_text(file->string()));
    check_text(*platform.text, file->string(), key, "XML");
  } catch (const InputError& error) {
    reading.failed.insert(key);
    return append_errors(reading, error);
  }
  platform.path = std::filesystem::absolute(*file).lexically_normal().string();
  // Whether it is well-formed is for SimGrid to say; names that stand twice are reported here, with
  // both of their lines.
  scan_platform(*platform.text, file->string(), key, reading);
}

void check_platform_text(const std::string& file, const std::string& key) {
  Reading reading;
  const std::string text = platform_file_text(file);
  check_text(text, file, key, "XML");
  scan_platform(text, file, key, reading);
  if (!reading.diagnostics.empty()) throw InputError(reading.diagnostics);
}

}  // namespace stepcast
