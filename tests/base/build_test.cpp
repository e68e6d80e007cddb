#include "stepcast/base/build.hpp"

#include <gtest/gtest.h>

#include <exception>

namespace stepcast {
namespace {

int written = 1;  // far behind the code, in a segment of its own

TEST(Build, AnyAddressOfAProgramTellsItsFingerprint) {
  EXPECT_EQ(fingerprint_of(&written), build_fingerprint());
  EXPECT_NE(fingerprint_of(reinterpret_cast<const void*>(&std::terminate)), build_fingerprint());
}

}  // namespace
}  // namespace stepcast
