#include "stepcast/sim/scenario/scenario.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "errors_of.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/topology/fabric.hpp"
#include "stepcast/workloads/collectives.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

using test::small_scenario;
using test::TemporaryFiles;

Scenario small(const std::vector<std::string>& overrides = {}) {
  const TemporaryFiles files;
  return prepare_scenario(files.write("small.yaml", small_scenario), overrides, {});
}

TEST(Scenario, HoldsWhatTheFileSays) {
  const Scenario s = small();
  EXPECT_EQ(s.name, "small");
  EXPECT_EQ(s.question, "does the reader find every mistake?");
  EXPECT_EQ(s.cluster.devices, 16);
  EXPECT_EQ(s.cluster.nodes(), 2);
  EXPECT_EQ(s.cluster.device.matmul_peak.value(), 300e12);
  EXPECT_EQ(s.cluster.network.nic.link.bandwidth.value(), 25e9);
  EXPECT_EQ(s.cluster.network.kind, NetworkSpec::Kind::rail_optimized);
  EXPECT_EQ(std::get<MeshFabric>(s.cluster.node_fabric).link.latency.value(), 0.5e-6);
  EXPECT_FALSE(s.cluster.super_node);
  EXPECT_EQ(std::get<GroupedQueryAttention>(s.workload.model.attention).kv_heads, 4);
  EXPECT_EQ(s.workload.model.moe->experts, 8);
  EXPECT_FALSE(s.synthetic);
  EXPECT_EQ(s.schedule.pipeline, "interleaved_1f1b");
  EXPECT_EQ(s.expect->step_time->value, 1.5);
  EXPECT_EQ(s.expect->step_time->tolerance, 0.01);
  EXPECT_FALSE(s.expect->mfu);
}

TEST(Scenario, ResolvesWhatIsAuto) {
  const Scenario s = small();
  EXPECT_EQ(s.workload.plan.dp, 4);
  EXPECT_EQ(s.workload.plan.world(), 16);
  EXPECT_EQ(s.micro_batches(), 8);
  const PipelineShape shape = s.pipeline_shape();
  EXPECT_EQ(shape.stages, 2);
  EXPECT_EQ(shape.chunks, 2);
  EXPECT_EQ(shape.micro_batches, 8);
  EXPECT_EQ(shape.group, 2);
  EXPECT_EQ(small({"schedule.group=4"}).pipeline_shape().group, 4);
}

// Megatron-LM exchanges once per forward and backward where it does not overlap.
TEST(Scenario, BlockingTransfersOfTheSteadyPhaseGoTogether) {
  const auto pairs = [](const std::vector<std::string>& overrides) {
    const std::vector<StageOrder> orders = small(overrides).orders();
    return std::ranges::count_if(orders[0], &Unit::with_next);
  };
  // 2 chunks of 8 micro-batches, 2 + 2 forwards before the steady phase of stage 0
  EXPECT_EQ(pairs({"schedule.p2p=blocking"}), 12);
  EXPECT_EQ(pairs({}), 0);
  EXPECT_EQ(pairs({"schedule.p2p=blocking", "schedule.warmup=less_memory"}), 0);
  EXPECT_EQ(pairs({"schedule.p2p=blocking", "schedule.pipeline=1f1b", "parallel.vpp=1"}), 0);
}

TEST(Scenario, OverlappingStepsAreReplayedTwice) {
  EXPECT_EQ(small().replayed_steps(), 1);
  const Scenario s = small({"schedule.post_validation=true"});
  EXPECT_EQ(s.replayed_steps(), 2);
  EXPECT_TRUE(s.workload.post_validation);
  EXPECT_EQ(small({"schedule.post_validation=true", "simulate.steps=5"}).replayed_steps(), 5);
}

TEST(Scenario, ListsEveryNumberWithASource) {
  const Scenario s = small();
  ASSERT_EQ(s.assumptions.size(), 2U);
  EXPECT_EQ(s.assumptions[0].path, "cluster.device.matmul_peak");
  EXPECT_EQ(s.assumptions[0].value, "300TFLOPS");
  EXPECT_EQ(s.assumptions[0].note, "dense BF16");
  EXPECT_EQ(s.assumptions[1].path, "cluster.device.efficiency.vector");
  EXPECT_EQ(s.assumptions[1].source, "assumed");
}

TEST(Scenario, CountsNoNumberOfAPartThatTheJobLacks) {
  const auto counts = [](const std::string& key, std::vector<std::string> overrides) {
    overrides.insert(overrides.begin(), key + "={value: 2us, source: assumed}");
    return std::ranges::count(small(overrides).assumptions, key, &Assumption::path);
  };
  EXPECT_EQ(counts("cluster.host.device_link.latency", {}), 0);
  EXPECT_EQ(counts("cluster.host.compile.kernel", {}), 0);
  EXPECT_EQ(counts("cluster.device.launch.vector", {}), 1);
}

