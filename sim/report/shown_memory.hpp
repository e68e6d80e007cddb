#pragma once
#include <optional>
#include <string>

#include "stepcast/sim/scenario/scenario.hpp"

/// Private to sim/report/. Parts and sources: docs/models/memory.md.
namespace stepcast {

/// What the tool of the driver shows of a device, by its parts.
struct ShownMemory {
  std::string tool;
  Bytes tensors{0};    ///< the peak without buffers of communicators
  Bytes kept{0};       ///< by the allocator, over that
  Bytes libraries{0};  ///< of communicators
  Bytes context{0};
  Bytes all() const { return tensors + kept + libraries + context; }
};

/// By the vendor of the device, from `validation/shown_memory.csv`; nothing where that has no row
/// of it. Throws InputError where the table is wrong.
std::optional<ShownMemory> shown_memory(const Scenario& scenario, const MemoryBudget& budget);

}  // namespace stepcast
