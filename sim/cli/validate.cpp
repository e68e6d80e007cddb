#include "commands.hpp"
#include "file_kinds.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast::cli {
namespace {

/// What the keys of a file say it is; a scenario where they do not say.
FileKind kind_of(const std::string& path, const SearchPath& search) {
  std::vector<Diagnostic> repeated;  // the reader itself reports them
  try {
    const std::string text = read_document_text(path, search);
    return file_kind(load_document_text(text, path, search, &repeated))
        .value_or(FileKind::scenario);
  } catch (const InputError&) {  // not all JSON is YAML
    return path.ends_with(".json") ? FileKind::hugging_face : FileKind::scenario;
  }
}

}  // namespace

Outcome validate(const ValidateOptions& options) {
  const SearchPath search = default_search_path(options.presets);
  Outcome outcome;
  for (const std::string& file : options.files) {
    try {
      const FileKind kind = kind_of(file, search);
      const bool job = kind == FileKind::scenario || kind == FileKind::check;
      const std::vector<std::string> overrides =
          job ? launch_overrides(file, options.overrides, options.launch, search)
              : options.overrides;
      const std::string more = check_file(kind, file, overrides, search);
      outcome.text += file + ": valid" + more + "\n";
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
