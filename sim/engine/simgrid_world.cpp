// Module `simgrid`: the world of the judge. It calls nothing of the other layers.
#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
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
/// Actors have stacks of their own, which AddressSanitizer takes for overflows: under it they are
/// threads.
#ifdef __SANITIZE_ADDRESS__
constexpr bool own_stacks = false;
#else
constexpr bool own_stacks = true;
#endif

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

s4u::Engine& reference_engine() {
  static s4u::Engine* engine = [] {
    // SimGrid keeps argc and argv: all must outlive it.
    static char name[] = "stepcast";
    static char quiet[] = "--log=root.thres:critical";
    static char threads[] = "--cfg=contexts/factory:thread";
    static char* argv[] = {name, quiet, threads, nullptr};
    static int argc = own_stacks ? 2 : 3;
    auto* made = new s4u::Engine(&argc, argv);
    for (const char* setting :
         {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e30",
          "surf/precision:1e-12", "maxmin/precision:1e-12"})
      s4u::Engine::set_config(setting);
    s4u::Engine::set_config("contexts/stack-size", own_stacks ? 128 : 8192);  // KiB
    // A guard page makes two mappings of each stack, and a process may have 65 530 of them:
    // without, neighbours are one mapping, and tens of thousands of actors fit.
    s4u::Engine::set_config("contexts/guard-size", 0);
    return made;
  }();
  return *engine;
}

/// A communication that an actor asks for.
struct Asked {
  s4u::Host *from, *to;
  std::uint64_t payload;
  double messages;
  s4u::SemaphorePtr begun;
  s4u::CommPtr comm;
};

/// Begins what actors have asked for, at once, from where SimGrid updates its models.
class Beginner : public resource::Model {
 public:
  Beginner(const std::vector<Asked*>& asked, std::function<void()> begin)
      : Model("stepcast_reference"), asked_{asked}, begin_{std::move(begin)} {
    set_update_algorithm(UpdateAlgo::LAZY);
  }
  // Anything asked for is due now; otherwise this model never sets a date.
  double next_occurring_event(double) override { return asked_.empty() ? -1.0 : 0.0; }
  void update_actions_state(double, double) override { begin_(); }

 private:
  const std::vector<Asked*>& asked_;
  std::function<void()> begin_;
};

class Semaphore : public ReferenceWorld::Barrier {
 public:
  void stop() override { held_->acquire(); }
  void let_go() override { held_->release(); }

 private:
  // Nobody passes before the first release.
  s4u::SemaphorePtr held_ = s4u::Semaphore::create(0);
};

class SimgridWorld : public ReferenceWorld {
 public:
  explicit SimgridWorld(Platform platform) : platform_{std::move(platform)} {
    engine_ = &reference_engine();
    zone_ = new NamedZone(platform_.name);  // owned by SimGrid
    s4u::NetZone* face = zone_->get_iface();
    for (const Platform::Host& host : platform_.hosts)
      hosts_.push_back(face->create_host(host.name, host_speed));
    // Flows of collectives end at one point of their own: only the links in between matter.
    sink_ = face->create_host("end of flows", host_speed);
    for (const Platform::Link& link : platform_.links) {
      // Latency stays with whoever sends: SimGrid would share links by it.
      s4u::Link* made = face->create_link(link.name, link.bandwidth * scale)->set_latency(0);
      index_[made->get_name()] = static_cast<std::uint32_t>(links_.size());
      links_.push_back(made->seal());
    }
  }

  const std::vector<std::uint32_t>& route(std::uint32_t from, std::uint32_t to) override;
  double bandwidth(std::uint32_t link) const override;
  FlowId add_flow(const std::vector<Use>& uses) override;
  void add_actor(std::uint32_t host, const std::string& name, std::function<void()> code,
                 bool servant) override;
  void run() override;
  double clock() const override { return s4u::Engine::get_clock(); }
  void sleep(double until) override {
    if (until > clock()) s4u::this_actor::sleep_until(until);
  }
  void work(double seconds) override {
    if (seconds > 0) s4u::this_actor::execute(seconds * host_speed);
  }
  void send(std::uint32_t from, std::uint32_t to, double bytes) override;
  double move(const std::vector<Part>& parts) override;
  std::shared_ptr<Barrier> barrier() override { return std::make_shared<Semaphore>(); }
  std::uint64_t communications() const override { return sent_; }

 private:
  LinkPath path_of(const std::vector<Use>& uses) const {
    LinkPath path;
    for (const Use& use : uses) path.insert(path.end(), use.count, links_[use.link]->get_impl());
    return path;
  }

  /// Asks for a communication and waits until it has begun.
  s4u::CommPtr start(s4u::Host* from, s4u::Host* to, double bytes, double messages = 1) {
    ++sent_;
    // At least one scaled byte: SimGrid never ends a communication of none.
    const auto payload = static_cast<std::uint64_t>(std::max(1.0, std::round(bytes * scale)));
    // The actor sleeps until the model has begun its communication: the record lives on its stack.
    Asked mine{from, to, payload, messages, s4u::Semaphore::create(0), nullptr};
    asked_.push_back(&mine);
    mine.begun->acquire();
    return mine.comm;
  }

