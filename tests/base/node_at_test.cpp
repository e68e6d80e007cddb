#include "stepcast/base/node_at.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

TEST(NodeAt, FollowsKeysAndNumbersOfItems) {
  const Node root = parse_document("a: {bc: 1, d: [5, {e: 6}]}\nf: 2\n", "text");
  const auto text = [&](std::string_view path) {
    const Node* node = node_at(root, path);
    return node == nullptr ? "nothing" : node->text;
  };
  EXPECT_EQ(text("f"), "2");
  EXPECT_EQ(text("a.bc"), "1");
  EXPECT_EQ(text("a.d.0"), "5");
  EXPECT_EQ(text("a.d.1.e"), "6");
  for (const char* missing : {"b", "bc", "a.b", "a.d.2", "a.d.-1", "a.d.e", "a.d.1.e.f", "f.0"})
    EXPECT_EQ(text(missing), "nothing") << missing;
  EXPECT_EQ(node_at(root, ""), &root);
}

}  // namespace
}  // namespace stepcast
