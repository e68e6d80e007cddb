#include "commands.hpp"
#include "file_kinds.hpp"
#include "stepcast/base/edit_document.hpp"

namespace stepcast::cli {

Outcome edit(const EditOptions& options) {
  if (options.overrides.empty()) bad_option("--set", "is missing, allowed: path.to.key=value");
  const SearchPath search = default_search_path(options.presets);
  const std::string text = read_document_text(options.file, search);
  const FileKind kind = kind_of(text, options.file, search);
  std::string edited = edited_document(
      text, options.file, options.overrides,
      [&](const std::string& path, const Node& value) { return wrong_value(kind, path, value); });
  if (options.output.empty() || options.output == "-") return {std::move(edited)};
  write_file(options.output, edited);
  return {};
}

}  // namespace stepcast::cli
