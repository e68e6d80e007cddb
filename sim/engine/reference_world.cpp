#include "stepcast/sim/engine/reference_world.hpp"

#include "flow_network.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

std::string paje_file, platform_file;  // empty: none

}  // namespace

void trace_reference_world(const std::string& file) { paje_file = file; }

void read_reference_world(const std::string& file) { platform_file = file; }

ReferenceWorld& make_reference_world(const Platform& platform) {
  // SimGrid keeps its world to the end of the process, and there is no second one.
  static ReferenceWorld* the_world = nullptr;
  expects(the_world == nullptr, "a process makes one reference world");
  the_world = simgrid_world(platform, paje_file, platform_file);
  return *the_world;
}

}  // namespace stepcast
