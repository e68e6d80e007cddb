#include "stepcast/sim/kernels/profile_compare.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "seeded_profile.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

using testing::chrome_trace;
using ::testing::HasSubstr;
using testing::SeededChanges;

/// Where flows do not meet a process may run twice.
Scenario scenario_of(const std::string& file, const std::vector<std::string>& overrides) {
  return prepare_scenario(std::string(STEPCAST_SOURCE_DIR) + "/scenarios/" + file, overrides,
                          default_search_path({}));
}

/// On the bare machine, where each statement is one kernel, so that what is repeated is large.
KernelTrace forecast_trace() {
  const Scenario scenario = scenario_of(
      "telechat3-36b-2048.yaml",
      {"framework=none", "cluster.devices=64", "parallel.dp=auto", "training.global_batch=32"});
  return kernel_trace(scenario, record(scenario, {.first = 1}), Rank{0});
}

class ProfileCompare : public ::testing::Test {
 protected:
  KernelProfile read(const std::string& name, const std::string& text) {
    return read_kernel_profile(files_.write(name, text));
  }
  std::string refusal(const std::string& name, const std::string& text) {
    try {
      read(name, text);
    } catch (const InputError& error) {
      const std::string what = error.what();
      return what.substr(what.find(name));
    }
    return "taken";
  }
  test::TemporaryFiles files_;
};

const ProfileCause* cause(const ProfileComparison& c, ProfileCause::Kind kind,
                          const std::string& of) {
  for (const ProfileCause& each : c.causes)
    if (each.kind == kind && each.of == of) return &each;
  return nullptr;
}

const ClassComparison& row(const ProfileComparison& c, const std::string& of) {
  for (const ClassComparison& each : c.classes)
    if (each.of == of) return each;
  throw std::runtime_error("no class " + of);
}

void expect_sums(const ProfileComparison& c) {
  double sum = 0;
  for (const ProfileCause& each : c.causes) sum += each.change;
  EXPECT_NEAR(sum, c.profile.step - c.forecast.step, 1e-9 * c.forecast.step);
}

void expect_changes(const ProfileComparison& c, const SeededChanges& made) {
  using Kind = ProfileCause::Kind;
  expect_sums(c);
  const ProfileCause* slower = cause(c, Kind::slower, made.slower);
  const ProfileCause* more = cause(c, Kind::launches, made.repeated);
  const ProfileCause* idle = cause(c, Kind::idle, "");
  ASSERT_NE(slower, nullptr);
  ASSERT_NE(more, nullptr);
  ASSERT_NE(idle, nullptr);
  EXPECT_NEAR(row(c, made.slower).ratio, 1.3, 1e-6);
  EXPECT_NEAR(slower->change, made.slower_seconds, 0.05 * made.slower_seconds);
  const ClassComparison& repeated = row(c, made.repeated);
  EXPECT_EQ(repeated.profile_launches, repeated.forecast_launches + 40);
  EXPECT_NEAR(more->change, made.repeated_seconds, 0.05 * made.repeated_seconds);
  EXPECT_NEAR(idle->change, 5e-3, 0.05 * 5e-3);
  // Nothing else is named that large.
  for (const ProfileCause& each : c.causes) {
    const bool named = &each == slower || &each == more || &each == idle;
    EXPECT_TRUE(named || std::abs(each.change) < 0.05 * 5e-3) << each.text << " " << each.change;
  }
}

TEST_F(ProfileCompare, SeededChangesAreNamedWithTheirSizes) {
  const KernelTrace trace = forecast_trace();
  const std::vector<std::pair<std::string, std::string>> kinds{
      {"matmul", "elementwise"}, {"norm", "norm"}, {"attention", "rotary"}};
  for (const auto& [slower, repeated] : kinds) {
    SCOPED_TRACE(slower + ", " + repeated);
    SeededChanges made{.slower = slower, .repeated = repeated};
    const KernelTrace changed = testing::seeded(trace, made);
    expect_changes(
        compare_profile(trace, read("kernel_details.csv", kernel_details_csv(changed, Rank{0}))),
        made);
    expect_changes(compare_profile(trace, read("trace.json", chrome_trace(changed))), made);
  }
}