TEST(Scenario, HashIsOfTheMeaning) {
  const std::string hash = small().sha256;
  EXPECT_EQ(hash.size(), 64U);
  for (const char* same :
       {"name=other", "parallel.dp=4", "schedule.group=2", "cluster.network.nic.bandwidth=25GB/s",
        "expect=none", "training.sequence=2Ki", "cluster.device.matmul_peak=300TFLOPS"}) {
    EXPECT_EQ(small({same}).sha256, hash) << same;
  }
  for (const char* other :
       {"training.sequence=4096", "cluster.network.nic.latency=2us", "cluster.devices=32",
        "schedule.p2p=blocking", "parallel.layers_per_chunk=[[2, 2], [2, 2]]"}) {
    EXPECT_NE(small({other}).sha256, hash) << other;
  }
}

// 256 replicas of the dense parameters; the gradient norm of all 1024 ranks runs alone and does not
// count.
TEST(Scenario, PairwiseIsTakenWhateverTheSizeOfGroups) {
  EXPECT_EQ(small().simulate.network, NetworkForm::ports);
  const std::string network = "simulate.network=pairwise";
  EXPECT_EQ(small({network}).simulate.network, NetworkForm::pairwise);
  EXPECT_EQ(small({network, "cluster.devices=512", "training.global_batch=256"}).micro_batches(),
            2);
  const Scenario wide = small({network, "cluster.devices=1024", "training.global_batch=256",
                               "schedule.pipeline=1f1b", "parallel.vpp=1"});
  EXPECT_EQ(wide.workload.plan.dp, 256);
}

TEST(Scenario, SyntheticWorkload) {
  std::string text{small_scenario};
  const std::size_t first = text.find("model:\n"), last = text.find("parallel:");
  text.replace(
      first, last - first,
      "workload:\n  chunks: [{forward: 1ms, backward_input: 2ms}]\n  boundary_latency: 0s\n");
  const TemporaryFiles files;
  const Scenario s = read_scenario(files.write("s.yaml", text),
                                   {"parallel.ep=1", "parallel.sequence_parallel=false"}, {});
  ASSERT_TRUE(s.synthetic);
  ASSERT_EQ(s.synthetic->chunks.size(), 1U);
  EXPECT_EQ(s.synthetic->chunks[0].backward_input.value(), 2e-3);
  EXPECT_TRUE(s.synthetic->boundary_latency_given);
}

// One entry stands for all chunks; else every chunk of every stage has its own.
TEST(Scenario, SyntheticChunksAreOneOrAllOfTheStages) {
  std::string text{small_scenario};
  const std::size_t first = text.find("model:\n"), last = text.find("parallel:");
  const auto with = [&](int entries) {
    std::string list;
    for (int i = 0; i < entries; ++i)
      list += std::string(i == 0 ? "" : ", ") + "{forward: 1ms, backward_input: 2ms}";
    std::string changed = text;
    changed.replace(first, last - first, "workload:\n  chunks: [" + list + "]\n");
    const TemporaryFiles files;
    return test::errors_of(
        files, files.write("s.yaml", changed),
        {"parallel.ep=1", "parallel.sequence_parallel=false", "parallel.pp=2", "parallel.vpp=2"});
  };
  EXPECT_EQ(with(1), "no error");
  EXPECT_EQ(with(4), "no error");
  EXPECT_NE(with(2).find("has 2 entries, allowed: 1, 4 (pp*vpp)"), std::string::npos);
}

TEST(Scenario, ModelOfAHuggingFaceConfig) {
  const TemporaryFiles files;
  files.write("config.json", test::small_llama_config);
  std::string text{small_scenario};
  const std::size_t first = text.find("  name: tiny"), last = text.find("parallel:");
  text.replace(first, last - first, "  hf_config: config.json\n  name: tiny\n");
  const Scenario s = read_scenario(files.write("s.yaml", text), {"parallel.ep=1"}, {});
  EXPECT_EQ(s.workload.model.name, "tiny");
  EXPECT_EQ(s.workload.model.layers, 8);
  // The same model by its keys has the same hash.
  EXPECT_EQ(s.sha256, small({"parallel.ep=1", "model.moe=none"}).sha256);
}

