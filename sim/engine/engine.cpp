#include "stepcast/sim/engine/engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <unordered_map>
#include <utility>

// clang-format off
#include <xbt/base.h>  // version.h needs it first
#include <simgrid/version.h>
// clang-format on

#include "event_queue.hpp"
#include "fair_sharing.hpp"
#include "flow_table.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

namespace s4u = simgrid::s4u;
namespace resource = simgrid::kernel::resource;
namespace routing = simgrid::kernel::routing;

/// s4u payloads are whole bytes: bytes and bandwidths are scaled alike, so that fractions of a byte
/// count.
constexpr double byte_scale = 65536;
/// SimGrid's clock loses flows when its precision is below about 4 ulp of the date.
constexpr double finest_precision = 1e-12;

/// Dates closer than this are one date.
double precision_at(double date) {
  const double ulp = std::nextafter(date, std::numeric_limits<double>::infinity()) - date;
  return 8 * ulp <= finest_precision ? finest_precision : 16 * ulp;
}

using LinkPath = std::vector<resource::StandardLinkImpl*>;

/// A zone whose every route is the path that the next flow was given.
class PathZone : public routing::NetZoneImpl {
 public:
  explicit PathZone(const std::string& name) : NetZoneImpl(name) {}
  void use(const LinkPath& path) { path_ = &path; }
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

}  // namespace

class Engine::Driver {
 public:
  Driver(std::vector<double> bandwidths, Sharing sharing)
      : bandwidths_{std::move(bandwidths)}, table_{bandwidths_} {
    const bool many = bandwidths_.size() > most_links_of_simgrid;
    if (sharing == Sharing::incremental || (sharing == Sharing::automatic && many))
      incremental_.emplace(bandwidths_);
  }

  void post(double time, std::uint64_t tag) {
    queue_.push({std::max(time, now_), QueuedEvent::Kind::event, sequence_++, tag});
  }

  void start_flow(std::span<const LinkUse> path, double bytes, std::uint64_t tag) {
    expects(!path.empty() && bytes > 0, "a flow has bytes and links");
    met_.clear();
    const FlowTable::Index index = table_.add(path, bytes, now_, tag, met_);
    if (met_.empty()) {
      foresee_end(index);
    } else {
      for (const FlowTable::Index met : met_) {
        if (table_.enter_network(met, now_)) starts_.push_back(met);
      }
    }
  }

  void run(EngineClient& client) {
    client_ = &client;
    while (starts_.empty() && !queue_.empty()) step();
    if (!starts_.empty()) incremental_ ? run_incremental() : run_simgrid();
    const bool flows_last = incremental_ && incremental_->size() > 0;
    if (flows_last || (!queue_.empty() && !std::isfinite(queue_.top().time))) refuse_late_date();
    if (!live_.empty()) {
      if (now_ > latest_date) refuse_late_date();
      throw EngineError(std::to_string(live_.size()) + " of " + std::to_string(flows_) +
                        " flows did not finish; the first is flow " +
                        std::to_string(first_live_tag()));
    }
  }

  double now() const { return now_; }
  double earliest() const {
    if (!between_flows()) return now_;
    return queue_.empty() ? std::numeric_limits<double>::infinity()
                          : std::max(now_, queue_.top().time);
  }
  bool between_flows() const {
    return live_.empty() && (!incremental_ || incremental_->size() == 0) && starts_.empty() &&
           ended_.empty() && due_.empty();
  }

  void shift(double time) {
    expects(between_flows(), "no flow of SimGrid is under way");
    now_ += time;
    offset_ += time;
    for (QueuedEvent event : pending()) {
      event.time += time;
      shifted_.push(event);
    }
    queue_.swap(shifted_);
    shifted_.clear();
    table_.shift(time);
  }

  void append_state(double origin, std::vector<double>& state) const {
    for (const QueuedEvent& event : pending()) {
      state.push_back(event.time - origin);
      const bool flow = event.kind == QueuedEvent::Kind::flow_end;
      state.push_back(flow ? 1 : 0);
      state.push_back(static_cast<double>(flow ? event.order : event.value));
    }
  }

  std::uint64_t flows() const { return flows_; }
  std::uint64_t lone_flows() const { return lone_flows_; }
  std::uint64_t events() const { return events_; }

 private:
  struct Live {
    s4u::CommPtr comm;
    FlowTable::Index flow;
  };

  /// Our queue as a SimGrid model: SimGrid asks for our next date and tells us when it got there.
  class QueueModel : public resource::Model {
   public:
    explicit QueueModel(Driver& driver) : Model("stepcast_queue"), driver_{driver} {
      set_update_algorithm(UpdateAlgo::LAZY);
    }
    double next_occurring_event(double date) override { return driver_.next_date(date); }
    void update_actions_state(double date, double) override { driver_.arrived(date); }

