#pragma once
#include <string>
#include <utility>
#include <vector>

namespace stepcast::cli {

/// Whether the file of `--output` is YAML, or has whatever form its command gives it.
enum class OutputForm { yaml, any };

/// Checks the files that a command line names for writing, before any work: an hour of simulation
/// should not end at a folder that is not there. `given` are the options with their values; those
/// that name no output are passed over. Throws InputError, all at once: a folder that does not
/// exist or is not writable, a read-only file, a directory, a link to nothing, `-` where only a
/// file is taken, one file or stdout for two outputs, an ending that says another kind of text than
/// the option writes.
void check_outputs(OutputForm form, std::vector<std::pair<std::string, std::string>> given);

}  // namespace stepcast::cli
