#pragma once
#include <string>
#include <vector>

#include "stepcast/base/document.hpp"

/// Another preset in the place of one: what of the lower layer stays, and what is an error.
namespace stepcast {

/// Puts `over`, a mapping that says `extends`, in the place of `base` at the key path `path`. What
/// is no part of a preset stays: devices and allocation of a cluster, the nodes of a kind. Any
/// other key that was written beside the old `extends` and is not written beside the new one, too,
/// is an error of `wrong`.
void swap_preset(Node& base, Node over, const std::string& path, std::vector<Diagnostic>& wrong);

/// Notes that `key` of `node` was written by a layer above its preset.
void note_beside(Node& node, const std::string& key, const Place& place);

}  // namespace stepcast
