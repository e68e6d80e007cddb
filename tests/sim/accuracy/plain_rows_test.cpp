#include "stepcast/sim/accuracy/plain_rows.hpp"

#include <gtest/gtest.h>

#include "stepcast/base/document.hpp"

namespace stepcast {
namespace {

Node row() {
  return parse_document(
      "stepcast: 1\n"
      "name: a\n"
      "framework: trainer-1.0\n"
      "cluster: {extends: c.yaml, devices: 8}\n"
      "model: {extends: m.yaml}\n"
      "parallel: {tp: 2, layers_per_chunk: even}\n"
      "training: {sequence: 8, global_batch: 16, attention: flash_2}\n"
      "moe: {dispatch: flat, dispatcher: deepep}\n"
      "communication: {gradient: {overlap: true, precision: bf16}, tensor: {overlap: none}}\n"
      "runtime: {dispatch: eager}\n"
      "expect: {step_time: 1s, tolerance: 2%}\n",
      "row");
}

std::string keys(const Node& node) {
  std::string text;
  for (const Node::Entry& entry : node.entries) text += entry.key + " ";
  return text;
}

TEST(PlainRows, KeepWhatAQuestionSaysAndNoSwitchOfAFramework) {
  const Node plain = plain_document(row(), PlainFramework::named);
  EXPECT_EQ(keys(plain),
            "stepcast name framework cluster model parallel training moe communication expect ");
  EXPECT_EQ(keys(*plain.find("training")), "sequence global_batch ");
  EXPECT_EQ(keys(*plain.find("parallel")), "tp ");
  EXPECT_EQ(keys(*plain.find("moe")), "dispatch ");
  EXPECT_EQ(keys(*plain.find("communication")), "gradient ");
  EXPECT_EQ(keys(*plain.find("communication")->find("gradient")), "overlap ");
  EXPECT_EQ(keys(*plain.find("expect")), "step_time ");
}

TEST(PlainRows, LoseTheirFrameworkWhereItIsAssumed) {
  EXPECT_EQ(plain_document(row(), PlainFramework::assumed).find("framework"), nullptr);
}

TEST(PlainRows, FiguresLeaveRefusedRowsOut) {
  MeasuredRow good, refused;
  good.family = refused.family = "a";
  good.published = refused.published = 2;
  good.forecast = 3;
  refused.failure = "no";
  const std::vector<PlainRow> rows{{good, good, good}, {good, refused, good}};
  EXPECT_EQ(plain_figures(rows, &PlainRow::named, "a").rows, 1U);
  EXPECT_DOUBLE_EQ(plain_figures(rows, &PlainRow::assumed, "").mean, 0.5);
  EXPECT_EQ(plain_sources(rows), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace stepcast
