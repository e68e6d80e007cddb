#include <memory>

#include "flow_network.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/module.hpp"
#include "stepcast/sim/engine/platform_file.hpp"
#include "stepcast/sim/engine/reference_world.hpp"

namespace stepcast {

// Engine and module must be of one build: they share types, not only functions.
const std::string& simgrid_fingerprint();  // cmake/fingerprint.cmake

namespace {

std::string paje_file, platform_file;  // empty: none

bool& loaded() {
  static bool in_this_process = false;
  return in_this_process;
}

void* simgrid_entry(const std::string& entry) {
  void* const found = module_entry("simgrid", entry, simgrid_fingerprint());
  loaded() = true;
  return found;
}

}  // namespace

bool simgrid_is_loaded() { return loaded(); }

FlowNetwork& simgrid_network(const std::vector<double>& bandwidths) {
  auto* const make =
      reinterpret_cast<MakeSimgridNetwork*>(simgrid_entry("stepcast_simgrid_network"));
  return *make(bandwidths);
}

ReferenceWorld* simgrid_world(const Platform& platform, const std::string& paje,
                              const std::string& file) {
  using Make = ReferenceWorld*(const Platform&, const std::string&, const std::string&);
  auto* const make = reinterpret_cast<Make*>(simgrid_entry("stepcast_simgrid_world"));
  return make(platform, paje, file);
}

PlatformAnswer read_platform_table(const std::string& file, const std::string& pattern,
                                   std::int64_t devices) {
  using Read = PlatformAnswer*(const std::string&, const std::string&, std::int64_t);
  auto* const read = reinterpret_cast<Read*>(simgrid_entry("stepcast_read_platform_table"));
  return *std::unique_ptr<PlatformAnswer>(read(file, pattern, devices));
}

Platform read_platform(const std::string& file) {
  using Read = Platform*(const std::string&);
  auto* const read = reinterpret_cast<Read*>(simgrid_entry("stepcast_read_platform"));
  return *std::unique_ptr<Platform>(read(file));
}

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
