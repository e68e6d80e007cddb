#include <gtest/gtest.h>

#include "sim/small_scenario.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/scenario/scenario.hpp"
#include "temporary_files.hpp"
#include "wrong_data.hpp"
#include "wrong_keys.hpp"
#include "wrong_plans.hpp"
#include "wrong_stalls.hpp"
#include "wrong_texts.hpp"
#include "wrong_values.hpp"

namespace stepcast {
namespace {

using namespace test;

/// What reading says, with the directory of the files left out.
std::string errors_of(const TemporaryFiles& files, const std::string& path,
                      const std::vector<std::string>& overrides = {}) {
  std::string text = "no error";
  try {
    prepare_scenario(path, overrides, {});
  } catch (const InputError& error) {
    text = error.what();
  }
  const std::string directory = files.path("");
  for (std::size_t at = text.find(directory); at != std::string::npos; at = text.find(directory)) {
    text.erase(at, directory.size());
  }
  return text;
}

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

class WrongFile : public testing::TestWithParam<WrongRow> {};

TEST_P(WrongFile, IsRefusedWithPlacePathAndCure) {
  const TemporaryFiles files;
  const std::string path = files.write("s.yaml", spoiled(GetParam().from, GetParam().to));
  EXPECT_EQ(errors_of(files, path), GetParam().errors);
}

const auto row_name = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Values, WrongFile, testing::ValuesIn(wrong_values), row_name);
INSTANTIATE_TEST_SUITE_P(Keys, WrongFile, testing::ValuesIn(wrong_keys), row_name);
INSTANTIATE_TEST_SUITE_P(Data, WrongFile, testing::ValuesIn(wrong_data), row_name);
INSTANTIATE_TEST_SUITE_P(Plans, WrongFile, testing::ValuesIn(wrong_plans), row_name);
INSTANTIATE_TEST_SUITE_P(Stalls, WrongFile, testing::ValuesIn(wrong_stalls), row_name);
INSTANTIATE_TEST_SUITE_P(Texts, WrongFile, testing::ValuesIn(wrong_texts), row_name);

TEST(WrongFiles, FilesThatCannotBeRead) {
  const TemporaryFiles files;
  files.write("directory/x", "");
  EXPECT_EQ(errors_of(files, files.path("gone.yaml")),
            "gone.yaml: does not exist, allowed: a YAML file");
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

TEST(WrongFiles, CountsOfExperts) {
  const TemporaryFiles files;
  const std::string path = files.write(
      "s.yaml", spoiled("vocabulary: 32000",
                        "vocabulary: 32000\nmoe: {routing: {distribution: file, file: c.csv}}"));
  const std::string at = "s.yaml:36:43: moe.routing.file: names 'c.csv', which holds ";
  files.write("c.csv", "1, 2, 3\n4");
  EXPECT_EQ(errors_of(files, path),
            at + "4 numbers of sum 10, allowed: one for each of the 8 experts, not all 0");
  files.write("c.csv", "0 0 0 0 0 0 0 0");
  EXPECT_EQ(errors_of(files, path),
            at + "8 numbers of sum 0, allowed: one for each of the 8 experts, not all 0");
  files.write("c.csv", "1 2 x 4 5 6 7 8");
  EXPECT_EQ(errors_of(files, path), at + "'x', allowed: numbers of at least 0");
  files.write("c.csv", "1 2 -3 4 5 6 7 8");
  EXPECT_EQ(errors_of(files, path), at + "'-3', allowed: numbers of at least 0");
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
  EXPECT_EQ(errors_of(files, cluster), "c.yaml: is a cluster file, give a scenario");
  EXPECT_EQ(errors_of(files, model), "m.yaml: is a model file, give a scenario");
  const auto said = [](const auto& read) -> std::string {
    try {
      read();
    } catch (const InputError& error) {
      return error.diagnostics().front().message;
    }
    return "no error";
  };
  EXPECT_EQ(said([&] { read_cluster(scenario, {}, {}); }),
            "is a scenario file, give a cluster file");
  EXPECT_EQ(said([&] { read_model(scenario, {}); }), "is a scenario file, give a model file");
  EXPECT_EQ(said([&] { read_model(cluster, SearchPath{}); }),
            "is a cluster file, give a model file");
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
  without_operators("training.dropout", "true", "false");
  without_operators("training.update_memory", "flat", "in_place");
  without_operators("communication.gradient.kept", "both", "accumulated");
  without_operators("runtime.fusion", "dvm", "none");
  without_operators("runtime.optimizer", "elementwise", "fused");
  without_operators("runtime.kernels.rope", "unfused", "fused");
  const std::string documents = "schedule.data.documents={distribution: fixed, length: 512}";
  EXPECT_EQ(said({"schedule.pipeline=1f1b", documents}),
            "--set " + documents +
                ": schedule.data.documents: are given but the workload has no operators, allowed: "
                "none");
}

struct WrongOverride {
  const char* name;
  std::vector<std::string> overrides;
  const char* errors;
};
void PrintTo(const WrongOverride& row, std::ostream* out) { *out << row.name; }

class WrongOverrides : public testing::TestWithParam<WrongOverride> {};

TEST_P(WrongOverrides, AreRefusedAsTheyWereWritten) {
  const TemporaryFiles files;
  EXPECT_EQ(errors_of(files, files.write("s.yaml", small_scenario), GetParam().overrides),
            GetParam().errors);
}

const WrongOverride wrong_overrides[] = {
    {"no_equals",
     {"training.sequence"},
     "--set training.sequence: has no '=', allowed: --set path.to.key=value"},
    {"no_path",
     {"=3"},
     "--set =3: has no path of keys before '=', allowed: --set path.to.key=value"},
    {"bad_yaml",
     {"training.sequence=[1"},
     "--set training.sequence=[1: training.sequence: is not YAML: end of sequence flow not found"},
    {"no_value",
     {"training.sequence="},
     "--set training.sequence=: training.sequence: is empty, allowed: a whole number such as 8 or "
     "40Mi, 1 to 1073741824"},
    {"wrong_value",
     {"training.sequence=long"},
     "--set training.sequence=long: training.sequence: is 'long', allowed: a whole number such as "
     "8 or 40Mi, 1 to 1073741824"},
    {"no_unit",
     {"cluster.network.nic.bandwidth=100"},
     "--set cluster.network.nic.bandwidth=100: cluster.network.nic.bandwidth: is 100 without a "
     "unit, allowed: a bandwidth such as 400Gbps or 28GB/s"},
    {"misspelt",
     {"training.sequnce=8"},
     "--set training.sequnce=8: training.sequnce: is not a known key; did you mean sequence?"},
    {"all_of_them",
     {"x", "y"},
     "--set x: has no '=', allowed: --set path.to.key=value\n--set y: has no '=', allowed: --set "
     "path.to.key=value"},
    {"ulysses_heads",
     {"parallel.cp=2", "parallel.context_algorithm=ulysses", "model.attention.heads=12",
      "parallel.tp=4"},
     "--set parallel.cp=2: parallel.cp: needs 2 ulysses ranks to divide the 3 heads of a rank "
     "(heads / tp), allowed: 1, 3"},
    {"zigzag",
     {"parallel.cp=2", "training.sequence=2050"},
     "--set training.sequence=2050: training.sequence: is 2050, must be a multiple of 2*cp (two "
     "slices per rank) = 4, allowed: 2048"},
    {"super_node",
     {"cluster.devices=48",
      "cluster.super_node={nodes: 4, fabric: {kind: switch, port: {bandwidth: 196GB/s}}}",
      "training.global_batch=48"},
     "--set cluster.super_node={nodes: 4, fabric: {kind: switch, port: {bandwidth: 196GB/s}}}: "
     "cluster.super_node.nodes: is 4, must divide the 6 nodes or hold all of them, allowed: 1, 2, "
     "3, 6"},
    {"recompute_beyond_the_chunk",
     {"parallel.layers_per_chunk=[[2, 2], [3, 1]]", "training.recompute=[[1, 1], [1, 2]]"},
     "--set training.recompute=[[1, 1], [1, 2]]: training.recompute: recomputes 2 layers of chunk "
     "1 on "
     "stage 1, which has 1, allowed: 0 to 1"},
    {"too_many_documents",
     {"schedule.data.documents={distribution: fixed, length: 1}", "training.sequence=1048576"},
     "--set schedule.data.documents={distribution: fixed, length: 1}: schedule.data.documents: "
     "make "
     "about 33554432 documents of one step of 33554432 tokens, allowed: at most 16777216"},
    {"slices_of_a_context_group",
     {"parallel.cp=2", "schedule.pipeline=seqpipe", "schedule.slices=[1024, 1024]"},
     "--set parallel.cp=2: parallel.cp: is 2 but the sequence is cut into 2 slices, allowed: cp 1"},
    {"balanced_slices_without_a_grid",
     {"training.sequence=2018", "schedule.pipeline=seqpipe", "schedule.slices=balanced(3)"},
     "--set schedule.slices=balanced(3): schedule.slices: is balanced(3), which looks for slices "
     "among at most 64 equal steps of the 2018 tokens, and finds no such grid, allowed: fewer "
     "slices, or their tokens as a list"},
    {"active_experts_below_one",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.experts=true",
      "training.offload.active_experts=0.25"},
     "--set training.offload.active_experts=0.25: training.offload.active_experts: is 0.25, less "
     "than one of the 2 experts of a rank, allowed: at least 0.5"},
    {"experts_offloaded_with_zero_3",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.experts=true",
      "parallel.zero=3"},
     "--set training.offload.experts=true: training.offload.experts: is given but parallel.zero 3 "
     "shards the parameters, allowed: with zero 0 to 2"},
    {"activations_offloaded_in_pairs",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.activations=0.5",
      "schedule.pipeline=dualpipe_v"},
     "--set training.offload.activations=0.5: training.offload.activations: does not go with pairs "
     "of forward and backward units, allowed: 0"},
    {"experts_offloaded_without_experts",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.experts=true",
      "model.moe=none", "parallel.ep=1"},
     "--set training.offload.experts=true: training.offload.experts: is given but the model has no "
     "experts, allowed: false"},
    {"unfused_attention_over_context_ranks",
     {"parallel.cp=2", "training.attention=unfused"},
     "--set training.attention=unfused: training.attention: is unfused, which holds all keys on a "
     "rank, but cp is 2, allowed: fused, or cp 1"},
    {"padded_heads_without_latent_attention",
     {"training.attention_head=256"},
     "--set training.attention_head=256: training.attention_head: is set but the model has no "
     "latent attention, allowed: none"},
    {"padded_heads_that_do_not_fit",
     {"model.attention={kind: mla, heads: 16, kv_lora_rank: 128, nope_dim: 64, rope_dim: 32, "
      "v_dim: 64}",
      "training.attention_head=64"},
     "--set training.attention_head=64: training.attention_head: is 64, less than the heads of the "
     "model, allowed: none, 96 or more"},
    {"indexed_rows_in_one_kernel",
     {"moe.permutation=indexed", "moe.overlap=tiles(2)"},
     "--set moe.permutation=indexed: moe.permutation: is indexed, which is known for dispatch flat "
     "and allgather without tiles(n), allowed: fused"},
    {"sequential_experts_in_one_kernel",
     {"moe.experts=sequential", "moe.overlap=tiles(2)"},
     "--set moe.experts=sequential: moe.experts: is sequential but tiles(n) is one kernel, "
     "allowed: "
     "grouped"},
    {"sequential_experts_of_which_some_work",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.experts=true",
      "training.offload.active_experts=0.5", "moe.experts=sequential"},
     "--set moe.experts=sequential: moe.experts: is sequential but only a part of the experts "
     "works "
     "in a step (training.offload.active_experts), allowed: grouped"},
    {"shared_experts_of_no_width",
     {"model.moe.shared_experts=1"},
     "s.yaml:34:8: model.moe.shared_hidden: is 0 with 1 shared experts, allowed: at least 1"},
    {"pairs_without_an_exchange",
     {"moe.overlap=fb_pair", "schedule.warmup=extra(1)", "parallel.ep=1"},
     "--set moe.overlap=fb_pair: moe.overlap: is fb_pair, which hides the exchange of tokens, "
     "allowed: with ep > 1"},
    {"pairs_that_compute_again",
     {"moe.overlap=fb_pair", "schedule.warmup=extra(1)", "training.recompute=full"},
     "--set moe.overlap=fb_pair: moe.overlap: is fb_pair, which has no place for computing a layer "
     "again, allowed: with training.recompute none, selective or a table"},
    {"pairs_of_sharded_gradients",
     {"moe.overlap=fb_pair", "schedule.warmup=extra(1)", "parallel.zero=2"},
     "--set moe.overlap=fb_pair: moe.overlap: is fb_pair, which keeps whole gradients, allowed: "
     "with "
     "parallel.zero 0 or 1"},
    {"pairs_on_a_schedule_that_has_none",
     {"moe.overlap=fb_pair"},
     "--set moe.overlap=fb_pair: moe.overlap: is fb_pair, which needs a schedule whose forwards "
     "and "
     "backwards can run as one, allowed: dualpipe, dualpipe_v, interleaved_1f1b with warmup "
     "extra(1), 1f1b with pp 1"},
    {"interleaved_group",
     {"schedule.group=1"},
     "s.yaml:49:13: schedule.pipeline: interleaved_1f1b has group 1, allowed: pp (2) to the number "
     "of "
     "micro-batches (8)"},
};
INSTANTIATE_TEST_SUITE_P(, WrongOverrides, testing::ValuesIn(wrong_overrides), row_name);

}  // namespace
}  // namespace stepcast
