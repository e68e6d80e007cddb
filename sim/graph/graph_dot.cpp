#include "stepcast/base/errors.hpp"
#include "stepcast/sim/graph/task_graph.hpp"

// A drawing for Graphviz: a cluster per rank, boxes of its tasks, arrows of what they wait for.
namespace stepcast {
namespace {

constexpr std::size_t most_tasks = 2000;

std::string dot_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text)
    out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

const char* shape_of(TaskNode::Kind kind) {
  switch (kind) {
    case TaskNode::Kind::compute:
      return "box";
    case TaskNode::Kind::collective:
      return "ellipse";
    case TaskNode::Kind::send:
      return "rarrow";
    case TaskNode::Kind::receive:
      return "larrow";
  }
  return "box";
}

std::string id_of(Rank rank, std::size_t task) {
  return "r" + std::to_string(rank.value) + "_" + std::to_string(task);
}

}  // namespace

std::string graph_dot(const TaskGraph& graph, const std::vector<Rank>& ranks) {
  std::string text =
      "digraph " + dot_text(graph.name) + " {\n  rankdir=LR;\n  node [fontsize=9];\n";
  std::size_t count = 0;
  for (const Rank rank : ranks) {
    const std::vector<TaskNode> tasks = rank_tasks(graph, rank);
    count += tasks.size();
    // Counted before it is drawn: Graphviz does not get through such a file.
    if (count > most_tasks)
      refuse_input({}, "--graph",
                   "would draw more than " + std::to_string(most_tasks) +
                       " tasks, allowed: fewer ranks with --graph-ranks, or a .json");
    text += "  subgraph cluster_" + std::to_string(rank.value) + " {\n    label=\"rank " +
            std::to_string(rank.value) + "\";\n";
    for (std::size_t i = 0; i < tasks.size(); ++i)
      text += "    " + id_of(rank, i) + " [shape=" + shape_of(tasks[i].kind) +
              ", label=" + dot_text(tasks[i].key + " " + tasks[i].name) + "];\n";
    text += "  }\n";
    // Edges behind all nodes of the rank, or a node would be made outside of its box.
    for (std::size_t i = 0; i < tasks.size(); ++i)
      for (const std::uint32_t need : tasks[i].needs)
        text += "  " + id_of(rank, need) + " -> " + id_of(rank, i) + ";\n";
  }
  return text + "}\n";
}

}  // namespace stepcast
