#include "stepcast/sim/study/diff.hpp"

#include "sweep_commands.hpp"

namespace stepcast::cli {

Outcome diff(const DiffOptions& options) {
  const auto [before, after] =
      read_sides(options.before, options.after, default_search_path(options.presets));
  return shown(diff_table(before, after), options.json, diff_json(before, after));
}

}  // namespace stepcast::cli
