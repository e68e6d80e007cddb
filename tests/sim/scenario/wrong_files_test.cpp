#include <gtest/gtest.h>

#include <algorithm>

#include "errors_of.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/scenario/scenario.hpp"
#include "temporary_files.hpp"
#include "wrong_costs.hpp"
#include "wrong_data.hpp"
#include "wrong_kernels.hpp"
#include "wrong_keys.hpp"
#include "wrong_plans.hpp"
#include "wrong_stalls.hpp"
#include "wrong_states.hpp"
#include "wrong_texts.hpp"
#include "wrong_values.hpp"

namespace stepcast {
namespace {

using namespace test;

std::string spoiled(std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(to);
  std::string text{small_scenario};
  const std::size_t at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos) {
    ADD_FAILURE() << "must stand in the small scenario once: " << from;
    return text;
  }
  return text.replace(at, from.size(), to);
}

class WrongFile : public ::testing::TestWithParam<WrongRow> {};

TEST_P(WrongFile, IsRefusedWithPlacePathAndCure) {
  const TemporaryFiles files;
  const std::string path = files.write("s.yaml", spoiled(GetParam().from, GetParam().to));
  EXPECT_EQ(errors_of(files, path), GetParam().errors);
}

const auto row_name = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Values, WrongFile, ::testing::ValuesIn(wrong_values), row_name);
INSTANTIATE_TEST_SUITE_P(Kernels, WrongFile, ::testing::ValuesIn(wrong_kernels), row_name);
INSTANTIATE_TEST_SUITE_P(Keys, WrongFile, ::testing::ValuesIn(wrong_keys), row_name);
INSTANTIATE_TEST_SUITE_P(Costs, WrongFile, ::testing::ValuesIn(wrong_costs), row_name);
INSTANTIATE_TEST_SUITE_P(Data, WrongFile, ::testing::ValuesIn(wrong_data), row_name);
INSTANTIATE_TEST_SUITE_P(Plans, WrongFile, ::testing::ValuesIn(wrong_plans), row_name);
INSTANTIATE_TEST_SUITE_P(Stalls, WrongFile, ::testing::ValuesIn(wrong_stalls), row_name);
INSTANTIATE_TEST_SUITE_P(States, WrongFile, ::testing::ValuesIn(wrong_states), row_name);
INSTANTIATE_TEST_SUITE_P(Texts, WrongFile, ::testing::ValuesIn(wrong_texts), row_name);

TEST(WrongFiles, FilesThatCannotBeRead) {
  const TemporaryFiles files;
  files.write("directory/x", "");
  EXPECT_EQ(errors_of(files, files.path("gone.yaml")),
            "gone.yaml: does not exist, allowed: a YAML file, or a shipped one, see stepcast list");
  EXPECT_EQ(errors_of(files, files.path("directory")),
            "directory: is a directory, allowed: a YAML file");
  EXPECT_EQ(errors_of(files, ""), "file name: is empty, allowed: the path of a YAML file");
}

TEST(WrongFiles, ExpertGroupsThatNodesCutUnevenly) {
  const TemporaryFiles files;
  EXPECT_EQ(
      errors_of(files,
                files.write("s.yaml", spoiled("vocabulary: 32000",
                                              "vocabulary: 32000\nmoe: {dispatch: two_hop}")),
                {"cluster.devices=24", "model.moe.experts=12", "parallel.ep=6", "parallel.tp=1",
                 "training.global_batch=48"}),
      "s.yaml:36:17: moe.dispatch: needs equally many ranks of an expert group in each node of "
      "8 devices, allowed: flat, allgather, or another ep or order");
}

