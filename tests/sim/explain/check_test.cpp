#include "stepcast/sim/explain/check.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/sweep/small_sweep.hpp"
#include "texts.hpp"

namespace stepcast {
namespace {

using namespace test;

const SearchPath& search() {
  static const SearchPath path = default_search_path({});
  return path;
}

/// The closed form of the small pipeline: (8 micro-batches + 3) x 3 ms, 9 ms of it bubble.
const std::string expectations = R"(
expect:   # what it was in spring
  step_time: {value: 33ms, tolerance: 0.1%}   # ( 8 + 3 ) · 3 ms, é
  bubble_ratio: {value: 0.2727, tolerance: 0.0001}
  exposed: {pipeline: {value: 0us, tolerance: 1us}}
  breakdown: {computing: 24ms, tensor: 0s, expert: 0s, pipeline: 0s, data: 0s, context: 0s,
              offload: 0s, bubble: 9ms, host_stall: 0s, compile_stall: 0s,
              fleet: 0s, other_idle: 0s}
)";

CheckResult checked(const TemporaryFiles& files, const std::string& expect) {
  const std::string file = files.write("c.yaml", std::string(sweep_base) + expect);
  return run_checks({file}, 1, search()).front();
}

TEST(Check, AScenarioThatDoesWhatItExpectsPasses) {
  const TemporaryFiles files;
  const CheckResult result = checked(files, expectations);
  EXPECT_TRUE(result.passed()) << check_table({result});
  EXPECT_EQ(result.values.size(), 3U);
  double sum = 0;
  for (const double part : result.breakdown) sum += part;
  EXPECT_NEAR(sum, 0.033, 1e-12);
}

TEST(Check, ToleranceIsRelativeOrAnAmount) {
  const TemporaryFiles files;
  const auto passes = [&](const std::string& value, const std::string& tolerance) {
    return checked(files, replaced(expectations, "value: 33ms, tolerance: 0.1%",
                                   "value: " + value + ", tolerance: " + tolerance))
        .passed();
  };
  EXPECT_TRUE(passes("32ms", "3.2%"));
  EXPECT_FALSE(passes("32ms", "3.1%"));
  EXPECT_TRUE(passes("32ms", "1001us"));
  EXPECT_FALSE(passes("32ms", "999us"));
  EXPECT_FALSE(passes("32ms", "0%"));
  EXPECT_FALSE(passes("34ms", "2.9%"));
}

TEST(Check, AFailureSaysHowMuchAndWhereTheTimeWent) {
  const TemporaryFiles files;
  std::string expect = replaced(expectations, "33ms", "32ms");
  expect = replaced(expect, "bubble: 9ms", "bubble: 8ms");
  const CheckResult result = checked(files, expect);
  EXPECT_FALSE(result.passed());
  EXPECT_EQ(failure_line(result), "step_time +3.1 %: bubble +1.00 ms");
  const std::string table = check_table({result});
  EXPECT_NE(table.find("FAILED " + result.file + "\n"), std::string::npos) << table;
  EXPECT_NE(table.find("step_time 33.0 ms, expected 32.0 ms within 0.1%"), std::string::npos);
  EXPECT_NE(table.find("1 checked: 0 ok, 1 failed"), std::string::npos);
}

TEST(Check, PartsOfTheStepDoNotExplainMemory) {
  const TemporaryFiles files;
  CheckResult result = checked(files, replaced(expectations, "bubble: 9ms", "bubble: 8ms"));
  result.values.front().key = "peak_memory";
  result.values.front().expected.value = *result.values.front().found / 2;
  EXPECT_EQ(failure_line(result), "peak_memory +100.0 %");
}

TEST(Check, ASharesDifferenceIsInPoints) {
  const TemporaryFiles files;
  const CheckResult result =
      checked(files, replaced(expectations, "value: 0.2727", "value: 0.2627"));
  EXPECT_TRUE(failure_line(result).starts_with("bubble_ratio +1.00 points"))
      << failure_line(result);
  EXPECT_NE(check_table({result}).find("expected 26.27 % within 0.01 points"), std::string::npos)
      << check_table({result});
}

TEST(Check, AFileWithoutABreakdownIsToldHowToGetOneAndGetsIt) {
  const TemporaryFiles files;
  const CheckResult result = checked(files, "expect: {step_time: {value: 32ms}}\n");
  EXPECT_EQ(
      failure_line(result),
      "step_time +3.1 %: no part is named, the file has no breakdown (stepcast check --update "
      "writes it)");
  const std::string text = updated_text(result, search());
  EXPECT_NE(text.find("breakdown: {computing: 0.024s"), std::string::npos) << text;
  const std::string file = files.write("c.yaml", replaced(text, "33ms", "32ms"));
  EXPECT_EQ(updated_text(run_checks({file}, 1, search()).front(), search()).find("breakdown"),
            text.find("breakdown"));
}

TEST(Check, PairsSayNothingOfAPlaceholder) {
  const TemporaryFiles files;
  const std::vector<PublishedPair> pairs(20, {"plan", 1.04, 1.03});
  const auto says = [&](const char* expect) {
    return check_table({checked(files, expect)}, pairs).find("published pairs") !=
           std::string::npos;
  };
  EXPECT_TRUE(says("expect: {step_time: {value: 32ms}}\n"));
  EXPECT_NE(check_table({checked(files, "expect: {step_time: {value: 32ms}}\n")}, pairs)
                .find("(stepcast diff OLD NEW counts pairs of the kind of change)"),
            std::string::npos);
  EXPECT_FALSE(says("expect: {step_time: {value: 1s}}\n"));
  EXPECT_FALSE(says("expect: {step_time: {value: 32ms}, bubble_ratio: {value: 0.01}}\n"));
}

TEST(Check, FilesAreFoundOnTheSearchPathAndMissingOnesHaveAHint) {
  const std::vector<std::string> found = find_checks({"regression/1f1b.yaml"}, search());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].ends_with("/regression/1f1b.yaml"));
  try {
    find_checks({"regression/1f1b"}, search());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean regression/1f1b.yaml"),
              std::string::npos)
        << error.what();
  }
}

