#pragma once
#include <gtest/gtest.h>

#include "lowering_fixtures.hpp"

/// The tables of docs/models/operators.md, to be compared with the rows of a pass one by one.
namespace stepcast::lowering {

struct Row {
  std::string name;
  double flops = 0, bytes = 0;
};

/// `[m x k] x [k x n]` in BF16.
inline Row product(const std::string& name, double m, double k, double n) {
  return {name, 2 * m * k * n, 2 * (m * k + k * n + m * n)};
}
/// dgrad of the product of `tokens` rows.
inline Row dgrad(const std::string& name, double tokens, double in, double out) {
  return product(name + " dgrad", tokens, out, in);
}
/// Its wgrad, which reads and writes `gradient` bytes per weight.
inline Row wgrad(const std::string& name, double tokens, double in, double out,
                 double gradient = 4) {
  return {name + " wgrad", 2 * tokens * in * out,
          2 * tokens * (in + out) + 2 * gradient * in * out};
}
/// A row of `count` elements: FLOPs and bytes of each.
inline Row each(const std::string& name, double count, double flops, double bytes) {
  return {name, count * flops, count * bytes};
}
/// That many products of a row's size in one kernel.
inline Row times(double groups, Row row) {
  return {row.name, groups * row.flops, groups * row.bytes};
}

inline void expect_rows(const LayerItems& items, const std::vector<Row>& expected) {
  std::vector<Row> found;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item))
      found.push_back({op->name, op->flops.value(), op->bytes.value()});
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    EXPECT_EQ(found[i].name, expected[i].name) << "row " << i;
    EXPECT_NEAR(found[i].flops, expected[i].flops, 1e-12 * expected[i].flops) << found[i].name;
    EXPECT_NEAR(found[i].bytes, expected[i].bytes, 1e-12 * expected[i].bytes) << found[i].name;
  }
  ASSERT_EQ(found.size(), expected.size());
}

}  // namespace stepcast::lowering