TEST(WrongFiles, ALogOfCounts) {
  const TemporaryFiles files;
  const auto errors = [&](const std::string& keys) {
    return errors_of(files, files.write("s.yaml", spoiled("vocabulary: 32000",
                                                          "vocabulary: 32000\nmoe: {routing: "
                                                          "{distribution: file, file: c.csv, " +
                                                              keys + "}}")));
  };
  files.write("c.csv", "1 2 3 4 5 6 7 8\n8 7 6 5 4 3 2 1");
  EXPECT_EQ(errors("step: 1"), "no error");
  EXPECT_EQ(errors("step: 2"),
            "s.yaml:36:56: moe.routing.step: is 2 but moe.routing.file holds the steps 0 to 1, "
            "allowed: one of them");
  EXPECT_EQ(errors("layers: own"),
            "s.yaml:36:43: moe.routing.file: names 'c.csv', which holds 16 numbers of sum 72, "
            "allowed: one for each of the 8 experts of each layer, step by step, not all 0");
  std::string rows;  // as many as there are layers with experts
  for (int row = 0; row < 7; ++row) rows += "1 2 3 4 5 6 7 8\n";
  files.write("c.csv", rows);
  EXPECT_EQ(errors("step: 0"),
            "s.yaml:36:43: moe.routing.file: names 'c.csv', which holds 7 rows, as many as the "
            "model has layers with experts, allowed: with moe.routing.layers own (a row for each "
            "layer) or shared (for each step) beside it");
  EXPECT_EQ(errors("layers: own"), "no error");
  EXPECT_EQ(errors("layers: shared"), "no error");
  EXPECT_EQ(errors("step: 6"), "no error");
  files.write("c.csv", rows + rows + "0 0 0 0 0 0 0 0\n" + rows.substr(16));
  EXPECT_EQ(errors("layers: own"),
            "s.yaml:36:43: moe.routing.file: names 'c.csv', which holds only 0 for the experts of "
            "layer 0 of step 2, allowed: a number above 0 in each row");
  files.write("c.csv", "1 2 3 4 5 6 7 8\n0 0 0 0 0 0 0 0");
  EXPECT_EQ(errors("layers: shared"),
            "s.yaml:36:43: moe.routing.file: names 'c.csv', which holds only 0 for the experts of "
            "step 1, allowed: a number above 0 in each row");
}

TEST(WrongFiles, CountsOfExperts) {
  const TemporaryFiles files;
  const std::string path = files.write(
      "s.yaml", spoiled("vocabulary: 32000",
                        "vocabulary: 32000\nmoe: {routing: {distribution: file, file: c.csv}}"));
  const std::string at = "s.yaml:36:43: moe.routing.file: names 'c.csv', which holds ";
  files.write("c.csv", "1, 2, 3\n4");
  EXPECT_EQ(
      errors_of(files, path),
      at + "4 numbers of sum 10, allowed: one for each of the 8 experts, step by step, not all 0");
  files.write("c.csv", "0 0 0 0 0 0 0 0");
  EXPECT_EQ(
      errors_of(files, path),
      at + "8 numbers of sum 0, allowed: one for each of the 8 experts, step by step, not all 0");
  files.write("c.csv", "1 2 x 4 5 6 7 8");
  EXPECT_EQ(errors_of(files, path), at + "'x', allowed: 0, or numbers of 1e-09 to 1e+15");
  files.write("c.csv", "1 2 -3 4 5 6 7 8");
  EXPECT_EQ(errors_of(files, path), at + "'-3', allowed: 0, or numbers of 1e-09 to 1e+15");
  files.write("c.csv", "1, 2, 3, 4\n5, 6, 7, 8\n");
  EXPECT_EQ(errors_of(files, path), "no error");
}

TEST(WrongFiles, KeysOfAnExtendedFileAreGivenOnce) {
  const TemporaryFiles files;
  files.write("base.yaml", spoiled("  tp: 2", "  tp: 2\n  tp: 4"));
  EXPECT_EQ(
      errors_of(files, files.write("top.yaml", "extends: base.yaml\nparallel: {tp: 1}\n")),
      "base.yaml:38:3: parallel.tp: is given twice, first in line 37, allowed: each key once");
}

TEST(WrongFiles, FilesOfAnotherKind) {
  const TemporaryFiles files;
  const std::string cluster = files.write("c.yaml", "device: {name: x}\n");
  const std::string model = files.write("m.yaml", "hidden: 8\n");
  const std::string scenario = files.write("s.yaml", small_scenario);
  const std::string shown = "; stepcast topology shows it, and a scenario extends it";
  const std::string counted = "; stepcast model counts its parameters, and a scenario extends it";
  const std::string run =
      "; stepcast run forecasts its step, stepcast check compares it with expect";
  EXPECT_EQ(errors_of(files, cluster), "c.yaml: is a cluster file, give a scenario" + shown);
  EXPECT_EQ(errors_of(files, model), "m.yaml: is a model file, give a scenario" + counted);
  const auto said = [](const auto& read) -> std::string {
    try {
      read();
    } catch (const InputError& error) {
      return error.diagnostics().front().message;
    }
    return "no error";
  };
  EXPECT_EQ(said([&] { read_cluster(scenario, {}, {}); }),
            "is a scenario file, give a cluster file" + run);
  EXPECT_EQ(said([&] { read_model(scenario, {}); }), "is a scenario file, give a model file" + run);
  EXPECT_EQ(said([&] { read_model(cluster, SearchPath{}); }),
            "is a cluster file, give a model file" + shown);
}

