#include "stepcast/sim/sweep/sweep.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <sstream>

#include "small_sweep.hpp"
#include "stepcast/sim/sweep/scaling.hpp"
#include "stepcast/sim/sweep/sweep_report.hpp"
#include "stepcast/sim/sweep/sweep_run.hpp"
#include "texts.hpp"

namespace stepcast {
namespace {

using namespace test;

const SearchPath& sweep_search() {
  static const SearchPath path = default_search_path({});
  return path;
}

std::string errors_of(const TemporaryFiles& files, const std::string& path) {
  std::string text = "no error";
  try {
    read_sweep(path, sweep_search());
  } catch (const InputError& error) {
    text = error.what();
  }
  const std::string directory = files.path("");
  for (std::size_t at = text.find(directory); at != std::string::npos; at = text.find(directory))
    text.erase(at, directory.size());
  return text;
}

struct WrongSweep {
  const char* name;
  const char *from, *to, *errors;
};
void PrintTo(const WrongSweep& row, std::ostream* out) { *out << row.name; }

class WrongSweeps : public ::testing::TestWithParam<WrongSweep> {};

TEST_P(WrongSweeps, AreRefusedWithPlacePathAndCure) {
  const TemporaryFiles files;
  const WrongSweep& row = GetParam();
  const std::string text = replaced(std::string(small_sweep), row.from, row.to);
  EXPECT_EQ(errors_of(files, write_sweep(files, text)), row.errors);
}

const WrongSweep wrong_sweeps[] = {
    {"missing_base", "base: base.yaml", "base: gone.yaml",
     "sweep.yaml:5:9: sweep.base: names 'gone.yaml', which does not exist, allowed: a scenario "
     "file"},
    {"no_base", "  base: base.yaml\n", "",
     "sweep.yaml:5:3: sweep.base: is missing (the scenario that is varied), allowed: a text"},
    {"unknown_path", "parallel.pp:", "parallel.ppp:",
     "sweep.yaml:8:5: sweep.grid.parallel.ppp: is not a known key; did you mean pp?"},
    {"unknown_section", "parallel.pp:", "paralel.pp:",
     "sweep.yaml:8:5: sweep.grid.paralel.pp: is not a known key; did you mean parallel?"},
    {"empty_list", "[2, 4]", "[]",
     "sweep.yaml:8:18: sweep.grid.parallel.pp: is an empty list, allowed: a list of values"},
    {"no_list", "[2, 4]", "2",
     "sweep.yaml:8:18: sweep.grid.parallel.pp: is no list, allowed: a list of values"},
    {"empty_grid", "  grid:\n    cluster.devices: [8, 16, 24]\n    parallel.pp: [2, 4]\n",
     "  grid: {}\n",
     "sweep.yaml:5:3: sweep: varies nothing, allowed: values in grid or zip\n"
     "sweep.yaml:8:14: sweep.baseline.cluster.devices: does not vary, allowed: "},
    {"mixed_types", "[2, 4]", "[2, four, 1.5]",
     "sweep.yaml:8:22: sweep.grid.parallel.pp: is 'four', allowed: a whole number such as 8 or "
     "40Mi, "
     "1 to 1048576\n"
     "sweep.yaml:8:28: sweep.grid.parallel.pp: is '1.5', allowed: a whole number such as 8 or "
     "40Mi, 1 "
     "to 1048576"},
    {"twice", "[2, 4]", "[2, 2]",
     "sweep.yaml:8:22: sweep.grid.parallel.pp: holds 2 twice, allowed: each value once"},
    {"changes_nothing", "parallel.pp: [2, 4]", "name: [a, b]",
     "sweep.yaml:8:5: sweep.grid.name: changes no prediction, allowed: keys that do"},
    {"zip_of_two_lengths",
     "  keep:", "  zip: {schedule.pipeline: [1f1b, gpipe], training.micro_batch: [1]}\n  keep:",
     "sweep.yaml:9:65: sweep.zip.training.micro_batch: has 1 values beside the 2 of "
     "schedule.pipeline, allowed: as many"},
    {"grid_and_zip", "  keep:", "  zip: {parallel.pp: [1]}\n  keep:",
     "sweep.yaml:9:9: sweep.zip.parallel.pp: is in grid and zip, allowed: one of them"},
    {"wrong_keep", "constant", "linear",
     "sweep.yaml:9:29: sweep.keep.tokens_per_device: is 'linear', allowed: constant"},
    {"keep_beside_the_batch", "parallel.pp: [2, 4]", "training.global_batch: [16, 32]",
     "sweep.yaml:9:9: sweep.keep: does not go with training.global_batch, which it sets, allowed: "
     "one "
     "of them"},
    {"baseline_is_no_point", "cluster.devices: 8}", "cluster.devices: 9}",
     "sweep.yaml:10:31: sweep.baseline.cluster.devices: is '9', which is no point of the sweep, "
     "allowed: 8, 16, 24"},
    {"baseline_does_not_vary", "cluster.devices: 8}", "parallel.tp: 1}",
     "sweep.yaml:10:14: sweep.baseline.parallel.tp: does not vary, allowed: cluster.devices, "
     "parallel.pp"},
    {"misspelt_key", "  baseline:", "  basline:",
     "sweep.yaml:10:3: sweep.basline: is not a known key; did you mean baseline?"},
    {"all_at_once", "name: small-sweep\nsweep:\n  base: base.yaml",
     "nam: small-sweep\nsweep:\n  base: gone.yaml",
     "sweep.yaml:3:1: nam: is not a known key; did you mean name?\n"
     "sweep.yaml:5:9: sweep.base: names 'gone.yaml', which does not exist, allowed: a scenario "
     "file"},
};
const auto row_name = [](const auto& row) { return std::string(row.param.name); };
INSTANTIATE_TEST_SUITE_P(, WrongSweeps, ::testing::ValuesIn(wrong_sweeps), row_name);

TEST(Sweep, WithoutANameItHasThatOfItsFile) {
  const TemporaryFiles files;
  const std::string file =
      write_sweep(files, replaced(std::string(small_sweep), "name: small-sweep\n", ""));
  EXPECT_EQ(read_sweep(file, sweep_search()).name, "sweep");
}

TEST(Sweep, AWrongBaseIsReportedAsItself) {
  const TemporaryFiles files;
  const std::string path = write_sweep(files);
  files.write("base.yaml", replaced(std::string(sweep_base), "pp: 4", "pp: 3"));
  EXPECT_NE(errors_of(files, path).find("base.yaml:"), std::string::npos);
}

TEST(Sweep, ASweepIsNoScenarioAndTheOtherWayRound) {
  const TemporaryFiles files;
  const std::string path = write_sweep(files);
  EXPECT_THROW(read_scenario(path, {}, sweep_search()), InputError);
  EXPECT_EQ(errors_of(files, files.path("base.yaml")),
            "base.yaml: is a scenario file, give a sweep file; stepcast run forecasts its step");
}

TEST(Sweep, PointsAreTheProductWithTheLastAxisFastest) {
  const TemporaryFiles files;
  const Sweep sweep = read_sweep(write_sweep(files), sweep_search());
  ASSERT_EQ(point_count(sweep), 6U);
  EXPECT_EQ(label(point_values(sweep, 1)), "cluster.devices=8 parallel.pp=4");
  EXPECT_EQ(label(point_values(sweep, 4)), "cluster.devices=24 parallel.pp=2");
  EXPECT_EQ(sweep.question, "does a sweep find its points?");
}

TEST(Sweep, WeakScalingLetsTheBatchFollow) {
  const TemporaryFiles files;
  const Sweep sweep = read_sweep(write_sweep(files), sweep_search());
  const Scenario scenario = read_scenario(point_document(sweep, 5), sweep_search());
  EXPECT_EQ(scenario.cluster.devices, 24);
  EXPECT_EQ(scenario.workload.training.global_batch, 48);
  EXPECT_EQ(scenario.workload.plan.dp, 6);
}

TEST(Sweep, ALongerPathWinsOverItsSection) {
  const TemporaryFiles files;
  const Sweep sweep = read_sweep(
      write_sweep(files,
                  "stepcast: 1\nname: s\nsweep:\n  base: base.yaml\n  grid:\n"
                  "    cluster.devices: [16, 32]\n    cluster: [{devices: 8, name: other}]\n"),
      sweep_search());
  EXPECT_EQ(label(point_values(sweep, 1)), "cluster.devices=32 cluster=other");
  EXPECT_EQ(read_scenario(point_document(sweep, 1), sweep_search()).cluster.devices, 32);
}

TEST(Sweep, ZipPairsValuesAndTheBaselineIsFoundByItsKeys) {
  const TemporaryFiles files;
  const Sweep sweep =
      read_sweep(write_sweep(files,
                             "stepcast: 1\nname: s\nsweep:\n  base: base.yaml\n"
                             "  grid: {training.micro_batch: [1, 2]}\n"
                             "  zip: {cluster.devices: [8, 16], parallel.pp: [4, 2]}\n"
                             "  baseline: {cluster.devices: 16}\n"),
                 sweep_search());
  ASSERT_EQ(point_count(sweep), 4U);
  EXPECT_EQ(label(point_values(sweep, 3)),
            "training.micro_batch=2 cluster.devices=16 parallel.pp=2");
  EXPECT_EQ(baseline_point(sweep, 0), 1U);
  EXPECT_EQ(baseline_point(sweep, 2), 3U);
}

TEST(Sweep, FiltersShardsAndLimitsChoosePoints) {
  const TemporaryFiles files;
  const Sweep sweep = read_sweep(write_sweep(files), sweep_search());
  using Points = std::vector<std::size_t>;
  const auto chosen = [&](std::vector<std::string> filters) {
    return choose_points(sweep, {std::move(filters), 0, 1, {}});
  };
  EXPECT_EQ(chosen({"parallel.pp=4"}), (Points{1, 3, 5}));
  EXPECT_EQ(chosen({"parallel.pp != 4", "cluster.devices>=16"}), (Points{2, 4}));
  EXPECT_EQ(chosen({"cluster.devices<16"}), (Points{0, 1}));
  EXPECT_EQ(choose_points(sweep, {{}, 1, 4, {}}), (Points{1, 5}));
  EXPECT_EQ(choose_points(sweep, {{"parallel.pp=2"}, 0, 1, 2}), (Points{0, 2}));
  for (const char* wrong :
       {"parallel.pp", "=4", "parallel.tp=1", "parallel.pp<four", "parallel.pp!4"})
    EXPECT_THROW(chosen({wrong}), InputError) << wrong;
}

/// Runs everything in processes and gives the rows.
std::vector<PointResult> rows_of(const Sweep& sweep, Store* store, int workers,
                                 std::vector<std::size_t> points = {}) {
  if (points.empty()) points = choose_points(sweep, {});
  SweepRun run(sweep, points, sweep_search(), store);
  run_missing(run, sweep, workers, sweep_search(), [](const PointDone&) {});
  return run.results();
}

TEST(SweepRun, AStepOfEqualStagesTakesItsClosedForm) {
  const TemporaryFiles files;
  const Sweep sweep = read_sweep(write_sweep(files), sweep_search());
  for (const PointResult& row : rows_of(sweep, nullptr, 2)) {
    ASSERT_EQ(row.status, PointStatus::ok) << row.values << ": " << row.reason;
    const double stages = *row.number("pp"), micro_batches = *row.number("micro_batches");
    EXPECT_NEAR(*row.number("step_time_s"), 3e-3 * (micro_batches + stages - 1), 1e-12);
  }
}

TEST(SweepRun, WeakScalingWithoutACostOfSizeIsPerfect) {
  const TemporaryFiles files;
  const Sweep sweep = read_sweep(write_sweep(files), sweep_search());
  const std::vector<PointResult> rows = rows_of(sweep, nullptr, 2);
  const auto efficiency = scaling_efficiency(sweep, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(efficiency[i].value(), 1, 1e-12);
  for (const auto& losses : scaling_losses(sweep, rows))
    for (const double loss : losses) EXPECT_NEAR(loss, 0, 1e-12);
}

TEST(SweepRun, StrongScalingLosesToTheBubble) {
  const TemporaryFiles files;
  const Sweep sweep = read_sweep(
      write_sweep(
          files, replaced(std::string(small_sweep), "  keep: {tokens_per_device: constant}\n", "")),
      sweep_search());
  const std::vector<PointResult> rows = rows_of(sweep, nullptr, 2, {0, 2});
  const auto losses = scaling_losses(sweep, rows);
  const auto efficiency = scaling_efficiency(sweep, rows);
  // 16 sequences: 4 micro-batches per pipeline of 2 stages on 8 devices, 2 on 16.
  EXPECT_NEAR(efficiency[1].value(), (4 + 1) / 2.0 / (2 + 1), 1e-12);
  double sum = 0;
  for (const double loss : losses[1]) sum += loss;
  EXPECT_NEAR(sum, 3e-3 * (3 - 5 / 2.0), 1e-12);
}

TEST(SweepRun, InvalidPointsAreResultsWithAReason) {
  const TemporaryFiles files;
  const Sweep sweep = read_sweep(
      write_sweep(files, replaced(std::string(small_sweep), "[2, 4]", "[2, 3]")), sweep_search());
  const std::vector<PointResult> rows = rows_of(sweep, nullptr, 2);
  EXPECT_EQ(rows[1].status, PointStatus::invalid);
  EXPECT_NE(rows[1].reason.find("parallel.pp"), std::string::npos) << rows[1].reason;
  EXPECT_FALSE(rows[1].number("step_time_s").has_value());
  EXPECT_EQ(rows[5].status, PointStatus::ok) << "24 devices are 8 pipelines of 3";
  EXPECT_FALSE(scaling_efficiency(sweep, rows)[5].has_value()) << "its baseline is invalid";
}

TEST(SweepRun, PointsThatDoNotFitAreResultsWithAReason) {
  const TemporaryFiles files;
  const Sweep sweep = read_sweep(
      files.write("s.yaml",
                  "stepcast: 1\nname: s\nsweep:\n"
                  "  base: " STEPCAST_SOURCE_DIR "/scenarios/llama2-7b-8.yaml\n"
                  "  grid: {training.sequence: [1024, 262144], training.recompute: [none]}\n"),
      sweep_search());
  const std::vector<PointResult> rows = rows_of(sweep, nullptr, 2);
  EXPECT_EQ(rows[0].status, PointStatus::ok) << rows[0].reason;
  EXPECT_EQ(rows[1].status, PointStatus::out_of_memory);
  EXPECT_TRUE(rows[1].reason.starts_with("stage 0 needs ")) << rows[1].reason;
  EXPECT_GT(rows[1].number("peak_memory_bytes"), rows[1].number("memory_capacity_bytes"));
  EXPECT_FALSE(rows[1].simulated()) << "memory is looked at first";
  EXPECT_EQ(rows[1].number("sequence"), 262144);
}

// A store may know the step of a point that does not fit: a sweep with a baseline asks for it.
TEST(SweepRun, PointsThatDoNotFitAreSimulatedForABaselineOnly) {
  const TemporaryFiles files;
  const std::string plain =
      "stepcast: 1\nname: s\nsweep:\n"
      "  base: " STEPCAST_SOURCE_DIR
      "/scenarios/llama2-7b-8.yaml\n"
      "  grid: {training.sequence: [1024, 131072], training.recompute: [none]}\n";
  const Sweep first = read_sweep(files.write("s.yaml", plain), sweep_search());
  const Sweep all = read_sweep(
      files.write("b.yaml", plain + "  baseline: {training.sequence: 1024}\n"), sweep_search());
  Store store(files.path("store.sqlite"), Store::Open::create);
  const std::vector<PointResult> before = rows_of(first, &store, 1);
  const std::vector<PointResult> compared = rows_of(all, &store, 1);
  EXPECT_TRUE(compared[1].simulated());
  EXPECT_EQ(compared[1].status, PointStatus::out_of_memory);
  EXPECT_EQ(compared[1].number("peak_memory_bytes"), before[1].number("peak_memory_bytes"));
  const std::vector<PointResult> after = rows_of(first, &store, 1);
  EXPECT_EQ(after, before);
  EXPECT_EQ(SweepRun(all, {0, 1}, sweep_search(), &store).missing().size(), 0U);
}

TEST(SweepRun, ResultsDoNotDependOnTheNumberOfWorkers) {
  const TemporaryFiles files;
  const Sweep sweep = read_sweep(write_sweep(files), sweep_search());
  const std::vector<PointResult> one = rows_of(sweep, nullptr, 1),
                                 four = rows_of(sweep, nullptr, 4);
  EXPECT_EQ(one, four);
  EXPECT_EQ(points_csv({one, {}}), points_csv({four, {}}));
}

TEST(SweepRun, TheSameScenarioIsSimulatedOnce) {
  const TemporaryFiles files;
  const Sweep sweep =
      read_sweep(write_sweep(files, replaced(std::string(small_sweep), "parallel.pp: [2, 4]",
                                             "parallel.dp: [auto, 2, 4, 6]")),
                 sweep_search());
  SweepRun run(sweep, choose_points(sweep, {}), sweep_search(), nullptr);
  EXPECT_EQ(run.missing().size(), 3U) << "dp: auto is 2, 4 and 6; others are invalid";
  run_missing(run, sweep, 2, sweep_search(), [](const PointDone&) {});
  const std::vector<PointResult> rows = run.results();
  EXPECT_EQ(rows[0].numbers, rows[1].numbers);
  EXPECT_EQ(rows[1].values, "cluster.devices=8 parallel.dp=2");
  EXPECT_EQ(rows[2].status, PointStatus::invalid);
}

TEST(SweepRun, ARunResumesFromTheStore) {
  const TemporaryFiles files;
  const Sweep sweep = read_sweep(write_sweep(files), sweep_search());
  const std::vector<PointResult> whole = rows_of(sweep, nullptr, 2);
  Store store(files.path("s.sqlite"), Store::Open::create);
  rows_of(sweep, &store, 2, {0, 3});
  SweepRun rest(sweep, choose_points(sweep, {}), sweep_search(), &store);
  EXPECT_EQ(rest.missing(), (std::vector<std::size_t>{1, 2, 4, 5}));
  EXPECT_EQ(rows_of(sweep, &store, 2), whole);
  EXPECT_EQ(store.rows(""), whole);
  EXPECT_TRUE(SweepRun(sweep, choose_points(sweep, {}), sweep_search(), &store).missing().empty());
}

TEST(SweepReport, FieldsOfCsvAreQuoted) {
  PointResult row;
  row.sweep = "s";
  row.reason = "a \"b\", c";
  row.numbers.resize(number_names().size());
  EXPECT_NE(points_csv({{row}, {}}).find(",\"a \"\"b\"\", c\","), std::string::npos);
}

TEST(Scaling, ShippedCurvesRead) {
  int read = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(STEPCAST_SOURCE_DIR "/scenarios/scaling")) {
    if (entry.path().extension() != ".yaml") continue;
    const Sweep sweep = read_sweep(entry.path().string(), sweep_search());
    EXPECT_FALSE(sweep.baseline.empty()) << entry.path();
    for (std::size_t point = 0; point < point_count(sweep); ++point)
      EXPECT_NO_THROW(read_scenario(point_document(sweep, point), sweep_search()))
          << entry.path() << " " << label(point_values(sweep, point));
    ++read;
  }
  EXPECT_GE(read, 5);
}

}  // namespace
}  // namespace stepcast
