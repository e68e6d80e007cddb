#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "shell.hpp"
#include "sim/small_scenario.hpp"
#include "sim/sweep/small_sweep.hpp"

// What commands say of files of every kind.
namespace stepcast {
namespace {

using test::scenarios;
using test::TemporaryFiles;

using test::Ran;

/// Runs stepcast in a folder, if one is given.
Ran run_in(const TemporaryFiles& files, const std::string& arguments,
           const std::string& folder = ".") {
  return test::shell(files, "cd " + folder + " && " + STEPCAST_BINARY + " " + arguments);
}

constexpr const char* config =
    R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 128,
"intermediate_size": 128, "num_attention_heads": 4, "max_position_embeddings": 64,
"tie_word_embeddings": false})";

constexpr const char* plan = R"(stepcast: 1
name: p
cluster: {extends: clusters/atlas-800t-a2.yaml, devices: 16}
model: {extends: models/llama2-7b.yaml, layers: 8}
parallel: {tp: [1, 2], pp: [1, 2]}
training: {sequence: 2048, global_batch: 32}
)";

TEST(Kinds, ACommandThatTakesAnotherKindSaysWhichTakesThisOne) {
  const TemporaryFiles files;
  const std::string sweep = test::write_sweep(files), json = files.write("config.json", config);
  const std::string scenario = files.path("base.yaml"), listed = files.write("plan.yaml", plan);
  const std::string orders = scenarios + "orders/two-stages.yaml";
  const struct {
    std::string arguments, says;
  } rows[] = {
      {"run " + listed, "is a plan file, give a scenario; stepcast plan searches it"},
      {"run " + scenarios + "plans/gpt3-175b-512.yaml", "is a plan file, give a scenario"},
      {"run " + json,
       "training.sequence: is not said by a configuration; give --set training.sequence=N"},
      {"run " + scenarios + "models/llama2-7b.yaml", "is a model file, give a scenario"},
      {"run " + orders, "is a file of orders, give a scenario; stepcast schedule draws it"},
      {"run " + scenarios + "validation/ratios.yaml", "is a file of ratios, give a scenario"},
      {"explain " + listed, "is a plan file, give a scenario"},
      {"check " + listed, "is a plan file, give a scenario with expect"},
      {"plan " + sweep, "is a sweep file, give a plan; stepcast sweep runs its points"},
      {"plan clusters/ideal.yaml", "is a cluster file, give a plan; stepcast topology shows it"},
      {"plan " + json,
       "training.sequence: is not said by a configuration; give --set training.sequence=N"},
      {"sweep " + listed, "is a plan file, give a sweep file; stepcast plan searches it"},
      {"sweep " + json, "is a Hugging Face config.json, give a sweep file"},
      {"topology " + scenario, "is a scenario file, give a cluster file; stepcast run forecasts"},
      {"topology " + json, "is a Hugging Face config.json, give a cluster file"},
      {"model " + listed, "is a plan file, give a model file"},
      {"schedule " + scenario, "is a scenario file, give a file of orders"},
      {"schema pln",
       "KIND: is 'pln', allowed: scenario, check, cluster, model, framework, sweep, plan"},
      {"schema hugging_face", "KIND: is 'hugging_face', allowed: scenario"},
  };
  for (const auto& row : rows) {
    const Ran ran = run_in(files, row.arguments);
    EXPECT_EQ(ran.code, 2) << row.arguments;
    EXPECT_NE(ran.err.find(row.says), std::string::npos) << row.arguments << ": " << ran.err;
  }
}

TEST(Kinds, OverridesThatGiveEachKeyOneValueMakeAPlanAScenario) {
  const TemporaryFiles files;
  const std::string job = files.write("plan.yaml", plan) + " --set parallel.tp=2 ";
  EXPECT_EQ(run_in(files, "validate " + job + "--set parallel.pp=2").code, 0);
  EXPECT_EQ(run_in(files, "run " + job + "--set parallel.pp=2").code, 0);
  EXPECT_EQ(run_in(files, "run " + job).code, 2);
}

TEST(Kinds, ValidateKnowsThemAll) {
  const TemporaryFiles files;
  const std::string sweep = test::write_sweep(files);
  const Ran ran = run_in(
      files, "validate " + sweep + " " + files.path("base.yaml") + " " +
                 files.write("plan.yaml", plan) + " " + files.write("config.json", config) +
                 " clusters/ideal.yaml clusters/fitted/a100.yaml models/llama2-7b.yaml " +
                 scenarios + "orders/two-stages.yaml " + scenarios + "validation/ratios.yaml");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("fitted/a100.yaml: valid as a part that cluster files extend"),
            std::string::npos)
      << ran.out;
}

// Rows of the ledgers are read by the tests of the ledgers.
TEST(Kinds, EveryShippedFileIsValid) {
  namespace fs = std::filesystem;
  std::string shipped;
  std::ptrdiff_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(scenarios)) {
    const std::string name = fs::relative(entry.path(), scenarios).string();
    if (entry.path().extension() != ".yaml" || name.starts_with("validation/") ||
        name.starts_with("papers/"))
      continue;
    shipped += " " + name;
    ++count;
  }
  ASSERT_GT(count, 0);
  const TemporaryFiles files;
  const Ran ran = run_in(files, "validate" + shipped, scenarios);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(std::ranges::count(ran.out, '\n'), count);
}

TEST(Kinds, ValidateFindsWhatAPlanWouldRefuse) {
  const TemporaryFiles files;
  const auto said = [&](const std::string& rest) {
    std::string text{plan};
    const Ran ran = run_in(files, "validate " + files.write("p.yaml", text + rest));
    EXPECT_EQ(ran.code, 2) << rest;
    return ran.err.substr(ran.err.find("p.yaml"));
  };
  EXPECT_EQ(said("simulate: {steps: 3}\n"),
            "p.yaml:7:19: simulate.steps: must be 1 in a plan, allowed: 1\n");
  EXPECT_EQ(said("moe: {overlap: [none, sometimes]}\n").substr(0, 32),
            "p.yaml:7:23: moe.overlap: is 'so");
  EXPECT_EQ(said("plan: {search: {parallel.tp: [1]}}\n"),
            "p.yaml:7:30: plan.search.parallel.tp: is listed at its own key, allowed: keys that "
            "have no list there\n");
  EXPECT_EQ(said("plan: {baseline: gone.yaml}\n"),
            "p.yaml:7:18: plan.baseline: names 'gone.yaml', which does not exist, allowed: the "
            "path of a scenario\n");
  files.write("base.yaml", "stepcast: 1\nname: b\nparallel: {pp: 3}\n");
  const Ran ran =
      run_in(files, "validate " +
                        files.write("p.yaml", plan + std::string("plan: {baseline: base.yaml}\n")));
  EXPECT_NE(ran.err.find("base.yaml:"), std::string::npos) << ran.err;
  const Ran searched = run_in(files, "validate " + files.path("p.yaml") +
                                         " --set cluster.devices=search "
                                         "--set plan=none");
  EXPECT_NE(searched.err.find("cluster.devices: is 'search', allowed: a value, a list of values"),
            std::string::npos)
      << searched.err;
}

TEST(Kinds, APlanOfOnePointSaysSo) {
  const TemporaryFiles files;
  const std::string job = "plan " + files.write("plan.yaml", plan) +
                          " --set parallel.tp=2 --set parallel.pp=2 -j1 --set plan.placements=0";
  const Ran ran = run_in(files, job);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("holds one point"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace stepcast
