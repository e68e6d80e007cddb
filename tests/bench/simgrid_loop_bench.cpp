#include <chrono>
#include <cmath>
#include <cstdint>
#include <simgrid/s4u.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flow_pairs.hpp"

/// SimGrid without Stepcast: what Engine is compared with. The settings are those of Engine.
namespace stepcast::bench {
namespace {

namespace s4u = simgrid::s4u;

constexpr double byte_scale = 65536;

s4u::Engine& engine() {
  static int argc = 2;
  static char name[] = "simgrid_loop";
  static char quiet[] = "--log=root.thres:critical";
  static char* argv[] = {name, quiet, nullptr};
  auto* made = new s4u::Engine(&argc, argv);  // SimGrid keeps one for the life of the process
  for (const char* setting :
       {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e30",
        "surf/precision:1e-12", "maxmin/precision:1e-12"}) {
    s4u::Engine::set_config(setting);
  }
  return *made;
}

class Loop {
 public:
  explicit Loop(const FlowPairs& load) : load_{load} {
    s4u::NetZone* zone = s4u::create_full_zone("loop");
    for (std::size_t i = 0; i < load.links; ++i) {
      const std::string id = std::to_string(i);
      s4u::Link* link = zone->create_link("l" + id, FlowPairs::bandwidth * byte_scale);
      link->set_latency(0)->seal();
      ends_.emplace_back(zone->create_host("a" + id, 1.0), zone->create_host("b" + id, 1.0));
      zone->add_route(ends_[i].first->get_netpoint(), ends_[i].second->get_netpoint(), nullptr,
                      nullptr, {s4u::LinkInRoute(link)}, false);
    }
    zone->seal();
  }

  void start(std::size_t flow) {
    const auto& [source, target] = ends_[load_.link_of(flow)];
    const double bytes = std::round(FlowPairs::bytes(flow) * byte_scale);
    s4u::CommPtr comm = s4u::Comm::sendto_async(source, target, static_cast<std::uint64_t>(bytes));
    live_.emplace(comm.get(), std::pair{comm, flow});
  }

  /// SimGrid reads the activity after this: it is kept until another one has ended.
  void ended(const s4u::Activity& activity) {
    const auto found = live_.find(&activity);
    if (found == live_.end()) return;
    const std::size_t next = found->second.second + load_.at_once();
    last_ = std::move(found->second.first);
    live_.erase(found);
    if (next < load_.flows) start(next);
  }

 private:
  FlowPairs load_;
  std::vector<std::pair<s4u::Host*, s4u::Host*>> ends_;
  std::unordered_map<const s4u::Activity*, std::pair<s4u::CommPtr, std::size_t>> live_;
  s4u::CommPtr last_;
};

}  // namespace

LoopTime run_simgrid_loop(const FlowPairs& load) {
  s4u::Engine& simgrid = engine();
  Loop loop(load);
  s4u::Activity::on_completion_cb([&loop](const s4u::Activity& activity) { loop.ended(activity); });
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < load.at_once() && i < load.flows; ++i) loop.start(i);
  simgrid.run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  return {wall.count(), s4u::Engine::get_clock()};
}

}  // namespace stepcast::bench
