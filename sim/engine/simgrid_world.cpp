// Module `simgrid`: the world of the judge. It calls nothing of the other layers.
#include <algorithm>
#include <cmath>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <utility>

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/engine/reference_world.hpp"

namespace stepcast {
namespace {

namespace s4u = simgrid::s4u;
namespace resource = simgrid::kernel::resource;
namespace routing = simgrid::kernel::routing;

/// s4u payloads are whole bytes: bytes and bandwidths are scaled alike.
constexpr double scale = 65536;
/// Work of an execution in a second.
constexpr double host_speed = 1e12;
using LinkPath = std::vector<resource::StandardLinkImpl*>;

/// A flat zone in which every pair of points has the route that it was given.
class NamedZone : public routing::NetZoneImpl {
 public:
  explicit NamedZone(const std::string& name) : NetZoneImpl(name) {}
  void give(const routing::NetPoint* from, const routing::NetPoint* to, LinkPath path) {
    routes_[{from, to}] = std::move(path);
  }
  void get_local_route(const routing::NetPoint* from, const routing::NetPoint* to,
                       routing::Route* route, double*) override {
    const auto found = routes_.find({from, to});
    // No route here shows as an error in route(), never as a transfer that takes no time.
    if (found == routes_.end()) return;
    route->link_list_.insert(route->link_list_.end(), found->second.begin(), found->second.end());
  }

 private:
  std::map<std::pair<const routing::NetPoint*, const routing::NetPoint*>, LinkPath> routes_;
};

/// `paje`: file that SimGrid traces its resources into; empty: none.
s4u::Engine& reference_engine(const std::string& paje) {
  static s4u::Engine* engine = [&paje] {
    // SimGrid keeps argc and argv: all must outlive it.
    static char name[] = "stepcast";
    static char quiet[] = "--log=root.thres:critical";
    static char traced[] = "--cfg=tracing:yes";
    static char resources[] = "--cfg=tracing/uncategorized:yes";
    static char precise[] = "--cfg=tracing/precision:12";
    static std::string file = "--cfg=tracing/filename:" + paje;
    static char* argv[] = {name, quiet, traced, resources, precise, file.data(), nullptr};
    static int argc = paje.empty() ? 2 : 6;
    argv[argc] = nullptr;
    auto* made = new s4u::Engine(&argc, argv);
    for (const char* setting :
         {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e30",
          "surf/precision:1e-12", "maxmin/precision:1e-12"})
      s4u::Engine::set_config(setting);
    return made;
  }();
  return *engine;
}

/// An activity that is under way. SimGrid has it as the user data of the activity.
struct UnderWay {
  s4u::ActivityPtr activity;  ///< must live until SimGrid has looked at it for the last time
  ReferenceWorld::Then then;
};

class SimgridWorld : public ReferenceWorld {
 public:
  SimgridWorld(Platform platform, const std::string& paje, const std::string& file)
      : platform_{std::move(platform)}, from_file_{!file.empty()} {
    engine_ = &reference_engine(paje);
    if (from_file_) engine_->load_platform(file);
    zone_ = new NamedZone(from_file_ ? "flows" : platform_.name);  // owned by SimGrid
    if (from_file_) zone_->set_parent(engine_->get_netzone_root()->get_impl());
    s4u::NetZone* face = zone_->get_iface();
    for (const Platform::Host& host : platform_.hosts)
      hosts_.push_back(from_file_ ? host_of_file(host.name)
                                  : face->create_host(host.name, host_speed));
    // Flows of collectives end at one point of their own: only the links in between matter.
    sink_ = face->create_host("end of flows", host_speed);
    // Latency stays with whoever sends: SimGrid would share links by it.
    for (const Platform::Link& link : platform_.links)
      links_.push_back(from_file_ ? link_of_file(link.name)
                                  : face->create_link(link.name, link.bandwidth * scale));
    for (s4u::Link* link : engine_->get_all_links()) {
      if (from_file_) link->set_bandwidth(link->get_bandwidth() * scale);
      link->set_latency(0);
    }
    // Zones that search for ways need it before they are asked; the root waits for the flows.
    if (from_file_)
      for (s4u::NetZone* zone : engine_->get_netzone_root()->get_children())
        if (zone != face) zone->seal();
    for (std::uint32_t l = 0; l < links_.size(); ++l) index_[links_[l]->get_name()] = l;
  }

