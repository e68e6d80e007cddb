#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "stepcast/sim/graph/task_graph.hpp"

/// Nine jobs of 1F1B whose finish times per stage ASTRA-sim gave (commit 518bd51, analytical
/// backend 599a047, a switch of 50 GB/s and 500 ns), and its rules of replay.
namespace stepcast::graph_tests {

struct Job {
  std::string name;
  std::int64_t tp, pp, dp, micro_batches, layers;
  double forward_us, backward_us;
  double tensor_mib, boundary_mib, gradient_mib;
  enum class Form { all_reduce, gather_scatter, all_to_all } form = Form::all_reduce;
  std::vector<std::int64_t> finish_ns;  ///< per stage
};
const std::vector<Job>& jobs();
void PrintTo(const Job& job, std::ostream* out);
TaskGraph graph_of(const Job& job);

/// The finish of every rank [ns] by rules 1 to 6 of ASTRA-sim: three slots per rank, messages that
/// share nothing, flat rings whose members start alone. The files are those of chakra_traces.
std::vector<std::int64_t> astra_finish(const ChakraTraces& traces);

}  // namespace stepcast::graph_tests