TEST(Check, AnExpectationWithoutAValueFails) {
  const TemporaryFiles files;
  const CheckResult result =
      checked(files, "expect: {mfu: {value: 0.4}, step_time: {value: 33ms}}\n");
  EXPECT_FALSE(result.passed());
  EXPECT_EQ(failure_line(result), "mfu is expected, but this scenario has none");
}

TEST(Check, AFileThatIsWrongIsBadInput) {
  const TemporaryFiles files;
  const CheckResult result = checked(files, "expect: {step_time: {value: 33}}\n");
  EXPECT_TRUE(result.bad_input);
  EXPECT_NE(failure_line(result).find("without a unit"), std::string::npos);
}

TEST(Check, MarkdownHasEachValue) {
  const TemporaryFiles files;
  CheckResult memory{.file = "m.yaml", .name = "m"};
  memory.values = {{"peak_memory", {.value = 0x1p35, .tolerance = 0.01, .relative = true}, 0x1p36},
                   {"mfu", {.value = 0.4, .tolerance = 0.1, .relative = true}, 0.4}};
  const std::string text = check_markdown({checked(files, expectations), memory});
  EXPECT_NE(text.find("| **failed** | m | peak\\_memory | 64.0 GiB | 32.0 GiB | +100.0 % |"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| ok | m | mfu | 40 % | 40 % |"), std::string::npos) << text;
  EXPECT_NE(text.find("| bubble\\_ratio | 27.27 % |"), std::string::npos) << text;
  const CheckResult error{.file = "e.yaml", .name = "e", .error = "x"};
  EXPECT_NE(check_markdown({error}).find("| **error** | e |  |  |  |  | x |"), std::string::npos);
}

TEST(Check, JunitNamesEveryCaseAndEscapes) {
  const TemporaryFiles files;
  CheckResult error{.file = "a<b>.yaml", .name = "a", .error = "x & \"y\""};
  const std::string xml = junit_xml({checked(files, expectations), error});
  EXPECT_NE(xml.find("tests=\"2\" failures=\"0\" errors=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("classname=\"a&lt;b&gt;.yaml\""), std::string::npos);
  EXPECT_NE(xml.find("message=\"x &amp; &quot;y&quot;\""), std::string::npos);
}

TEST(Check, UpdateReplacesValuesAndNothingElse) {
  const TemporaryFiles files;
  std::string off = replaced(expectations, "value: 33ms", "value: 1.5s");
  off = replaced(off, "0.2727", "0.9");
  off = replaced(off, "computing: 24ms", "computing: 1s");
  const CheckResult result = checked(files, off);
  std::string wanted = replaced(off, "value: 1.5s", "value: 0.033s");
  wanted = replaced(wanted, "value: 0.9", "value: 0.272727");
  wanted = replaced(wanted, "computing: 1s", "computing: 0.024s");
  EXPECT_EQ(updated_text(result, search()), std::string(sweep_base) + wanted);
}

TEST(Check, UpdateLeavesWhatStandsInAnotherFile) {
  const TemporaryFiles files;
  files.write("c.yaml", std::string(sweep_base) + replaced(expectations, "33ms", "1s"));
  const std::string top = files.write("top.yaml", "extends: c.yaml\nname: top\n");
  const CheckResult result = run_checks({top}, 1, search()).front();
  EXPECT_THROW(updated_text(result, search()), InputError);
}

TEST(Check, FoldersGiveTheirScenariosWithExpectations) {
  const TemporaryFiles files;
  const std::string one = files.write("d/b.yaml", std::string(sweep_base) + expectations);
  const std::string two = files.write("d/sub/a.yaml", std::string(sweep_base) + expectations);
  files.write("d/none.yaml", sweep_base);
  files.write("d/sweep.yaml", small_sweep);
  EXPECT_EQ(find_checks({files.path("d")}, search()), (std::vector<std::string>{one, two}));
  const std::string misspelt = files.write(
      "d/sub/z.yaml", std::string(sweep_base) + replaced(expectations, "expect:", "expects:"));
  const auto found = find_checks({files.path("d")}, search());
  EXPECT_EQ(found, (std::vector<std::string>{one, two, misspelt}));
  EXPECT_NE(run_checks({misspelt}, 1, search()).front().error.find("did you mean expect"),
            std::string::npos);
  for (const char* wrong : {"gone", "d/none.yaml"})
    EXPECT_THROW(find_checks({files.path(wrong)}, search()), InputError) << wrong;
}

TEST(Check, ResultsAreInTheOrderOfTheFiles) {
  const TemporaryFiles files;
  std::vector<std::string> paths;
  for (const char* name : {"c", "a", "b"})
    paths.push_back(files.write(std::string(name) + ".yaml",
                                replaced(std::string(sweep_base), "base", name) + expectations));
  const auto results = run_checks(paths, 3, search());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    EXPECT_EQ(results[i].file, paths[i]);
    EXPECT_TRUE(results[i].passed());
  }
}

TEST(Check, UpdateWritesThePartsThatABreakdownLacks) {
  const TemporaryFiles files;
  const CheckResult flow = checked(files, replaced(expectations, "offload: 0s, ", ""));
  const std::string text = updated_text(flow, search());
  EXPECT_NE(text.find("context: 0s,\n              offload: 0s, bubble: 9ms"), std::string::npos)
      << text;
  const std::string block =
      "expect:\n  step_time: {value: 33ms}\n  breakdown:  # in spring\n    computing: 24ms  # all\n"
      "    bubble: 9ms\n";
  const std::string filled = updated_text(checked(files, block), search());
  EXPECT_NE(filled.find("computing: 24ms  # all\n    tensor: 0s\n    expert: 0s\n"),
            std::string::npos)
      << filled;
  EXPECT_NE(
      filled.find("    offload: 0s\n    host_stall: 0s\n    compile_stall: 0s\n    other_idle: 0s\n"
                  "    fleet: 0s\n    bubble: 9ms\n"),
      std::string::npos)
      << filled;
  const std::string file = files.write("c.yaml", filled);
  EXPECT_EQ(updated_text(run_checks({file}, 1, search()).front(), search()), filled)
      << "a second update changes nothing";
}

TEST(Check, AnExplanationDoesNotRestOnAMissingPart) {
  const TemporaryFiles files;
  std::string expect = replaced(expectations, "33ms", "32ms");
  expect = replaced(expect, "bubble: 9ms, ", "");
  EXPECT_EQ(failure_line(checked(files, expect)),
            "step_time +3.1 %: no explanation, the file's breakdown lacks bubble (stepcast check "
            "--update writes it)");
}

}  // namespace
}  // namespace stepcast
