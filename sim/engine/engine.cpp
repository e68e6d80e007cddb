#include "stepcast/sim/engine/engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "event_queue.hpp"
#include "fair_sharing.hpp"
#include "flow_network.hpp"
#include "flow_table.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

/// SimGrid's clock loses flows when its precision is below about 4 ulp of the date.
constexpr double finest_precision = 1e-12;

/// Dates closer than this are one date.
double precision_at(double date) {
  const double ulp = std::nextafter(date, std::numeric_limits<double>::infinity()) - date;
  return 8 * ulp <= finest_precision ? finest_precision : 16 * ulp;
}

}  // namespace

class Engine::Driver : private NetworkWatcher {
 public:
  Driver(std::vector<double> bandwidths, Sharing sharing)
      : bandwidths_{std::move(bandwidths)}, table_{bandwidths_} {
    // Solvers know links by index; a process that never shares through SimGrid never loads it.
    if (sharing != Sharing::simgrid) incremental_.emplace(bandwidths_);
  }

  void post(double time, std::uint64_t tag) {
    // A date in the past would turn the clock back.
    queue_.push({std::max(time, now_), QueuedEvent::Kind::event, sequence_++, tag});
  }

  void start_flow(std::span<const LinkUse> path, double bytes, std::uint64_t tag) {
    // A flow of no bytes ends at no time of its own; callers deliver those themselves.
    expects(!path.empty() && bytes > 0, "a flow has bytes and links");
    met_.clear();
    const FlowTable::Index index = table_.add(path, bytes, now_, tag, met_);
    // A flow over a link without bandwidth would never end.
    if (!std::isfinite(table_[index].alone)) refuse_late_date();
    // Flows that meet nobody end by arithmetic; others, and those they meet, go to the solver.
    if (met_.empty()) foresee_end(index);
    for (const FlowTable::Index met : met_) {
      if (table_.enter_network(met, now_)) {
        starts_.push_back(met);
      } else if (met == index) {  // shorter than what the clock tells apart at this date
        foresee_end(index);
      }
    }
  }

  void run(EngineClient& client) {
    client_ = &client;
    // As long as no flows meet there is nothing to share, and no solver starts.
    while (starts_.empty() && !queue_.empty()) step();
    if (!starts_.empty()) incremental_ ? run_incremental() : run_simgrid();
    // A flow without an end, or an event at no finite date, is never delivered.
    const bool flows_last = incremental_ && incremental_->size() > 0;
    if (flows_last || (!queue_.empty() && !std::isfinite(queue_.top().time))) refuse_late_date();
    if (live_ > 0) {
      if (now_ > latest_date) refuse_late_date();
      throw EngineError(std::to_string(live_) + " of " + std::to_string(flows_) +
                        " flows did not finish");
    }
  }

  double now() const { return now_; }
  // Flows in the solver may end at any time, so that only the present is certain.
  double earliest() const {
    if (!between_flows()) return now_;
    return queue_.empty() ? std::numeric_limits<double>::infinity()
                          : std::max(now_, queue_.top().time);
  }
  bool between_flows() const {
    return live_ == 0 && (!incremental_ || incremental_->size() == 0) && starts_.empty() &&
           ended_.empty() && due_.empty();
  }

  /// The network stands still while it delivers what has ended and collects what begins.
  bool may_shift() const {
    return between_flows() || (incremental_ && starts_.empty() && ended_.empty() && due_.empty());
  }

  void shift(double time) {
    // SimGrid's clock cannot be set; ours can, and all dates move together.
    expects(may_shift(), "no flow of SimGrid is under way");
    if (incremental_) incremental_->shift(time);
    now_ += time;
    // SimGrid's own clock goes on from where it is: the offset keeps both apart.
    offset_ += time;
    // Voided ends are left out, or the queue would grow with each shift.
    for (QueuedEvent event : pending()) {
      event.time += time;
      shifted_.push(event);
    }
    queue_.swap(shifted_);
    shifted_.clear();
    table_.shift(time);
  }

