#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "sim/small_scenario.hpp"
#include "stepcast/sim/scenario.hpp"
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

/// The scenario with a few deletions, insertions, repetitions and perhaps an early end.
std::string mutated() {
  std::string text{small_scenario};
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
