#include "stepcast/topology/hardware_id.hpp"

#include "stepcast/base/canonical.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {

std::string hardware_id(const DeviceSpec& device) {
  // What the data sheet says and nothing that was fitted: a device keeps its id when its
  // efficiencies are measured anew.
  std::string sheet = device.generation + " ";
  for (const double number :
       {device.matmul_peak.value(), device.matmul_peak_fp8.value(), device.vector_peak.value(),
        static_cast<double>(device.cube_cores), static_cast<double>(device.vector_cores),
        device.memory_capacity.value(), device.memory_bandwidth.value()})
    sheet += shortest(number) + " ";
  constexpr std::size_t digits = 8;
  return sha256(sheet).substr(0, digits);
}

}  // namespace stepcast