TEST(WrongFiles, APartOfAClusterIsCheckedKeyByKey) {
  const TemporaryFiles files;
  const std::string part = "stepcast: 1\ndevice: {memory: {capacity: 64GiB}}\n";
  EXPECT_NO_THROW(check_cluster_part(files.write("p.yaml", part), {}));
  EXPECT_THROW(read_cluster(files.path("p.yaml"), {}, {}), InputError);
  const std::string wrong = files.write("w.yaml", part + "host: {queue_dept: 3}\n");
  EXPECT_THROW(check_cluster_part(wrong, {}), InputError);
}

TEST(WrongFiles, AnErrorInAnExtendedFileNamesThatFile) {
  const TemporaryFiles files;
  files.write("base.yaml", spoiled("queue_depth: 1024", "queue_depth: 0"));
  const std::string top =
      files.write("top.yaml", "extends: base.yaml\nname: top\nmodel: {layers: -1}\n");
  EXPECT_EQ(errors_of(files, top),
            "base.yaml:18:18: cluster.host.queue_depth: is 0, allowed: 1 to 1000000000\n"
            "top.yaml:3:17: model.layers: is -1, allowed: 1 to 100000");
}

TEST(WrongFiles, ACycleOfExtends) {
  const TemporaryFiles files;
  files.write("a.yaml", "extends: b.yaml\n");
  files.write("b.yaml", "cluster: {extends: a.yaml}\n");
  EXPECT_EQ(errors_of(files, files.path("a.yaml")),
            "b.yaml:1:20: cluster.extends: extends a.yaml, which is being read: a cycle, allowed: "
            "a tree of files");
}

TEST(WrongFiles, AMissingPreset) {
  const TemporaryFiles files;
  const std::string path =
      files.write("a.yaml", "stepcast: 1\ncluster:\n  extends: clusters/none.yaml\n");
  EXPECT_NE(
      errors_of(files, path)
          .find(
              "a.yaml:3:12: cluster.extends: names 'clusters/none.yaml', which does not exist in"),
      std::string::npos);
}

TEST(WrongFiles, OfWhatExtendsNothingTheOwnWordsAreJudged) {
  const TemporaryFiles files;
  const std::string path =
      files.write("a.yaml",
                  "stepcast: 1\nextends: none.yaml\nframework: none\nparallel: {tp: 3}\n"
                  "training: {micro_batch: x}\nparalel: {pp: 2}\n");
  const std::string said = errors_of(files, path);
  for (const char* error :
       {"a.yaml:2:10: extends: names 'none.yaml', which does not exist in",
        "a.yaml:5:25: training.micro_batch: is 'x'", "a.yaml:6:1: paralel: is not a known key"})
    EXPECT_NE(said.find(error), std::string::npos) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 2) << said;
}

TEST(WrongFiles, AMissingPresetHidesNoOtherError) {
  const TemporaryFiles files;
  const std::string text = errors_of(
      files, files.write("a.yaml",
                         "stepcast: 1\ncluster: {extends: clusters/none.yaml, devices: 8}\n"
                         "model: {extends: models/none.yaml}\nparallel: {tp: none}\n"
                         "training: {sequnce: 1}\n"));
  for (const char* said :
       {"cluster.extends: names 'clusters/none.yaml'", "model.extends: names 'models/none.yaml'",
        "parallel.tp: is 'none'", "training.sequnce: is not a known key; did you mean sequence?"})
    EXPECT_NE(text.find(said), std::string::npos) << said << "\n" << text;
  EXPECT_EQ(text.find("cluster.device"), std::string::npos) << text;
}

TEST(WrongFiles, UnknownKeysSayWhereTheyStand) {
  const TemporaryFiles files;
  const std::string path = files.write("a.yaml", small_scenario);
  EXPECT_NE(errors_of(files, path, {"tp=4"}).find("did you mean parallel.tp?"), std::string::npos)
      << errors_of(files, path, {"tp=4"});
}

TEST(WrongFiles, AFileThatGivesNoNameNamesTheScenario) {
  const TemporaryFiles files;
  std::string text(small_scenario);
  const std::size_t at = text.find("name: "), end = text.find('\n', at);
  text.erase(at, end + 1 - at);
  EXPECT_EQ(read_scenario(files.write("My job.yaml", text), {}, {}).name, "my-job");
}

