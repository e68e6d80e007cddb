#include "stepcast/sim/explain/diff.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/sweep/small_sweep.hpp"
#include "stepcast/base/build.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/report/report.hpp"
#include "stepcast/sim/scenario/breakdown.hpp"
#include "stepcast/sim/scenario/inputs.hpp"

namespace stepcast {
namespace {

using namespace test;

const SearchPath& diff_search() {
  static const SearchPath path = default_search_path({});
  return path;
}

std::string base_with(const std::string& from, const std::string& to) {
  std::string text{sweep_base};
  return text.replace(text.find(from), from.size(), to);
}

/// What `stepcast run --json` writes of a file.
nlohmann::json result_of(const std::string& file) {
  const Scenario scenario = prepare_scenario(file, {}, diff_search());
  return nlohmann::json::parse(report_json(scenario, forecast(scenario), {}));
}

std::string error_of(const std::vector<SideRequest>& requests) {
  try {
    read_sides(requests, diff_search());
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Diff, NamesInputsThatDifferAndPartsThatGrew) {
  const TemporaryFiles files;
  const std::string a = files.write("a.yaml", sweep_base);
  const std::string b = files.write("b.yaml", base_with("pp: 4", "pp: 2"));
  const std::vector<DiffSide> sides = read_sides({{a}, {b}}, diff_search());
  const auto changes = differing_inputs(sides);
  ASSERT_EQ(changes.size(), 3U) << diff_table(sides[0], sides[1]);
  EXPECT_EQ(changes[0].path, "parallel.pp");
  EXPECT_EQ(changes[0].values[0], "4");
  EXPECT_EQ(changes[0].values[1], "2");
  EXPECT_EQ(changes[1].path, "parallel.dp");
  EXPECT_EQ(changes[2].path, "schedule.group");
  EXPECT_NEAR(sides[0].step_time, 0.033, 1e-12);
  EXPECT_NEAR(sides[1].step_time, 3e-3 * (4 + 1), 1e-12);
  EXPECT_NE(diff_table(sides[0], sides[1]).find("step time"), std::string::npos);
}

/// A side by its inputs, which all stand in the scenario unless their source is a preset.
DiffSide side_with(const std::map<std::string, std::pair<std::string, std::string>>& inputs,
                   const std::string& cluster) {
  DiffSide side{.name = "s", .label = "s", .whole = true, .step_time = 2};
  side.parts.resize(breakdown_names().size(), 0.0);
  for (const auto& [path, value] : inputs) {
    side.inputs.emplace_back(path, value.first);
    if (!value.second.empty()) side.sources[path] = value.second;
  }
  side.presets["cluster"] = cluster;
  return side;
}

TEST(Diff, ShowsWhatWasWrittenAndAPresetAsOneRow) {
  const std::vector<DiffSide> sides{
      side_with({{"cluster.device.memory.bandwidth", {"1.6e+12", "clusters/a.yaml:3 datasheet"}},
                 {"cluster.device.matmul_peak", {"3e+14", "--set"}},
                 {"cluster.device.step_clock", {"0.9", "fitted/a.yaml:1"}},
                 {"parallel.tp", {"8", "s.yaml:3"}},
                 {"cluster.device.launch.matmul", {"0.0011", "--set"}},
                 {"schedule.group", {"4", ""}},
                 {"training.sequence", {"4096", "s.yaml:5"}},
                 {"training.dust", {"0.1", "s.yaml:6"}}},
                "clusters/a.yaml"),
      side_with({{"cluster.device.memory.bandwidth", {"3.35e+12", "clusters/b.yaml:3"}},
                 {"cluster.device.matmul_peak", {"4e+14", "--set"}},
                 {"cluster.device.step_clock", {"1", ""}},
                 {"parallel.tp", {"4", "s.yaml:3"}},
                 {"cluster.device.launch.matmul", {"0.00110001", "--set"}},
                 {"schedule.group", {"2", ""}},
                 {"training.sequence", {"4096", "s.yaml:5"}},
                 {"training.dust", {"0.1000000000000000055", "s.yaml:6"}}},
                "clusters/b.yaml")};
  const ShownInputs shown = shown_inputs(sides);
  std::string text;
  for (const InputRow& row : shown.rows)
    text += row.path + ": " + *row.values[0] + ", " + *row.values[1] + "\n";
  EXPECT_EQ(text,
            "cluster (2 keys): a, b\n"
            "cluster.device.launch.matmul: 0.0011 s, 0.00110001 s\n"
            "cluster.device.matmul_peak: 300 TFLOPS, 400 TFLOPS\n"
            "parallel.tp: 8, 4\n");
  EXPECT_EQ(shown.of_presets, 2U);
  EXPECT_EQ(shown.followed, 1U);
  const std::string table = diff_table(sides[0], sides[1]);
  EXPECT_LT(table.find("a step takes 2.00 s, as before"), table.find("inputs that differ"))
      << table;
  EXPECT_NE(table.find("and 1 key that follows from these"), std::string::npos) << table;
  EXPECT_NE(diff_table(sides[0], sides[1], InputList::all).find("1.60 TB/s -> 3.35 TB/s"),
            std::string::npos);
}

/// Twenty pairs of plans that are forecast to differ by 3 %, fifteen of them right; ten by 12 %,
/// all.
std::vector<PublishedPair> some_pairs() {
  std::vector<PublishedPair> pairs;
  for (int i = 0; i < 20; ++i) pairs.push_back({"plan", i < 15 ? 1.04 : 0.99, 1.03});
  for (int i = 0; i < 10; ++i) pairs.push_back({"plan", 0.8, 0.88});
  for (int i = 0; i < 3; ++i) pairs.push_back({"packing", 1.1, 0.97});
  return pairs;
}

TEST(Pairs, SayHowOftenASignWasRightByKindAndSize) {
  const std::vector<PublishedPair> pairs = some_pairs();
  EXPECT_EQ(pairs_sentence(pairs, "plan", 0.96),
            "Of 20 published pairs like it (plan, forecast to differ by 2 to 5 %) 15 had the right "
            "sign: too close to call");
  EXPECT_EQ(
      pairs_sentence(pairs, "plan", 1.15),
      "Of 10 published pairs like it (plan, forecast to differ by 10 to 20 %) 10 had the right "
      "sign");
  EXPECT_EQ(pairs_like(pairs, "packing", 1.03)->total, 23U) << "few of its own: those of all kinds";
  EXPECT_FALSE(pairs_like(pairs, "plan", 1.3)) << "no pair of that size";
  EXPECT_FALSE(pairs_like(pairs, "plan", 1));
  EXPECT_FALSE(pairs_like({}, "plan", 2));
}

TEST(Pairs, KindsAreThoseOfKeys) {
  EXPECT_EQ(kind_of_change({"parallel.tp", "parallel.dp"}), "plan");
  EXPECT_EQ(kind_of_change({"cluster.devices"}), "devices");
  EXPECT_EQ(kind_of_change({"cluster (208 keys)"}), "hardware");
  EXPECT_EQ(kind_of_change({"parallel.tp", "training.recompute"}), "");
  EXPECT_EQ(kind_of_change({"name"}), "");
}

TEST(Pairs, TheShippedOnesAreEnoughAndSpeak) {
  const std::vector<PublishedPair> pairs = read_pairs(diff_search());
  EXPECT_GE(pairs.size(), 60U);
  for (const PublishedPair& pair : pairs) EXPECT_NE(pair.forecast, 1);
  EXPECT_FALSE(pairs_sentence(pairs, "plan", 1.01).empty());
}

TEST(Pairs, ATableThatIsNoneIsRefusedAtItsLine) {
  const TemporaryFiles files;
  const auto folder = std::filesystem::path(files.write("a", "")).parent_path();
  std::filesystem::create_directories(folder / "validation");
  files.write("validation/pairs.csv", "kind,published,forecast\nplan,1.1,0\n");
  try {
    read_pairs({{folder}});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("pairs.csv:2: has no ratio above 0"),
              std::string::npos)
        << error.what();
  }
}

TEST(Diff, SaysWhatPairsOfItsKindAndSizeShow) {
  DiffSide a = side_with({{"cluster.devices", {"8", "s.yaml:1"}},
                          {"training.global_batch", {"16", "s.yaml:2"}},
                          {"training.sequence", {"4096", ""}},
                          {"parallel.tp", {"8", "s.yaml:3"}}},
                         "clusters/a.yaml"),
           b = a;
  const auto trains = [](DiffSide& side, double tokens) {
    side.tokens_per_s = tokens / side.step_time;
    side.device_tokens_per_s = *side.tokens_per_s / 8;
  };
  b.inputs[1].second = "4";
  b.step_time = 0.97 * a.step_time;
  trains(a, 65536);
  trains(b, 65536);
  EXPECT_NE(diff_table(a, b, InputList::shown, some_pairs()).find("Of 20 published pairs like it"),
            std::string::npos);
  b.inputs[2].second = "32";  // twice the batch in twice the time, and another plan: two kinds
  b.step_time = 2 * a.step_time;
  trains(b, 131072);
  EXPECT_EQ(nlohmann::json::parse(diff_json(a, b, some_pairs()))["pairs"], nullptr)
      << "the same time per token";
}

TEST(Diff, StepsOfOtherBatchesAreComparedByTheToken) {
  DiffSide a{.name = "a", .label = "a", .step_time = 1},
      b{.name = "b", .label = "b", .step_time = 3};
  a.parts = b.parts = std::vector<std::optional<double>>(breakdown_names().size(), 0.0);
  a.tokens_per_s = 1000;
  a.device_tokens_per_s = 125;
  b.tokens_per_s = 2000;  // six times the tokens on twice the devices
  b.device_tokens_per_s = 125;
  EXPECT_NE(diff_table(a, b).find("3.00 s instead of 1.00 s (+200.0 %) for 6 times the tokens: "
                                  "+0.00 % per token and device\n"),
            std::string::npos)
      << diff_table(a, b);
  b.device_tokens_per_s = 250;
  EXPECT_NE(compare_table({a, b}, 100).find(" for 6 times the tokens: -50 % per token\n"),
            std::string::npos)
      << compare_table({a, b}, 100);
}

/// A side of a second and the prices of a cluster that has some.
DiffSide priced(const std::string& currency, double step) {
  DiffSide side{.name = "s", .label = "s", .step_time = 1};
  side.parts.resize(breakdown_names().size(), 0.0);
  side.cost = SideCost{currency, step, step / 1e6};
  return side;
}

TEST(Diff, CostsStandBesideTheTimes) {
  const TemporaryFiles files;
  const std::string a = files.write("a.yaml", sweep_base);
  const std::vector<std::string> prices{"cluster.costs.currency=usd",
                                        "cluster.costs.amortisation=1000s",
                                        "cluster.costs.device.price=5"};
  const std::vector<DiffSide> sides = read_sides({{a}, {a, prices}}, diff_search());
  ASSERT_TRUE(sides[1].cost);
  EXPECT_FALSE(sides[0].cost);
  EXPECT_NEAR(sides[1].cost->step, 8 * 5 * sides[1].step_time / 1000, 1e-15);
  EXPECT_FALSE(sides[1].cost->token) << "a synthetic workload has no tokens";
  const auto json = nlohmann::json::parse(compare_json(sides));
  EXPECT_FALSE(json["sides"][0].contains("cost"));
  EXPECT_EQ(json["sides"][1]["cost"]["step"], sides[1].cost->step);
  EXPECT_EQ(diff_table(sides[0], sides[0]).find("cost"), std::string::npos);
  EXPECT_NE(diff_table(sides[0], sides[1]).find("cost of a step, usd"), std::string::npos);
  EXPECT_EQ(compare_table(sides, 100).find("million tokens"), std::string::npos);
}

TEST(Diff, MoneyIsComparedInOneCurrency) {
  const std::string same = compare_table({priced("usd", 2), priced("usd", 3)}, 100);
  EXPECT_NE(same.find("cost of a step, usd               2          3      +50.0%"),
            std::string::npos)
      << same;
  EXPECT_NE(same.find("million tokens, usd"), std::string::npos);
  const std::string other = compare_table({priced("usd", 2), priced("eur", 3)}, 100);
  EXPECT_NE(other.find("cost of a step                2 usd      3 eur           -"),
            std::string::npos)
      << other;
  EXPECT_NE(compare_markdown({priced("usd", 2), priced("eur", 3)}).find("| 2 usd | 3 eur |"),
            std::string::npos);
}

TEST(Diff, ResultsNameEveryKeyThatDiffers) {
  const TemporaryFiles files;
  const std::string a = files.write("a.yaml", sweep_base);
  const std::string b = files.write("b.yaml", base_with("forward: 1ms", "forward: 2ms"));
  const std::string first = files.write("a.json", result_of(a).dump());
  const std::string second = [&] {  // the process of the test makes one run
    const std::vector<DiffSide> sides = read_sides({{first}, {b}}, diff_search());
    const auto changes = differing_inputs(sides);
    EXPECT_EQ(changes.size(), 1U);
    return changes.empty() ? "" : changes[0].path;
  }();
  EXPECT_EQ(second, "workload.chunks.0.forward");
}

TEST(Diff, AResultOfAnOlderVersionIsSaidToHoldNoInputs) {
  const TemporaryFiles files;
  const std::string a = files.write("a.yaml", sweep_base);
  nlohmann::json old = result_of(a);
  old["scenario"].erase("inputs");
  old["result"]["exposed_by_kind_s"].erase("offload");
  old["result"]["breakdown_s"].erase("bubble");
  const std::string json = files.write("old.json", old.dump());
  const std::vector<DiffSide> sides = read_sides({{json}, {a}}, diff_search());
  EXPECT_FALSE(comparable(sides));
  const std::string table = diff_table(sides[0], sides[1]);
  EXPECT_NE(table.find("inputs: not compared"), std::string::npos) << table;
  EXPECT_NE(table.find("bubble is not in every result"), std::string::npos) << table;
  EXPECT_EQ(table.find("offload"), std::string::npos) << "nobody spends time in it: " << table;
}

TEST(Diff, AScenarioDoesNotDifferFromItself) {
  const TemporaryFiles files;
  const std::string a = files.write("a.yaml", sweep_base);
  const std::vector<DiffSide> sides = read_sides({{a}, {a}}, diff_search());
  EXPECT_TRUE(differing_inputs(sides).empty());
  EXPECT_EQ(sides[0].parts, sides[1].parts);
}

TEST(Diff, OtherJsonAndOverridesOfAResultAreRefused) {
  const TemporaryFiles files;
  const std::string json = files.write("a.json", "{\"a\": 1}");
  EXPECT_NE(error_of({{json}}).find("no result of a step"), std::string::npos);
  const std::string a = files.write("a.yaml", sweep_base);
  const std::string result = files.write("r.json", result_of(a).dump());
  EXPECT_NE(error_of({{result, {"parallel.pp=2"}}}).find("--set cannot change"), std::string::npos);
  EXPECT_NE(error_of({{a, {"parallel.pq=2"}}}).find("parallel.pq"), std::string::npos);
}

TEST(Compare, SidesOfOneNameAreNamedByTheirFiles) {
  const TemporaryFiles files;
  const std::string a = files.write("a.yaml", sweep_base), b = files.write("b.yaml", sweep_base);
  const std::vector<DiffSide> sides = read_sides({{a}, {b}, {b, {"parallel.pp=2"}}}, diff_search());
  EXPECT_EQ(sides[0].label, a);
  EXPECT_EQ(sides[1].label, b);
  EXPECT_EQ(sides[2].label, "parallel.pp=2");
  EXPECT_EQ(read_sides({{a}, {a}}, diff_search())[1].label, "base") << "one file has one name";
}

TEST(Compare, VariantsStandBesideTheFirstWithTheirChange) {
  const TemporaryFiles files;
  const std::string a = files.write("a.yaml", sweep_base);
  const std::vector<DiffSide> sides =
      read_sides({{a}, {a, {"parallel.pp=2"}}, {a, {"parallel.pp=2", "training.global_batch=32"}}},
                 diff_search());
  const auto json = nlohmann::json::parse(compare_json(sides));
  ASSERT_EQ(json["sides"].size(), 3U);
  // Stages of 3 ms per micro-batch: micro-batches + stages - 1 of them, all but the first bubble.
  EXPECT_NEAR(json["sides"][0]["step_time_s"], 3e-3 * (8 + 3), 1e-12);
  EXPECT_NEAR(json["sides"][1]["step_time_change_s"], 3e-3 * ((4 + 1) - (8 + 3)), 1e-12);
  EXPECT_NEAR(json["sides"][2]["change_s"]["bubble"], 3e-3 * (1 - 3), 1e-12);
  EXPECT_EQ(json["sides"][2]["label"], "parallel.pp=2, training.global_batch=32");
  EXPECT_EQ(json["inputs"][0],
            (nlohmann::json{{"path", "parallel.pp"}, {"values", {"4", "2", "2"}}}));
  for (const std::size_t width : {80U, 100U, 200U}) {
    std::istringstream lines{compare_table(sides, width)};
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
  }
  EXPECT_NE(compare_markdown(sides).find("| step time | 33.0 ms |"), std::string::npos)
      << compare_markdown(sides);
}

TEST(Inputs, HoldEveryKeyWithItsPlace) {
  const TemporaryFiles files;
  const std::string a = files.write("a.yaml", sweep_base);
  const Scenario scenario = prepare_scenario(a, {"training.micro_batch=2"}, diff_search());
  std::map<std::string, Input> inputs;
  std::string lines;
  for (const Input& input : inputs_of(scenario)) {
    inputs[input.path] = input;
    lines += input.path + "=" + input.value + "\n";
  }
  EXPECT_EQ(lines, scenario.content) << "short values are as they are hashed";
  EXPECT_EQ(inputs.at("parallel.pp").source, "a.yaml:9");
  EXPECT_EQ(inputs.at("parallel.dp").value, "2") << "auto is resolved";
  EXPECT_EQ(inputs.at("training.micro_batch").source, "--set");
  EXPECT_EQ(inputs.at("training.sequence").source, "") << "a default";
  EXPECT_TRUE(inputs.at("cluster.device.name").source.starts_with("clusters/ideal.yaml:"));
}

TEST(Build, FingerprintIsSixteenDigitsAndTheSameInAWorker) {
  EXPECT_EQ(build_fingerprint().size(), 16U);
  EXPECT_EQ(build_fingerprint().find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_STREQ(build_commit(), "") << "tests are not shipped";
}

}  // namespace
}  // namespace stepcast
