#pragma once
#include <string>
#include <vector>

#include "stepcast/base/document.hpp"

namespace stepcast {

/// What a preset is called elsewhere, by the text of its file: its comment `# also: 910C, A3`.
std::string aliases_of(const std::string& text);

/// Names of presets in a folder, `clusters` or `models`, that are called `word` elsewhere, or whose
/// device is of the vendor `word`.
std::vector<std::string> presets_called(const std::string& word, const std::string& folder,
                                        const SearchPath& search);

}  // namespace stepcast
