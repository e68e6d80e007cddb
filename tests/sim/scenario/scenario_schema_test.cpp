#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "sim/small_scenario.hpp"
#include "stepcast/sim/scenario/scenario.hpp"
#include "temporary_files.hpp"

// The schema is held against files by another program: python3-jsonschema.
namespace stepcast {
namespace {

namespace fs = std::filesystem;
using test::small_scenario;
using test::TemporaryFiles;

int run(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ScenarioSchema : public testing::Test {
 protected:
  void SetUp() override {
    if (run("/usr/bin/python3 -c 'import jsonschema, yaml' 2>/dev/null") != 0) {
      GTEST_SKIP() << "needs python3-jsonschema and python3-yaml";
    }
    schema_ = files_.write("schema.json", scenario_schema());
  }

  /// 0 when all of the files fit.
  int validate(const std::string& paths) const {
    return run("/usr/bin/python3 " STEPCAST_SOURCE_DIR "/scripts/validate_schema.py " + schema_ +
               " " + paths);
  }
  int validate_small(const std::string& from, const std::string& to) const {
    std::string text{small_scenario};
    text.replace(text.find(from), from.size(), to);
    return validate(files_.write("small.yaml", text) + " > " + files_.path("output"));
  }

  TemporaryFiles files_;
  std::string schema_;
};

TEST_F(ScenarioSchema, HoldsEveryShippedFile) {
  std::string paths;
  for (const auto& entry : fs::recursive_directory_iterator(STEPCAST_SOURCE_DIR "/scenarios")) {
    const auto folder = entry.path().parent_path().filename();
    const bool other = folder == "scaling" || folder == "plans" || folder == "orders" ||
                       folder == "fitted" || entry.path().filename() == "ratios.yaml";
    if (entry.path().extension() == ".yaml" && !other) paths += " " + entry.path().string();
  }
  ASSERT_FALSE(paths.empty());
  EXPECT_EQ(validate(paths), 0);
}

TEST_F(ScenarioSchema, RefusesWhatTheReaderRefuses) {
  EXPECT_EQ(validate_small("name: small", "name: smaller"), 0);
  EXPECT_EQ(validate_small("expect:",
                           "stalls: {slow_devices: [{devices: [3], factor: 2}], "
                           "throttling: none, gc_pauses: none}\nexpect:"),
            0);
  for (const auto& [from, to] : {std::pair{"bandwidth: 200Gbps", "bandwidth: 200"},
                                 {"bandwidth: 200Gbps", "bandwidth: 200us"},
                                 {"kind: mesh", "kind: switch"},
                                 {"kind: mesh", "kind: torus"},
                                 {"  layers: 8", "  layers: 0"},
                                 {"  tp: 2", "  tp: two"},
                                 {"  tp: 2", "  pt: 2"},
                                 {"source: assumed", "source: guessed"},
                                 {"sequence_parallel: true", "sequence_parallel: yes"},
                                 {"interleaved_1f1b", "zb_h3"},
                                 {"  cp: 1", "  cp: 1\n  context_algorithm: ring(2)"},
                                 {"expect:", "stalls: some\nexpect:"},
                                 {"expect:", "stalls: {gc_pauses: {duration: 3}}\nexpect:"},
                                 {"expect:", "stalls: {slow_devices: [{devices: 3}]}\nexpect:"},
                                 {"expect:", "stalls: {slow_devices: [{factor: 0}]}\nexpect:"},
                                 {"expect:",
                                  "stalls: {slow_hosts: [{factor: 2, affinity: "
                                  "unbound}]}\nexpect:"},
                                 {"stepcast: 1\n", ""},
                                 {"model:", "workload: {chunks: [{forward: 1ms}]}\nmodel:"}}) {
    EXPECT_EQ(validate_small(from, to), 1) << to;
  }
}

TEST_F(ScenarioSchema, IsWhatThePageSays) {
  EXPECT_EQ(run("/usr/bin/python3 " STEPCAST_SOURCE_DIR "/scripts/write_scenario_keys.py --check " +
                schema_ + " " STEPCAST_SOURCE_DIR "/docs/scenario.md"),
            0);
}

}  // namespace
}  // namespace stepcast
