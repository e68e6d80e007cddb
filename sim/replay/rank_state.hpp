#pragma once
#include <algorithm>
#include <array>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "power_reserve.hpp"
#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/sim/replay/communication_log.hpp"
#include "stepcast/sim/replay/message.hpp"
#include "stepcast/sim/replay/recording.hpp"
#include "stepcast/sim/replay/stall_plan.hpp"
#include "stepcast/sim/replay/timeline.hpp"
#include "stepcast/topology/device_spec.hpp"
#include "stepcast/workloads/host_queue.hpp"
#include "stepcast/workloads/program.hpp"

/// State of the replay: what a rank class has done and what it waits for.
namespace stepcast {

inline constexpr std::size_t no_unit = std::numeric_limits<std::size_t>::max();
inline constexpr std::size_t cache_line = 64;  ///< or what is likely to be one [B]

/// A queue that costs nothing while it is empty and little while it is short: every rank has many.
/// So many items stand in the queue itself.
template <class T, std::size_t inside = 0>
class Fifo {
 public:
  bool empty() const { return first_ == items_.size(); }
  std::size_t size() const { return items_.size() - first_; }
  void prefetch() const { __builtin_prefetch(items_.data() + first_); }
  T& front() { return items_[first_]; }
  void push_back(const T& item) { items_.push_back(item); }
  T& emplace_back() { return items_.emplace_back(); }
  void pop_front() {
    if (++first_ < items_.size()) return;
    items_.clear();
    first_ = 0;
  }
  auto begin() { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
  auto end() const { return items_.end(); }

 private:
  boost::container::small_vector<T, inside> items_;
  std::size_t first_ = 0;
};

/// The clock of one device: since when it has no work, and until when it is slow for that
/// (docs/models/clocks.md).
class ClockState {
 public:
  /// Work of `work` seconds at the clock of work that begins at `start` takes this long; `start`
  /// never decreases, and end() is told when it has ended.
  double time_of(const IdleClock& clock, double start, double work) {
    if (start - worked_until_ > clock.hold.value()) slow_until_ = start + clock.ramp.value();
    const double slow = std::max(0.0, slow_until_ - start);
    const double slowness = clock.slowness();
    return work * slowness <= slow ? work * slowness : work + slow * (1 - 1 / slowness);
  }
  void end(double time) { worked_until_ = time; }

  void shift(double time) {
    worked_until_ += time;
    slow_until_ += time;
  }
  double worked_until() const { return worked_until_; }
  double slow_until() const { return slow_until_; }

 private:
  double worked_until_ = 0, slow_until_ = 0;
};

/// Units of each chunk that a rank has begun in a step, the one at hand included. [chunk]
struct UnitCounts {
  std::vector<std::uint32_t> forwards;
  std::vector<std::uint32_t> gradients;  ///< that make gradients of weights

  void begin(const Unit& unit) {
    if (unit.kind == UnitKind::forward) ++forwards[unit.chunk.value];
    const bool makes_gradients =
        unit.kind == UnitKind::backward || unit.kind == UnitKind::backward_weight;
    if (makes_gradients) ++gradients[unit.chunk.value];
  }
};

/// Units of a chunk that make gradients of its weights in one step.
std::uint32_t gradients_per_chunk(const PipelineShape& shape);

/// The code of a unit that has begun: the first forward awaits gathered parameters and the last
/// gradients start reductions, so that both have code of their own.
const Instructions& unit_code(const UnitCounts& begun, const StageProgram& program,
                              const PipelineShape& shape, const Unit& unit);

/// The code of two units that run as one; nothing where they run one after the other: the first
/// forward of a chunk, the last backward and what the program does not pair.
const Instructions* pair_code(const UnitCounts& begun, const StageProgram& program,
                              const PipelineShape& shape, const Unit& forward,
                              const Unit& backward);

/// One collective that its members are about to do or are doing.
struct Meeting {
  std::uint32_t call = 0;  ///< NetworkCall that describes it
  std::uint32_t phase = 0, running = 0;
  double start = 0;      ///< when the last of those that have arrived is ready
  double phase_end = 0;  ///< of the phase under way, as far as its flows have ended
  struct Member {
    std::uint32_t rank, call, slot;
    std::uint32_t issue;  ///< SlotState::issue of this one
    CommunicationLog::Ticket ticket;
    std::uint32_t entry = Recording::none;  ///< of the recording, that issued it
    double start = 0;                       ///< when it was ready
  };
  std::vector<Member> members;               ///< that have arrived
  std::uint32_t recorded = Recording::none;  ///< in Recording::communications
};

/// The last Communicate with a slot number.
struct SlotState {
  double start = unknown_time, end = unknown_time;
  HostReady host;
  double held = 0;                ///< NetworkCall::held
  double device = 0, worked = 0;  ///< of the rank, when it was issued
  std::uint32_t call = 0;
  std::uint32_t issue = 0;  ///< how often the slot was issued: earlier ones may still be under way
  bool issued = false;
  bool awaited = true;                    ///< a later Wait finds it over
  std::uint32_t entry = Recording::none;  ///< of the recording, that issued it
};

/// A communication stream: in order, one at a time.
struct StreamState {
  struct Pending {
    std::uint32_t call = 0, slot = 0, issue = 0;
    double ready = 0;
    std::uint32_t entry = Recording::none;  ///< of the recording, that issued it
  };
  Fifo<Pending, 1> queue;  ///< issued, not ended
  bool busy = false;       ///< its head has arrived at its meeting
  double free_at = 0;
};

/// One in-order sending channel to one peer in one direction.
struct ChannelState {
  struct Pending {
    Message message;
    double ready;
    std::uint32_t entry = Recording::none;  ///< of the recording, that issued it
  };
  Fifo<Pending> queue;
  bool busy = false;
  double free_at = 0;
  CommunicationLog::Ticket ticket = 0, peer_ticket = 0;  ///< of the transfer under way
};

enum class Waiting { nothing, slot, message, send, done };

/// Asks the processor for all lines from here to there.
inline void prefetch_lines(const void* from, const void* to) {
  for (auto at = static_cast<const char*>(from); at < to; at += cache_line) __builtin_prefetch(at);
}

struct alignas(cache_line) RankState {
  RankState(std::uint64_t queue_depth, bool compact_queue, std::size_t slot_count,
            std::size_t chunks)
      : begun{std::vector<std::uint32_t>(chunks), std::vector<std::uint32_t>(chunks)},
        host_queue{queue_depth, compact_queue},
        slots(slot_count) {}

