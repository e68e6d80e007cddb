#include "command_line.hpp"
#include "file_kinds.hpp"
#include "option.hpp"
#include "stepcast/base/edit_document.hpp"

namespace stepcast::cli {
namespace {

struct EditOptions : PresetOptions {
  std::string file, output;
  std::vector<std::string> overrides;  ///< --set
};

/// The text of a file with keys set in place; it is not checked further.
Outcome edit(const EditOptions& options) {
  if (options.overrides.empty()) bad_option("--set", "is missing, allowed: path.to.key=value");
  const SearchPath search = default_search_path(options.presets);
  const std::string text = read_document_text(options.file, search);
  const FileKind kind = cli::kind_of(text, options.file, search);
  std::string edited = edited_document(
      text, options.file, options.overrides,
      [&](const std::string& path, const Node& value) { return wrong_value(kind, path, value); });
  if (options.output.empty() || options.output == "-") return {std::move(edited)};
  write_file(options.output, edited);
  return {};
}

}  // namespace

void add_edit_commands(CommandLine& line) {
  const auto [sub, options] = line.command(
      edit, "edit", "write keys into the text of a file; comments and layout stay",
      "stepcast edit scenario.yaml --set parallel.tp=4 --set parallel.dp=auto -o scenario.yaml",
      OutputForm::any);
  required(sub, "file FILE", options->file,
           "scenario, sweep or cluster file, - for standard input");
  CommandLine::overrides(sub, options->overrides);
  option(sub, "-o,--output OUT", options->output, "file to write, without it the terminal");
  CommandLine::presets(sub, *options);
}

}  // namespace stepcast::cli
