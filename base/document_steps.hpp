#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/document.hpp"

/// What the reader of documents is made of. Private to base/.
namespace stepcast {

/// `; did you mean clusters/dgx-h100.yaml?` where a YAML file of nearly that name stands in
/// the same folder below `directory` or the search path, and empty otherwise.
std::string file_hint(const std::filesystem::path& name, const std::filesystem::path& directory,
                      const SearchPath& search);
/// The same for a file of any kind: one of nearly that name and the same ending beside it.
std::string neighbour_hint(const std::filesystem::path& name);

/// The text of a file, or of standard input (`-`), which gives it once; messages call what is
/// allowed `format`. Throws InputError for what cannot be read or is larger than 16 MiB.
std::string read_file(const std::filesystem::path& path, std::string_view format);

/// Multiplies the number that stands at `path`, with its unit, by `factor` (`*=1.2` of a `--set`).
/// Throws InputError at `place`: no number above 0, or nothing that stands there with one.
void scale_value(Node& root, const std::string& path, const std::string& factor,
                 const Place& place);

// Another preset in the place of one: what of the lower layer stays, and what is an error.

/// Puts `over`, a mapping that says `extends`, in the place of `base` at the key path `path`. What
/// is no part of a preset stays: devices and allocation of a cluster, the nodes of a kind. Any
/// other key that was written beside the old `extends` and is not written beside the new one, too,
/// is an error of `wrong`.
void swap_preset(Node& base, Node over, const std::string& path, std::vector<Diagnostic>& wrong);

/// Notes that `key` of `node` was written by a layer above its preset.
void note_beside(Node& node, const std::string& key, const Place& place);

}  // namespace stepcast
