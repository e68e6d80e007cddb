#pragma once
#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/sim/engine/workers.hpp"

namespace stepcast {

/// These hold for the process of a job, and for what it starts.
struct JobLimits {
  std::uint64_t memory_bytes = 0;  ///< address space; 0: no limit. A sanitized build ignores it.
  int nice = 0;                    ///< added to the priority of the calling process
  friend bool operator==(const JobLimits&, const JobLimits&) = default;
};

/// Jobs under way, in processes that call one function for order after order. A process is forked
/// when an order comes and none waits. It serves no more once it has loaded SimGrid, whose clock is
/// not reset, was ended by its job, or has grown large. The pool is of one thread. Processes end
/// with that thread, and with the pool.
class JobPool {
 public:
  using Job = std::function<std::string(std::size_t index, const std::string& order)>;
  explicit JobPool(Job job) : job_{std::move(job)} {}
  JobPool(const JobPool&) = delete;
  JobPool& operator=(const JobPool&) = delete;
  ~JobPool();

  /// How many jobs are under way.
  std::size_t size() const;

  /// Gives an order to a process that waits, or to a new one; `index` names it and is not under
  /// way. Throws EngineError when no process can be started.
  void start(std::size_t index, const std::string& order = {}, const JobLimits& limits = {});
  /// Ends a job and all that it started; it gives no answer. False: it is not under way.
  bool cancel(std::size_t index);
  /// Waits until a job ends, one of `others` is ready, or `timeout_ms` are over (-1: never); sets
  /// what happened in `others` and gives the answers that are complete, by index.
  std::vector<WorkerAnswer> wait(std::vector<pollfd>& others, int timeout_ms);

 private:
  struct Member {
    pid_t process = 0;
    int channel = -1;  ///< -1: it has ended
    JobLimits limits;
    bool busy = false;  ///< has a job under way, which the rest is of
    std::size_t index = 0;
    std::string order;
    std::string received;  ///< of its answer
  };
  struct OrderHeader;
  struct AnswerHeader;

  Member& hire(const JobLimits& limits);
  [[noreturn]] void serve(int channel) const;
  /// Of the member at `place`. False: the answer is not there yet.
  bool take_answer(std::size_t place, WorkerAnswer& answer);
  static void give(Member& member, std::size_t index, std::string order);
  static void end(Member& member);

  const Job job_;
  std::vector<Member> members_;
};

}  // namespace stepcast
