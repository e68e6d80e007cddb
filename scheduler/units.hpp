#pragma once
#include "stepcast/scheduler/stage_order.hpp"

/// Units by their plain indices, for the functions that write orders.
namespace stepcast {

inline Unit unit_of(UnitKind kind, std::int64_t micro_batch, std::int64_t chunk = 0,
                    std::int64_t slice = 0) {
  return {kind,
          {static_cast<std::uint32_t>(micro_batch)},
          {static_cast<std::uint32_t>(chunk)},
          {static_cast<std::uint32_t>(slice)}};
}

}  // namespace stepcast
