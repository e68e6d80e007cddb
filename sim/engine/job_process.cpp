#include "job_process.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <new>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

// Some sanitizers reserve terabytes of addresses.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool limits_memory = false;
#else
constexpr bool limits_memory = true;
#endif

}  // namespace

JobOutcome outcome_of(const std::function<std::string()>& job) {
  try {
    return {JobEnd::answered, job()};
    // Told apart from other failures, since a smaller request may succeed.
  } catch (const std::bad_alloc&) {
    return {JobEnd::needs_memory, "it needs more memory than it may have"};
  } catch (const InputError& error) {
    return {JobEnd::threw_input, error.what()};
  } catch (const std::exception& error) {
    return {JobEnd::threw, error.what()};
  }
}

bool send_all(int channel, const std::string& text) {
  // A long text goes in parts, and signals may interrupt any of them.
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t n = send(channel, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

void obey(const JobLimits& limits, pid_t parent) {
  // The parent may have ended between fork and here: then nobody sends the signal.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(1);
  if (limits.memory_bytes > 0 && limits_memory) {
    const rlimit memory{limits.memory_bytes, limits.memory_bytes};
    setrlimit(RLIMIT_AS, &memory);
  }
  if (limits.nice > 0) setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + limits.nice);
}

int status_of_ended(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string failure_of(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("its process was ended by signal {}", WTERMSIG(status));
  return fmt::format("its process ended with code {}", WEXITSTATUS(status));
}

}  // namespace stepcast
