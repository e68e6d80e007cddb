#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

#include "fabrics.hpp"
#include "stepcast/topology/platform.hpp"

/// What the written platform says, as text; tests of the engine read it with SimGrid's loader.
namespace stepcast {
namespace {

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(PlatformXml, EveryDeviceStandsInItsNodeOnce) {
  EXPECT_TRUE(rc::check([] {
    const ClusterSpec cluster = test::random_cluster();
    const std::string text = platform_xml(Fabric(cluster));
    RC_ASSERT(times(text, "<host id=") == static_cast<std::size_t>(cluster.devices));
    for (std::int64_t device = 0; device < cluster.devices; ++device) {
      const std::size_t at = text.find("<host id=\"device:" + std::to_string(device) + "\"");
      RC_ASSERT(at != std::string::npos);
      const std::string node = std::to_string(device / cluster.node_devices);
      const std::size_t property = text.find("<prop id=\"node\" value=\"", at);
      RC_ASSERT(text.compare(property, 24 + node.size(),
                             "<prop id=\"node\" value=\"" + node + "\"") == 0);
    }
  }));
}

}  // namespace
}  // namespace stepcast
