#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "judge_calls.hpp"
#include "stepcast/base/long_work.hpp"
#include "stepcast/sim/replay/communication_log.hpp"
#include "stepcast/sim/replay/message.hpp"
#include "stepcast/sim/replay/recorder.hpp"
#include "stepcast/workloads/host_queue.hpp"

namespace stepcast::judge {

using Then = ReferenceWorld::Then;

/// One thing after another as they are given to it: a device, a stream, a channel. What is under
/// way says done() when it is over, whether at once or later.
class Lane {
 public:
  void give(Then job) {
    jobs_.push_back(std::move(job));
    work();
  }
  void done() {
    busy_ = false;
    work();
  }
  std::size_t waiting() const { return jobs_.size(); }
  Then taken;  ///< told when a job leaves the queue; may be nothing

 private:
  void work();

  std::deque<Then> jobs_;
  bool busy_ = false, working_ = false;
};

/// Something that is over or not.
class Mark {
 public:
  void reach();
  /// Goes on at once where it is reached.
  void then(Then next) { reached_ ? next() : waiting_.push_back(std::move(next)); }

 private:
  bool reached_ = false;
  std::vector<Then> waiting_;
};

/// One collective of one rank, from being issued to its end.
struct Issued {
  const StageCall* call = nullptr;
  HostReady host;
  double held = 0;  ///< NetworkCall::held
  double start = 0, end = 0;
  double device = 0, worked = 0;  ///< of the rank, when it was issued
  Mark over;
  // In the recording.
  double arrived = 0;
  std::uint32_t entry = Recording::none, communication = Recording::none, member = 0;
};

/// A message that leaves when its unit is done and the host has issued it.
struct Leaving {
  Mark unit_done;
  double ready = 0;
  std::uint32_t entry = Recording::none;  ///< of the recording
};

/// Of a host before and after something that its device gets to later.
struct HostClocks {
  Clocks before, after;
};

struct Met {
  std::vector<std::tuple<std::uint32_t, Issued*, ExposedKind, CommunicationLog::Ticket>> members;
  const Phases* phases = nullptr;
  Mark over;
  std::uint32_t network = 0;  ///< NetworkMap::calls
  double start = 0;
};

/// What a host does next.
struct Action {
  enum class What {
    begin_step,
    begin_unit,
    receive,
    open_unit,
    instruction,
    close_unit,
    send,
    settle,
    end_unit,
    end_code,
    save,
    end_step
  } what;
  const Unit* unit = nullptr;  ///< nothing outside of units
  const Instruction* instruction = nullptr;
};

/// The host of a rank runs ahead in its own dates; it does what its device cannot do without.
struct HostState {
  double main = 0, worker = 0;
  double factor = 1;  ///< on its time
  std::vector<Action> actions;
  std::size_t next_action = 0, next_unit = 0;
  std::uint32_t step = 0;
  bool begun = false;                              ///< the step
  std::vector<std::uint32_t> forwards, gradients;  ///< of the step, by chunk
  std::array<std::uint64_t, group_kinds> calls_made{};
  bool met_after_pipeline = false;
  std::uint64_t sends = 0;
  std::vector<std::shared_ptr<Issued>> slots;
  std::shared_ptr<double> copied;
  const Segment* segment = nullptr;   ///< whose operators it issues
  std::shared_ptr<HostClocks> spent;  ///< on that segment, where it is recorded
  std::size_t next_operator = 0;
  std::size_t operators = 0;  ///< issued so far
  bool held = false;          ///< until the device has got to where it is waited for
  bool working = false;
  Clocks clocks() const { return {main, worker, 0}; }
  // Pauses.
  double next_collection = unknown_time;
  std::uint64_t segments_run = 0, units_run = 0;
  std::vector<double> step_begins;
  double data_ready = 0;
};

/// An operator on its way to the device.
struct Launched {
  const OperatorCost* cost;
  double ready;
  Clocks host;         ///< before it was issued
  double free, freed;  ///< when the host was there, and when the queue had a place
  bool booked = false;
};

/// What one rank is and has done; times are those of SimGrid's clock.
struct Member {
  std::uint32_t rank = 0, stage = 0;
  const StageProgram* program = nullptr;
  std::array<const Group*, group_kinds> groups{};
  const HostSpec* spec = nullptr;
  bool compiles = false;  ///< something of the program
  HostState host;
  // The device and what it tells.
  Lane device;
  double factor = 1;  ///< on device time
  const SpeedProfile* profile = nullptr;
  std::deque<Launched> launched;
  bool awaits_operator = false;
  std::deque<double> ends;    ///< of operators
  std::size_t forgotten = 0;  ///< operators whose ends no host asks for any more
  std::size_t left = 0;       ///< operators of the segment at hand
  double begun = 0, segment_factor = 1, segment_worked = 0;
  double segment_lost = 0;  ///< of the work, to the state of the clock
  /// That state: until when the device had work, until when its clock is low, and the power that
  /// it has left, as time at the limit.
  double busy_until = 0, slow_until = 0, power_left = 0;
  double compile_stall = 0;  ///< in the segment at hand
  CompileLag lag;            ///< by the order in which it gets what was issued
  double worked = 0;         ///< device time of all segments so far
  std::array<Lane, streams> stream;
  std::array<Lane, channels> channel;
  std::vector<Message> inbox;
  Then received, sent;  ///< what waits for a message, or for its own to arrive
  std::uint64_t sends_done = 0;
  double last_send_start = 0, last_send_arrival = 0;
  std::uint32_t last_send = Recording::none;  ///< of the recording
  // The books.
  CommunicationLog log;
  StepBooks books;
  std::uint32_t device_step = 0;
  double end = 0;
  double told = 0;                    ///< the device, at the last entry of the recording
  std::uint32_t segment = 0;          ///< at hand
  std::shared_ptr<HostClocks> spent;  ///< by the host, on it
};

/// The job as activities that follow from each other.
class Job {
 public:
  explicit Job(const JudgeInput& input);
  Timeline run();

