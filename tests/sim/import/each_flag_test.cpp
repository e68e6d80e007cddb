#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "flag_trials.hpp"
#include "sim/import/flags.hpp"
#include "subjects.hpp"
#include "temporary_files.hpp"
#include "trainer_trials.hpp"

// Every flag of every table, set in a file that is read: it changes the scenario or is named. What
// has no effect stands in lists of its own, each with its reason.
namespace stepcast {
namespace {

using namespace import_tests;
using launch::Flag, launch::Framework, launch::Treatment;

struct Form {
  Framework framework;
  std::string from, file;
  std::string (*write)(const Keys&);
  std::vector<Keys> bases;             ///< files that are read as they are
  std::vector<std::string> overrides;  ///< what none of them says
  std::vector<std::string> values;     ///< of flags that take one, tried in turn
  std::vector<Trial> trials{};         ///< flags that need more than a value
  std::string cluster = "atlas-800t-a2";
  std::vector<std::string> absent{};  ///< how names of its table begin that the form lacks

  bool leaves_out(const Flag& flag) const {
    return std::ranges::any_of(
        absent, [&](const std::string& begin) { return flag.name.starts_with(begin); });
  }
};

/// What the file means; nothing where it is refused. Messages go to `said`.
std::string meaning(const Form& form, const Keys& keys, std::string& said) {
  static const test::TemporaryFiles files;
  static const bool written = [] {
    for (const auto& [name, text] : beside) files.write(name, text);
    return true;
  }();
  EXPECT_TRUE(written);
  ImportOptions options;
  options.from = form.from;
  options.cluster = form.cluster;
  options.devices = 16;
  options.overrides = form.overrides;
  try {
    const SearchPath search = default_search_path({});
    const ImportedScenario imported =
        import_launch(files.write(form.file, form.write(keys)), options, search);
    for (const std::string& warning : imported.warnings) said += warning + "\n";
    return read_scenario(imported.document, search).content;
  } catch (const InputError& error) {
    said += error.what();
    return {};
  }
}

/// Whether a message names a flag, as a script or as a tree writes it.
bool is_named(const std::string& said, std::string_view flag) {
  std::string key(flag.starts_with("--") ? flag.substr(2) : flag);
  if (said.find(key) != std::string::npos) return true;
  std::ranges::replace(key, '-', '_');
  return said.find(key) != std::string::npos;
}

bool is_bare(const Form& form, const Flag& flag) {
  return form.file == "train.sh" && flag.arity == launch::Arity::none;
}

/// Of the base, where it is read: what is not, has no effect to compare.
bool has_effect(const Form& form, const Flag& flag, const Keys& base, const std::string& before) {
  if (before.empty()) return false;
  const std::vector<std::string> switches{""};
  const bool bare = is_bare(form, flag);
  for (const std::string& value : bare ? switches : form.values) {
    Keys keys = base;
    std::string& given = keys[std::string(flag.name)];
    if (given == value && !bare) continue;
    given = value;
    std::string said;
    if (meaning(form, keys, said) != before || is_named(said, flag.name)) return true;
  }
  return false;
}

class EachFlag : public ::testing::TestWithParam<Form> {};

/// Of every n-th flag that is taken and has no trial of its own.
void expect_effects(const Form& form, std::size_t every) {
  Form quick = form;
  quick.cluster = "ideal";  // quickly read, and enough for most flags
  std::vector<std::string> before, quick_before;
  for (const Keys& base : form.bases) {
    std::string said, of_quick;
    before.push_back(meaning(form, base, said));
    ASSERT_FALSE(before.back().empty()) << said;
    quick_before.push_back(meaning(quick, base, of_quick));
  }
  std::size_t turn = 0;
  for (const Flag& flag : launch::flag_table(form.framework).flags) {
    const bool tried = std::ranges::any_of(
        form.trials, [&](const Trial& trial) { return trial.flag == flag.name; });
    if (flag.treatment != Treatment::taken || tried || form.leaves_out(flag)) continue;
    if (++turn % every != 0) continue;
    bool effect = false;
    for (std::size_t b = 0; b < form.bases.size() && !effect; ++b)
      effect = has_effect(quick, flag, form.bases[b], quick_before[b]);
    for (std::size_t b = 0; b < form.bases.size() && !effect; ++b)
      effect = has_effect(form, flag, form.bases[b], before[b]);
    EXPECT_TRUE(effect) << flag.name;
  }
}

/// Sanitizers take ten times as long for what the optimised program is asked in full; all of it is
/// asked of both by night.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t sparing = 4;
#else
constexpr std::size_t sparing = 1;
#endif

TEST_P(EachFlag, ChangesTheScenarioOrIsNamed) { expect_effects(GetParam(), 2 * sparing); }
TEST_P(EachFlag, NightlyAllChangeTheScenarioOrAreNamed) { expect_effects(GetParam(), 1); }

/// Of every n-th flag that no key has.
void expect_refusals(const Form& form, std::size_t every) {
  std::size_t turn = 0;
  for (const Flag& flag : launch::flag_table(form.framework).flags) {
    if (flag.treatment == Treatment::taken || flag.treatment == Treatment::ignored ||
        form.leaves_out(flag) || ++turn % every != 0)
      continue;
    Keys keys = form.bases.front();
    keys[std::string(flag.name)] = is_bare(form, flag) ? "" : form.file == "train.toml" ? "4" : "7";
    std::string said;
    const std::string after = meaning(form, keys, said);
    EXPECT_TRUE(is_named(said, flag.name)) << flag.name << said;
    const bool settled = said.find("gives way to --set") != std::string::npos;
    EXPECT_EQ(after.empty(), flag.treatment != Treatment::unmodelled && !settled)
        << flag.name << said;
  }
}

TEST_P(EachFlag, IsRefusedOrSaidWhereNoKeyHasIt) { expect_refusals(GetParam(), sparing); }
TEST_P(EachFlag, NightlyAllAreRefusedOrSaidWhereNoKeyHasThem) { expect_refusals(GetParam(), 1); }

TEST_P(EachFlag, ChangesTheScenarioBesideWhatItNeeds) {
  const Form& form = GetParam();
  for (const Trial& trial : form.trials) {
    const Keys keys = with(form.bases.at(trial.base), trial.beside);
    std::string without, said;
    const std::string before = meaning(form, keys, without);
    const std::string after = meaning(form, with(keys, {{trial.flag, trial.value}}), said);
    EXPECT_NE(after, before) << trial.flag << "\n" << said;
    EXPECT_FALSE(after.empty()) << trial.flag << "\n" << said;
    EXPECT_EQ(said.find(": " + std::string(trial.flag) + ": changes nothing"), std::string::npos)
        << said;
  }
}

/// Flags whose number may be below 1, or words, with what those mean.
bool takes_it(std::string_view flag, const std::string& value) {
  static const std::map<std::string_view, std::set<std::string>> all{
      {"moe_config.expert_num", {"0"}},          // as 1: no experts
      {"--noop-layers", {"0"}},                  // one layer, whichever it is
      {"--dsa-indexer-n-heads", {"0"}},          // what needs it is named
      {"--moe-expert-capacity-factor", {"-2"}},  // Megatron-LM: none
      {"model.moe_expert_capacity_factor", {"-2"}},
  };
  const auto found = all.find(flag);
  return found != all.end() && found->second.contains(value);
}

/// What one number of a flag comes to: refused by its name, or a scenario of its own. False where
/// the flag takes no number there.
bool expect_no_other_number(const Form& form, const std::string& flag, const Keys& base,
                            const std::string& before) {
  const auto with_value = [&](const std::string& value, std::string& said) {
    return meaning(form, with(base, {{flag, value}}), said);
  };
  std::string said;
  const std::string one = with_value("1", said), four = with_value("4", said);
  const std::string other = four.empty() || four == one ? with_value("2", said) : four;
  const bool numeric = !other.empty() && one != other && other != before;
  if (!numeric || with_value("true", said) == one) return false;
  const std::string text = form.from == "torchtitan" ? "\"text\"" : "text";
  for (const std::string& value :
       {std::string("0"), std::string("-2"), std::string("1e12"), text}) {
    if (takes_it(flag, value)) continue;
    std::string words;
    const std::string after = with_value(value, words);
    if (after.empty())
      EXPECT_TRUE(is_named(words, flag.substr(flag.rfind('.') + 1)))
          << flag << " " << value << " is refused by another name:\n"
          << words;
    else if (value != "0")
      ADD_FAILURE() << flag << " " << value << " is taken:\n" << words;
    else
      EXPECT_TRUE(after != one || one == before || words.find(flag) != std::string::npos)
          << flag << " 0 is taken for 1";
  }
  return true;
}

/// Flags that took a number, of every n-th that is tried.
std::set<std::string> numbered(Form form, std::size_t every) {
  std::set<std::string> done;
  std::size_t turn = 0;
  for (const Trial& trial : form.trials) {
    if (++turn % every != 0) continue;
    if (trial.value.find_first_not_of("0123456789") != std::string::npos || trial.value.empty())
      continue;
    std::string said;
    const Keys keys = with(form.bases.at(trial.base), trial.beside);
    if (!done.contains(trial.flag) &&
        expect_no_other_number(form, trial.flag, keys, meaning(form, keys, said)))
      done.insert(trial.flag);
  }
  form.cluster = "ideal";  // quickly read, where its device has what the base asks for
  for (const Keys& base : form.bases) {
    std::string said;
    const std::string before = meaning(form, base, said);
    for (const Flag& flag : launch::flag_table(form.framework).flags)
      if (flag.treatment == Treatment::taken && flag.arity != launch::Arity::none &&
          ++turn % every == 0 && !done.contains(std::string(flag.name)) &&
          expect_no_other_number(form, std::string(flag.name), base, before))
        done.insert(std::string(flag.name));
  }
  return done;
}

// Each number takes eight readings; at a merge one flag of twenty is asked.
TEST_P(EachFlag, RefusesNumbersOutOfItsRange) { (void)numbered(GetParam(), 20 * sparing); }

TEST_P(EachFlag, NightlyRefusesAllNumbersOutOfTheirRanges) {
  const Form& form = GetParam();
  const std::set<std::string> done = numbered(form, 1);
  const auto taken = std::ranges::count(launch::flag_table(form.framework).flags, Treatment::taken,
                                        &Flag::treatment);
  EXPECT_GE(done.size(), taken > 9 ? 3U : 0U);
}

TEST(GraphKernelFlags, FuseWhereThePassIsEnabled) {
  const Form form{Framework::mindformers, "mindformers", "train.yaml", yaml, {}, {}, words};
  const auto means = [&](const std::string& flags) {
    Keys keys = mindformers_dense;
    keys["context.graph_kernel_flags"] = flags;
    std::string said;
    return meaning(form, keys, said);
  };
  const std::string separate = means("--opt_level=1");
  ASSERT_FALSE(separate.empty());
  EXPECT_EQ(means("--disable_pass=matmul_assignadd_fusion"), separate);
  EXPECT_EQ(means("--enable_pass=grouped_matmul_assignadd_fusion"), separate);
  EXPECT_NE(means("--opt_level=1 --enable_pass=matmul_assignadd_fusion"), separate);
}

INSTANTIATE_TEST_SUITE_P(
    Frameworks, EachFlag,
    ::testing::Values(Form{Framework::megatron,
                           "megatron",
                           "train.sh",
                           shell,
                           {megatron_dense, megatron_experts},
                           {},
                           words,
                           megatron_trials,
                           "dgx-h100"},
                      Form{Framework::mindspeed,
                           "mindspeed",
                           "train.sh",
                           shell,
                           {mindspeed_dense, mindspeed_experts},
                           {},
                           words,
                           mindspeed_trials},
                      Form{Framework::mindformers,
                           "mindformers",
                           "train.yaml",
                           yaml,
                           {mindformers_dense, mindformers_experts},
                           {},
                           words,
                           mindformers_trials},
                      Form{Framework::torchtitan,
                           "torchtitan",
                           "train.toml",
                           toml,
                           {torchtitan_dense, torchtitan_single, torchtitan_experts},
                           {},
                           {"4", "true", "1", "false", "\"selective\"", "\"deepep\"",
                            "\"bfloat16\""},
                           torchtitan_trials},
                      Form{Framework::nemo,
                           "nemo",
                           "train.yaml",
                           yaml,
                           {nemo_dense, nemo_experts, nemo_rebuilt},
                           {},
                           words,
                           nemo_trials,
                           "ideal"},
                      Form{Framework::deepspeed,
                           "deepspeed",
                           "ds.json",
                           json,
                           {deepspeed_base, deepspeed_half},
                           {"training.sequence=1024", "model.extends=models/llama3-8b.yaml"},
                           {"4", "true", "1", "false", "0.5", "2", "fp32"}},
                      Form{Framework::trainer,
                           "trainer",
                           "train.sh",
                           trainer_script,
                           {trainer_base, trainer_adapted},
                           {},
                           words,
                           trainer_trials,
                           "dgx-h100"},
                      Form{Framework::llama_factory,
                           "llama-factory",
                           "train.yaml",
                           yaml,
                           {factory_base, factory_adapted},
                           {},
                           words,
                           factory_trials,
                           "dgx-h100"},
                      Form{Framework::axolotl,
                           "axolotl",
                           "train.yaml",
                           yaml,
                           {axolotl_base, axolotl_adapted, axolotl_sharded},
                           {},
                           words,
                           axolotl_trials,
                           "dgx-h100"},
                      Form{Framework::ms_swift,
                           "ms-swift",
                           "train.sh",
                           swift_script,
                           {swift_base, swift_adapted},
                           {},
                           words,
                           swift_trials,
                           "dgx-h100"},
                      Form{Framework::mindspeed_fsdp2,
                           "mindspeed-fsdp2",
                           "train.yaml",
                           yaml,
                           {fsdp2_base, fsdp2_routed},
                           {},
                           words,
                           fsdp2_trials},
                      Form{Framework::flagscale,
                           "flagscale",
                           "train.yaml",
                           flagscale_tree,
                           {tree_dense, tree_experts},
                           {},
                           words,
                           flagscale_trials,
                           "dgx-h100"},
                      Form{Framework::primus,
                           "primus",
                           "train.yaml",
                           primus_tree,
                           {tree_dense, tree_experts},
                           {},
                           words,
                           {},
                           "dgx-h100"},
                      Form{Framework::megatron_deepspeed,
                           "megatron-deepspeed",
                           "train.sh",
                           deepspeed_launch,
                           {deepspeed_script, deepspeed_experts},
                           {},
                           words,
                           megatron_deepspeed_trials,
                           "dgx-h100"},
                      Form{Framework::torchtitan,
                           "torchtitan-python",
                           "llama3/config.py",
                           titan_python,
                           {python_dense},
                           {},
                           {"4", "true", "1", "false", "\"selective\"", "\"bfloat16\""},
                           {},
                           "dgx-h100",
                           {"model.", "quantize."}}),
    [](const auto& form) {
      std::string name = form.param.from;
      std::erase(name, '-');
      return name;
    });

}  // namespace
}  // namespace stepcast
