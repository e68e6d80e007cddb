#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "shell.hpp"

// `stepcast operator` and `accuracy --components` as a shell sees them.
namespace stepcast {
namespace {

using test::content;
using test::Ran;
using test::stepcast_run;

const std::string ideal = " --cluster clusters/ideal.yaml ";
const std::string table = "kind,m_or_bytes,k,n,type\nmatmul,1000,1000,1000,bf16\n";
const std::string forecast =
    "kind,m_or_bytes,k,n,type,forecast_us,forecast_low_us,forecast_high_us,forecast_shape\n"
    "matmul,1000,1000,1000,bf16,2.000,";

TEST(OperatorCli, OneKernelAsTextAndJson) {
  const test::TemporaryFiles files;
  const std::string matmul = "operator matmul --m 1000 --k 1000 --n 1000" + ideal;
  const std::string text = stepcast_run(files, matmul).out;
  const std::size_t interval = text.find("  80% interval"), work = text.find("  FLOPs");
  ASSERT_LT(interval, work);
  EXPECT_NE(text.find(", not measured on this device: "), std::string::npos);
  EXPECT_EQ(text.substr(0, interval) + text.substr(work),
            "matmul m 1000 k 1000 n 1000 in bf16 on ideal\n\n"
            "  time             2.00 us  launch 0.00 s beside it\n"
            "  FLOPs              2e+09  1.00 PFLOPS\n"
            "  bytes           5.72 MiB  3.00 TB/s\n"
            "  bound            compute\n"
            "  efficiency       100.0 %  of what the data sheet allows\n");
  const auto json = nlohmann::json::parse(stepcast_run(files, matmul + "--json -").out);
  EXPECT_EQ(json["operator"], "matmul");
  EXPECT_NEAR(json["time_s"].get<double>(), 2e-6, 1e-18);
  EXPECT_EQ(json["interval"]["shape"], "not measured");
  EXPECT_LT(json["interval"]["low_s"].get<double>(), 2e-6);
  EXPECT_GT(json["interval"]["high_s"].get<double>(), 2e-6);
  EXPECT_EQ(json["flops"], 2e9);
  EXPECT_EQ(json["bytes"], 6e6);
  EXPECT_EQ(json["bound"], "compute");
  EXPECT_NEAR(json["efficiency"].get<double>(), 1, 1e-12);
  EXPECT_EQ(json["k"], 1000);
  const std::string slower = matmul + "--set device.matmul_peak=500TFLOPS --json -";
  EXPECT_NEAR(nlohmann::json::parse(stepcast_run(files, slower).out)["time_s"].get<double>(), 4e-6,
              1e-18);
}

TEST(OperatorCli, AnExchangeHasBytesAndRanks) {
  const test::TemporaryFiles files;
  const Ran sent = stepcast_run(
      files, "operator send_recv --bytes 1MB --ranks 2 --set node.devices=4 --json -" + ideal);
  ASSERT_EQ(sent.code, 0) << sent.err;
  const auto json = nlohmann::json::parse(sent.out);
  EXPECT_NEAR(json["time_s"].get<double>(), 1e-6, 1e-15);
  EXPECT_EQ(json["bound"], "link");
}

TEST(OperatorCli, TablesFromFilesAndPipes) {
  const test::TemporaryFiles files;
  const std::string in = files.write("in.csv", table), to = files.path("forecast.csv");
  const std::string shown =
      stepcast_run(files, "operator --table '" + in + "' --csv -" + ideal).out;
  EXPECT_TRUE(shown.starts_with(forecast)) << shown;
  EXPECT_TRUE(shown.ends_with(",not measured\n")) << shown;
  EXPECT_EQ(stepcast_run(files, "operator --table -" + ideal, in).out, shown);
  EXPECT_EQ(stepcast_run(files, "operator --table '" + in + "' --csv '" + to + "'" + ideal).out,
            "");
  EXPECT_EQ(content(to), shown);
  const auto json = nlohmann::json::parse(
      stepcast_run(files, "operator --table '" + in + "' --json -" + ideal).out);
  EXPECT_EQ(json["rows"][0]["line"], 2);
  EXPECT_EQ(json["rows"][0]["flops"], 2e9);
}

TEST(OperatorCli, WrongUseExitsWithTwoAndPrintsNothing) {
  const test::TemporaryFiles files;
  const std::string bad = files.write(
      "bad.csv",
      "device,kind,m_or_bytes,k,n,type\na100,matmul,1,1,1,bf16\nh100,matmul,0,1,1,bf16\n");
  const struct {
    std::string arguments, says;
  } rows[] = {
      {"operator", "KIND: is missing"},
      {"operator matmul --m 1", "--cluster: is missing"},
      {"operator conv" + ideal, "KIND: is 'conv', allowed: matmul"},
      {"operator matmul --m 1 --k 1" + ideal, "--n: is missing, matmul needs it"},
      {"operator matmul --m 1.5 --k 1 --n 1" + ideal, "--m: is '1.5', allowed: a whole number"},
      {"operator matmul --m 1 --k 1 --n 1 --heads 4" + ideal, "--heads: means nothing to matmul"},
      {"operator matmul --m 1 --k 1 --n 1 --type fp8" + ideal, "which ideal lacks"},
      {"operator all_reduce --bytes 4 --ranks 2" + ideal, "--bytes: is '4', allowed: a size"},
      {"operator all_reduce --bytes 4B --ranks 9" + ideal, "--ranks: is '9', allowed: 2 to the"},
      {"operator all_reduce --m 4 --ranks 2" + ideal, "--m: means nothing to all_reduce"},
      {"operator matmul --table x" + ideal, "beside --table"},
      {"operator matmul --csv -" + ideal, "--csv: is for --table alone"},
      {"operator --table '" + bad + "'", "bad.csv:3: m_or_bytes: is '0'"},
      {"operator --table '" + bad + "' --m 4", "--m: means nothing to --table"},
      {"operator --table '" + bad + "' --csv - --json -", "are both -"},
      {"operator --table '" + files.path("gone") + "'",
       "gone: does not exist, allowed: a CSV file"},
      {"operator attention --heads 1 --head-size 64 --sequence 1 --generation hand_tuned" + ideal,
       "--generation: is 'hand_tuned', which ideal has no numbers for, allowed: library"},
      {"operator attention --heads 1 --head-size 64 --sequence 1 --generation flash_4 --cluster "
       "clusters/dgx-h100.yaml",
       "--generation: is 'flash_4', which h100-sxm-80gb has no numbers for, allowed: flash_1"},
      {"accuracy", "DIR: is missing"},
      {"accuracy --components '" + files.path("gone") + "'", "is no folder"},
  };
  for (const auto& row : rows) {
    const Ran wrong = stepcast_run(files, row.arguments);
    EXPECT_EQ(wrong.code, 2) << row.arguments;
    EXPECT_EQ(wrong.out, "") << row.arguments;
    EXPECT_NE(wrong.err.find(row.says), std::string::npos) << row.arguments << "\n" << wrong.err;
  }
}

TEST(OperatorCli, ComponentsFillAPageAndHoldItsFigure) {
  const test::TemporaryFiles files;
  const std::string source =
      "stepcast: 1\ncluster: clusters/ideal.yaml\ntables:\n  - {file: k.csv, source: s, commit: c, "
      "licence: l, measured: m, doubts: d, use: foreign}\n";
  files.write("m/ideal/sources.yaml", source);
  files.write("m/ideal/k.csv",
              "kind,m_or_bytes,k,n,type,median_us\nmatmul,1000,1000,1000,bf16,2.5\n");
  const std::string page = files.write("page.md",
                                       "# Page\n<!-- ledger: written by stepcast accuracy --write "
                                       "-->\n<!-- end of the ledger -->\n");
  const std::string command = "accuracy --components '" + files.path("m") + "' ";
  const Ran first = stepcast_run(files, command + "--write '" + page + "'");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_NE(content(page).find("Overall mean absolute error: 20.00 %"), std::string::npos);
  EXPECT_EQ(stepcast_run(files, command + "--check '" + page + "'").code, 0);
  files.write("m/ideal/k.csv",
              "kind,m_or_bytes,k,n,type,median_us\nmatmul,1000,1000,1000,bf16,3\n");
  const Ran worse = stepcast_run(files, command + "--check '" + page + "'");
  EXPECT_EQ(worse.code, 1);
  EXPECT_NE(worse.err.find("33.33 %"), std::string::npos) << worse.err;
}

}  // namespace
}  // namespace stepcast
