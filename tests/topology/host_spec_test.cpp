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

HostSpec two_domains() {
  HostSpec host;
  host.devices_per_host = 8;
  host.memory_bandwidth = BytesPerSecond{400e9};
  host.device_link_bandwidth = BytesPerSecond{64e9};
  host.numa_domains = 2;
  host.numa_link = BytesPerSecond{40e9};
  return host;
}

/// Half of what the threads of a domain need is in the other one, and half of that is read: a
/// quarter of the bytes crosses the link each way. From one memory the threads of the other domain
/// need half of the bytes, half of them each way, and the memory is half of all.
TEST(HostSpec, MemoryElsewhereIsReachedOverTheLinkOfDomains) {
  HostSpec host = two_domains();
  EXPECT_EQ(host.update_bandwidth().value(), 50e9);
  EXPECT_EQ(host.update_bandwidth(NumaPlacement::interleaved).value(), 4 * 40e9 / 8);
  EXPECT_EQ(host.update_bandwidth(NumaPlacement::first_touch).value(), 4 * 40e9 / 8);
  host.numa_link = BytesPerSecond{90e9};
  EXPECT_EQ(host.update_bandwidth(NumaPlacement::interleaved).value(), 4 * 90e9 / 8);
  EXPECT_EQ(host.update_bandwidth(NumaPlacement::first_touch).value(), 200e9 / 8);
  host.numa_link = BytesPerSecond{1000e9};
  EXPECT_EQ(host.update_bandwidth(NumaPlacement::interleaved).value(), 50e9);
}

/// Four devices of a domain copy all of their bytes, or every second one, to the other domain.
TEST(HostSpec, CopiesCrossTheLinkOfDomains) {
  const HostSpec host = two_domains();
  EXPECT_EQ(host.offload_bandwidth().value(), 64e9);
  EXPECT_EQ(host.offload_bandwidth(NumaPlacement::first_touch).value(), 40e9 / 4);
  EXPECT_EQ(host.offload_bandwidth(NumaPlacement::interleaved).value(), 40e9 / 2);
}

TEST(HostSpec, PageableMemoryIsCopiedAtARateOfItsOwn) {
  HostSpec host = two_domains();
  EXPECT_EQ(host.offload_bandwidth(NumaPlacement::local, false).value(), 64e9);  // not known
  host.pageable_bandwidth = BytesPerSecond{6e9};
  EXPECT_EQ(host.offload_bandwidth(NumaPlacement::local, false).value(), 6e9);
  EXPECT_EQ(host.offload_bandwidth().value(), 64e9);
}

}  // namespace
}  // namespace stepcast
