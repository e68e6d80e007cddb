#include "stepcast/sim/graph/task_graph.hpp"
#include "structured.hpp"

namespace stepcast::launch {

std::optional<std::int64_t> import_graph(const std::string& path, const std::string&,
                                         const ImportOptions& options, Draft& draft) {
  const std::string file = path_of(path);
  draft.set("workload.graph", "'" + file + "'", {}, path);
  // The graph says how many ranks the job has.
  const TaskGraph graph = read_graph(file);
  if (options.devices && *options.devices != graph.plan.world())
    draft.wrong({}, "--devices",
                "are " + std::to_string(*options.devices) + ", and the graph has " +
                    std::to_string(graph.plan.world()) + " ranks, allowed: as many");
  return graph.plan.world();
}

}  // namespace stepcast::launch
