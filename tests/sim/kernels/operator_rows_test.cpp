#include "stepcast/sim/kernels/operator_rows.hpp"

#include <gtest/gtest.h>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

const std::string row_header = "device,model,kind,ranks,m_or_bytes,k,n,type\n";

SearchPath row_presets() { return {{std::string(STEPCAST_SOURCE_DIR) + "/scenarios"}}; }

/// What is wrong with the table, or its CSV.
std::string answer(const std::string& text, const std::string& cluster = "",
                   const std::vector<std::string>& overrides = {}) {
  try {
    OperatorClusters clusters(cluster, overrides, row_presets());
    return operator_csv(OperatorTable(text, "t.csv", clusters), {});
  } catch (const InputError& error) {
    return error.what();
  }
}

std::string row(const std::string& cells) { return answer(row_header + cells + "\n"); }

const std::string whole = ", allowed: a whole number, 1 to 2147483647";

TEST(OperatorRows, EveryKindOfErrorHasItsPlaceAndCure) {
  const std::string place = "t.csv:2: ";
  EXPECT_TRUE(row("a100,,matmull,1,1,1,1,bf16")
                  .starts_with(place + "kind: is 'matmull', allowed: "
                                       "matmul, grouped_matmul, "));
  EXPECT_EQ(row("a100,,matmul,1,1,1,1,int8"), place + "type: is 'int8', allowed: bf16, fp16, fp8");
  EXPECT_EQ(row("a100,,rms_norm,1,1,0,1,fp8"), place + "type: is 'fp8', allowed: bf16, fp16");
  EXPECT_EQ(row("a100,,matmul,1,1,1,1,"), place + "type: is empty, allowed: bf16, fp16, fp8");
  EXPECT_TRUE(row("v100,,matmul,1,1,1,1,bf16")
                  .starts_with(place + "device: is 'v100', allowed: "
                                       "a100, a800, h100, "));
  EXPECT_TRUE(row("../clusters/dgx-a100,,matmul,1,1,1,1,bf16").starts_with(place + "device: is"));
  EXPECT_EQ(row("a100,,matmul,1,0,1,1,bf16"), place + "m_or_bytes: is '0'" + whole);
  EXPECT_EQ(row("a100,,matmul,1,1,-4,1,bf16"), place + "k: is '-4'" + whole);
  EXPECT_EQ(row("a100,,matmul,1,1,1,1.5,bf16"), place + "n: is '1.5'" + whole);
  EXPECT_EQ(row("a100,,matmul,1,99999999999999999999,1,1,bf16"),
            place + "m_or_bytes: is '99999999999999999999'" + whole);
  EXPECT_EQ(row("a100,,matmul,1,1,1,2147483648,bf16"), place + "n: is '2147483648'" + whole);
  EXPECT_EQ(row("a100,,matmul,1,nan,,x,bf16"), place + "m_or_bytes: is 'nan'" + whole + "\n" +
                                                   place + "k: is empty" + whole + "\n" + place +
                                                   "n: is 'x'" + whole);
  EXPECT_EQ(row("a100,,matmul,1,1,1,1,fp8"),
            place + "type: is 'fp8', which a100-sxm-80gb lacks, allowed: bf16, fp16");
  EXPECT_EQ(row("h100,,all_reduce,16,1,0,0,bytes"),
            place + "ranks: is '16', allowed: 2 to the 8 devices of a node of dgx-h100");
  EXPECT_EQ(row("h100,,all_reduce,1,1,0,0,bytes"),
            place + "ranks: is '1', allowed: a whole number, 2 to 1048576");
  EXPECT_EQ(row("h100,,send_recv,4,1,0,0,bytes"),
            place + "ranks: is '4', allowed: a whole number, 2 to 2");
  EXPECT_EQ(row("h100,,all_reduce,8,1,0,0,bf16"), place + "type: is 'bf16', allowed: bytes");
  EXPECT_EQ(row("a100,,matmul,1,1,1,bf16"), place + "has 7 cells, allowed: the 8 of the header");
}

TEST(OperatorRows, AllBadRowsAreReportedInOrder) {
  const std::string wrong = answer(row_header +
                                   "a100,,matmul,1,0,1,1,bf16\n"
                                   "a100,,matmul,1,1,1,1,bf16\n"
                                   "\n"
                                   "a100,,matmul,1,1,0,1,bf16\n");
  EXPECT_EQ(wrong, "t.csv:2: m_or_bytes: is '0'" + whole + "\nt.csv:5: k: is '0'" + whole);
}

TEST(OperatorRows, AMissingColumnIsMissedOnce) {
  EXPECT_EQ(answer("device,kind,m_or_bytes,type\na100,rms_norm,1,bf16\na100,gelu,1,bf16\n"),
            "t.csv:1: n: is missing, rms_norm needs it");
  EXPECT_EQ(answer("kind,m_or_bytes,n,type\nrms_norm,1,1,bf16\n"),
            "t.csv:1: device: is missing, give it or --cluster");
  EXPECT_EQ(answer("device,m_or_bytes\na100,1\n"),
            "t.csv:1: kind: is missing, every operator needs it");
  EXPECT_EQ(answer(""), "t.csv: is empty, allowed: a table with a header");
  EXPECT_EQ(answer("device,kind,kind\n"),
            "t.csv:1: kind: is the name of two columns, allowed: each name once");
}

