#pragma once
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "orderly.hpp"
#include "rank_state.hpp"
#include "stepcast/base/long_work.hpp"
#include "stepcast/sim/replay/recorder.hpp"
#include "stepcast/sim/replay/replay.hpp"

namespace stepcast {

/// What an event tag means: a kind over an index.
enum class Tag : std::uint64_t { meeting, phase_flow, transfer, mark };
inline constexpr std::uint64_t tag_kinds = 4;
/// Waits and communications per rank that are kept before those that nothing can change any more
/// are settled.
inline constexpr std::uint64_t entries_per_settling = 64;
constexpr std::uint64_t tag_of(Tag kind, std::uint64_t index) {
  return index * tag_kinds + static_cast<std::uint64_t>(kind);
}

/// No instruction costs host time and nothing holds a host, so that the device never waits for it.
bool host_is_free(const ReplayInput& input);
/// Whether the host makes a kernel for one of its operators.
bool compiles(const StageProgram& program);

/// One replay. Program execution is in replay.cpp, stalls in stalls.cpp, transfers in
/// transfers.cpp, collectives in collectives.cpp, skipping in steady_state.cpp, the result in
/// timeline.cpp.
class Replayer : public EngineClient {
 public:
  explicit Replayer(const ReplayInput& input);
  Timeline run();

  void on_event(double now, std::uint64_t tag) override;
  void on_flow_end(double now, std::uint64_t tag) override;
  void foresee(const Coming& what) override;

 private:
  using RankIndex = std::uint32_t;

  /// How much of the machine the run will take, before it begins.
  LongWork expected() const;
  void tell_progress(RankIndex r) const;

  // program execution
  void work();
  void advance(RankIndex r);
  bool run_step(RankIndex r);
  bool next_instruction(RankIndex r, const Instructions& code);
  bool execute(RankIndex r, const Instruction& instruction);
  bool receive_inputs(RankIndex r);
  bool run_code(RankIndex r);
  bool run_unit(RankIndex r);
  void compute(RankIndex r, std::uint32_t index);
  double attention_factor(RankIndex r, std::uint32_t segment) const;
  /// The host waits for the compute stream.
  void synchronise(RankIndex r, double cost, bool of_copy = false);
  void end_step(RankIndex r);

  // stalls
  void start_stalls(RankIndex r);
  void begin_step(RankIndex r);
  void await_batch(RankIndex r);
  double load_batch(RankIndex r, double asked);
  void begin_unit(RankIndex r);
  void end_unit(RankIndex r);
  void collect_garbage(RankState& rank);
  void save_checkpoint(RankIndex r);
  double jitter(RankIndex r);
  double run_segment(RankIndex r, const Segment& segment, double work_factor);
  double time_by_clock(RankState& rank, double start, double work, double draw) const;
  double run_by_clock(RankIndex r, const Segment& segment, const SpeedFactors& speed);

  // steady state
  /// The job at a unit of rank 0 that begins a period.
  static constexpr std::size_t most_marks =
      4;  ///< that are kept of a kind: a state may recur later than after one
  struct Mark {
    struct Rank {
      std::size_t unit;
      UnitCounts begun;
      StepBooks books;
    };
    double time = 0, length = 0;  ///< and how long the period before it took
    std::uint32_t micro_batch = 0;
    std::vector<Rank> ranks;  ///< empty when the pace was not steady
    std::vector<double> state;
  };
  std::int64_t period() const;
  bool at_mark(const RankState& rank) const;
  void yield_at_mark(RankIndex r);
  void consider_skip();
  void describe(Mark& mark) const;
  void describe_meetings(Mark& mark) const;
  double name_of(const Meeting& meeting) const;
  double name_of(std::uint64_t tag) const;
  std::int64_t recurrences(const Mark& before, const Mark& now) const;
  void skip(const Mark& before, const Mark& now, std::int64_t times);
  bool skip_since(const Mark& before, const Mark& now);

  // pipeline transfers
  bool receive(RankIndex r, const Unit& unit);
  void send(RankIndex r, const Unit& unit);
  bool settle_send(RankIndex r);
  void pump_channel(RankIndex r, Channel channel);
  void transfer(RankIndex r, Channel channel, double start);
  void record_transfer(RankIndex r, Channel channel, double start);
  void bytes_ended(RankIndex r, Channel channel, double end);
  static std::uint64_t transfer_tag(RankIndex r, Channel channel) {
    return tag_of(Tag::transfer, channels * r + static_cast<std::uint64_t>(channel));
  }
  ChannelState& sends(RankIndex r, Channel channel) {
    return ranks_[r].channel[static_cast<std::size_t>(channel)];
  }
  double recorded_entries() const;
  const StageProgram& program(RankIndex r) const { return *ranks_[r].program; }
  const StageProgram& program_of(RankIndex r) const {
    const std::uint32_t stage = map_.classes.stage[r].value;
    return input_.kinds ? input_.kinds->programs[kind(r)][stage] : input_.programs[stage];
  }
  const Segment* const* segments_of(const RankState& rank);
  std::uint32_t kind(RankIndex r) const {
    return input_.kinds->of_rank[map_.classes.representative[r].value];
  }
  const HostSpec& host(RankIndex r) const {
    return input_.kinds ? input_.kinds->hosts[kind(r)] : input_.host;
  }
  /// What a NetworkCall comes to where nothing of it meets anything: most do not, and a job of many
  /// groups has more calls than a cache holds.
  struct CallSummary {
    double alone, held;
    std::uint32_t group, arrivals;
    std::uint32_t flows;  ///< of all phases
    bool lone, once;
    /// It can meet no more than what its own rank began before it, on the streams that
    /// NetworkCall::rivals says.
    bool in_turn = false;
  };
  void find_calls_in_turn();
  static CallSummary summary_of(const NetworkCall& call);
  const CallSummary& network_call(RankIndex r, std::uint32_t call) const {
    return calls_[ranks_[r].call_of[call]];
  }