  /// Given to SimGrid when first asked for, and read back from it by name.
  const std::vector<std::uint32_t>& route(std::uint32_t from, std::uint32_t to) override {
    const auto [place, fresh] = routes_.try_emplace({from, to});
    if (!fresh) return place->second;
    s4u::Host *a = hosts_[from], *b = hosts_[to];
    if (!from_file_) {
      LinkPath path;
      for (const std::uint32_t link : platform_.route(from, to))
        path.push_back(links_[link]->get_impl());
      zone_->give(a->get_netpoint(), b->get_netpoint(), std::move(path));
    }
    std::vector<s4u::Link*> crossed;
    // Read back, so that what SimGrid does with the route is what is compared.
    double latency = 0;
    a->route_to(b, crossed, &latency);
    if (crossed.empty())
      throw EngineError("the platform has no route from " + a->get_name() + " to " + b->get_name());
    // Links that nobody shares load nothing.
    std::erase_if(crossed, [](const s4u::Link* link) {
      return link->get_sharing_policy() == s4u::Link::SharingPolicy::FATPIPE;
    });
    for (const s4u::Link* link : crossed) {
      const auto found = index_.find(link->get_name());
      if (found == index_.end())
        throw EngineError("the link " + link->get_name() +
                          " of the platform file is not of the cluster");
      place->second.push_back(found->second);
    }
    return place->second;
  }

  double bandwidth(std::uint32_t link) const override {
    return links_[link]->get_bandwidth() / scale;
  }

  /// A flow begins at a point of its own, so that its path is a route like any other.
  FlowId add_flow(const std::vector<Use>& uses) override {
    const auto next = static_cast<FlowId>(flows_.size());
    // Equal paths are one flow's: hosts and routes are dear in SimGrid.
    const auto [place, fresh] = known_.try_emplace(uses, next);
    if (!fresh) return place->second;
    s4u::Host* host = zone_->get_iface()->create_host("flow:" + std::to_string(next), host_speed);
    flows_.push_back(host);
    zone_->give(host->get_netpoint(), sink_->get_netpoint(), path_of(uses));
    return next;
  }

  void run(Then begin) override {
    zone_->get_iface()->seal();
    if (from_file_) engine_->get_netzone_root()->seal();
    // Models are known by name only once the engine has made them.
    for (resource::Model* model : engine_->get_all_models())
      if (model->get_name() == "Network_CM02") network_ = model;
    if (network_ == nullptr) throw EngineError("SimGrid does not have its CM02 network model");
    s4u::Activity::on_completion_cb([this](const s4u::Activity& activity) { ended(activity); });
    simgrid::kernel::timer::Timer::set(0.0, [this, begin = std::move(begin)] { go_on(begin); });
    engine_->run();
    if (failure_) std::rethrow_exception(failure_);
  }

  double clock() const override { return s4u::Engine::get_clock(); }

  void at(double date, Then then) override {
    if (date <= clock()) return then();
    simgrid::kernel::timer::Timer::set(date, [this, then = std::move(then)] { go_on(then); });
  }

  void work(std::uint32_t host, double seconds, Then then) override {
    if (!(seconds > 0)) return then();
    const s4u::ExecPtr exec = s4u::Exec::init();
    exec->set_flops_amount(seconds * hosts_[host]->get_speed());
    exec->set_host(hosts_[host]);
    under_way(exec, std::move(then));
    exec->vetoable_start();
  }

  void send(std::uint32_t from, std::uint32_t to, double bytes, Then then) override {
    route(from, to);
    start(hosts_[from], hosts_[to], bytes, 1, std::move(then));
  }