TEST(OperatorRows, AttentionHasItsOwnColumns) {
  const std::string columns = "device,kind,heads,head_size,sequence,batch,causal,generation,type\n";
  const auto one = [&](const std::string& cells) { return answer(columns + cells + "\n"); };
  EXPECT_EQ(one("a100,attention,16,128,4096,,perhaps,,bf16"),
            "t.csv:2: causal: is 'perhaps', allowed: yes, no");
  EXPECT_EQ(one("a100,attention,16,128,4096,0,,,bf16"), "t.csv:2: batch: is '0'" + whole);
  EXPECT_TRUE(one("a100,attention,16,128,4096,,,flash_9,bf16")
                  .starts_with("t.csv:2: generation: is 'flash_9', allowed: flash_1, flash_2, "));
  EXPECT_TRUE(one("a100,attention,16,128,4096,,,flash_3,bf16")
                  .starts_with("t.csv:2: generation: is 'flash_3', which a100-sxm-80gb has no "
                               "numbers for, allowed: flash_1, flash_2"));
  EXPECT_TRUE(one("a100,attention,16,128,4096,2,no,flash_1,bf16").starts_with("device,"));
}

/// On the ideal cluster every product runs at 1000 TFLOPS and memory at 10 TB/s.
TEST(OperatorRows, OrderAndUnknownColumnsStay) {
  const std::string text =
      "note,kind,m_or_bytes,k,n,type,median_us,exclude\r\n"
      "\"b, \"\"2\"\"\",matmul,1000,1000,1000,fp16,2.5,\r\n"
      "a, residual_add ,1000,0,1000,bf16,,\"why, so\"\r\n";
  EXPECT_EQ(answer(text, "clusters/ideal.yaml"),
            "note,kind,m_or_bytes,k,n,type,median_us,exclude,forecast_us\n"
            "\"b, \"\"2\"\"\",matmul,1000,1000,1000,fp16,2.5,,2.000\n"
            "a, residual_add ,1000,0,1000,bf16,,\"why, so\",0.600\n");
}

TEST(OperatorRows, AForecastIsReplacedWhereItStands) {
  EXPECT_EQ(answer("forecast_us,kind,m_or_bytes,k,n,type\n7,matmul,1000,1000,1000,bf16\n",
                   "clusters/ideal.yaml"),
            "forecast_us,kind,m_or_bytes,k,n,type\n2.000,matmul,1000,1000,1000,bf16\n");
}

TEST(OperatorRows, ExchangesReachOverAWholeSuperNode) {
  EXPECT_TRUE(row("gb200,,all_reduce,64,1048576,,,bytes").find("allowed") == std::string::npos);
  EXPECT_EQ(row("gb200,,all_reduce,65,1048576,,,bytes"),
            "t.csv:2: ranks: is '65', allowed: 2 to the 64 devices of a super-node of gb200-nvl72");
}

TEST(OperatorRows, SemicolonsAreCalledSo) {
  EXPECT_EQ(answer("kind;m_or_bytes;k\nmatmul;1;1\n"),
            "t.csv:1: has cells apart by ';', allowed: by commas");
}

TEST(OperatorRows, OverridesChangeTheCluster) {
  EXPECT_EQ(answer("kind,m_or_bytes,k,n,type\nmatmul,1000,1000,1000,bf16\n", "clusters/ideal.yaml",
                   {"device.matmul_peak=500TFLOPS"}),
            "kind,m_or_bytes,k,n,type,forecast_us\nmatmul,1000,1000,1000,bf16,4.000\n");
}

TEST(OperatorRows, DevicesAndPresetsAreTheSameClusters) {
  const std::string columns = "device,kind,m_or_bytes,k,n,type\n";
  const auto forecast = [&](const std::string& device) {
    const std::string csv = answer(columns + device + ",matmul,4096,4096,4096,bf16\n");
    return csv.substr(csv.rfind(',') + 1);
  };
  EXPECT_EQ(forecast("a100"), forecast("dgx-a100"));
  EXPECT_EQ(forecast("h100"), forecast("dgx-h100"));
  EXPECT_NE(forecast("a100"), forecast("h100"));
}

TEST(OperatorRows, ThePageNamesEveryKindAndColumn) {
  const std::string page =
      read_document_text(std::string(STEPCAST_SOURCE_DIR) + "/docs/formats/operators.md", {});
  const auto names = [&](std::string_view word) {
    return page.find("`" + std::string(word) + "`") != std::string::npos;
  };
  for (const OperatorKind& kind : operator_kinds()) {
    const std::string_view plain = kind.name.substr(0, kind.name.find("_backward"));
    EXPECT_TRUE(names(kind.name) || (names(plain) && names("_backward"))) << kind.name;
  }
  for (std::size_t i = 0; i < operator_columns; ++i)
    EXPECT_TRUE(names(info(static_cast<OperatorColumn>(i)).name)) << i;
  for (const AttentionGenerationName& generation : named_generations())
    EXPECT_TRUE(names(generation.name)) << generation.name;
}

}  // namespace
}  // namespace stepcast
