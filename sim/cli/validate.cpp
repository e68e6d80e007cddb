#include "commands.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/study/sweep.hpp"

namespace stepcast::cli {
namespace {

/// Reads the file as what its keys say it is.
void read_by_kind(const std::string& path, const std::vector<std::string>& overrides,
                  const SearchPath& search) {
  std::vector<Diagnostic> repeated;  // the reader itself reports them
  const Node root = load_document_text(read_document_text(path, search), path, search, &repeated);
  const FileKind kind = file_kind(root).value_or(FileKind::scenario);
  if (kind == FileKind::scenario) {
    prepare_scenario(path, overrides, search);
    return;
  }
  if (!overrides.empty()) {
    const std::string what = kind == FileKind::cluster ? "cluster"
                             : kind == FileKind::model ? "model"
                                                       : "sweep";
    throw InputError({Diagnostic{{path}, {}, "is a " + what + " file, --set is for scenarios"}});
  }
  if (kind == FileKind::cluster) {
    read_cluster(path, {}, search);
  } else if (kind == FileKind::sweep) {
    read_sweep(path, search);
  } else {
    read_model(path, search);
  }
}

}  // namespace

Outcome validate(const ValidateOptions& options) {
  const SearchPath search = default_search_path(options.presets);
  Outcome outcome;
  for (const std::string& file : options.files) {
    try {
      read_by_kind(file, options.overrides, search);
      outcome.text += file + ": valid\n";
    } catch (const InputError& error) {
      outcome.complaint += std::string(error.what()) + "\n";
      outcome.exit_code = bad_input;
    }
  }
  return outcome;
}

Outcome schema() { return {scenario_schema()}; }

}  // namespace stepcast::cli
