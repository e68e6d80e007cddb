#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "judge_calls.hpp"
#include "stepcast/sim/replay/communication_log.hpp"
#include "stepcast/sim/replay/message.hpp"
#include "stepcast/workloads/host_queue.hpp"

namespace stepcast::judge {

/// An actor that does one thing after another as they are given to it. It begins with the first: a
/// rank of thousands has few of the streams and channels that a rank may have.
struct Lane {
  std::deque<std::function<void()>> jobs;
  ReferenceWorld::Signal given;
  std::function<void()> begin;

  void give(std::function<void()> job) {
    jobs.push_back(std::move(job));
    if (begin) std::exchange(begin, nullptr)();
    given.tell();
  }
  [[noreturn]] void work() {
    for (;;) {
      given.wait_until([this] { return !jobs.empty(); });
      const std::function<void()> job = std::move(jobs.front());
      jobs.pop_front();
      job();
    }
  }
};

/// A place of the program that the compute stream has reached or not.
struct Mark {
  bool reached = false;
  ReferenceWorld::Signal told;
  void reach() {
    reached = true;
    told.tell();
  }
  void await() {
    told.wait_until([this] { return reached; });
  }
};

/// One collective of one rank, from being issued to its end.
struct Issued {
  const StageCall* call = nullptr;
  HostReady host;
  double held = 0;  ///< NetworkCall::held
  double start = 0, end = 0;
  double device = 0, worked = 0;  ///< of the rank, when it was issued
  Mark over;
};

struct Met {
  std::vector<std::tuple<std::uint32_t, Issued*, ExposedKind, CommunicationLog::Ticket>> members;
  Mark over;
};

/// What one rank is and has done; times are those of SimGrid's clock.
struct Actors {
  std::uint32_t rank = 0, stage = 0;
  // The host, which runs ahead in its own dates.
  double main = 0, worker = 0;
  std::vector<std::uint32_t> forwards, gradients;  ///< of the step, by chunk
  std::vector<std::shared_ptr<Issued>> slots;
  std::array<std::uint64_t, group_kinds> calls_made{};
  bool met_after_pipeline = false;
  std::uint32_t step = 0;
  std::uint64_t sends = 0;
  std::shared_ptr<double> copied;
  // The device and what it tells.
  Lane device;
  std::size_t operators = 0;  ///< given to it
  std::vector<double> ends;   ///< of operators
  CompileLag lag;             ///< by the order in which it gets what was issued
  double compile_stall = 0;   ///< in the segment at hand
  double worked = 0;          ///< device time of all segments so far
  ReferenceWorld::Signal operator_ended;
  std::array<Lane, streams> stream;
  std::array<Lane, channels> channel;
  std::vector<Message> inbox;
  ReferenceWorld::Signal received, sent;
  std::uint64_t sends_done = 0;
  double last_send_start = 0, last_send_arrival = 0;
  // The books.
  CommunicationLog log;
  StepBooks books;
  std::uint32_t device_step = 0;
  double end = 0;
};

/// The job as actors.
class Job {
 public:
  explicit Job(const JudgeInput& input);
  Timeline run();

 private:
  const StageProgram& program(const Actors& a) const { return input_.step.programs[a.stage]; }
  std::uint32_t host_of(std::uint32_t rank) const;
  void add_rank(Actors& a);
  void run_host(Actors& a);
  void run_unit(Actors& a, const StageOrder& order, std::size_t unit);
  const Instructions& code_of(const Actors& a, const Unit& unit) const;
  void run_code(Actors& a, const Instructions& code);
  double issue(Actors& a, const OperatorCost& cost);
  double issue_communication(Actors& a, const OperatorCost& cost,
                             const std::shared_ptr<Issued>& issued = {});
  void compute(Actors& a, std::uint32_t segment);
  void communicate(Actors& a, const Communicate& instruction);
  void wait(Actors& a, std::uint32_t slot);
  void synchronise(Actors& a, bool of_copy);
  void receive(Actors& a, const Unit& unit);
  void send(Actors& a, const Unit& unit);
  void settle_sends(Actors& a);
  void end_step(Actors& a);

  void transfer(Actors& a, Channel channel, Message message);
  void meet(Actors& a, std::uint32_t call, std::uint64_t made, Issued& issued);
  /// The compute stream has waited since `from` for what moved from `moving` on.
  void waited(Actors& a, double from, double moving, ExposedKind kind, const HostReady& host,
              bool pipeline);
  RankTimes& times(Actors& a) const { return a.books.times[a.device_step == 0 ? 0 : 1]; }
  Timeline timeline();

  const JudgeInput& input_;
  ReferenceWorld& world_;
  Calls calls_;
  std::deque<Actors> ranks_;
  std::map<std::tuple<GroupKind, std::uint64_t, std::uint64_t>, std::shared_ptr<Met>> meetings_;
  std::vector<std::vector<std::uint32_t>> ordinal_;  ///< [stage][call] among those of its kind
  std::vector<double> step_ends_;
  std::uint64_t tasks_ = 0;
};

}  // namespace stepcast::judge
