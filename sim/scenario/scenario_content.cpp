#include "scenario_content.hpp"

#include <string>

#include "stepcast/base/canonical.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/graph/task_graph.hpp"

namespace stepcast {
namespace {

/// All that a table of orders says, for the hash.
std::string text_of(const OrderTable& table) {
  std::string text = std::to_string(static_cast<int>(table.shape.placement));
  for (const StageOrder& order : table.orders) text += "; " + to_string(order, table.shape);
  return text;
}

/// Words of devices choose a framework, whose keys count by themselves.
void leave_out_device_words(std::string& text) {
  for (const char* word : {".device.vendor=", ".device.generation=", ".device.framework="})
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
      const std::size_t line = text.rfind('\n', at);
      const std::size_t begin = line == std::string::npos ? 0 : line + 1;
      text.erase(begin, text.find('\n', at) + 1 - begin);
      at = begin;
    }
}

}  // namespace

std::string content_of(ScenarioDraft draft) {
  Scenario& scenario = draft.scenario;
  // What `auto` became, so that a value and its default hash alike.
  scenario.schedule.pipeline_group_given = scenario.pipeline_shape().group;
  scenario.workload.plan.dp_given = scenario.workload.plan.dp;
  if (scenario.order_table) scenario.schedule.table = text_of(*scenario.order_table);
  draft.model_source = ScenarioDraft::from_keys;
  if (auto& platform = scenario.cluster.network.platform)
    platform->file.clear();  // its text counts
  if (scenario.graph) draft.graph = scenario.graph->sha256;
  std::string text = canonical_text([&](Visitor& visitor) { describe_content(visitor, draft); });
  // Words that describe a device and move no result must not move a hash.
  leave_out_device_words(text);
  const auto add = [&text](const char* key, const auto& numbers) {
    if (numbers.empty()) return;
    text += key;
    for (const auto number : numbers) text += shortest(static_cast<double>(number)) + " ";
    text += "\n";
  };
  // Of files their contents count and not their names.
  if (const auto& documents = scenario.schedule.data.documents)
    add("schedule.data.documents.lengths=", documents->lengths);
  add("moe.routing.counts=", scenario.workload.moe.routing.counts);
  if (const auto& platform = scenario.cluster.network.platform; platform && platform->text)
    text += "cluster.network.platform.text=" + sha256(*platform->text) + "\n";
  if (scenario.graph && scenario.graph->traced)
    for (const std::string& word : scenario.workload.communication.algorithms.algorithm)
      text += "communication.algorithm=" + word + "\n";
  if (auto& spread = scenario.stalls.spread)
    for (const auto& [name, part] : distributions(*spread))
      add(("stalls.spread." + name + ".factors=").c_str(), part->factors);
  return text;
}

}  // namespace stepcast
