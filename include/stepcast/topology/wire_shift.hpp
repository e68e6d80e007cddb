#pragma once
#include <cstdint>
#include <vector>

#include "stepcast/topology/node_wires.hpp"

/// The same wires seen from another device: a torus or full mesh looks alike from everywhere, a
/// graph does not. docs/models/wired.md.
namespace stepcast {

/// The device that lies to device `to` as `device` lies to `from`; on a graph the device itself.
std::uint32_t shifted_device(const NodeWires& wires, std::uint32_t device, std::uint32_t from,
                             std::uint32_t to);

/// The wire that lies to device `to` as `wire` lies to device `from` (places in a node). On a graph
/// it is the wire itself, and the two devices are one.
std::uint32_t shifted_wire(const NodeWires& wires, std::uint32_t wire, std::uint32_t from,
                           std::uint32_t to);

/// The device from which all of the node is seen as from this one: itself on a graph, the first one
/// on a full mesh; on a torus one near it, because ways half-way round a ring depend on whether its
/// places are even.
std::uint32_t wire_origin(const NodeWires& wires, std::uint32_t device);

}  // namespace stepcast