  /// In SimGrid's own context, so that the action that has started last is this one's.
  void begin_asked() {
    // Actors that wake up may ask for more at once.
    std::vector<Asked*> all;
    all.swap(asked_);
    for (Asked* one : all) {
      one->comm = s4u::Comm::sendto_init()
                      ->set_payload_size(one->payload)
                      ->set_source(one->from)
                      ->set_destination(one->to);
      if (one->comm->get_state() != s4u::Activity::State::STARTED) one->comm->vetoable_start();
      // Equal rates are those of whole flows, of which SimGrid moves the common part (judge.md).
      if (one->messages != 1)
        network_->get_started_action_set()->back().set_sharing_penalty(one->messages);
      one->begun->release();
    }
  }

  const Platform platform_;
  s4u::Engine* engine_ = nullptr;
  NamedZone* zone_ = nullptr;
  resource::Model* network_ = nullptr;
  s4u::Host* sink_ = nullptr;
  std::vector<s4u::Host*> hosts_, flows_;
  std::vector<s4u::Link*> links_;
  std::map<std::string, std::uint32_t> index_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> routes_;
  std::map<std::vector<Use>, FlowId> known_;
  std::vector<Asked*> asked_;
  std::exception_ptr failure_;
  std::uint64_t sent_ = 0;
};

/// Given to SimGrid when first asked for, and read back from it by name.
const std::vector<std::uint32_t>& SimgridWorld::route(std::uint32_t from, std::uint32_t to) {
  const auto [place, fresh] = routes_.try_emplace({from, to});
  if (!fresh) return place->second;
  LinkPath path;
  for (const std::uint32_t link : platform_.route(from, to))
    path.push_back(links_[link]->get_impl());
  s4u::Host *a = hosts_[from], *b = hosts_[to];
  zone_->give(a->get_netpoint(), b->get_netpoint(), std::move(path));
  std::vector<s4u::Link*> crossed;
  // Read back, so that what SimGrid does with the route is what is compared.
  double latency = 0;
  a->route_to(b, crossed, &latency);
  if (crossed.empty())
    throw EngineError("the platform has no route from " + a->get_name() + " to " + b->get_name());
  for (const s4u::Link* link : crossed) place->second.push_back(index_.at(link->get_name()));
  return place->second;
}

double SimgridWorld::bandwidth(std::uint32_t link) const {
  return links_[link]->get_bandwidth() / scale;
}

/// A flow begins at a point of its own, so that its path is a route like any other.
ReferenceWorld::FlowId SimgridWorld::add_flow(const std::vector<Use>& uses) {
  const auto next = static_cast<FlowId>(flows_.size());
  // Equal paths are one flow's: hosts and routes are dear in SimGrid.
  const auto [place, fresh] = known_.try_emplace(uses, next);
  if (!fresh) return place->second;
  s4u::Host* host = zone_->get_iface()->create_host("flow:" + std::to_string(next), host_speed);
  flows_.push_back(host);
  zone_->give(host->get_netpoint(), sink_->get_netpoint(), path_of(uses));
  return next;
}

void SimgridWorld::add_actor(std::uint32_t host, const std::string& name,
                             std::function<void()> code, bool servant) {
  const s4u::ActorPtr actor =
      s4u::Actor::create(name, hosts_[host], [this, code = std::move(code)] {
        try {
          code();
          // SimGrid ends actors by this exception: it must reach the end of the actor.
        } catch (const simgrid::ForcefulKillException&) {
          throw;
        } catch (...) {
          // The first failure is the cause; others follow from it.
          if (!failure_) failure_ = std::current_exception();
          asked_.clear();
          s4u::Actor::kill_all();
        }
      });
  if (servant) actor->daemonize();
}

void SimgridWorld::run() {
  zone_->get_iface()->seal();
  // Models are known by name only once the engine has made them.
  for (resource::Model* model : engine_->get_all_models())
    if (model->get_name() == "Network_CM02") network_ = model;
  if (network_ == nullptr) throw EngineError("SimGrid does not have its CM02 network model");
  engine_->add_model(std::make_shared<Beginner>(asked_, [this] { begin_asked(); }));
  s4u::Engine::on_deadlock_cb(
      [] { throw EngineError("actors of the reference wait for each other for ever"); });
  engine_->run();
  if (failure_) std::rethrow_exception(failure_);
}

void SimgridWorld::send(std::uint32_t from, std::uint32_t to, double bytes) {
  route(from, to);
  start(hosts_[from], hosts_[to], bytes)->wait();
}

double SimgridWorld::move(const std::vector<Part>& parts) {
  double last = clock();
  std::vector<std::pair<s4u::CommPtr, double>> moving;
  // All begin at once, and a part without bytes is its latency alone.
  for (const Part& part : parts) {
    if (part.bytes > 0)
      moving.emplace_back(start(flows_[part.flow], sink_, part.bytes, part.weight), part.latency);
    else
      last = std::max(last, clock() + part.latency);
  }
  // Latency comes after the bytes, for each by itself; the last one counts.
  for (const auto& [comm, latency] : moving) {
    comm->wait();
    last = std::max(last, comm->get_finish_time() + latency);
  }
  return last;
}

}  // namespace
}  // namespace stepcast

/// Lives as long as SimGrid: to the end of the process.
extern "C" [[gnu::visibility("default")]] stepcast::ReferenceWorld* stepcast_simgrid_world(
    const stepcast::Platform& platform) {
  static auto* const world = new stepcast::SimgridWorld(platform);
  return world;
}