// Of --set a config.json takes the place of the file's model; other keys of --set stand beside it.
TEST(Scenario, AConfigTakesThePlaceOfAModel) {
  const TemporaryFiles files;
  const std::string config = files.write(
      "config.json",
      R"({"model_type": "mixtral", "num_hidden_layers": 16, "hidden_size": 2048, "vocab_size": 64000,
    "num_attention_heads": 16, "num_key_value_heads": 4, "intermediate_size": 4096,
    "num_local_experts": 16, "num_experts_per_tok": 2})");
  const std::string file = files.write("s.yaml", small_scenario);
  const auto read = [&](std::vector<std::string> more) {
    more.insert(more.begin(), "model.hf_config=" + config);
    return read_scenario(file, more, {}).workload.model;
  };
  EXPECT_EQ(read({}).name, "mixtral");
  EXPECT_EQ(read({}).layers, 16);
  EXPECT_EQ(read({}).moe->experts, 16);
  const ModelSpec changed =
      read({"model.layers=8", "model.moe.top_k=4", "model.attention.heads=8"});
  EXPECT_EQ(changed.layers, 8);
  EXPECT_EQ(changed.hidden, 2048);
  EXPECT_EQ(changed.moe->experts, 16);
  EXPECT_EQ(changed.moe->top_k, 4);
  EXPECT_EQ(std::get<GroupedQueryAttention>(changed.attention).heads, 8);
  EXPECT_EQ(std::get<GroupedQueryAttention>(changed.attention).kv_heads, 4);
  EXPECT_FALSE(read({"model.moe=none", "model.ffn.hidden=8192", "parallel.ep=1"}).moe.has_value());
  EXPECT_THROW((void)read({"model.layer=8"}), InputError);
}

TEST(Scenario, AlgorithmsServeTheKindsThatTheTableSays) {
  const Fabric fabric(small().cluster);
  const std::string torus =
      "{kind: torus, dimensions: [{size: 4, bandwidth: 50GB/s}, {size: 2, bandwidth: 50GB/s}]}";
  const Fabric wired(small({"cluster.node.fabric=" + torus}).cluster);  // some need wires
  std::vector<DeviceId> all, node;
  const std::vector<DeviceId> pair{{0}, {1}};
  for (std::uint32_t d = 0; d < 16; ++d) all.push_back({d});
  node.assign(all.begin(), all.begin() + 8);
  for (const NamedAlgorithm& algorithm : collective_algorithms()) {
    for (std::size_t k = 0; k < collective_kinds; ++k) {
      const CollectiveCall call{static_cast<CollectiveKind>(k), Bytes{1e6}};
      const bool plans = algorithm.plan(fabric, all, call, NetworkForm::ports) ||
                         algorithm.plan(fabric, node, call, NetworkForm::ports) ||
                         algorithm.plan(wired, node, call, NetworkForm::ports) ||
                         (call.kind == CollectiveKind::send_recv &&
                          algorithm.plan(fabric, pair, call, NetworkForm::ports));
      EXPECT_EQ(plans, algorithm.serves[k]) << algorithm.name << " " << name(call.kind);
    }
  }
}

TEST(Presets, ReadAlone) {
  const SearchPath search = default_search_path({});
  const ClusterSpec cluster = read_cluster("clusters/atlas-800t-a2.yaml", {"devices=64"}, search);
  EXPECT_EQ(cluster.devices, 64);
  EXPECT_EQ(cluster.nodes(), 8);
  EXPECT_EQ(read_model("models/llama2-7b.yaml", search).layers, 32);
  EXPECT_THROW(read_cluster("clusters/atlas-800t-a2.yaml", {"devices=63"}, search), InputError);
  EXPECT_THROW(read_model("models/none.yaml", search), InputError);
  EXPECT_THROW(read_model("clusters/ideal.yaml", search), InputError);
}

TEST(Presets, GivenDirectoriesComeFirst) {
  const TemporaryFiles files;
  files.write("models/llama2-7b.yaml",
              "layers: 3\nhidden: 8\nvocabulary: 9\nattention: {heads: 1, kv_heads: 1, head_dim: "
              "8}\nffn: {hidden: 8}\n");
  EXPECT_EQ(read_model("models/llama2-7b.yaml", default_search_path({files.path("")})).layers, 3);
}

TEST(Scenario, EveryShippedScenarioReadsNightly) {
  const SearchPath search = default_search_path({});
  int read = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(STEPCAST_SOURCE_DIR "/scenarios")) {
    const std::string path = entry.path().string();
    const auto folder = entry.path().parent_path().filename();
    const bool other =
        folder == "scaling" || folder == "plans" || folder == "orders" || folder == "fitted" ||
        folder == "residuals" || entry.path().filename() == "ratios.yaml" ||
        entry.path().filename() == "labels.yaml" || entry.path().filename() == "differs.yaml" ||
        entry.path().filename() == "gallery.yaml" || entry.path().filename() == "sources.yaml";
    if (entry.path().extension() != ".yaml" || other) continue;
    ++read;
    if (path.find("/clusters/") != std::string::npos) {
      EXPECT_NO_THROW(read_cluster(path, {}, search)) << path;
    } else if (path.find("/models/") != std::string::npos) {
      EXPECT_NO_THROW(read_model(path, search)) << path;
    } else if (folder == "frameworks") {
      continue;  // every framework is read with every model (tests/house/frameworks_test.py)
    } else {
      EXPECT_NO_THROW(read_scenario(path, {}, search)) << path;
      EXPECT_NE(read_scenario(path, {}, search).question, "") << path;
    }
  }
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace stepcast
