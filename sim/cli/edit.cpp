#include "commands.hpp"
#include "stepcast/base/edit_document.hpp"

namespace stepcast::cli {

Outcome edit(const EditOptions& options) {
  if (options.overrides.empty()) bad_option("--set", "is missing, allowed: path.to.key=value");
  const std::string text = read_document_text(options.file, default_search_path(options.presets));
  std::string edited = edited_document(text, options.file, options.overrides);
  if (options.output.empty() || options.output == "-") return {std::move(edited)};
  write_file(options.output, edited);
  return {};
}

}  // namespace stepcast::cli
