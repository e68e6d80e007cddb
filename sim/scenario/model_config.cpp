#include <algorithm>
#include <iterator>

#include "read_draft.hpp"

namespace stepcast {
namespace {

/// The mapping of a model that names a config.json; null: there is none.
template <class AnyNode>
AnyNode* config_model(AnyNode& root) {
  if (root.kind != Node::Kind::mapping) return nullptr;
  AnyNode* model = root.find("model");
  if (model == nullptr || model->kind != Node::Kind::mapping) return nullptr;
  return model->find("hf_config") == nullptr ? nullptr : model;
}

bool is_config_key(const Node::Entry& entry) {
  return entry.key == "hf_config" || entry.key == "name" || entry.key == "stepcast";
}

/// Leaves what --set gives of a value; false: nothing.
bool keep_given(Node& value) {
  if (value.kind != Node::Kind::mapping) return value.place.file.starts_with("--set ");
  std::erase_if(value.entries, [](Node::Entry& entry) { return !keep_given(entry.value); });
  return !value.entries.empty();
}

/// Of another attention, or of experts that the config.json lacks, keys that are not said would
/// have values that nobody gave.
void refuse_other_kinds(const Node& beside, const ModelSpec& config, const ModelSpec& model,
                        Reading& reading) {
  constexpr const char* attentions[] = {"gqa", "mla"};
  const auto refuse = [&](const std::string& key, const std::string& message) {
    reading.failed.insert("model");  // nothing more can be said of it
    reading.failed.insert("model." + key);
    reading.report(place_of(beside, key), "model." + key, message);
  };
  if (const std::size_t own = config.attention.index(); model.attention.index() != own)
    refuse("attention.kind", std::string("is ") + attentions[model.attention.index()] +
                                 " but the config.json has " + attentions[own] +
                                 ", allowed: " + attentions[own]);
  if (model.moe && !config.moe)
    refuse("moe", "is given but the config.json has no experts, allowed: none");
  if (model.linear && !config.linear)
    refuse("linear_attention", "is given but the config.json has none, allowed: none");
  if (model.linear && config.linear && model.linear->kind != config.linear->kind)
    refuse("linear_attention.kind", "is not that of the config.json");
}

}  // namespace

void give_way_to_config(Node& root) {
  Node* model = config_model(root);
  if (model == nullptr || !model->find("hf_config")->place.file.starts_with("--set ")) return;
  keep_given(*model);
}

std::optional<Node> without_config_keys(const Node& root) {
  const Node* model = config_model(root);
  if (model == nullptr || std::ranges::all_of(model->entries, is_config_key)) return {};
  Node plain = root;
  std::erase_if(plain.find("model")->entries,
                [](const Node::Entry& e) { return !is_config_key(e); });
  return plain;
}

void read_beside_config(const Node& root, ModelSpec& model, Reading& reading) {
  // Keys beside a config change what it says, one by one.
  const Node* given = config_model(root);
  if (given == nullptr || reading.failed.contains("model")) return;
  Node beside = *given;
  std::erase_if(beside.entries, is_config_key);
  if (beside.entries.empty()) return;
  const ModelSpec config = model;
  // The config gave all that is required: a partial reading misses nothing.
  Reading partial{.partial = true};
  read_mapping(beside, "model", partial, [&](Visitor& v) { describe(v, model); });
  // Describing an absent section resets it, and the config's part has to survive that.
  if (beside.find("moe") == nullptr) model.moe = config.moe;
  if (beside.find("linear_attention") == nullptr) model.linear = config.linear;
  refuse_other_kinds(beside, config, model, partial);
  reading.failed.insert(partial.failed.begin(), partial.failed.end());
  std::ranges::move(partial.diagnostics, std::back_inserter(reading.diagnostics));
  std::ranges::move(partial.assumptions, std::back_inserter(reading.assumptions));
}

}  // namespace stepcast