  void append_state(double origin, const TagName& name, std::vector<double>& state) const {
    // Two states are one if the same things are as far off: names are sorted, not tags.
    struct Entry {
      double name, kind;  ///< 0: an event, 1: a flow alone, 2: a flow among others
      double left;        ///< seconds, or bytes of a flow among others
    };
    std::vector<Entry> entries;
    for (const QueuedEvent& event : pending()) {
      const bool flow = event.kind == QueuedEvent::Kind::flow_end;
      entries.push_back(
          {name(flow ? event.order : event.value), flow ? 1.0 : 0.0, event.time - origin});
    }
    if (incremental_) {
      incremental_->for_each([&](FlowTable::Index flow) {
        entries.push_back({name(table_[flow].tag), 2.0, incremental_->left(flow, now_)});
      });
    }
    // Tags and posting order differ between like states and must not show.
    std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
      return std::tie(a.name, a.kind, a.left) < std::tie(b.name, b.kind, b.left);
    });
    for (const Entry& entry : entries)
      state.insert(state.end(), {entry.left, entry.kind, entry.name});
  }

  bool incremental() const { return incremental_.has_value(); }
  std::uint64_t flows() const { return flows_; }
  std::uint64_t lone_flows() const { return lone_flows_; }
  std::uint64_t events() const { return events_; }
  std::uint64_t entries() const { return entries_; }

 private:
  /// A flow without company ends by itself, unless another comes to meet it.
  void foresee_end(FlowTable::Index index) {
    const FlowTable::Flow& flow = table_[index];
    // Index and generation in one number: entries of a
    // flow that has gone are told from its successor's.
    const std::uint64_t entry = (static_cast<std::uint64_t>(index) << 32U) | flow.generation;
    queue_.push({flow.start + flow.alone, QueuedEvent::Kind::flow_end, flow.tag, entry});
  }

  /// What is to come, in order; ends that were foreseen in vain left out.
  std::vector<QueuedEvent> pending() const {
    // An end is void once its flow has met another or its place has a new flow.
    std::vector<QueuedEvent> events = queue_.ordered();
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
    // Copied first: what the client does may push to the queue.
    const QueuedEvent event = queue_.top();
    // The processor can fetch the state of what comes next while this one is handled.
    tell_what_is_next(queue_.pop());
    if (event.kind == QueuedEvent::Kind::flow_end) {
      end_lone(event);
      return;
    }
    // An event at infinity means that a duration overflowed.
    if (!std::isfinite(event.time)) refuse_late_date();
    now_ = std::max(now_, event.time);
    ++events_;
    client_->on_event(now_, event.value);
  }

  // Of the first few only those not told yet, but of the very next each time.
  void tell_what_is_next(bool others) {
    if (queue_.empty()) return;
    const auto tell = [this](const QueuedEvent& event, bool next) {
      const bool flow_end = event.kind == QueuedEvent::Kind::flow_end;
      client_->foresee({flow_end ? event.order : event.value, flow_end, next});
    };
    if (others)
      for (const QueuedEvent& event : queue_.soon()) tell(event, false);
    tell(queue_.top(), true);
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
      // Events run up to the next end of a flow, which moves when flows begin or end.
      const double horizon = incremental_->next_end();
      step_until(horizon);
      if (enter_starts()) continue;
      if (horizon == std::numeric_limits<double>::infinity()) return;
      end_flows(horizon);
    }
  }

  /// What comes to the links at one time comes in an order of its own, whoever posted it first:
  /// sums of rates are made in that order. Equal flows have equal rates.
  void order_starts() {
    // Sums of rates round by their order, so that order may not depend on who posted first.
    if (starts_.size() < 2) return;
    const auto before = [](const LinkUse& a, const LinkUse& b) {
      return std::tie(a.link, a.count) < std::tie(b.link, b.count);
    };
    std::ranges::sort(starts_, [&](FlowTable::Index i, FlowTable::Index j) {
      const FlowTable::Flow &a = table_[i], &b = table_[j];
      if (a.bytes != b.bytes) return a.bytes < b.bytes;
      return std::ranges::lexicographical_compare(a.path, b.path, before);
    });
  }

  /// False: no flow began to share links.
  bool enter_starts() {
    const bool any = !starts_.empty();
    order_starts();
    if (any) ++entries_;
    for (const FlowTable::Index flow : starts_) {
      incremental_->add(flow, table_[flow].path, table_[flow].bytes, now_);
      ++flows_;
    }
    starts_.clear();
    return any;
  }

  void end_flows(double date) {
    // Ends within the precision of the date end with it: rates are not solved between them.
    now_ = std::max(now_, date);
    incremental_->take_ended(now_, precision_at(now_), ended_);
    deliver_ended(now_);
  }

  /// Runs the events before that date; when some start flows that meet, only those up to the date
  /// of the first.
  void step_until(double horizon) {
    while (starts_.empty() && !queue_.empty() && queue_.top().time < horizon) step();
    while (!starts_.empty() && !queue_.empty() && queue_.top().time <= now_) step();
  }

  void run_simgrid() {
    // SimGrid's clock is not reset: a second run would begin where the first ended.
    static int runs = 0;
    expects(++runs == 1, "one run with flows per process");
    network_ = &simgrid_network(bandwidths_);
    network_->run(*this);
  }

  /// Seconds from SimGrid's date to our next one; -1 when we have none. Our clock is SimGrid's and
  /// what was skipped.
  double next_date(double date) override {
    // Ends of this date come before events of it.
    deliver_ended(date + offset_);
    const double network = network_->next_end(date);
    // No flow in the network: our own events run as far as they go.
    const double horizon =
        network < 0 ? std::numeric_limits<double>::infinity() : date + offset_ + network;
    step_until(horizon);
    // SimGrid comes back at the date at which these flows begin.
    if (!starts_.empty()) return std::max(0.0, now_ - (date + offset_));
    return queue_.empty() ? -1.0 : std::max(0.0, queue_.top().time - (date + offset_));
  }

  void arrived(double date) override {
    now_ = std::max(now_, date + offset_);
    coarsen_precision(date + offset_);
    // Flows begin at the date that SimGrid has just reached, not at the one that asked for them.
    for (const FlowTable::Index flow : starts_) {
      network_->start(table_[flow].path, table_[flow].bytes, flow);
      ++flows_;
      ++live_;
    }
    starts_.clear();
  }

  // Only ever coarser: dates grow, and with them the distance of neighbouring doubles.
  void coarsen_precision(double date) {
    const double needed = precision_at(date);
    if (needed <= precision_) return;
    precision_ = needed;
    network_->set_precision(precision_);
  }

  void ended(FlowTable::Index flow) override {
    ended_.push_back(flow);
    --live_;
  }

  void deliver_ended(double date) {
    if (ended_.empty()) return;
    // All tags are known before the first callback: the
    // client may start flows that reuse the places.
    now_ = std::max(now_, date);
    for (const FlowTable::Index flow : ended_) {
      due_.push_back(table_[flow].tag);
      table_.remove(flow);
    }
    ended_.clear();
    // Descending, so that the smallest is taken from the back.
    std::ranges::sort(due_, std::greater<>{});
    while (!due_.empty()) {
      const std::uint64_t tag = due_.back();
      due_.pop_back();
      client_->on_flow_end(now_, tag);
    }
  }

  std::vector<double> bandwidths_;
  EngineClient* client_ = nullptr;
  EventQueue queue_, shifted_;
  std::uint64_t sequence_ = 0, events_ = 0, flows_ = 0, lone_flows_ = 0, entries_ = 0;
  double now_ = 0, precision_ = finest_precision;
  double offset_ = 0;  ///< our clock is so far ahead of SimGrid's
  FlowTable table_;
  std::optional<FairSharing> incremental_;  ///< instead of SimGrid
  std::vector<FlowTable::Index> met_, starts_, ended_;
  std::vector<std::uint64_t> due_;  ///< tags of flows that have ended and are not reported yet
  FlowNetwork* network_ = nullptr;  ///< SimGrid, once flows have met in it
  std::size_t live_ = 0;            ///< flows in it
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
bool Engine::may_shift() const { return driver_->may_shift(); }
void Engine::shift(double time) { driver_->shift(time); }
void Engine::append_state(double origin, const TagName& name, std::vector<double>& state) const {
  driver_->append_state(origin, name, state);
}
bool Engine::incremental() const { return driver_->incremental(); }
std::uint64_t Engine::flows() const { return driver_->flows(); }
std::uint64_t Engine::lone_flows() const { return driver_->lone_flows(); }
std::uint64_t Engine::events() const { return driver_->events(); }
std::uint64_t Engine::entries() const { return driver_->entries(); }

void refuse_late_date() {
  throw InputError("the step goes on beyond " + human(Seconds{latest_date}) +
                   ", where the clock of the engine is too coarse for it, allowed: a scenario "
                   "with a shorter step");
}

std::string Engine::simgrid_version() { return STEPCAST_SIMGRID_VERSION; }

}  // namespace stepcast
