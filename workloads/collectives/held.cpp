#include <algorithm>
#include <array>

#include "stepcast/workloads/collectives.hpp"

// What exchanges take from what is computed beside them: docs/models/collectives.md, "Beside what
// is computed".
namespace stepcast {

namespace {

constexpr std::array<const char*, exchange_kernels> kernel_names{"library", "pieces", "deepep",
                                                                 "hybridep", "joined"};

/// A collective that leaves its node has channels for each NIC that it enters by.
double library_cores(const Fabric& fabric, std::span<const DeviceId> members) {
  const HeldCores& cores = fabric.cluster().collectives.cores;
  const std::uint32_t first = fabric.super_node_of(members.front());
  // Inside one super-node no NIC is entered.
  const auto inside = std::ranges::count_if(
      members, [&](const DeviceId member) { return fabric.super_node_of(member) == first; });
  if (static_cast<std::size_t>(inside) == members.size()) return cores.node;
  // Channels per NIC, and no more than a call inside the node has.
  return std::min(cores.node, cores.network * static_cast<double>(inside));
}

}  // namespace

const char* name(ExchangeKernel kernel) {
  return kernel_names.at(static_cast<std::size_t>(kernel));
}

double held_share(const Fabric& fabric, std::span<const DeviceId> members, CollectiveKind kind,
                  ExchangeKernel kernel) {
  const HeldCores& cores = fabric.cluster().collectives.cores;
  const auto share = [&](double held) {
    return held / static_cast<double>(fabric.cluster().device.cube_cores);
  };
  // A member alone exchanges nothing.
  if (members.size() < 2) return 0;
  switch (kernel) {
    case ExchangeKernel::library:
      break;
    case ExchangeKernel::pieces:
      return share(kind == CollectiveKind::all_gather ? cores.gather_pieces : cores.reduce_pieces);
    case ExchangeKernel::deepep:
      return share(cores.deepep);
    case ExchangeKernel::hybridep:
      return share(cores.hybridep);
    case ExchangeKernel::joined:
      // Measured with its exchanges: they are part of the kernel's own time.
      return 0;
  }
  if (!(cores.node > 0)) return 0;  // members need not be looked at
  return share(library_cores(fabric, members));
}

}  // namespace stepcast
