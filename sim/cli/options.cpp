#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "commands.hpp"
#include "stepcast/base/section.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/platform_file.hpp"
#include "stepcast/sim/engine/workers.hpp"

namespace stepcast::cli {

void bad_option(const std::string& option, const std::string& message) {
  refuse_input({}, option, message);
}

std::int64_t count_option(const std::string& option, const std::string& text, std::int64_t low,
                          std::int64_t high) {
  const std::optional<double> count = parse_count(text);
  if (count && *count >= static_cast<double>(low) && *count <= static_cast<double>(high))
    return static_cast<std::int64_t>(*count);
  if (const std::string two = two_counts(text); !two.empty()) bad_option(option, two);
  bad_option(option, fmt::format("is '{}', allowed: a whole number such as 8 or 4Ki, {} to {}",
                                 text, low, high));
}

int jobs_option(const std::string& text) {
  constexpr std::int64_t most = 4096;
  return text.empty() ? usable_processors()
                      : static_cast<int>(count_option("--jobs", text, 1, most));
}

ClusterSpec cluster_option(const std::string& path, const std::string& devices,
                           const PresetOptions& options) {
  std::vector<std::string> overrides;
  if (!devices.empty()) overrides.push_back("devices=" + devices);
  const SearchPath search = default_search_path(options.presets);
  try {
    ClusterSpec cluster = read_cluster(path, overrides, search);
    load_platform(cluster, {});
    return cluster;
  } catch (const InputError& error) {
    std::vector<Diagnostic> all = error.diagnostics();
    for (Diagnostic& d : all) {
      // The user wrote --devices, and no setting.
      if (d.place.file.starts_with("--set ")) d = {{}, "--devices", d.message};
      if (d.place.file.empty() && d.path.starts_with("network.platform."))
        d.place = place_of(load_document(path, search), d.path);
    }
    throw InputError(std::move(all));
  }
}

bool colours() {
  const char* none = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  // no-color.org: any value but an empty one.
  const bool refused = none != nullptr && *none != 0;
  const bool dumb = terminal == nullptr || std::string(terminal) == "dumb";
  return !refused && !dumb && isatty(STDOUT_FILENO) == 1;
}

Outcome shown(std::string table, const std::string& json_file, const std::string& json) {
  if (json_file == "-") return {json};
  if (!json_file.empty()) write_file(json_file, json);
  return {std::move(table)};
}

}  // namespace stepcast::cli
