#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "stepcast/sim/engine/job_pool.hpp"

namespace stepcast {

/// How a job ended in its process.
enum class JobEnd : std::uint8_t { answered, threw, threw_input, needs_memory };

/// What a job answered, or why it did not.
struct JobOutcome {
  JobEnd end = JobEnd::answered;
  std::string text;
};

/// Calls the job. Exceptions do not cross processes: their text and their kind do.
JobOutcome outcome_of(const std::function<std::string()>& job);

/// Sends all of it, however little the socket takes at a time. False: nobody reads.
bool send_all(int channel, const std::string& text);

/// In a child of `parent`: ends with it, keeps to its memory, and lets others go first.
void obey(const JobLimits& limits, pid_t parent);

/// Waits for a process that ends; its status as of waitpid().
int status_of_ended(pid_t process);

/// What is said of a job whose process ended with that status before its answer.
std::string failure_of(int status);

}  // namespace stepcast
