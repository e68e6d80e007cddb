#pragma once
#include <optional>

#include "stepcast/base/section.hpp"
#include "stepcast/sim/scenario/draft.hpp"

/// A model that a config.json gives, and keys that stand beside it. Private to sim/scenario.
namespace stepcast {

/// A `model.hf_config` from --set replaces the model of the file: its other keys go, but those that
/// --set gives as well.
void give_way_to_config(Node& root);

/// The document with nothing of a model beside its `hf_config` and name; nothing where it is so
/// already.
std::optional<Node> without_config_keys(const Node& root);

/// The keys that without_config_keys leaves out, over what the config.json gave. Another kind of
/// attention and experts that the config.json lacks are reported.
void read_beside_config(const Node& root, ModelSpec& model, Reading& reading);

}  // namespace stepcast