  // What transfers touch at either end stands together.
  std::array<ChannelState, channels> channel;  ///< sends
  CommunicationLog log;
  std::vector<Message> inbox;  ///< arrived or about to, in order of sending
  double last_send_arrival = 0, last_send_start = 0;
  std::uint32_t last_send = Recording::none;  ///< in Recording::communications
  std::uint32_t sends_pending = 0;
  Waiting waiting = Waiting::nothing;
  std::uint32_t waiting_slot = 0;

  Clocks clocks;
  double worked = 0;  ///< device time of all segments so far
  SpeedFactors speed;
  const StageProgram* program = nullptr;
  const Segment* const* segments = nullptr;  ///< [segment of the program] as its variant has it
  const std::uint32_t* call_of = nullptr;    ///< [call of the program] -> NetworkMap::calls
  const SpeedProfile* profile = nullptr;     ///< of a job with stalls
  const StageOrder* order = nullptr;
  Rank id{0};  ///< that stands for the class
  Stage stage{0};
  std::uint32_t variant = 0;
  std::size_t unit = 0;    ///< next unit of the order
  std::uint32_t step = 0;  ///< steps that are done
  enum class Phase { begin, prologue, units, epilogue } phase = Phase::begin;
  /// Of a unit or a pair; `second` is the backward of a pair that runs after its forward.
  enum class Part { receive, code, second, send, settle } part = Part::receive;
  std::size_t pc = 0;
  std::size_t marked_unit = no_unit;  ///< the last one before which it let the others catch up
  UnitCounts begun;                   ///< so far in this step

  double next_collection = unknown_time;  ///< of garbage
  std::uint64_t segments_run = 0, units_run = 0;

  HostQueue host_queue;
  std::vector<SlotState> slots;
  std::array<StreamState, streams> stream;
  std::array<std::uint64_t, group_kinds> calls_made{};  ///< collectives so far, by group kind
  bool met_after_pipeline = false;

  ClockState clock_state;
  PowerReserve power_reserve;
  std::vector<double> step_begins;  ///< of the last steps, for the data loader
  double data_ready = 0;            ///< when the last batch was loaded

  StepBooks books;
  double copied = 0;  ///< when the last HostCopy has what it copies; every unit sets its own
  double end = 0;     ///< of the last step

  /// Appends all that the rank's future depends on, times and micro-batches relative to a mark.
  /// `free_host`: the host cannot hold the device up any more; `follows_clock`: the clock
  /// depends on what was before.
  void append_state(bool free_host, bool follows_clock, double origin, std::uint32_t micro_batch,
                    std::vector<double>& state) const;
  /// Moves everything to come.
  void shift(double time, std::uint32_t micro_batches);

  /// Ask the processor for what a rank that goes on will need, for what a transfer needs of
  /// it, and for what the first of these points to; nothing else follows from it.
  void prefetch() const { prefetch_lines(this, this + 1); }
  void prefetch_transfer() const { prefetch_lines(this, &clocks); }
  void prefetch_lists() const {
    host_queue.prefetch();
    log.prefetch();
    __builtin_prefetch(inbox.data());
    __builtin_prefetch(call_of);
    __builtin_prefetch(order->data() + unit);
    // What it waits for, and what it issues next: slots are numbered as the code has them.
    constexpr std::size_t soon = 4;
    for (std::size_t at = waiting_slot; at < std::min(waiting_slot + soon, slots.size()); ++at)
      __builtin_prefetch(&slots[at]);
  }

  RankTimes& times() { return books.times[step == 0 ? 0 : 1]; }

  /// The host issues a communication: its threads spend their time, the compute stream is not held.
  /// Returns when it is issued.
  HostReady issue(const OperatorCost& cost) {
    const double late = host_queue.compile_lag().issue_communication(clocks, cost, speed.host);
    clocks.main += speed.host * cost.main;
    clocks.worker = std::max(clocks.worker, clocks.main) + speed.host * cost.worker;
    const double issued = clocks.worker + cost.launch;
    return {issued, issued - late};
  }
};

}  // namespace stepcast
