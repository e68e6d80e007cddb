#include "commands.hpp"
#include "file_kinds.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast::cli {
namespace {

FileKind kind_of_file(const std::string& path, const SearchPath& search) {
  try {
    return kind_of(read_document_text(path, search), path, search);
  } catch (const InputError&) {  // the reader itself says that the file cannot be read
    return FileKind::scenario;
  }
}

}  // namespace

Outcome validate(const ValidateOptions& options) {
  const SearchPath search = default_search_path(options.presets);
  Outcome outcome;
  for (const std::string& file : options.files) {
    try {
      const FileKind kind = kind_of_file(file, search);
      const bool job = kind == FileKind::scenario || kind == FileKind::check;
      const std::vector<std::string> overrides =
          job ? launch_overrides(file, options.overrides, options.launch, search)
              : options.overrides;
      const std::string more = check_file(kind, file, overrides, search);
      outcome.text.append(file).append(": valid").append(more).append("\n");
    } catch (const InputError& error) {
      outcome.complaint += std::string(error.what()) + "\n";
      outcome.exit_code = bad_input;
    }
  }
  return outcome;
}

Outcome schema(const std::string& kind) {
  std::vector<std::string> names;
  for (const FileKindInfo& known : file_kinds()) {
    if (known.kind == FileKind::hugging_face) continue;
    if (known.name == kind) return {schema_of(known.kind)};
    names.emplace_back(known.name);
  }
  bad_option("KIND", "is '" + kind + "', allowed: " + joined(names));
}

}  // namespace stepcast::cli
