#include "stepcast/topology/wire_shift.hpp"

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

/// As far from `to` as the vertex is from `from`, along every side.
std::uint32_t shifted(const std::vector<std::uint32_t>& sides, std::uint32_t vertex,
                      std::uint32_t from, std::uint32_t to) {
  std::uint32_t result = 0, stride = 1;
  for (const std::uint32_t side : sides) {
    // Modular on each side: a torus looks alike from all its devices.
    const std::uint32_t own = vertex / stride % side + to / stride % side;
    result += (own + side - from / stride % side) % side * stride;
    stride *= side;
  }
  return result;
}

}  // namespace

std::uint32_t shifted_device(const NodeWires& wires, std::uint32_t device, std::uint32_t from,
                             std::uint32_t to) {
  // A graph has no symmetry to shift by; callers ask only for shifts by nothing.
  return wires.sides().empty() ? device : shifted(wires.sides(), device, from, to);
}

std::uint32_t shifted_wire(const NodeWires& wires, std::uint32_t wire, std::uint32_t from,
                           std::uint32_t to) {
  if (from == to) return wire;
  expects(!wires.sides().empty(), "a graph looks alike from nowhere");
  const NodeWires::Wire& own = wires.wire(wire);
  return wires
      .between(shifted(wires.sides(), own.from, from, to), shifted(wires.sides(), own.to, from, to))
      .value();
}

std::uint32_t wire_origin(const NodeWires& wires, std::uint32_t device) {
  // A device of a graph stands for itself alone.
  if (wires.sides().empty()) return device;
  // Every device of a full mesh sees the others alike.
  if (!wires.rings()) return 0;
  std::uint32_t origin = 0, stride = 1;
  for (const std::uint32_t side : wires.sides()) {
    // On even sides route() breaks ties by odd and even places: devices of one parity see the same.
    if (side % 2 == 0) origin += device / stride % side % 2 * stride;
    stride *= side;
  }
  return origin;
}

}  // namespace stepcast
