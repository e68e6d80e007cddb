#pragma once
#include "stepcast/sim/scenario/draft.hpp"

/// Private to sim/scenario/: documents become drafts.
namespace stepcast {

inline void append_errors(Reading& reading, const InputError& error) {
  reading.diagnostics.insert(reading.diagnostics.end(), error.diagnostics().begin(),
                             error.diagnostics().end());
}

/// Reads the config.json that stands at `path`.
void read_config(const Node& root, const std::string& path, const std::string& config,
                 ModelSpec& model, const SearchPath& search, Reading& reading);
/// Reads every key by itself, and the files that keys name.
void read_draft(const Node& root, const SearchPath& search, ScenarioDraft& draft, Reading& reading);
/// Settles what was read, and checks keys against each other.
void check_draft(const Node& root, ScenarioDraft& draft, Reading& reading);

}  // namespace stepcast
