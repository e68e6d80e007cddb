#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/small_scenario.hpp"
#include "sim/sweep/small_sweep.hpp"

// Schemas are held against files by another program: python3-jsonschema.
namespace stepcast {
namespace {

namespace fs = std::filesystem;
using test::small_scenario;
using test::TemporaryFiles;

const std::string source = STEPCAST_SOURCE_DIR, binary = STEPCAST_BINARY;

int run(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Schemas : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run("/usr/bin/python3 -c 'import jsonschema, yaml' 2>/dev/null") != 0) {
      GTEST_SKIP() << "needs python3-jsonschema and python3-yaml";
    }
  }

  /// A file with the schema of one kind.
  std::string schema(const std::string& kind) const {
    const std::string file = files_.path(kind + ".json");
    EXPECT_EQ(run(binary + " schema " + kind + " > " + file), 0);
    return file;
  }
  /// 0 when all of the files fit.
  int validate(const std::string& schema, const std::string& paths) const {
    return run("/usr/bin/python3 " + source + "/scripts/validate_schema.py " + schema + " " +
               paths + " > " + files_.path("output"));
  }
  struct Row {
    std::string text;
    bool right;
  };
  /// The schema and the reader both accept the rows that are right, and no other.
  void expect_verdicts(const std::string& kind, const std::vector<Row>& rows) const {
    std::string all;
    for (std::size_t i = 0; i < rows.size(); ++i)
      all += " " + files_.write(name(kind, i), rows[i].text);
    run(binary + " validate" + all + " > " + files_.path("read") + " 2> " + files_.path("wrong"));
    validate(schema(kind), all);
    const std::string read = content("read"), misfits = content("output");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string file = files_.path(name(kind, i));
      EXPECT_EQ(read.find(file + ": valid") != std::string::npos, rows[i].right) << rows[i].text;
      EXPECT_EQ(misfits.find(file + ":") == std::string::npos, rows[i].right) << rows[i].text;
    }
  }
  static std::string name(const std::string& kind, std::size_t i) {
    return kind + "-" + std::to_string(i) + ".yaml";
  }
  std::string content(const std::string& file) const {
    std::ifstream stream{files_.path(file)};
    return {std::istreambuf_iterator<char>{stream}, {}};
  }

  TemporaryFiles files_;
};

TEST_F(Schemas, HoldEveryShippedFileThatNamesThemNightly) {
  std::string paths;
  for (const auto& entry : fs::recursive_directory_iterator(source + "/scenarios"))
    if (entry.path().extension() == ".yaml") paths += " " + entry.path().string();
  ASSERT_FALSE(paths.empty());
  EXPECT_EQ(run("/usr/bin/python3 " + source + "/scripts/validate_schema.py --modelines" + paths),
            0);
}

TEST_F(Schemas, AreNamedByEveryShippedFile) {
  EXPECT_EQ(run("/usr/bin/python3 " + source + "/scripts/write_modelines --check"), 0);
}

TEST_F(Schemas, OfAKindRefuseFilesOfOtherKindsNightly) {
  const std::string shipped = source + "/scenarios/";
  const std::pair<std::string, std::string> rows[] = {
      {"scenario",
       files_.write("scenario.yaml", small_scenario.substr(0, small_scenario.find("expect:")))},
      {"check", files_.write("check.yaml", small_scenario)},
      {"cluster", shipped + "clusters/ideal.yaml"},
      {"model", shipped + "models/llama2-7b.yaml"},
      {"sweep", files_.write("sweep.yaml", test::small_sweep)},
      {"plan", shipped + "plans/gpt3-175b-512.yaml"},
      {"orders", shipped + "orders/two-stages.yaml"},
      {"ratios", shipped + "validation/ratios.yaml"},
      {"gallery", shipped + "papers/gallery.yaml"},
      {"labels", shipped + "validation/labels.yaml"},
      {"differs", shipped + "validation/differs.yaml"},
      {"measurements", shipped + "measurements/a100/sources.yaml"},
      {"residuals", shipped + "residuals/operators.yaml"}};
  std::string all;
  for (const auto& [kind, file] : rows) all += " " + file;
  for (const auto& [kind, file] : rows) {
    EXPECT_EQ(validate(schema(kind), file), 0) << kind;
    EXPECT_EQ(validate(schema(kind), all), 1) << kind;
    const std::string said = content("output");
    for (const auto& [other, wrong] : rows) {
      // A check is a scenario, and a scenario is a plan of one point.
      const bool fits = other == kind || (other == "check" && kind == "scenario") ||
                        (kind == "plan" && (other == "scenario" || other == "check"));
      EXPECT_EQ(said.find(wrong + ":") == std::string::npos, fits) << kind << " " << other;
    }
  }
}

TEST(SchemaOfAKind, HasAnIdThatNamesTheKind) {
  const TemporaryFiles files;
  const std::string file = files.path("schema.json");
  for (const char* kind : {"scenario", "check", "cluster", "model", "sweep", "plan", "orders",
                           "ratios", "gallery", "labels", "differs", "measurements", "residuals"}) {
    ASSERT_EQ(run(binary + " schema " + kind + " > " + file), 0) << kind;
    const auto schema = nlohmann::json::parse(std::ifstream{file});
    EXPECT_EQ(schema["$id"], "urn:stepcast:schema:1:" + std::string(kind));
    EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    EXPECT_EQ(schema["type"], "object");
  }
}