 private:
  std::uint32_t host_of(std::uint32_t rank) const;
  double now() const { return world_.clock(); }

  // The host: judge_host.cpp.
  void advance(Member& a);
  bool may_rest(const Member& a) const;
  bool next_actions(Member& a);
  void add_unit(Member& a, const StageOrder& order);
  void add_code(Member& a, const Instructions& code, const Unit* unit) const;
  const Instructions& code_of(const Member& a, const Unit& unit) const;
  bool is_last_gradient(const Member& a, const Unit& unit) const;
  void act(Member& a, const Action& action);
  void instruct(Member& a, const Instruction& instruction, const Unit* unit);
  double issue(Member& a, const OperatorCost& cost) const;
  double issue_communication(Member& a, const OperatorCost& cost, bool after_compute,
                             const std::shared_ptr<Issued>& issued = {},
                             const std::shared_ptr<Leaving>& leaving = {});
  void compute(Member& a, std::uint32_t segment, const Unit* unit);
  bool has_place(Member& a) const;
  bool issue_operators(Member& a);
  void communicate(Member& a, const Communicate& instruction);
  void wait(Member& a, std::uint32_t slot);
  void hold_host(Member& a, double cost, bool device = false);
  void hold_host_for_copy(Member& a, double cost);
  void receive(Member& a, const Unit& unit);
  void send(Member& a, const Unit& unit);
  void settle_sends(Member& a);
  void end_step(Member& a);
  void tell_progress(const Member& a) const;

  // Pauses of the host: judge_stalls.cpp.
  void set_stalls(Member& a) const;
  void begin_step(Member& a);
  void await_batch(Member& a);
  void begin_unit(Member& a);
  void end_unit(Member& a);
  void end_code(Member& a);
  void collect_garbage(HostState& host) const;
  void save_checkpoint(Member& a);
  double segment_factor(Member& a, std::uint32_t segment, const Unit* unit) const;
  double end_of_work(Member& a, const OperatorCost& op, double start) const;

  // What follows on SimGrid's clock: judge.cpp.
  void run_operators(Member& a);
  void book(Member& a, Launched& launched, double device) const;
  void end_segment(Member& a);
  void pick_up(Member& a, const Message& wanted, double from, const Clocks& host);
  void transfer(Member& a, Channel channel, Message message, const Leaving& leaving);
  void arrived(Member& a, Member& peer, Channel channel, Message message,
               std::pair<CommunicationLog::Ticket, CommunicationLog::Ticket> tickets);
  void meet(Member& a, std::uint32_t call, std::uint64_t made, Issued& issued, Then next);
  void move(const std::shared_ptr<Met>& met, std::size_t phase);
  /// The compute stream has waited since `from` for what moved from `moving` on.
  void waited(Member& a, double from, double moving, ExposedKind kind, const HostReady& host,
              bool pipeline);
  RankTimes& times(Member& a) const { return a.books.times[a.device_step == 0 ? 0 : 1]; }
  void refuse_standstill() const;
  Timeline timeline();

  // The recording, as the fast path makes it: judge_record.cpp. Nothing where there is none.
  HostClocks told(Member& a, const HostClocks& host, double date) const;
  void record_issue(Member& a, const HostClocks& host, bool after_compute,
                    const std::shared_ptr<Issued>& issued, const std::shared_ptr<Leaving>& leaving);
  void record_segment(Member& a, double issued, double waited);
  void record_wait(Member& a, const Clocks& host, std::uint32_t communication, double to);
  void record_cores(Member& a, const Clocks& host, double to, const Issued& issued);
  void record_sync(Member& a, const Clocks& host, double copied);
  void record_unit(Member& a, const Unit& unit, bool begins);
  void record_piece(Member& a, const Recording::Piece& piece);
  void record_begin(const std::vector<std::pair<Member*, Issued*>>& members, std::uint32_t network);
  void record_end(std::uint32_t communication, std::uint32_t network, double start);
  std::uint32_t record_transfer(Member& a, Channel channel, const Message& message,
                                const Leaving& leaving);

  const JudgeInput& input_;
  ReferenceWorld& world_;
  Calls calls_;
  std::deque<Member> ranks_;
  std::map<std::pair<const Group*, std::uint64_t>, std::shared_ptr<Met>> meetings_;
  std::vector<std::vector<std::uint32_t>> ordinal_;  ///< [stage][call] among those of its kind
  /// Where a communication may begin before the device gets to it.
  enum class Eager { never, prologue, always };
  static Eager eager(const StageProgram& program);
  std::vector<Eager> eager_;  ///< [stage]
  std::vector<double> step_ends_;
  std::optional<Recorder> recorder_;
  std::uint64_t tasks_ = 0;
  const bool watched_ = is_work_watched();
};

}  // namespace stepcast::judge
