#include <gtest/gtest.h>

#include "stepcast/topology/cluster_spec.hpp"

/// What of a host its devices share. docs/models/offload.md.
namespace stepcast {
namespace {

TEST(HostSpec, FewCoresSlowTheUpdate) {
  HostSpec host;
  host.devices_per_host = 8;
  host.memory_bandwidth = BytesPerSecond{400e9};
  host.memory_efficiency = 0.5;
  EXPECT_EQ(host.update_bandwidth().value(), 25e9);
  host.cores = 10;
  EXPECT_EQ(host.update_bandwidth().value(), 25e9);  // what a core draws is not known
  host.core_bandwidth = BytesPerSecond{8e9};
  EXPECT_EQ(host.update_bandwidth().value(), 10e9);
  host.cores = 100;
  EXPECT_EQ(host.update_bandwidth().value(), 25e9);
}

}  // namespace
}  // namespace stepcast
