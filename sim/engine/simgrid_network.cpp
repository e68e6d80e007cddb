// Module `simgrid`: all that includes SimGrid. It is linked by itself, so it calls nothing of the
// other layers.
#include <cmath>
#include <memory>
#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <unordered_map>

#include "flow_network.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

namespace s4u = simgrid::s4u;
namespace resource = simgrid::kernel::resource;
namespace routing = simgrid::kernel::routing;

/// s4u payloads are whole bytes: bytes and bandwidths are scaled alike, so that fractions of a byte
/// count.
constexpr double byte_scale = 65536;

using LinkPath = std::vector<resource::StandardLinkImpl*>;

/// A zone whose every route is the path that the next flow was given.
class PathZone : public routing::NetZoneImpl {
 public:
  explicit PathZone(const std::string& name) : NetZoneImpl(name) {}
  void use(const LinkPath& path) { path_ = &path; }
  // SimGrid asks for a route when a flow starts, right after use().
  void get_local_route(const routing::NetPoint*, const routing::NetPoint*, routing::Route* route,
                       double*) override {
    route->link_list_.insert(route->link_list_.end(), path_->begin(), path_->end());
  }

 private:
  const LinkPath* path_ = nullptr;
};

/// The process's one SimGrid instance with the settings that make sharing exact.
s4u::Engine& simgrid_engine() {
  static s4u::Engine* engine = [] {
    static int argc = 1;
    static char name[] = "stepcast";
    static char quiet[] = "--log=root.thres:critical";
    static char* argv[] = {name, quiet, nullptr};
    // SimGrid changes argc and argv and keeps them: all must outlive it.
    argc = 2;
    auto* made = new s4u::Engine(&argc, argv);
    for (const char* setting :
         {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e30",
          "surf/precision:1e-12", "maxmin/precision:1e-12"}) {
      s4u::Engine::set_config(setting);
    }
    return made;
  }();
  return *engine;
}

/// Our queue as a SimGrid model: SimGrid asks for our next date and tells us when it got there.
class QueueModel : public resource::Model {
 public:
  explicit QueueModel(NetworkWatcher& watcher) : Model("stepcast_queue"), watcher_{watcher} {
    set_update_algorithm(UpdateAlgo::LAZY);
  }
  double next_occurring_event(double date) override { return watcher_.next_date(date); }
  void update_actions_state(double date, double) override { watcher_.arrived(date); }

 private:
  NetworkWatcher& watcher_;
};

class SimgridNetwork : public FlowNetwork {
 public:
  explicit SimgridNetwork(const std::vector<double>& bandwidths) {
    simgrid_engine();
    zone_ = new PathZone("paths");  // owned by SimGrid
    // All flows go between the same two hosts; only the path tells them apart.
    s4u::NetZone* face = zone_->get_iface();
    source_ = face->create_host("source", 1.0);
    target_ = face->create_host("target", 1.0);
    for (std::size_t i = 0; i < bandwidths.size(); ++i) {
      s4u::Link* link = face->create_link("l" + std::to_string(i), bandwidths[i] * byte_scale);
      // Latency 0: the engine adds it, and CM02 would share links by it.
      links_.push_back(link->set_latency(0)->seal()->get_impl());
    }
    face->seal();
  }

  void run(NetworkWatcher& watcher) override {
    s4u::Engine& engine = simgrid_engine();
    const Watching while_running(*this, watcher);
    // Models are known by name only once the engine has made them.
    for (resource::Model* model : engine.get_all_models()) {
      if (model->get_name() == "Network_CM02") network_ = model;
    }
    if (network_ == nullptr) throw EngineError("SimGrid does not have its CM02 network model");
    s4u::Activity::on_completion_cb([this](const s4u::Activity& activity) { completed(activity); });
    engine.add_model(std::make_shared<QueueModel>(watcher));
    engine.run();
    graveyard_.clear();
  }

  double next_end(double date) override {
    graveyard_.clear();
    return network_->next_occurring_event(date);
  }

  void start(std::span<const LinkUse> path, double bytes, std::uint32_t flow) override {
    path_.clear();
    // A link that counts k times is listed k times: SimGrid then takes k times the rate there.
    for (const LinkUse& use : path) path_.insert(path_.end(), use.count, links_[use.link]);
    zone_->use(path_);
    // At least one scaled byte: SimGrid never ends a communication of none.
    const auto payload = static_cast<std::uint64_t>(std::max(1.0, std::round(bytes * byte_scale)));
    s4u::CommPtr comm =
        s4u::Comm::sendto_init()->set_payload_size(payload)->set_source(source_)->set_destination(
            target_);
    // Setting both ends may have started it already.
    if (comm->get_state() != s4u::Activity::State::STARTED) comm->vetoable_start();
    live_.emplace(comm.get(), Live{comm, flow});
  }

  void set_precision(double seconds) override {
    s4u::Engine::set_config("surf/precision", seconds);
  }

 private:
  /// SimGrid ends what is left of its activities with the process, when the watcher is gone.
  struct Watching {
    Watching(SimgridNetwork& watched, NetworkWatcher& watcher) : network{watched} {
      network.watcher_ = &watcher;
    }
    ~Watching() { network.watcher_ = nullptr; }
    Watching(const Watching&) = delete;
    Watching& operator=(const Watching&) = delete;
    SimgridNetwork& network;
  };
  struct Live {
    s4u::CommPtr comm;
    std::uint32_t flow;
  };

  /// SimGrid reads the activity after this callback: it is kept until the next iteration.
  void completed(const s4u::Activity& activity) {
    const auto found = live_.find(&activity);
    // Communications of the last run end with the process, when nobody watches.
    if (found == live_.end() || watcher_ == nullptr) return;
    graveyard_.push_back(found->second.comm);
    watcher_->ended(found->second.flow);
    live_.erase(found);
  }

  std::unordered_map<const s4u::Activity*, Live> live_;
  std::vector<s4u::CommPtr> graveyard_;
  LinkPath links_, path_;
  PathZone* zone_ = nullptr;
  s4u::Host* source_ = nullptr;
  s4u::Host* target_ = nullptr;
  resource::Model* network_ = nullptr;
  NetworkWatcher* watcher_ = nullptr;
};

}  // namespace
}  // namespace stepcast

/// Lives as long as SimGrid, which keeps the callback: to the end of the process.
extern "C" [[gnu::visibility("default")]] stepcast::FlowNetwork* stepcast_simgrid_network(
    const std::vector<double>& bandwidths) {
  static auto* const network = new stepcast::SimgridNetwork(bandwidths);
  return network;
}
