#pragma once
#include <string>

#include "stepcast/topology/device_spec.hpp"

namespace stepcast {

/// Tells devices apart by their generation and data sheets (peaks, cores, memory), whatever they
/// are called and whatever was fitted on them: eight hexadecimal digits.
std::string hardware_id(const DeviceSpec& device);

}  // namespace stepcast
