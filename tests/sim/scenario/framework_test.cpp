#include "stepcast/sim/scenario/framework.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "errors_of.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/applied_framework.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"
#include "temporary_files.hpp"

// A framework says what no key says: rules with conditions, and flags of recipes.
namespace stepcast {
namespace {

using test::errors_of;
using test::small_scenario;
using test::TemporaryFiles;

/// A folder of presets with frameworks, and the small scenario.
class FrameworkFiles {
 public:
  FrameworkFiles() { files.write("small.yaml", small_scenario); }

  /// Writes a file of rules, which begin at line 6.
  std::string add(const std::string& name, const std::string& rules,
                  const std::string& versions = "{from: \"1\"}") {
    return files.write("frameworks/" + name + ".yaml",
                       "# question: a framework for tests?\n"
                       "stepcast: 1\nframework:\n  name: Trainer\n"
                       "  versions: " +
                           versions + "\n" + rules);
  }
  Scenario run(std::vector<std::string> overrides) const {
    return read_scenario(files.path("small.yaml"), overrides, search());
  }
  std::string errors(const std::vector<std::string>& overrides) const {
    return without_folder([&] { run(overrides); });
  }
  std::string file_errors(const std::string& name) const {
    return without_folder(
        [&] { check_framework_file(files.path("frameworks/" + name + ".yaml"), search()); });
  }
  SearchPath search() const { return {{files.path("")}}; }

  TemporaryFiles files;

