#include <algorithm>

#include "commands.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/forecast/step_graph.hpp"
#include "stepcast/topology/placement.hpp"

// run --graph: what the ranks of the step execute, in the form that the name of the file says.
namespace stepcast::cli {
namespace {

enum class GraphForm { json, dot, chakra };

GraphForm form_of(const std::string& path) {
  if (path.ends_with(".json")) return GraphForm::json;
  if (path.ends_with(".dot")) return GraphForm::dot;
  if (path.ends_with(".et")) return GraphForm::chakra;
  bad_option("--graph", "is " + path + ", allowed: a file .json, .dot or .et");
}

/// The first rank of each pipeline stage: what the others of a stage execute, too.
std::vector<Rank> first_ranks(const Placement& placement, std::size_t stages) {
  std::vector<Rank> ranks;
  ranks.reserve(stages);
  for (std::uint32_t s = 0; s < stages; ++s) ranks.push_back(placement.first_of(Stage{s}));
  return ranks;
}

/// `0,8,16`, `all` or `stages`; empty: none given.
std::vector<Rank> ranks_option(const std::string& text, const Placement& placement,
                               std::size_t stages) {
  const std::uint32_t world = placement.world();
  std::vector<Rank> ranks;
  if (text == "stages") return first_ranks(placement, stages);
  if (text == "all") {
    ranks.reserve(world);
    for (std::uint32_t r = 0; r < world; ++r) ranks.push_back(Rank{r});
    return ranks;
  }
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::int64_t rank =
        count_option("--graph-ranks", text.substr(begin, end - begin), 0, world - 1);
    ranks.push_back(Rank{static_cast<std::uint32_t>(rank)});
    begin = end + 1;
  }
  std::ranges::sort(ranks);
  if (std::ranges::adjacent_find(ranks) != ranks.end())
    bad_option("--graph-ranks", "names a rank twice, allowed: each once");
  return ranks;
}

constexpr std::uint32_t most_traces = 16384;  ///< files
constexpr std::uint32_t unasked_traces = 64;  ///< so many files nobody minds

/// PREFIX.RANK.et of every rank, and their groups beside them.
void write_traces(const std::string& path, const TaskGraph& graph, std::vector<Rank> ranks,
                  std::uint32_t world) {
  if (ranks.empty()) {
    if (world > unasked_traces)
      bad_option("--graph", "would write a trace of each of " + std::to_string(world) +
                                " ranks, allowed without --graph-ranks: up to " +
                                std::to_string(unasked_traces) +
                                "; --graph-ranks all writes them, stages one of each pipeline "
                                "stage, 0,8 these");
    for (std::uint32_t r = 0; r < world; ++r) ranks.push_back(Rank{r});
  }
  if (ranks.size() > most_traces)
    bad_option("--graph-ranks", "are " + std::to_string(ranks.size()) + " ranks, allowed: up to " +
                                    std::to_string(most_traces));
  const ChakraTraces traces = chakra_traces(graph, ranks);
  const std::string prefix = path.substr(0, path.size() - 3);
  write_file(prefix + ".groups.json", traces.groups);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    write_file(prefix + "." + std::to_string(ranks[i].value) + ".et", traces.of_rank[i]);
}

}  // namespace

void write_graph(const std::string& path, const std::string& ranks_text, const Scenario& scenario,
                 std::vector<std::string>& warnings) {
  const GraphForm form = form_of(path);
  const TaskGraph graph = step_graph(scenario);
  if (graph.traced)
    bad_option("--graph", "is given for a job of traces, allowed: for a scenario of its own");
  if (graph.stalls && form != GraphForm::json)
    refuse_input(graph.stalls->place, "stalls",
                 "are no tasks that a .dot or .et has, allowed: a .json, or none of them");
  const Placement placement(graph.plan);
  std::vector<Rank> ranks = ranks_option(ranks_text, placement, graph.programs.size());
  switch (form) {
    case GraphForm::json:
      if (!ranks.empty())
        bad_option("--graph-ranks", "is given, but a .json holds the program of every stage");
      return write_file(path, graph_json(graph));
    case GraphForm::dot:
      if (ranks.empty()) ranks = first_ranks(placement, graph.programs.size());
      return write_file(path, graph_dot(graph, ranks));
    case GraphForm::chakra:
      warnings.push_back(
          "a trace has no clock of the host, no rendezvous and no two communications of a device "
          "at once: " +
          path + " says devices, sizes and what waits for what");
      return write_traces(path, graph, std::move(ranks), placement.world());
  }
}

}  // namespace stepcast::cli
