#include "stepcast/sim/engine/workers.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <exception>
#include <vector>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

constexpr int answered = 0, threw = 1;

/// One job under way: its process and the end of the pipe that its answer comes through.
struct Worker {
  std::size_t index = 0;
  pid_t process = 0;
  int channel = -1;
  std::string text;
};

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

[[noreturn]] void run_job(const std::function<std::string(std::size_t)>& job, std::size_t index,
                          int file) {
  std::string text;
  int status = answered;
  try {
    text = job(index);
  } catch (const std::exception& error) {
    text = error.what();
    status = threw;
  }
  if (!write_all(file, text)) status = threw;
  _exit(status);
}

std::string failure_of(int status, const std::string& text) {
  if (WIFSIGNALED(status))
    return fmt::format("its process was ended by signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == answered) return "";
  return text.empty() ? fmt::format("its process ended with code {}", WEXITSTATUS(status)) : text;
}

/// The jobs under way; stops them when it is left with some.
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (const Worker& worker : workers_) {
      kill(worker.process, SIGKILL);
      reap(worker);
    }
  }

  std::size_t size() const { return workers_.size(); }

  void start(std::size_t index, const std::function<std::string(std::size_t)>& job) {
    std::array<int, 2> channel{};
    if (pipe(channel.data()) != 0)
      throw EngineError(fmt::format("no pipe for a worker: {}", std::strerror(errno)));
    const pid_t process = fork();
    if (process == 0) {
      close(channel[0]);
      for (const Worker& other : workers_) close(other.channel);
      run_job(job, index, channel[1]);
    }
    close(channel[1]);
    if (process < 0) {
      close(channel[0]);
      throw EngineError(fmt::format("no process for a worker: {}", std::strerror(errno)));
    }
    workers_.push_back({index, process, channel[0], {}});
  }

  /// Waits until something is read; gives the answers that are complete.
  std::vector<WorkerAnswer> collect() {
    std::vector<pollfd> files;
    for (const Worker& worker : workers_) files.push_back({worker.channel, POLLIN, 0});
    if (poll(files.data(), files.size(), -1) < 0 && errno != EINTR)
      throw EngineError(fmt::format("waiting for workers: {}", std::strerror(errno)));
    std::vector<WorkerAnswer> answers;
    for (std::size_t k = files.size(); k-- > 0;) {
      if (files[k].revents == 0 || read_more(workers_[k])) continue;
      const Worker worker = std::move(workers_[k]);
      workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(k));
      const std::string failure = failure_of(reap(worker), worker.text);
      answers.push_back({worker.index, failure.empty() ? worker.text : "", failure});
    }
    std::ranges::sort(answers, {}, &WorkerAnswer::index);
    return answers;
  }

 private:
  static bool read_more(Worker& worker) {
    std::array<char, 65536> buffer{};
    const ssize_t n = read(worker.channel, buffer.data(), buffer.size());
    if (n < 0) return errno == EINTR;
    worker.text.append(buffer.data(), static_cast<std::size_t>(n));
    return n > 0;
  }
  static int reap(const Worker& worker) {
    close(worker.channel);
    int status = 0;
    while (waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  std::vector<Worker> workers_;
};

}  // namespace

void run_in_workers(std::size_t count, int workers,
                    const std::function<std::string(std::size_t)>& job,
                    const std::function<void(const WorkerAnswer&)>& done) {
  Pool pool;
  std::size_t next = 0;
  while (next < count || pool.size() > 0) {
    while (next < count && pool.size() < static_cast<std::size_t>(std::max(workers, 1)))
      pool.start(next++, job);
    const std::vector<WorkerAnswer> answers = pool.collect();
    for (const WorkerAnswer& answer : answers) done(answer);
  }
}

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(CPU_COUNT(&set), 1);
}

}  // namespace stepcast