   private:
    Driver& driver_;
  };

  /// A flow without company ends by itself, unless another comes to meet it.
  void foresee_end(FlowTable::Index index) {
    const FlowTable::Flow& flow = table_[index];
    const std::uint64_t entry = (static_cast<std::uint64_t>(index) << 32U) | flow.generation;
    queue_.push({flow.start + flow.alone, QueuedEvent::Kind::flow_end, flow.tag, entry});
  }

  /// What is to come, in order; ends that were foreseen in vain left out.
  std::vector<QueuedEvent> pending() const {
    std::vector<QueuedEvent> events(queue_.ordered_begin(), queue_.ordered_end());
    std::erase_if(events, [this](const QueuedEvent& e) {
      return e.kind == QueuedEvent::Kind::flow_end && is_void(e);
    });
    return events;
  }

  bool is_void(const QueuedEvent& event) const {
    const auto index = static_cast<FlowTable::Index>(event.value >> 32U);
    return table_[index].generation != static_cast<std::uint32_t>(event.value);
  }

  void step() {
    const QueuedEvent event = queue_.top();
    queue_.pop();
    if (event.kind == QueuedEvent::Kind::flow_end) {
      end_lone(event);
      return;
    }
    now_ = std::max(now_, event.time);
    ++events_;
    client_->on_event(now_, event.value);
  }

  void end_lone(const QueuedEvent& event) {
    if (is_void(event)) return;
    const auto index = static_cast<FlowTable::Index>(event.value >> 32U);
    now_ = std::max(now_, event.time);
    ++lone_flows_;
    table_.remove(index);
    client_->on_flow_end(now_, event.order);
  }

  void run_incremental() {
    for (;;) {
      deliver_ended(now_);
      const double horizon = incremental_->next_end();
      step_until(horizon);
      for (const FlowTable::Index flow : starts_) {
        incremental_->add(flow, table_[flow].path, table_[flow].bytes, now_);
        ++flows_;
      }
      if (!std::exchange(starts_, {}).empty()) continue;
      if (horizon == std::numeric_limits<double>::infinity()) return;
      now_ = std::max(now_, horizon);
      incremental_->take_ended(now_, precision_at(now_), ended_);
    }
  }

  /// Runs the events before that date; when some start flows that meet, only those up to the date
  /// of the first.
  void step_until(double horizon) {
    while (starts_.empty() && !queue_.empty() && queue_.top().time < horizon) step();
    while (!starts_.empty() && !queue_.empty() && queue_.top().time <= now_) step();
  }

  void run_simgrid() {
    s4u::Engine& engine = simgrid_engine();
    build_platform();
    for (resource::Model* model : engine.get_all_models()) {
      if (model->get_name() == "Network_CM02") network_ = model;
    }
    expects(network_ != nullptr, "SimGrid has its CM02 network model");
    s4u::Activity::on_completion_cb(
        [this, alive = std::weak_ptr<int>(token_)](const s4u::Activity& activity) {
          if (!alive.expired()) completed(activity);
        });
    engine.add_model(std::make_shared<QueueModel>(*this));
    engine.run();
    graveyard_.clear();
  }

  void build_platform() {
    static int runs = 0;
    const std::string id = std::to_string(runs++);
    expects(runs == 1, "one run with flows per process");
    zone_ = new PathZone("paths" + id);  // owned by SimGrid
    s4u::NetZone* face = zone_->get_iface();
    source_ = face->create_host("source" + id, 1.0);
    target_ = face->create_host("target" + id, 1.0);
    for (std::size_t i = 0; i < bandwidths_.size(); ++i) {
      s4u::Link* link = face->create_link("l" + std::to_string(i), bandwidths_[i] * byte_scale);
      links_.push_back(link->set_latency(0)->seal()->get_impl());
    }
    face->seal();
  }

  /// Seconds from SimGrid's date to our next one; -1 when we have none. Our clock is SimGrid's and
  /// what was skipped.
  double next_date(double date) {
    graveyard_.clear();
    deliver_ended(date + offset_);
    const double network = network_->next_occurring_event(date);
    const double horizon =
        network < 0 ? std::numeric_limits<double>::infinity() : date + offset_ + network;
    step_until(horizon);
    if (!starts_.empty()) return std::max(0.0, now_ - (date + offset_));
    return queue_.empty() ? -1.0 : std::max(0.0, queue_.top().time - (date + offset_));
  }

