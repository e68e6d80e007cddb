#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/document.hpp"
#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/workloads/program.hpp"

/// Task graphs: what the ranks of one step execute, as a file that other tools read and that comes
/// back as `workload: {graph: FILE}` or `{chakra: FOLDER}`. Format: docs/formats/graph.md.
namespace stepcast {

/// One step, lowered: nothing of it depends on a model any more. Ranks of a stage are alike.
struct TaskGraph {
  std::string name;
  ParallelPlan plan;    ///< sizes, order and how chunks and expert groups lie; resolved
  PipelineShape shape;  ///< of `orders`
  ScheduleSpec::PointToPoint p2p = ScheduleSpec::PointToPoint::overlapped;
  std::int64_t micro_batch = 1, global_batch = 1;  ///< sequences
  std::optional<Seconds> boundary_latency;         ///< replaces the network for transfers
  CollectiveChoice algorithms;
  std::optional<Node> stalls;          ///< `stalls:` of the step, where it has some
  std::vector<StageProgram> programs;  ///< [stage]
  std::vector<StageOrder> orders;      ///< [stage]
  /// Of a trace every rank is a stage, and calls name their members themselves: groups[of_call].
  struct Traced {
    std::vector<std::vector<Rank>> groups;               ///< in ring order; of a send both ends
    std::vector<std::vector<std::uint32_t>> of_call;     ///< [rank][call] -> groups
    std::vector<std::vector<std::uint32_t>> occurrence;  ///< [rank][call] of its group
  };
  std::optional<Traced> traced;
  std::string sha256;  ///< of what it was read from
};

/// The graph as JSON; numbers come back as the same doubles.
std::string graph_json(const TaskGraph& graph);
/// Throws InputError with file and place: no graph, a missing part, an index or a time out of
/// range.
TaskGraph read_graph(const std::filesystem::path& file);

/// One task of a rank with all that it waits for.
struct TaskNode {
  enum class Kind : std::uint8_t { compute, collective, send, receive };
  Kind kind = Kind::compute;
  std::string key;                 ///< `F3.1/2`: unit and place in it
  std::string name;                ///< of the operators or of the call
  double seconds = 0;              ///< of a compute task, on the device
  Stream stream = Stream::tensor;  ///< of a collective
  CollectiveKind collective = CollectiveKind::all_reduce;
  double bytes = 0;                  ///< as CollectiveCall has them
  std::vector<Rank> group;           ///< of a collective
  std::uint32_t peer = 0, tag = 0;   ///< of a send or receive
  std::vector<std::uint32_t> needs;  ///< tasks of the same rank, by index; all earlier
};
/// What one rank executes, in the order in which it is issued. Throws InputError where the rank
/// uses its host link, which no trace has.
std::vector<TaskNode> rank_tasks(const TaskGraph& graph, Rank rank);

/// At most 2000 tasks as a drawing for Graphviz, one cluster per rank. Throws InputError beyond.
std::string graph_dot(const TaskGraph& graph, const std::vector<Rank>& ranks);

/// The Chakra execution trace of one rank, and the groups of a job as ASTRA-sim reads them.
struct ChakraTraces {
  std::vector<std::string> of_rank;  ///< [index into ranks]
  std::string groups;                ///< JSON
};
ChakraTraces chakra_traces(const TaskGraph& graph, const std::vector<Rank>& ranks);
/// The job whose ranks have the traces PREFIX.0.et .. in `folder`. Throws InputError with rank, id
/// and name: a missing rank, a truncated record, an unknown or repeated id, a cycle, a send or
/// receive without its partner, members that disagree about a collective.
TaskGraph read_chakra(const std::filesystem::path& folder);

}  // namespace stepcast