TEST_F(ProfileCompare, AProfileOfTheForecastItselfIsAlike) {
  const KernelTrace trace = forecast_trace();
  const ProfileComparison c =
      compare_profile(trace, read("kernel_details.csv", kernel_details_csv(trace, Rank{0})));
  expect_sums(c);
  for (const ClassComparison& each : c.classes) {
    EXPECT_EQ(each.forecast_launches, each.profile_launches) << each.of;
    EXPECT_NEAR(each.forecast, each.profile, 1e-8) << each.of;
  }
  for (const ProfileCause& each : c.causes) EXPECT_LT(std::abs(each.change), 1e-8) << each.text;
}

/// Kernels and their starts are the computing of the stage; all of the step is some part.
TEST_F(ProfileCompare, TheTraceHasTheComputingOfTheStage) {
  const Scenario scenario =
      scenario_of("telechat3-36b-2048.yaml",
                  {"cluster.devices=64", "parallel.dp=auto", "training.global_batch=32"});
  const RecordedRun run = record(scenario, {.first = 1});
  const KernelTrace trace = kernel_trace(scenario, run, Rank{0});
  const ProfileComparison c = compare_profile(trace, {.trace = trace});
  EXPECT_NEAR(c.forecast.step, trace.step, 1e-9 * trace.step);
  EXPECT_NEAR(c.forecast.computing + c.forecast.gaps,
              run.forecast.stages[0].times.computing.value(), 2e-3 * trace.step);
}

TEST_F(ProfileCompare, OfSeveralStepsTheMedianCounts) {
  std::string text = "Step Id,Name,Type,Start Time(us),Duration(us)\n";
  const double starts[] = {0, 1000, 2300, 3400};  // 1000, 1300, 1100 and one without a next
  for (int step = 0; step < 4; ++step)
    text += fmt::format("{},op,MatMulV3,{}\t,900\n", step, starts[step]);
  const KernelProfile profile = read("kernel_details.csv", text);
  EXPECT_EQ(profile.steps, 4U);
  EXPECT_NEAR(profile.trace.step, 1100e-6, 1e-12);
  EXPECT_EQ(profile.trace.kernels.size(), 1U);
}

TEST_F(ProfileCompare, TheFolderOfARunHoldsThatOfTheProfiler) {
  files_.write("run/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
               "Name,Type,Start Time(us),Duration(us)\nop,MatMulV3,0,900\n");
  EXPECT_EQ(read_kernel_profile(files_.path("run")).trace.kernels.size(), 1U);
}

TEST_F(ProfileCompare, RowsOutsideOfStepsAreNoStep) {
  const std::string head = "Step Id,Name,Type,Start Time(us),Duration(us)\n";
  const std::string text = head +
                           ",op,MatMulV3,0,900\n1,op,MatMulV3,1000,900\nN/A,op,MatMulV3,1900,50\n"
                           "2,op,MatMulV3,2000,900\n,op,MatMulV3,9000,900\n";
  const KernelProfile profile = read("kernel_details.csv", text);
  EXPECT_EQ(profile.steps, 2U);
  EXPECT_NEAR(profile.trace.step, 1000e-6, 1e-12);
  EXPECT_EQ(profile.trace.kernels.size(), 1U);
  const KernelProfile none = read("none.csv", head + ",op,MatMulV3,0,900\n,op,MatMulV3,1000,900\n");
  EXPECT_EQ(none.steps, 1U);
  EXPECT_EQ(none.trace.kernels.size(), 2U);
}

/// Kernels whose starts have fractions of a microsecond, as a table and as a trace.
std::pair<std::string, std::string> texts_since(std::int64_t epoch) {
  std::string table = "Name,Type,Start Time(us),Duration(us)\n";
  std::string trace = "{\"traceEvents\": [";
  for (int i = 0; i < 50; ++i) {
    const std::string start =
        i % 7 == 0 ? fmt::format("{}", epoch + 20 * i) : fmt::format("{}.{:03}", epoch + 20 * i, i);
    table += fmt::format("op,MatMulV3,{},19.5\n", start);
    trace += fmt::format(
        "{}{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"ts\": {}, \"dur\": 19.5}}",
        i == 0 ? "" : ",\n", start);
  }
  return {table, trace + "]}"};
}