TEST_F(Schemas, TheDefaultIsTheScenario) {
  const std::string named = schema("scenario"), plain = files_.path("plain.json");
  EXPECT_EQ(run(binary + " schema > " + plain), 0);
  EXPECT_EQ(run("cmp " + named + " " + plain), 0);
}

TEST_F(Schemas, OfAScenarioRefusesWhatTheReaderRefuses) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& from, const std::string& to, bool right) {
    std::string text{small_scenario};
    rows.push_back({text.replace(text.find(from), from.size(), to), right});
  };
  add("name: small", "name: smaller", true);
  add("expect:",
      "stalls: {slow_devices: [{devices: [3], factor: 2}], throttling: none, gc_pauses: "
      "none}\nexpect:",
      true);
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
    add(from, to, false);
  }
  expect_verdicts("scenario", rows);
}

TEST_F(Schemas, OfASweepAgreesWithTheReader) {
  files_.write("base.yaml", test::sweep_base);
  const std::string head = "stepcast: 1\nname: s\nsweep:\n  base: base.yaml\n";
  std::vector<Row> rows{{std::string(test::small_sweep), true},
                        {head + "  grid: {cluster.device.memory.capacity: [1GiB, 2GiB]}\n", true},
                        {head + "  zip: {workload.chunks.0.forward: [1ms, 2ms]}\n", true}};
  for (const char* wrong :
       {"  grid: {parallel.pp: 2}\n", "  grid: {parallel.pp: []}\n",
        "  grid: {parallel.pp: [two]}\n", "  grid: {parallel.ppp: [2]}\n", "  grid: {name: [a]}\n",
        "  grid: [parallel.pp]\n",
        "  grid: {parallel.pp: [2]}\n  keep: {tokens_per_device: linear}\n",
        "  grid: {parallel.pp: [2]}\n  baseline: {parallel.pp: two}\n",
        "  zip: {workload.chunks.0.forward: [1]}\n", "  grid: {parallel.pp: [2]}\n  gird: {}\n"})
    rows.push_back({head + wrong, false});
  expect_verdicts("sweep", rows);
}

TEST_F(Schemas, OfAPlanAgreesWithTheReader) {
  const auto plan = [](const std::string& tp, const std::string& recompute, const std::string& rest,
                       const std::string& devices = "16") {
    return "stepcast: 1\nname: p\ncluster: {extends: clusters/atlas-800t-a2.yaml, devices: " +
           devices + "}\nmodel: {extends: models/llama2-7b.yaml, layers: 8}\nparallel: {tp: " + tp +
           ", pp: [1, 2]}\ntraining: {sequence: 2048, global_batch: 32, recompute: " + recompute +
           "}\n" + rest;
  };
  expect_verdicts("plan", {{plan("search", "[none, full]", "plan: {top: 4}\n"), true},
                           {plan("8", "none", "plan: {search: {model.layers: [8, 16]}}\n"), true},
                           {plan("[]", "none", ""), false},
                           {plan("searched", "none", ""), false},
                           {plan("[1, two]", "none", ""), false},
                           {plan("1", "[none, some]", ""), false},
                           {plan("1", "none", "plan: {objectiv: pareto}\n"), false},
                           {plan("1", "none", "plan: {search: {model.layers: 8}}\n"), false},
                           {plan("1", "none", "plan: {search: {model.layer: [8]}}\n"), false},
                           {plan("1", "none", "", "search"), false}});
}

TEST_F(Schemas, OfOrdersAndRatiosAgreeWithTheReader) {
  files_.write("a.yaml", "");
  const std::string
      orders = "stepcast: 1\nmicro_batches: 1\norders: ",
      ratio = "stepcast: 1\nratios: [{name: n, of: a.yaml, to: a.yaml, source: s, published: ";
  expect_verdicts("orders", {{orders + "[F0 B0]\n", true},
                             {orders + "F0 B0\n", false},
                             {orders + "[F0 B0]\nplacement: circle\n", false}});
  expect_verdicts(
      "ratios",
      {{ratio + "0.9}]\n", true}, {ratio + "0}]\n", false}, {ratio + "0.9, unit: s}]\n", false}});
}

TEST_F(Schemas, ACheckExpectsSomething) {
  const std::string file = files_.write("small.yaml", small_scenario);
  EXPECT_EQ(validate(schema("check"), file), 0);
  std::string text{small_scenario};
  text.resize(text.find("expect:"));
  EXPECT_EQ(validate(schema("check"), files_.write("less.yaml", text)), 1);
  EXPECT_EQ(validate(schema("scenario"), files_.path("less.yaml")), 0);
}

TEST_F(Schemas, AreWhatThePageSays) {
  EXPECT_EQ(run("/usr/bin/python3 " + source + "/scripts/write_scenario_keys.py --check " +
                schema("scenario") + " " + source + "/docs/scenario.md"),
            0);
}

}  // namespace
}  // namespace stepcast
