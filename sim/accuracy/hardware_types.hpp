#pragma once
#include "stepcast/sim/accuracy/accuracy.hpp"

namespace stepcast {

/// Parts that differ in memory or links alone count as one type of hardware.
struct HardwareType {
  const char* name;
  const char* fitted;  ///< the fitted numbers that its presets extend
  bool (*has)(const MeasuredRow&);
};

inline constexpr HardwareType hardware_types[] = {
    {"Ascend", "ascend-910b",
     [](const MeasuredRow& row) { return row.device.starts_with("ascend"); }},
    {"A100", "a100",
     [](const MeasuredRow& row) {
       return row.device.starts_with("a100") || row.device.starts_with("a800");
     }},
    {"H100", "h100",
     [](const MeasuredRow& row) {
       return row.device.starts_with("h100") || row.device.starts_with("h200") ||
              row.device.starts_with("h800") || row.device.starts_with("h20");
     }},
    {"Blackwell", "b200",
     [](const MeasuredRow& row) {
       return row.device.starts_with("b200") || row.device.starts_with("b300") ||
              row.device.starts_with("gb");
     }},
};

}  // namespace stepcast
