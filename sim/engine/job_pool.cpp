#include "stepcast/sim/engine/job_pool.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

constexpr int answered = 0, threw = 1, threw_input = 2;

// These sanitizers reserve terabytes of addresses.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool limits_memory = false;
#else
constexpr bool limits_memory = true;
#endif

// A pipe takes what fits: a long answer goes in parts, and signals may interrupt any of them.
bool write_all(int file, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(file, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    written += static_cast<std::size_t>(n);
  }
  return true;
}

/// In the child: ends with its parent, keeps to its memory, and lets others go first.
void obey(const JobLimits& limits, pid_t parent) {
  // The parent may have ended between fork and here: then nobody sends the signal.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(threw);
  if (limits.memory_bytes > 0 && limits_memory) {
    const rlimit memory{limits.memory_bytes, limits.memory_bytes};
    setrlimit(RLIMIT_AS, &memory);
  }
  if (limits.nice > 0) setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + limits.nice);
}

[[noreturn]] void run_job(const std::function<std::string()>& job, int file) {
  // Exceptions do not cross processes: their text and their kind do.
  std::string text;
  int status = answered;
  try {
    text = job();
  } catch (const std::bad_alloc&) {
    text = "it needs more memory than it may have";
    status = threw;
  } catch (const InputError& error) {
    text = error.what();
    status = threw_input;
  } catch (const std::exception& error) {
    text = error.what();
    status = threw;
  }
  // An answer that did not get through whole is none.
  if (!write_all(file, text)) status = threw;
  // _exit leaves what the parent registered alone: its buffers are flushed once, by itself.
  _exit(status);
}

std::string failure_of(int status, const std::string& text) {
  if (WIFSIGNALED(status))
    return fmt::format("its process was ended by signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == answered) return "";
  return text.empty() ? fmt::format("its process ended with code {}", WEXITSTATUS(status)) : text;
}

}  // namespace

JobPool::~JobPool() {
  // Nobody is left who would read their answers.
  for (const Job& job : jobs_) end(job);
}

void JobPool::start(std::size_t index, const std::function<std::string()>& job,
                    const JobLimits& limits) {
  std::array<int, 2> channel{};
  if (pipe(channel.data()) != 0)
    throw EngineError(fmt::format("no pipe for a worker: {}", std::strerror(errno)));
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) {
    obey(limits, parent);
    // Ends of other jobs' pipes must not stay open here, or their readers would never see the end.
    close(channel[0]);
    for (const Job& other : jobs_) close(other.channel);
    run_job(job, channel[1]);
  }
  // Only the child writes: its end must be the last, so that reading ends with it.
  close(channel[1]);
  if (process < 0) {
    close(channel[0]);
    throw EngineError(fmt::format("no process for a worker: {}", std::strerror(errno)));
  }
  jobs_.push_back({index, process, channel[0], {}});
}

bool JobPool::cancel(std::size_t index) {
  const auto found = std::ranges::find(jobs_, index, &Job::index);
  if (found == jobs_.end()) return false;
  end(*found);
  jobs_.erase(found);
  return true;
}

std::vector<WorkerAnswer> JobPool::wait(std::vector<pollfd>& others, int timeout_ms) {
  std::vector<pollfd> files = others;
  for (const Job& job : jobs_) files.push_back({job.channel, POLLIN, 0});
  // An interrupted wait is one without news.
  if (poll(files.data(), files.size(), timeout_ms) < 0) {
    if (errno != EINTR)
      throw EngineError(fmt::format("waiting for workers: {}", std::strerror(errno)));
    for (pollfd& file : files) file.revents = 0;
  }
  std::copy_n(files.begin(), others.size(), others.begin());
  std::vector<WorkerAnswer> answers;
  // From the back, since jobs that have ended leave the list.
  for (std::size_t k = jobs_.size(); k-- > 0;) {
    if (files[others.size() + k].revents == 0 || read_more(jobs_[k])) continue;
    const Job job = std::move(jobs_[k]);
    // The job is reaped after its pipe is empty: a full pipe would keep it from ending.
    jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(k));
    const int status = reap(job);
    const std::string failure = failure_of(status, job.text);
    const bool bad_input = WIFEXITED(status) && WEXITSTATUS(status) == threw_input;
    answers.push_back({job.index, failure.empty() ? job.text : "", failure, bad_input});
  }
  // By index, so that what is done with answers does not depend on who was polled first.
  std::ranges::sort(answers, {}, &WorkerAnswer::index);
  return answers;
}

bool JobPool::read_more(Job& job) {
  std::array<char, 65536> buffer{};
  const ssize_t n = read(job.channel, buffer.data(), buffer.size());
  if (n < 0) return errno == EINTR;
  job.text.append(buffer.data(), static_cast<std::size_t>(n));
  // Zero bytes are the end of the pipe: the process has closed it or is gone.
  return n > 0;
}

int JobPool::reap(const Job& job) {
  close(job.channel);
  int status = 0;
  while (waitpid(job.process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void JobPool::end(const Job& job) {
  kill(job.process, SIGKILL);  // what it started ends with it, see obey()
  reap(job);
}

}  // namespace stepcast