  // collectives
  void communicate(RankIndex r, const Communicate& instruction);
  bool slot_is_over(RankIndex r, std::uint32_t slot);
  void wait_slot(RankIndex r, std::uint32_t slot);
  void give_cores(RankIndex r, const SlotState& state, ExposedKind kind, std::uint32_t recorded);
  void pump_stream(RankIndex r, Stream stream);
  static double begin_of(const StreamState& state, const StreamState::Pending& pending);
  bool end_lone(RankIndex r, StreamState& state, const StreamState::Pending& pending);
  void end_lone(RankIndex r, StreamState& state, const StreamState::Pending& head, double start,
                double end);
  bool meets_nothing(RankIndex r, std::uint32_t index, const CallSummary& call, double start) const;
  double end_on_links(const NetworkCall& call, double start) const;
  /// The host issues a communication; returns when that is done. `entry` is what was recorded.
  HostReady issue(RankIndex r, const OperatorCost& cost, bool after_compute, std::uint32_t& entry);
  void record_collective(Meeting& meeting);
  std::uint32_t meeting_of(RankIndex r, std::uint32_t call);
  std::uint32_t new_meeting(std::uint32_t call);
  void arrive(RankIndex r, const StreamState::Pending& pending, double start);
  void begin_meeting(std::uint32_t id);
  void begin_phase(std::uint32_t id, double now);
  void phase_flow_ended(std::uint32_t id, std::size_t flow, double now);
  void end_phase(std::uint32_t id, double now);
  void finish(std::uint32_t id, double end);
  void finish_alone(std::uint32_t id, double end);
  void release(const Meeting::Member& member, double end);
  void end_meeting(std::uint32_t id, double end);

  /// Once: what it waited for may come more than once before it goes on.
  void wake(RankIndex r) {
    ranks_[r].waiting = Waiting::nothing;
    if (crowded_) ranks_[r].prefetch_lists();
    ready_.push_back(r);
  }
  void idle(RankIndex r, double to, double moving_from, ExposedKind kind, const HostReady& host,
            bool pipeline, std::uint32_t recorded = Recording::none);
  void settle_when_due();
  void settle();
  void settle(RankIndex r, double known, double device);
  [[noreturn]] void report_deadlock() const;
  Timeline timeline();

  const ReplayInput& input_;
  const NetworkMap& map_;
  Engine engine_;
  std::optional<Recorder> recorder_;
  std::vector<CallSummary> calls_;  ///< by index in NetworkMap::calls
  std::map<std::pair<const StageProgram*, std::uint32_t>, std::vector<const Segment*>>
      segments_;  ///< by program and variant
  std::vector<RankState> ranks_;
  std::deque<RankIndex> ready_;
  std::vector<std::pair<RankIndex, Stream>> free_streams_;  ///< that may have a next collective
  std::vector<Orderly> orderly_;  ///< by stage; empty where kinds of nodes differ
  std::vector<Meeting> meetings_;
  std::vector<std::uint32_t> free_meetings_;
  /// Those that wait for members, by class of the group: few at a time, told apart by how many
  /// calls the members made before, and of which kind.
  struct OpenMeeting {
    std::uint64_t nth;
    std::uint32_t id;
  };
  std::vector<std::vector<OpenMeeting>> open_meetings_;
  std::vector<double> step_ends_;          ///< of the last rank so far, by step
  std::array<std::deque<Mark>, 4> marks_;  ///< the last ones, by kind of their units
  bool mark_due_ = false;
  std::vector<Recording::Piece> pieces_;  ///< of waits that are being settled, for the recording
  bool may_recur_;  ///< nothing random or dated stands in the way of repetition
  const bool watched_ = is_work_watched();
  bool crowded_ = false;                                ///< there are more ranks than a cache holds
  std::array<std::vector<RankIndex>, channels> peers_;  ///< [channel][rank] when it is crowded
  bool host_is_free_;  ///< no instruction costs host time, so the device never waits for it
  std::uint64_t units_ = 0, tasks_ = 0, lone_flows_ = 0, unsettled_ = 0, skipped_micro_batches_ = 0;
};

}  // namespace stepcast
