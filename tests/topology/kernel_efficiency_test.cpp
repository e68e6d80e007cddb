#include "stepcast/topology/kernel_efficiency.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

/// Every kind of kernel has a number of its own, so that none can stand for another.
TEST(MemoryEfficiency, OfAKindIsItsOwnAndElseThatOfElementwiseKernels) {
  MemoryEfficiency all;
  all.peak = 0.9;
  all.backward = 0.5;
  EXPECT_DOUBLE_EQ(all.fraction(VectorKind::elementwise), 0.9);
  for (const VectorKind forward : {VectorKind::norm, VectorKind::activation, VectorKind::gather})
    EXPECT_DOUBLE_EQ(all.fraction(forward), 0.9);
  for (const VectorKind backward : {VectorKind::norm_backward, VectorKind::activation_backward})
    EXPECT_DOUBLE_EQ(all.fraction(backward), 0.45);
  all.norm = 0.8;
  all.activation = 0.6;
  all.gather = 0.4;
  EXPECT_DOUBLE_EQ(all.fraction(VectorKind::norm), 0.8);
  EXPECT_DOUBLE_EQ(all.fraction(VectorKind::norm_backward), 0.4);
  EXPECT_DOUBLE_EQ(all.fraction(VectorKind::activation), 0.6);
  EXPECT_DOUBLE_EQ(all.fraction(VectorKind::activation_backward), 0.3);
  EXPECT_DOUBLE_EQ(all.fraction(VectorKind::gather), 0.4);
  all.activation_backward = 0.7;  // of the bandwidth itself, and of activations alone
  EXPECT_DOUBLE_EQ(all.fraction(VectorKind::activation_backward), 0.7);
  EXPECT_DOUBLE_EQ(all.fraction(VectorKind::activation), 0.6);
  EXPECT_DOUBLE_EQ(all.fraction(VectorKind::norm_backward), 0.4);
}

}  // namespace
}  // namespace stepcast
