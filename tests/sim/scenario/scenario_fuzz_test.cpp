#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "sim/small_scenario.hpp"
#include "stepcast/sim/network/link_faults.hpp"
#include "stepcast/sim/replay/stall_plan.hpp"
#include "stepcast/sim/scenario/scenario.hpp"
#include "stepcast/topology/placement.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

using test::small_scenario;
using test::TemporaryFiles;

/// Bytes that mean something to YAML or to a number, besides any byte at all.
rc::Gen<char> byte() {
  return rc::gen::weightedOneOf<char>(
      {{4, rc::gen::elementOf(std::string("{}[]:,-#&*!|>'\"%@`?~ \n\t0123456789.eEkKMGis"))},
       {1, rc::gen::arbitrary<char>()}});
}

constexpr std::string_view stalls =
    R"(stalls:
  compute_jitter: {sigma: 0.01, seed: 1}
  slow_devices: [{devices: [3, 5], factor: 1.25}]
  slow_hosts: [{nodes: [1], factor: 2}]
  throttling: [{devices: [2], factor: 2, from: 1s, until: 2s, period: 10s}]
  degraded_links: [{link: "nic:3", bandwidth_factor: 0.5}, {link: "leaf:1.up", bandwidth_factor: 0.5}]
  failed_links: [{link: "hccs:1-2"}, {link: "nic:9"}, {link: "leaf:0", ports: 3}]
  gc_pauses: {duration: 200ms, period: 60s}
  checkpoint: {every_steps: 500, blocking_time: 30s}
  failures: {device_mtbf: 50000h, restart: 15min}
)";

/// The scenario with a few deletions, insertions, repetitions and perhaps an early end.
std::string mutated() {
  std::string text{small_scenario};
  if (*rc::gen::arbitrary<bool>()) text += stalls;
  const int changes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < changes; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
    const auto length = *rc::gen::inRange<std::size_t>(0, 40);
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, *rc::gen::container<std::string>(byte()));
        break;
      case 2:
        text.insert(at, text.substr(*rc::gen::inRange<std::size_t>(0, text.size() + 1), length));
        break;
      default:
        if (*rc::gen::inRange(0, 4) == 0) text.erase(at);
    }
  }
  return text;
}

TEST(ScenarioFuzz, AnyTextReadsOrIsAnInputError) {
  const TemporaryFiles files;
  EXPECT_TRUE(rc::check([&] {
    const std::string path = files.write("s.yaml", mutated());
    try {
      const Scenario scenario = read_scenario(path, {}, {});
      RC_TAG("reads");
      const Fabric intact(scenario.cluster);
      const Fabric fabric(scenario.cluster, link_faults(scenario.stalls, intact));
      const Placement placement(scenario.workload.plan);
      RC_ASSERT(plan_stalls(scenario.stalls, placement, scenario.cluster).ranks > 0);
      RC_ASSERT(scenario.micro_batches() >= 1);
      RC_ASSERT(scenario.workload.plan.world() == scenario.cluster.devices);
    } catch (const InputError& error) {
      RC_TAG("refused");
      RC_ASSERT(!error.diagnostics().empty());
      for (const Diagnostic& d : error.diagnostics()) RC_ASSERT(d.place.file == path);
    }
  }));
}

}  // namespace
}  // namespace stepcast