  void arrived(double date) {
    now_ = std::max(now_, date + offset_);
    coarsen_precision(date + offset_);
    for (const FlowTable::Index flow : starts_) issue(flow);
    starts_.clear();
  }

  void coarsen_precision(double date) {
    const double needed = precision_at(date);
    if (needed <= precision_) return;
    precision_ = needed;
    s4u::Engine::set_config("surf/precision", precision_);
  }

  void issue(FlowTable::Index index) {
    const FlowTable::Flow& flow = table_[index];
    path_.clear();
    for (const LinkUse& use : flow.path) path_.insert(path_.end(), use.count, links_[use.link]);
    zone_->use(path_);
    const auto payload =
        static_cast<std::uint64_t>(std::max(1.0, std::round(flow.bytes * byte_scale)));
    s4u::CommPtr comm =
        s4u::Comm::sendto_init()->set_payload_size(payload)->set_source(source_)->set_destination(
            target_);
    if (comm->get_state() != s4u::Activity::State::STARTED) comm->vetoable_start();
    ++flows_;
    live_.emplace(comm.get(), Live{comm, index});
  }

  /// SimGrid reads the activity after this callback: it is kept until the next iteration.
  void completed(const s4u::Activity& activity) {
    const auto found = live_.find(&activity);
    if (found == live_.end()) return;
    graveyard_.push_back(found->second.comm);
    ended_.push_back(found->second.flow);
    live_.erase(found);
  }

  void deliver_ended(double date) {
    if (ended_.empty()) return;
    now_ = std::max(now_, date);
    for (const FlowTable::Index flow : ended_) {
      due_.push_back(table_[flow].tag);
      table_.remove(flow);
    }
    ended_.clear();
    std::ranges::sort(due_, std::greater<>{});
    while (!due_.empty()) {
      const std::uint64_t tag = due_.back();
      due_.pop_back();
      client_->on_flow_end(now_, tag);
    }
  }

  std::uint64_t first_live_tag() const {
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    for (const auto& [activity, flow] : live_) first = std::min(first, table_[flow.flow].tag);
    return first;
  }

  std::vector<double> bandwidths_;
  EngineClient* client_ = nullptr;
  EventQueue queue_, shifted_;
  std::uint64_t sequence_ = 0, events_ = 0, flows_ = 0, lone_flows_ = 0;
  double now_ = 0, precision_ = finest_precision;
  double offset_ = 0;  ///< our clock is so far ahead of SimGrid's
  FlowTable table_;
  std::optional<FairSharing> incremental_;  ///< instead of SimGrid
  std::vector<FlowTable::Index> met_, starts_, ended_;
  std::vector<std::uint64_t> due_;  ///< tags of flows that have ended and are not reported yet
  std::unordered_map<const s4u::Activity*, Live> live_;
  std::vector<s4u::CommPtr> graveyard_;
  LinkPath links_, path_;
  PathZone* zone_ = nullptr;
  s4u::Host* source_ = nullptr;
  s4u::Host* target_ = nullptr;
  resource::Model* network_ = nullptr;
  std::shared_ptr<int> token_ =
      std::make_shared<int>(0);  ///< tells the static callback that we live
};

Engine::Engine(std::vector<double> bandwidths, Sharing sharing)
    : driver_{std::make_unique<Driver>(std::move(bandwidths), sharing)} {}
Engine::~Engine() = default;
void Engine::post(double time, std::uint64_t tag) { driver_->post(time, tag); }
void Engine::start_flow(std::span<const LinkUse> path, double bytes, std::uint64_t tag) {
  driver_->start_flow(path, bytes, tag);
}
void Engine::run(EngineClient& client) { driver_->run(client); }
double Engine::now() const { return driver_->now(); }
double Engine::earliest() const { return driver_->earliest(); }
bool Engine::between_flows() const { return driver_->between_flows(); }
void Engine::shift(double time) { driver_->shift(time); }
void Engine::append_state(double origin, std::vector<double>& state) const {
  driver_->append_state(origin, state);
}
std::uint64_t Engine::flows() const { return driver_->flows(); }
std::uint64_t Engine::lone_flows() const { return driver_->lone_flows(); }
std::uint64_t Engine::events() const { return driver_->events(); }

void refuse_late_date() {
  throw InputError("the step goes on beyond " + human(Seconds{latest_date}) +
                   ", where the clock of the engine is too coarse for it, allowed: a scenario "
                   "with a shorter step");
}

std::string Engine::simgrid_version() {
  int major = 0, minor = 0, patch = 0;
  sg_version_get(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace stepcast
