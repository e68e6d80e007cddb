#include "chakra_jobs.hpp"

#include <gtest/gtest.h>

#include "sim/in_child.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/topology/placement.hpp"
#include "temporary_files.hpp"

// Jobs A to I as traces: ASTRA-sim's rules give its own finish times, and ours come close.
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

/// A switch of 50 GB/s in units of 2^30 and two hops of 500 ns, whose rings are those of the table.
constexpr const char* cluster = R"(
cluster:
  extends: clusters/ideal.yaml
  network:
    nic: {bandwidth: 429496729600bps, latency: 1us}
  collectives: {library: nccl}
)";

std::vector<double> ends_of(const Job& job) {
  const test::TemporaryFiles files;
  const TaskGraph graph = graph_of(job);
  const ChakraTraces traces = traces_of(graph);
  files.write("t/job.groups.json", traces.groups);
  for (std::size_t r = 0; r < traces.of_rank.size(); ++r)
    files.write("t/job." + std::to_string(r) + ".et", traces.of_rank[r]);
  const std::string devices = std::to_string(traces.of_rank.size());
  // The rings of the table; without the key an exchange of tokens goes directly.
  const std::string file = files.write(
      "s.yaml", std::string("stepcast: 1\nname: traced\n") + cluster +
                    "communication: {algorithm: {all_to_all: ring}}\nworkload: {chakra: t}\n");
  const Scenario scenario =
      prepare_scenario(file, {"cluster.devices=" + devices}, default_search_path({}));
  return testing::in_child([&] {
    const Forecast result = forecast(scenario);
    std::vector<double> ends;
    for (const RankTimes& rank : result.timeline.classes) ends.push_back(rank.end.value());
    return ends;
  });
}

class ChakraImport : public ::testing::TestWithParam<Job> {};

TEST_P(ChakraImport, EndsWithinFivePercentPerStage) {
  const Job& job = GetParam();
  const Placement placement(graph_of(job).plan);
  const std::vector<double> ends = ends_of(job);
  ASSERT_EQ(ends.size(), placement.world());
  for (std::uint32_t r = 0; r < ends.size(); ++r) {
    const auto wanted =
        static_cast<double>(job.finish_ns[placement.stage_of(Rank{r}).value]) * 1e-9;
    ASSERT_NEAR(ends[r], wanted, 0.05 * wanted) << "rank " << r;
  }
}

INSTANTIATE_TEST_SUITE_P(Jobs, ChakraImport, ::testing::ValuesIn(jobs()),
                         [](const auto& job) { return job.param.name; });

}  // namespace
}  // namespace stepcast
