#include "chakra_jobs.hpp"

#include <gtest/gtest.h>

#include "stepcast/topology/placement.hpp"

// Jobs A to I as traces: ASTRA-sim's rules give its own finish times.
namespace stepcast {
namespace {

using namespace graph_tests;

ChakraTraces traces_of(const TaskGraph& graph) {
  std::vector<Rank> ranks;
  for (std::uint32_t r = 0; r < graph.plan.world(); ++r) ranks.push_back(Rank{r});
  return chakra_traces(graph, ranks);
}

class ChakraJob : public ::testing::TestWithParam<Job> {};

TEST_P(ChakraJob, EndsWhereAstraSimEndsIt) {
  TaskGraph graph = graph_of(GetParam());
  const Placement placement(graph.plan);
  const std::vector<std::int64_t> finish = astra_finish(traces_of(graph));
  for (std::uint32_t r = 0; r < finish.size(); ++r)
    ASSERT_EQ(finish[r], GetParam().finish_ns[placement.stage_of(Rank{r}).value]) << "rank " << r;
}

INSTANTIATE_TEST_SUITE_P(Jobs, ChakraJob, ::testing::ValuesIn(jobs()),
                         [](const auto& job) { return job.param.name; });

}  // namespace
}  // namespace stepcast
