#include "stepcast/sim/engine/reference_world.hpp"

#include <utility>

#include "flow_network.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

ReferenceWorld* the_world = nullptr;

}  // namespace

ReferenceWorld& make_reference_world(const Platform& platform) {
  expects(the_world == nullptr, "a process makes one reference world");
  the_world = simgrid_world(platform);
  return *the_world;
}

ReferenceWorld& ReferenceWorld::world() { return *the_world; }

void ReferenceWorld::Signal::wait_until(const std::function<bool()>& condition) {
  while (!condition()) {
    const std::shared_ptr<Barrier> mine = world().barrier();
    waiting_.push_back(mine);
    mine->stop();
  }
}

void ReferenceWorld::Signal::tell() {
  for (const auto& waiter : std::exchange(waiting_, {})) waiter->let_go();
}

}  // namespace stepcast