  void move(const std::vector<Part>& parts, Then then) override {
    // All begin at once. Latency comes after the bytes, for each by itself; the last one counts.
    struct Moving {
      std::size_t left;
      Then then;
    };
    const auto moving = std::make_shared<Moving>(Moving{parts.size(), std::move(then)});
    const auto arrived = [moving] {
      if (--moving->left == 0) moving->then();
    };
    if (parts.empty()) return moving->then();
    for (const Part& part : parts) {
      const auto through = [this, arrived, latency = part.latency] {
        at(clock() + latency, arrived);
      };
      // A part without bytes is its latency alone.
      if (part.bytes > 0)
        start(flows_[part.flow], sink_, part.bytes, part.weight, through);
      else
        through();
    }
  }

  std::uint64_t communications() const override { return sent_; }

 private:
  static s4u::Host* host_of_file(const std::string& name) {
    s4u::Host* const host = s4u::Host::by_name_or_null(name);
    if (host == nullptr) throw EngineError("the platform file has no host " + name);
    return host;
  }
  static s4u::Link* link_of_file(const std::string& name) {
    s4u::Link* const link = s4u::Link::by_name_or_null(name);
    if (link == nullptr) throw EngineError("the platform file has no link " + name);
    return link;
  }
  LinkPath path_of(const std::vector<Use>& uses) const {
    LinkPath path;
    for (const Use& use : uses) path.insert(path.end(), use.count, links_[use.link]->get_impl());
    return path;
  }

  void start(s4u::Host* from, s4u::Host* to, double bytes, double messages, Then then) {
    ++sent_;
    // At least one scaled byte: SimGrid never ends a communication of none.
    const auto payload = static_cast<std::uint64_t>(std::max(1.0, std::round(bytes * scale)));
    const s4u::CommPtr comm = s4u::Comm::sendto_init()->set_payload_size(payload);
    under_way(comm, std::move(then));
    // Where both ends are known it starts by itself.
    comm->set_source(from)->set_destination(to);
    if (comm->get_state() != s4u::Activity::State::STARTED) comm->vetoable_start();
    // Equal rates are those of whole flows, of which SimGrid moves the common part (judge.md).
    if (messages != 1) network_->get_started_action_set()->back().set_sharing_penalty(messages);
  }

  /// SimGrid still reads an activity after this, until the next one ends.
  void ended(const s4u::Activity& activity) {
    auto* const place = activity.get_data<UnderWay>();
    if (place == nullptr || place->activity.get() != &activity) return;
    if (over_ != nullptr) {
      over_->activity.reset();
      free_.push_back(over_);
    }
    over_ = place;
    const Then then = std::move(place->then);
    place->then = nullptr;
    place->activity->set_data(nullptr);
    go_on(then);
  }

  /// Nothing is thrown through SimGrid: the first failure ends the run, as nothing follows any
  /// more.
  void go_on(const Then& then) {
    if (failure_) return;
    try {
      then();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  UnderWay& under_way(s4u::ActivityPtr activity, Then then) {
    if (free_.empty()) free_.push_back(&places_.emplace_back());
    UnderWay& place = *free_.back();
    free_.pop_back();
    place = {std::move(activity), std::move(then)};
    place.activity->set_data(&place);
    return place;
  }

  const Platform platform_;
  const bool from_file_;  ///< hosts, links and routes
  s4u::Engine* engine_ = nullptr;
  NamedZone* zone_ = nullptr;
  resource::Model* network_ = nullptr;
  s4u::Host* sink_ = nullptr;
  std::vector<s4u::Host*> hosts_, flows_;
  std::vector<s4u::Link*> links_;
  std::map<std::string, std::uint32_t> index_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> routes_;
  std::map<std::vector<Use>, FlowId> known_;
  std::deque<UnderWay> places_;
  std::vector<UnderWay*> free_;
  UnderWay* over_ = nullptr;  ///< the last that has ended
  std::exception_ptr failure_;
  std::uint64_t sent_ = 0;
};

}  // namespace
}  // namespace stepcast

/// Lives as long as SimGrid: to the end of the process.
extern "C" [[gnu::visibility("default")]] stepcast::ReferenceWorld* stepcast_simgrid_world(
    const stepcast::Platform& platform, const std::string& paje, const std::string& file) {
  static auto* const world = new stepcast::SimgridWorld(platform, paje, file);
  return world;
}
