#include <algorithm>

#include "document_steps.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

/// What belongs to the job and not to the preset at a key path.
std::vector<std::string> keys_of_the_job(const std::string& path) {
  if (path == "cluster") return {"devices", "allocation"};
  if (path.starts_with("cluster.kinds.")) return {"nodes"};
  return {};
}

/// The same mapping with the old keys named, so that a user can keep or leave each.
std::string remedy(const std::string& path, const Node& over, const std::vector<Node::Entry>& old) {
  std::string text = "--set '" + path + "={extends: " + over.extended->name;
  for (const Node::Entry& entry : old) text += ", " + entry.key + ": null";
  return text + "}'";
}

}  // namespace

void note_beside(Node& node, const std::string& key, const Place& place) {
  if (!node.extended) return;
  // A copy, because copies of a node share what is noted.
  auto noted = std::make_shared<Extended>(*node.extended);
  noted->beside.insert_or_assign(key, place);
  node.extended = std::move(noted);
}

void swap_preset(Node& base, Node over, const std::string& path, std::vector<Diagnostic>& wrong) {
  const std::vector<std::string> stay = keys_of_the_job(path);
  std::vector<Node::Entry> left;
  for (Node::Entry& entry : base.entries) {
    // Without a preset all keys were written; else those that a layer above it wrote.
    const auto written = [&] {
      if (!base.extended) return true;
      const auto found = base.extended->beside.find(entry.key);
      if (found == base.extended->beside.end()) return false;
      entry.place = found->second;
      return true;
    };
    if (over.extended->beside.contains(entry.key) || !written()) continue;
    if (std::ranges::find(stay, entry.key) != stay.end()) {
      note_beside(over, entry.key, entry.place);
      if (Node* found = over.find(entry.key))
        *found = std::move(entry.value);
      else
        over.entries.push_back(std::move(entry));
    } else if (base.extended) {
      left.push_back(std::move(entry));
    }
  }
  for (const Node::Entry& entry : left)
    wrong.push_back({entry.place, path + "." + entry.key,
                     "is written beside extends: " + base.extended->name + ", which " +
                         over.extended->name +
                         " replaces, allowed: " + (stay.empty() ? "no key" : joined(stay)) +
                         "; say it again or leave it: " + remedy(path, over, left)});
  base = std::move(over);
}

}  // namespace stepcast