TEST_F(ProfileCompare, StartsSinceAnEpochKeepTheirDigits) {
  const auto [table, trace] = texts_since(3);
  const auto [late_table, late_trace] = texts_since(3 + 1718180918997000);
  const std::vector<KernelProfile> profiles{read("a.csv", table), read("b.csv", late_table),
                                            read("a.json", trace), read("b.json", late_trace)};
  for (const KernelProfile& profile : profiles) {
    ASSERT_EQ(profile.trace.kernels.size(), 50U);
    for (int i = 0; i < 50; ++i) {
      const double fraction = i % 7 == 0 ? 0 : 1e-9 * i;
      EXPECT_NEAR(profile.trace.kernels[static_cast<std::size_t>(i)].start, 20e-6 * i + fraction,
                  1e-12)
          << profile.file << " " << i;
    }
  }
}

TEST_F(ProfileCompare, ArgumentsBehindANestedObjectCount) {
  const KernelProfile profile =
      read("a.json",
           "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
           "\"ncclDevKernel_SendRecv\", \"pid\": 1, \"tid\": 2, \"ts\": 0, \"dur\": 1, "
           "\"args\": {\"of\": {\"stream\": 3, \"more\": [{}]}, \"stream\": 9, "
           "\"Collective name\": \"all_to_allv\"}}]}");
  ASSERT_EQ(profile.trace.kernels.size(), 1U);
  EXPECT_EQ(profile.trace.kernels.front().stream, "9");
  EXPECT_EQ(profile.trace.kernels.front().of, "all_to_all");
}

TEST_F(ProfileCompare, LaunchesWithoutDurationCount) {
  const std::string text = "Name,Type,Start Time(us),Duration(us)\nop,MatMulV3,0,0\n";
  const ProfileComparison c =
      compare_profile({{{"op", "matmul", false, "0", 0, 1e-3}}, 0}, read("a.csv", text));
  EXPECT_EQ(row(c, "matmul").profile_launches, 1U);
  EXPECT_NEAR(c.profile.step, 0, 1e-12);
  expect_sums(c);
}

TEST_F(ProfileCompare, EveryCommunicationIsReadAsItsClass) {
  KernelTrace trace;
  for (std::size_t k = 0; k < collective_kinds; ++k)
    trace.kernels.push_back({"call", name(static_cast<CollectiveKind>(k)), true, "tensor",
                             1e-3 * static_cast<double>(k), 1e-3});
  const KernelProfile profile = read("a.csv", kernel_details_csv(trace, Rank{0}));
  ASSERT_EQ(profile.trace.kernels.size(), collective_kinds);
  for (std::size_t k = 0; k < collective_kinds; ++k) {
    const auto kind = static_cast<CollectiveKind>(k);
    const TracedKernel& kernel = profile.trace.kernels[k];
    EXPECT_TRUE(kernel.communication);
    EXPECT_EQ(kernel.of, kind == CollectiveKind::send_recv ? "receive" : name(kind));
  }
}

TEST_F(ProfileCompare, RefusesTimesThatNoKernelHas) {
  const std::string head = "Name,Type,Start Time(us),Duration(us)\na,MatMul,1,2\n";
  EXPECT_THAT(refusal("a.csv", head + "b,MatMul,3,1e11\n"),
              HasSubstr("a.csv:3:1: has a duration of 1e+11 us, allowed: at most a day"));
  EXPECT_THAT(refusal("b.csv", head + "b,MatMul,-1e300,1\n"),
              HasSubstr("b.csv:3:1: has a start of -1e+300 us"));
  EXPECT_THAT(refusal("c.csv", head + "b,MatMul,3,inf\n"), HasSubstr("c.csv:3:1: holds 'inf'"));
  const auto event = [](const std::string& start, const std::string& duration) {
    return "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\",\n\"ts\": " + start +
           ", \"dur\": " + duration + "}";
  };
  const std::string trace = "{\"traceEvents\": [\n" + event("0", "1") + ",\n";
  EXPECT_THAT(refusal("a.json", trace + event("3", "1e11") + "]}"),
              HasSubstr("a.json:4:1: has a duration of 1e+11 us"));
  EXPECT_THAT(refusal("b.json", trace + event("1e300", "1") + "]}"),
              HasSubstr("b.json:4:1: has a start of 1e+300 us"));
  EXPECT_THAT(refusal("c.json", trace + event("3", "-1") + "]}"),
              HasSubstr("c.json:4:1: has a negative duration"));
  EXPECT_THAT(refusal("d.json", trace + event("3", "1e999") + "]}"), HasSubstr("d.json:5:1:"));
}

