#include "stepcast/sim/engine/reference_world.hpp"

#include <utility>

#include "flow_network.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

// SimGrid keeps its world to the end of the process, and there is no second one.
ReferenceWorld* the_world = nullptr;

}  // namespace

ReferenceWorld& make_reference_world(const Platform& platform) {
  expects(the_world == nullptr, "a process makes one reference world");
  the_world = simgrid_world(platform);
  return *the_world;
}

ReferenceWorld& ReferenceWorld::world() { return *the_world; }

void ReferenceWorld::Signal::wait_until(const std::function<bool()>& condition) {
  // Conditions are asked again after each signal: another actor may have been faster.
  while (!condition()) {
    const std::shared_ptr<Barrier> mine = world().barrier();
    waiting_.push_back(mine);
    mine->stop();
  }
}

void ReferenceWorld::Signal::tell() {
  // Taken out first: those let go may wait again at once.
  for (const auto& waiter : std::exchange(waiting_, {})) waiter->let_go();
}

}  // namespace stepcast