 private:
  template <class Do>
  std::string without_folder(const Do& what) const {
    std::string text = "no error";
    try {
      what();
    } catch (const InputError& error) {
      text = error.what();
    }
    const std::string folder = files.path("");
    for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder))
      text.erase(at, folder.size());
    return text;
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* two_rules =
    "  rules:\n"
    "    - {set: {runtime.dispatch: task_queue, training.cross_entropy: fused}, source: code}\n"
    "    - {when: {model.moe: some}, set: {moe.permutation: indexed}, source: layer}\n";

TEST(Framework, SetsWhatTheScenarioDoesNotSay) {
  FrameworkFiles presets;
  presets.add("trainer-1", two_rules);
  const Scenario s = presets.run({"framework=trainer-1"});
  EXPECT_EQ(s.workload.runtime.dispatch, RuntimeSpec::Dispatch::task_queue);
  EXPECT_EQ(s.workload.moe.permutation, MoeSpec::Permutation::indexed);
  presets.add("waiter-1", "  rules:\n    - {set: {stalls.host_sync: unit}, source: code}\n");
  EXPECT_EQ(presets.run({"framework=waiter-1"}).stalls.host_sync, StallsSpec::HostSyncAt::unit);
  const Scenario own = presets.run({"framework=trainer-1", "runtime.dispatch=eager"});
  EXPECT_EQ(own.workload.runtime.dispatch, RuntimeSpec::Dispatch::eager);
  ASSERT_TRUE(s.framework);
  EXPECT_EQ(s.framework->label, "Trainer 1");
  EXPECT_FALSE(s.framework->assumed);
  ASSERT_EQ(s.framework->keys.size(), 3U);
  EXPECT_EQ(s.framework->keys[0].path, "moe.permutation");
  EXPECT_EQ(s.framework->keys[0].source, "layer");
  EXPECT_EQ(s.framework->keys[0].place, "frameworks/trainer-1.yaml:8");
}

// The hash is that of the keys, whoever said them.
TEST(Framework, AKeyOfTheScenarioEqualsTheSameKeyOfARule) {
  FrameworkFiles presets;
  presets.add("trainer-1", two_rules);
  const std::vector<std::string> keys{"runtime.dispatch=task_queue", "training.cross_entropy=fused",
                                      "moe.permutation=indexed"};
  const Scenario by_rules = presets.run({"framework=trainer-1"});
  EXPECT_EQ(by_rules.sha256, presets.run(keys).sha256);
  EXPECT_NE(by_rules.sha256, presets.run({}).sha256);
  EXPECT_EQ(presets.run({"framework=none"}).sha256, presets.run({}).sha256);
  EXPECT_FALSE(presets.run({"framework=none"}).framework);
}

TEST(Framework, OrderOfRulesChangesNothing) {
  std::vector<std::string> rules{
      "    - {set: {parallel.zero: 0}, source: a}\n",
      "    - {when: {parallel.dp: many}, set: {parallel.zero: 2}, source: b}\n",
      "    - {when: {parallel.zero: 2}, set: {runtime.dispatch: task_queue}, source: c}\n",
      "    - {when: {runtime.dispatch: task_queue, model.moe: some}, set: {moe.permutation: "
      "indexed}, source: d}\n"};
  std::ranges::sort(rules);
  std::string first;
  int number = 0;
  do {
    FrameworkFiles presets;
    std::string text = "  rules:\n";
    for (const std::string& rule : rules) text += rule;
    presets.add("trainer-1", text);
    const Scenario s = presets.run({"framework=trainer-1"});
    EXPECT_EQ(s.workload.plan.zero, 2);
    EXPECT_EQ(s.workload.moe.permutation, MoeSpec::Permutation::indexed);
    if (first.empty()) first = s.content;
    EXPECT_EQ(s.content, first) << text;
    ++number;
  } while (std::ranges::next_permutation(rules).found);
  EXPECT_EQ(number, 24);
}

TEST(Framework, ConditionsAskForValuesListsAndCounts) {
  const auto holds = [](const std::string& when, const std::vector<std::string>& overrides) {
    FrameworkFiles presets;
    presets.add("trainer-1", "  rules:\n    - {when: {" + when +
                                 "}, set: {runtime.dispatch: task_queue}, source: a}\n");
    std::vector<std::string> all = overrides;
    all.emplace_back("framework=trainer-1");
    return presets.run(all).workload.runtime.dispatch == RuntimeSpec::Dispatch::task_queue;
  };
  EXPECT_TRUE(holds("training.precision: bf16", {}));
  EXPECT_FALSE(holds("training.precision: fp16", {}));
  EXPECT_TRUE(holds("training.precision: [fp16, bf16]", {}));
  EXPECT_FALSE(holds("training.precision: {not: [fp16, bf16]}", {}));
  EXPECT_TRUE(holds("training.precision: {not: fp16}", {}));
  EXPECT_TRUE(holds("parallel.tp: many, parallel.cp: one", {}));
  EXPECT_FALSE(holds("parallel.cp: many", {}));
  EXPECT_TRUE(holds("parallel.dp: 4", {}));
  EXPECT_TRUE(holds("nodes: many, micro_batches: 8", {}));
  EXPECT_FALSE(holds("nodes: one", {}));
  EXPECT_TRUE(holds("model.moe: some", {}));
  EXPECT_FALSE(holds("model.moe: none", {}));
  EXPECT_TRUE(holds("model.moe: none", {"model.moe=none", "parallel.ep=1"}));
  EXPECT_TRUE(holds("device.vendor: acme", {"cluster.device.vendor=acme"}));
  EXPECT_FALSE(holds("device.generation: new", {}));
}

// A framework does not know what a plan needs: it never refuses one for a key without work.
TEST(Framework, KeysWithoutWorkArePassedOver) {
  FrameworkFiles presets;
  presets.add("trainer-1",
              "  rules:\n    - {set: {moe: {permutation: indexed, dispatch: two_hop}, "
              "runtime.kernels.router: statements, runtime.layer_order: overlapped}, source: a}\n");
  const std::vector<std::string> dense{"model.moe=none", "parallel.ep=1"};
  std::vector<std::string> named = dense;
  named.emplace_back("framework=trainer-1");
  const Scenario s = presets.run(named);
  EXPECT_EQ(s.workload.moe.dispatch, MoeSpec::Dispatch::flat);
  EXPECT_EQ(s.workload.runtime.layer_order, RuntimeSpec::LayerOrder::overlapped);
  EXPECT_TRUE(s.framework->left_out.empty());
  EXPECT_EQ(s.framework->keys.size(), 1U);
}

TEST(Framework, ANewVersionIsOneFile) {
  FrameworkFiles presets;
  presets.add("trainer-1", two_rules, "{from: \"0.9\", before: \"0.10\"}");
  presets.files.write("frameworks/trainer-2.yaml",
                      "stepcast: 1\nframework:\n  extends: frameworks/trainer-1.yaml\n"
                      "  name: Trainer\n  versions: {from: \"0.10\"}\n  rules:\n"
                      "    - {set: {runtime.dispatch: eager}, source: newer}\n");
  EXPECT_EQ(presets.file_errors("trainer-1"), "no error");
  EXPECT_EQ(presets.file_errors("trainer-2"), "no error");
  const Scenario s = presets.run({"framework=trainer-2"});
  EXPECT_EQ(s.workload.runtime.dispatch, RuntimeSpec::Dispatch::eager);
  EXPECT_EQ(s.workload.moe.permutation, MoeSpec::Permutation::indexed);
  EXPECT_EQ(s.framework->label, "Trainer 2");
  EXPECT_EQ(framework_for("Trainer", "0.9.3", presets.search()), "trainer-1");
  EXPECT_EQ(framework_for("Trainer", "0.11", presets.search()), "trainer-2");
  EXPECT_EQ(framework_for("Trainer", "", presets.search()), "trainer-2");
  EXPECT_EQ(framework_for("Trainer", "0.8", presets.search()), std::nullopt);
  EXPECT_EQ(framework_names(presets.search()),
            (std::vector<std::string>{"trainer-1", "trainer-2"}));
}

TEST(Framework, AMappingExtendsOneWithRulesOfItsOwn) {
  FrameworkFiles presets;
  presets.add("trainer-1", two_rules);
  const Scenario s =
      presets.run({"framework={extends: frameworks/trainer-1.yaml, rules: [{set: "
                   "{runtime.dispatch: eager}, source: mine}]}"});
  EXPECT_EQ(s.workload.runtime.dispatch, RuntimeSpec::Dispatch::eager);
  EXPECT_EQ(s.workload.moe.permutation, MoeSpec::Permutation::indexed);
  // A framework in an override replaces the one below it.
  const Scenario last = presets.run(
      {"framework={extends: frameworks/trainer-1.yaml, rules: [{set: {runtime.dispatch: "
       "eager}, source: mine}]}",
       "framework={extends: trainer-1}"});
  EXPECT_EQ(last.workload.runtime.dispatch, RuntimeSpec::Dispatch::task_queue);
}

constexpr const char* recipes =
    "  rules:\n    - {set: {runtime.dispatch: task_queue}, source: code}\n"
    "  recipes:\n"
    "    default: {set: {training.cross_entropy: fused}, source: scripts}\n"
    "    tiny: {models: [models/tiny.yaml], set: {runtime.dispatch: eager}, source: its script}\n";

TEST(Framework, RecipesAreFlagsForTheirModels) {
  FrameworkFiles presets;
  const std::string model =
      "stepcast: 1\nname: tiny\nlayers: 8\nhidden: 1024\nvocabulary: 32000\nattention: {kind: gqa, "
      "heads: 16, kv_heads: 4, head_dim: 64}\nffn: {kind: swiglu, hidden: 4096}\n";
  presets.files.write("models/tiny.yaml", model);
  presets.files.write("models/other.yaml", model);
  presets.add("trainer-1", recipes);
  const auto of = [&](const std::string& file, const std::string& framework) {
    return presets.run({"model={extends: models/" + file + "}", "model.moe=none", "parallel.ep=1",
                        "framework=" + framework});
  };
  const Scenario tiny = of("tiny.yaml", "trainer-1"), other = of("other.yaml", "trainer-1"),
                 none = of("tiny.yaml", "{extends: trainer-1, recipe: none}"),
                 asked = of("tiny.yaml", "{extends: trainer-1, recipe: default}");
  EXPECT_EQ(tiny.framework->recipe, "tiny");
  EXPECT_EQ(tiny.workload.runtime.dispatch, RuntimeSpec::Dispatch::eager);
  EXPECT_EQ(tiny.workload.training.cross_entropy, TrainingSpec::CrossEntropy::unfused);
  EXPECT_EQ(other.framework->recipe, "default");
  EXPECT_EQ(other.workload.training.cross_entropy, TrainingSpec::CrossEntropy::fused);
  EXPECT_EQ(none.framework->recipe, "");
  EXPECT_EQ(none.workload.runtime.dispatch, RuntimeSpec::Dispatch::task_queue);
  EXPECT_EQ(asked.workload.training.cross_entropy, TrainingSpec::CrossEntropy::fused);
  EXPECT_TRUE(contains(presets.errors({"framework={extends: trainer-1, recipe: defalt}"}),
                       "framework.recipe: is 'defalt'; did you mean default?"));
}

// What takes `framework: none` takes the usual framework of its device.
TEST(Framework, AnAssumedFrameworkRefusesNothing) {
  FrameworkFiles presets;
  presets.add("trainer-1",
              "  rules:\n"
              "    - {set: {runtime.update: {passes: [divide, zero]}}, source: a}\n"
              "    - {set: {runtime.dispatch: task_queue}, source: b}\n");
  const std::string device = "cluster.device.framework=trainer-1";
  const Scenario s = presets.run({device});
  ASSERT_TRUE(s.framework);
  EXPECT_TRUE(s.framework->assumed);
  EXPECT_EQ(s.workload.runtime.dispatch, RuntimeSpec::Dispatch::task_queue);
  EXPECT_NE(s.workload.runtime.update, 0U);
  const Scenario sharded = presets.run({device, "parallel.zero=3"});
  EXPECT_EQ(sharded.workload.runtime.update, 0U);
  ASSERT_EQ(sharded.framework->left_out.size(), 1U);
  EXPECT_EQ(sharded.framework->left_out[0].path, "runtime.update");
  EXPECT_TRUE(contains(sharded.framework->left_out[0].why, "parallel.zero"));
  EXPECT_FALSE(presets.run({device, "framework=none"}).framework);
  EXPECT_EQ(presets.run({device, "framework=none"}).sha256, presets.run({}).sha256);
  const std::string named = presets.errors({"framework=trainer-1", "parallel.zero=3"});
  EXPECT_TRUE(contains(named, "frameworks/trainer-1.yaml:7:")) << named;
  EXPECT_TRUE(contains(named, "named at --set framework=trainer-1")) << named;
}

TEST(Framework, WrongFrameworksAreToldAtTheirPlaces) {
  FrameworkFiles presets;
  presets.add("trainer-1", two_rules);
  EXPECT_TRUE(
      contains(presets.errors({"framework=trainr-1"}),
               "framework: names 'trainr-1', which does not exist; did you mean trainer-1?"))
      << presets.errors({"framework=trainr-1"});
  FrameworkFiles versioned;
  versioned.add("trainer-2.3", two_rules);
  EXPECT_TRUE(contains(versioned.errors({"framework=trainr-2.3"}), "did you mean trainer-2.3?"));
  const auto wrong = [](const std::string& rules) {
    FrameworkFiles files;
    files.add("wrong", rules);
    const std::string text = files.file_errors("wrong");
    EXPECT_EQ(text, files.errors({"framework=wrong"}));
    return text;
  };
  const std::string unknown = wrong("  rules:\n    - {set: {moe.dispatchr: flat}, source: a}\n");
  EXPECT_TRUE(contains(unknown,
                       "frameworks/wrong.yaml:7:14: framework.rules.0.set.moe.dispatchr: is not a "
                       "known key; did you mean dispatch"))
      << unknown;
  const std::string value = wrong("  rules:\n    - {set: {parallel.zero: 7}, source: a}\n");
  EXPECT_TRUE(contains(value, "framework.rules.0.set.parallel.zero: is 7")) << value;
  const std::string size = wrong("  rules:\n    - {set: {parallel.tp: 2}, source: a}\n");
  EXPECT_TRUE(contains(size, "framework.rules.0.set.parallel.tp: is no key of a framework"))
      << size;
  // What a host waits for is its framework's; other stalls are the machine's.
  const std::string paused =
      wrong("  rules:\n    - {set: {stalls.data_loader.prefetch: 2}, source: a}\n");
  EXPECT_TRUE(contains(paused, "is no key of a framework")) << paused;
  const std::string asked =
      wrong("  rules:\n    - {when: {parallel.tq: 2}, set: {parallel.zero: 1}, source: a}\n");
  EXPECT_TRUE(contains(asked, "framework.rules.0.when.parallel.tq: is not a known key")) << asked;
  const auto condition = [&](const std::string& when) {
    return wrong("  rules:\n    - {when: {" + when + "}, set: {parallel.zero: 1}, source: a}\n");
  };
  for (const char* word : {"none", "some"}) {
    const std::string always = condition("communication.gradient: " + std::string(word));
    EXPECT_TRUE(contains(always,
                         "frameworks/wrong.yaml:7:39: "
                         "framework.rules.0.when.communication.gradient: is '" +
                             std::string(word) + "', but this section is always there"))
        << always;
  }
  EXPECT_TRUE(contains(condition("model.moe: few"), "is 'few', allowed: some, none"));
  // No word of a condition stands for a value that the key never has.
  EXPECT_TRUE(contains(condition("parallel.tp: some"), "parallel.tp: is 'some'"));
  EXPECT_TRUE(contains(condition("training.precision: many"), "precision: is 'many'"));
  const std::string contradiction = wrong(
      "  rules:\n    - {set: {parallel.zero: 1}, source: a}\n"
      "    - {set: {parallel.zero: 2}, source: b}\n");
  EXPECT_TRUE(contains(contradiction, "wrong.yaml:8:")) << contradiction;
  EXPECT_TRUE(contains(contradiction, "both may hold")) << contradiction;
  const std::string circle = wrong(
      "  rules:\n    - {when: {parallel.zero: 1}, set: {runtime.dispatch: eager}, source: a}\n"
      "    - {when: {runtime.dispatch: eager}, set: {parallel.zero: 1}, source: b}\n");
  EXPECT_TRUE(contains(circle, "goes in a circle")) << circle;
  const std::string unsourced = wrong("  rules:\n    - {set: {parallel.zero: 1}}\n");
  EXPECT_TRUE(contains(unsourced, "framework.rules.0.source: is missing")) << unsourced;
}

TEST(Framework, VersionsDoNotOverlapAndHaveARange) {
  FrameworkFiles presets;
  presets.add("trainer-1", two_rules, "{from: \"0.9\", before: \"0.11\"}");
  presets.add("trainer-2", two_rules, "{from: \"0.10\"}");
  EXPECT_TRUE(contains(presets.file_errors("trainer-2"), "overlap those of trainer-1.yaml"))
      << presets.file_errors("trainer-2");
  const std::string late = presets.errors({"framework={extends: trainer-1, version: \"0.12\"}"});
  EXPECT_TRUE(contains(late, "framework.version: is 0.12, allowed: from 0.9 to before 0.11"))
      << late;
  EXPECT_EQ(presets.run({"framework={extends: trainer-1, version: \"0.10.2\"}"}).framework->label,
            "Trainer 0.10.2");
  EXPECT_TRUE(is_earlier("0.9", "0.10"));
  EXPECT_FALSE(is_earlier("0.10", "0.10"));
}

// Times launch nothing.
TEST(Framework, StandsBesideNoWorkloadOfTimes) {
  FrameworkFiles presets;
  presets.add("trainer-1", two_rules);
  std::string text{small_scenario};
  const std::size_t model = text.find("model:"), parallel = text.find("parallel:");
  text.replace(model, parallel - model,
               "workload: {chunks: [{forward: 1ms, backward_input: 1ms, backward_weight: 1ms}]}\n");
  text.replace(text.find("  ep: 4"), 7, "  ep: 1");
  text.erase(text.find("  sequence: 2048\n"), 17);
  presets.files.write("times.yaml", text);
  const auto read = [&](const std::vector<std::string>& overrides) {
    try {
      return read_scenario(presets.files.path("times.yaml"), overrides, presets.search()).framework
                 ? std::string("framed")
                 : std::string("bare");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(read({}), "bare");
  EXPECT_EQ(read({"cluster.device.framework=trainer-1"}), "bare");
  EXPECT_TRUE(contains(read({"framework=trainer-1"}), "framework: does not go with a workload"))
      << read({"framework=trainer-1"});
}

// Whatever is shipped is right, and assumes nothing that a scenario could be refused for.
TEST(Framework, ShippedOnesRefuseNoScenario) {
  const SearchPath search = default_search_path({});
  const std::vector<ScenarioDocument> documents{load_scenario("mixtral-8x7b.yaml", {}, search),
                                                load_scenario("llama2-7b-8.yaml", {}, search)};
  for (const std::string& name : framework_names(search))
    for (ScenarioDocument assumed : documents) {
      std::erase_if(assumed.root.entries,
                    [](const Node::Entry& entry) { return entry.key == "framework"; });
      set_value(assumed.root, "cluster.device.framework",
                {.kind = Node::Kind::scalar, .text = name});
      EXPECT_NO_THROW(EXPECT_TRUE(read_scenario(assumed, search).framework)) << name;
    }
}

// The path of a platform file counts from the preset that names it, whatever the rules change.
TEST(Framework, RunsOnAClusterOfAPlatformFile) {
  const SearchPath search = default_search_path({});
  const Scenario s = read_scenario("llama2-7b-8.yaml",
                                   {"cluster.extends=clusters/atlas-fat-tree-64.yaml"}, search);
  ASSERT_TRUE(s.cluster.network.platform);
  EXPECT_TRUE(s.cluster.network.platform->text);
  EXPECT_TRUE(s.framework);
}

TEST(Framework, FilesAreKnownByTheirKey) {
  const Node root = parse_document("stepcast: 1\nframework: {name: Trainer}\n", "t.yaml");
  EXPECT_EQ(file_kind(root), FileKind::framework);
}

}  // namespace
}  // namespace stepcast