TEST_F(ProfileCompare, RefusesWhatIsNoProfileWithItsLine) {
  const std::string head = "Name,Type,Start Time(us),Duration(us)\n";
  EXPECT_EQ(refusal("a.csv", ""), "a.csv:1:1: is empty, allowed: a table with a header");
  EXPECT_THAT(refusal("b.csv", head), HasSubstr("b.csv:1:1: holds no kernels"));
  EXPECT_THAT(refusal("c.csv", "OP Type,Count\nMatMul,3\n"), HasSubstr("c.csv:1:1: has no column"));
  EXPECT_THAT(refusal("d.csv", head + "a,MatMul,1,2\nb,MatMul,3"),
              HasSubstr("d.csv:3:1: has 3 cells, allowed: the 4"));
  EXPECT_THAT(refusal("e.csv", head + "a,MatMul,1,2\nb,MatMul,3,4"),
              HasSubstr("e.csv:3:1: ends within a line"));
  EXPECT_THAT(refusal("f.csv", head + "a,MatMul,1,2\nb,MatMul,3,x\n"),
              HasSubstr("f.csv:3:1: holds 'x' in column 'Duration(us)'"));
  EXPECT_THAT(refusal("g.csv", head + "a,MatMul,1,-2\n"), HasSubstr("g.csv:2:1: has a negative"));
  EXPECT_THAT(refusal("h.csv", "Device_id," + head + "0,a,MatMul,1,2\n1,b,MatMul,3,4\n"),
              HasSubstr("h.csv:3:1: is of device 1"));
  const std::string trace = chrome_trace({{{"gemm", "matmul", false, "7", 0, 1e-3}}, 0});
  EXPECT_THAT(refusal("a.json", ""), HasSubstr("a.json:1:1: ends within the trace"));
  EXPECT_THAT(refusal("b.json", trace.substr(0, trace.size() / 2)),
              HasSubstr("b.json:2:1: ends within the trace"));
  EXPECT_THAT(refusal("c.json", "{\"a\": [1]}"), HasSubstr("c.json:1:1: has no traceEvents"));
  EXPECT_THAT(refusal("d.json", "{\"traceEvents\": []}"),
              HasSubstr("d.json:1:1: holds no kernels of a device"));
  EXPECT_THAT(refusal("e.json", "{\"traceEvents\": [\n}"), HasSubstr("e.json:2:1: is no JSON"));
  EXPECT_EQ(refusal("f.json", trace), "taken");
}

TEST(KernelNames, AreOfTheirClass) {
  for (std::size_t k = 0; k < kernel_classes; ++k) {
    const auto of = static_cast<KernelClass>(k);
    EXPECT_EQ(classified(profiler_type(of)).of, name(of));
  }
  const std::map<std::string, std::string> names{
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_reduce"},
      {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "receive"},
      {"hcom_alltoallv__123_4_1", "all_to_all"},
      {"void flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", "attention"},
      {"nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT", "matmul"},
      {"GroupedMatmulSwigluQuant", "grouped matmul"},
      {"FlashAttentionScoreGrad", "attention"},
      {"void at::native::vectorized_elementwise_kernel<4>", "elementwise"},
      {"void multi_tensor_apply_kernel<AdamFunctor>", "optimizer"},
      {"MoeTokenUnpermuteGrad", "routing"},
      {"a_kernel_of_ours", "other"}};
  for (const auto& [kernel, of] : names) EXPECT_EQ(classified(kernel).of, of) << kernel;
}

}  // namespace
}  // namespace stepcast