TEST(WrongFiles, AFileOfLengths) {
  const TemporaryFiles files;
  files.write("lengths.csv", "# tokens\n12\n\nlong\n0\n3000\n");
  files.write("empty.csv", "# nothing\n");
  const std::string head = "interleaved_1f1b\n  data: {documents: {distribution: file, file: ";
  EXPECT_EQ(
      errors_of(files, files.write("a.yaml", spoiled("interleaved_1f1b", head + "lengths.csv}}"))),
      "lengths.csv:4:1: schedule.data.documents.file: is 'long', allowed: one whole number "
      "of tokens per line, 1 to 1073741824\n"
      "lengths.csv:5:1: schedule.data.documents.file: is '0', allowed: one whole number of "
      "tokens per line, 1 to 1073741824");
  EXPECT_EQ(
      errors_of(files, files.write("b.yaml", spoiled("interleaved_1f1b", head + "empty.csv}}"))),
      "b.yaml:50:48: schedule.data.documents.file: names 'empty.csv', which holds no length, "
      "allowed: one per line");
}

// How many experts it routes to is not known then, so that nothing is said of those that work.
TEST(WrongFiles, AFileOfCountsThatRoutesOffloadedExperts) {
  const TemporaryFiles files;
  const std::string counts = "vocabulary: 32000\nmoe: {routing: {distribution: file, file: ";
  files.write("counts.csv", "1, many\n");
  const std::string said =
      errors_of(files, files.write("a.yaml", spoiled("vocabulary: 32000", counts + "counts.csv}}")),
                {"cluster.host.device_link={bandwidth: 64GB/s}",
                 "training.offload={experts: true, active_experts: routed}"});
  EXPECT_NE(said.find("moe.routing.file: names 'counts.csv', which holds 'many'"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("active_experts"), std::string::npos) << said;
}

/// What is said of keys beside the config.json of a dense model with grouped queries.
std::string errors_beside_config(const std::string& keys) {
  const TemporaryFiles files;
  files.write("config.json", test::small_llama_config);
  std::string text{small_scenario};
  const std::size_t first = text.find("  name: tiny"), last = text.find("parallel:");
  text.replace(first, last - first, "  hf_config: config.json\n" + keys);
  return errors_of(files, files.write("a.yaml", text), {"parallel.ep=1"});
}

TEST(WrongFiles, KeysOfAnotherKindBesideAConfig) {
  EXPECT_EQ(errors_beside_config("  attention: {kind: gqa, heads: 8}\n"), "no error");
  EXPECT_EQ(errors_beside_config("  attention: {kind: mla}\n"),
            "a.yaml:30:21: model.attention.kind: is mla but the config.json has gqa, allowed: gqa");
  EXPECT_EQ(errors_beside_config("  moe: {experts: 8, top_k: 2}\n"),
            "a.yaml:30:8: model.moe: is given but the config.json has no experts, allowed: none");
}

TEST(WrongFiles, AMissingConfig) {
  const TemporaryFiles files;
  std::string text{small_scenario};
  const std::size_t first = text.find("  name: tiny"), last = text.find("parallel:");
  text.replace(first, last - first, "  hf_config: none/config.json\n");
  EXPECT_EQ(errors_of(files, files.write("a.yaml", text)),
            "a.yaml:29:14: model.hf_config: names 'none/config.json', which does not exist, "
            "allowed: the path of a config.json");
}

TEST(WrongFiles, AllErrorsOfAFileInOneRun) {
  const TemporaryFiles files;
  std::string text = spoiled("bandwidth: 200Gbps", "bandwidth: 200");
  for (const auto& [from, to] : {std::pair{"library: hccl", "library: mpi"},
                                 {"heads: 16", "heads: 0"},
                                 {"pipeline:", "pipelin:"},
                                 {"micro_batch: 1", "micro_batch: none"}}) {
    text.replace(text.find(from), std::string_view(from).size(), to);
  }
  EXPECT_EQ(errors_of(files, files.write("a.yaml", text)),
            "a.yaml:24:35: cluster.network.nic.bandwidth: is 200 without a unit, "
            "allowed: a bandwidth such as 400Gbps or 28GB/s\n"
            "a.yaml:26:26: cluster.collectives.library: is 'mpi', allowed: hccl, nccl\n"
            "a.yaml:32:33: model.attention.heads: is 0, allowed: 1 to 65536\n"
            "a.yaml:47:16: training.micro_batch: is 'none', allowed: a whole number such as 8 or "
            "40Mi, 1 to 1073741824\n"
            "a.yaml:49:3: schedule.pipelin: is not a known key; did you mean pipeline?");
}

// HCCL runs the stages in a sunk graph, and between super-nodes.
TEST(WrongFiles, WherePipelinedExchangesDoNotRun) {
  const TemporaryFiles files;
  const std::string path = files.write("s.yaml", small_scenario);
  const std::string pipelined = "cluster.collectives.all_to_all=pipeline";
  EXPECT_EQ(errors_of(files, path, {pipelined}), "no error");
  EXPECT_EQ(errors_of(files, path, {pipelined, "runtime.dispatch=graph_sink"}),
            "--set runtime.dispatch=graph_sink: runtime.dispatch: is graph_sink, whose exchanges "
            "HCCL runs in stages, but cluster.collectives.all_to_all is pipeline, allowed: eager, "
            "task_queue");
  const std::string super_node =
      "cluster.super_node={nodes: 2, fabric: {kind: switch, port: {bandwidth: 40GB/s}}}";
  EXPECT_EQ(errors_of(files, path, {pipelined, super_node}),
            "--set cluster.collectives.all_to_all=pipeline: cluster.collectives.all_to_all: is "
            "pipeline but super-nodes join their nodes by a fabric of their own, allowed: staged");
}

// Its workload has times, but no tokens, layers or bytes.
TEST(WrongFiles, WhatASyntheticWorkloadHasNot) {
  const TemporaryFiles files;
  std::string text{small_scenario};
  const std::size_t first = text.find("model:"), last = text.find("parallel:");
  text.replace(first, last - first, "workload: {chunks: [{forward: 1ms, backward_input: 1ms}]}\n");
  const std::string path = files.write("s.yaml", text);
  const std::vector<std::string> base{"parallel.ep=1", "parallel.vpp=1",
                                      "cluster.host.device_link.bandwidth=64GB/s"};
  const auto said = [&](std::vector<std::string> overrides) {
    overrides.insert(overrides.end(), base.begin(), base.end());
    return errors_of(files, path, overrides);
  };
  EXPECT_EQ(said({"schedule.pipeline=1f1b"}), "no error");
  EXPECT_EQ(said({"schedule.pipeline=terapipe", "schedule.slices=2"}), "no error");
  for (const char* slices : {"[1024, 1024]", "balanced(2)"})
    EXPECT_EQ(said({"schedule.pipeline=terapipe", "schedule.slices=" + std::string(slices)}),
              "--set schedule.slices=" + std::string(slices) +
                  ": schedule.slices: have tokens but the workload is synthetic, allowed: a "
                  "number of slices");
  const auto without_operators = [&](const std::string& key, const std::string& value,
                                     const std::string& allowed) {
    EXPECT_EQ(said({"schedule.pipeline=1f1b", key + "=" + value}),
              "--set " + key + "=" + value + ": " + key +
                  ": is given but the workload has no operators, allowed: " + allowed);
  };
  without_operators("training.offload.activations", "0.5", "0");
  without_operators("training.offload.optimizer", "true", "false");
  without_operators("training.offload.experts", "true", "false");
  without_operators("training.recompute", "full", "none");
  without_operators("training.attention", "unfused", "fused");
  without_operators("training.attention_head", "128", "none");
  without_operators("training.cross_entropy", "fused", "unfused");
  without_operators("training.logit_metrics", "2", "0");
  without_operators("training.dropout", "true", "false");
  without_operators("training.update_memory", "flat", "in_place");
  without_operators("communication.gradient.kept", "both", "accumulated");
  without_operators("runtime.fusion", "dvm", "none");
  without_operators("runtime.optimizer", "elementwise", "fused");
  without_operators("runtime.kernels.rope", "unfused", "fused");
  without_operators("runtime.kernels.heads", "transposed", "joined");
  without_operators("runtime.kernels.ring", "statements", "fused");
  const std::string documents = "schedule.data.documents={distribution: fixed, length: 512}";
  EXPECT_EQ(said({"schedule.pipeline=1f1b", documents}),
            "--set " + documents +
                ": schedule.data.documents: are given but the workload has no operators, allowed: "
                "none");
}

}  // namespace
}  // namespace stepcast
