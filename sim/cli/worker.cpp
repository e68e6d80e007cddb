#include "worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/overloaded.hpp"
#include "stepcast/base/standard_input.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/job_pool.hpp"
#include "stepcast/sim/network/kept_network_map.hpp"

namespace stepcast::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t longest_line = std::size_t{16} << 20U;
constexpr std::size_t most_waiting = 10000;
/// Below every other work of this user, above nothing.
constexpr int background_nice = 5;

/// Makes `text` the standard input of this process.
void give_input(const std::string& text) {
  const int file = memfd_create("input", MFD_CLOEXEC);
  std::size_t written = 0;
  while (file >= 0 && written < text.size()) {
    const ssize_t n = write(file, text.data() + written, text.size() - written);
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  if (file < 0 || written < text.size() || lseek(file, 0, SEEK_SET) != 0 ||
      dup2(file, STDIN_FILENO) < 0)
    throw EngineError("the input of a request: " + std::string(std::strerror(errno)));
  close(file);
  forget_standard_input();
}

/// What the command prints besides its answer must not come between the lines of the protocol.
void silence() {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, STDOUT_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0)
    throw EngineError("/dev/null cannot be opened");
  close(nothing);
}

struct WorkerSettings {
  std::size_t most_jobs = 1;
  std::uint64_t memory_bytes = 0;
  double seconds = 0;  ///< 0: no limit
  bool writes_files = true;
  std::vector<std::filesystem::path> only_from;  ///< empty: files are read from everywhere
};

/// Whether this process may write to files; otherwise that ends it (SIGXFSZ). Pipes are not meant.
void allow_files(bool allowed) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = allowed ? limit.rlim_max : 0;
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) throw EngineError("files cannot be forbidden");
}

/// A folder that may not be read does not exist.
void enter(const std::string& folder) {
  const int wrong = !may_read(folder) ? ENOENT : chdir(folder.c_str()) != 0 ? errno : 0;
  if (wrong != 0) throw EngineError(folder + ": " + std::strerror(wrong));
}

/// Answers requests one after the other, in a process that does nothing else.
class RequestProcess {
 public:
  RequestProcess(const WorkerSettings& settings, const Answering& answering)
      : settings_{settings}, answering_{answering} {}

  /// `order` is a line that order_of() made.
  std::string answer(const std::string& order) {
    const auto request = std::get<WorkRequest>(read_message(order));
    if (home_ < 0) begin();
    // The input is a file to the kernel.
    if (!settings_.writes_files) allow_files(true);
    give_input(request.input);
    if (!settings_.writes_files) allow_files(false);
    if (fchdir(home_) != 0) throw EngineError("the folder of the worker is gone");
    if (!request.directory.empty()) enter(request.directory);
    return answer_of(request, answering_);
  }

 private:
  /// Before the first request.
  void begin() {
    silence();
    home_ = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!settings_.only_from.empty()) read_files_only_from(settings_.only_from);
    remember_network_map();
  }

  const WorkerSettings& settings_;
  const Answering& answering_;
  int home_ = -1;  ///< the folder of the worker
};

class WorkerLoop {
 public:
  WorkerLoop(WorkerSettings settings, const Answering& answering)
      : settings_{std::move(settings)}, requests_{settings_, answering} {}

  void run() {
    while (!ended_ || !waiting_.empty() || pool_.size() > 0 || !out_.empty()) {
      start_waiting();
      // Nobody polls for room to write while there is nothing to write, or poll() would return at
      // once.
      std::vector<pollfd> files{{STDOUT_FILENO, static_cast<short>(out_.empty() ? 0 : POLLOUT), 0},
                                {ended_ ? -1 : STDIN_FILENO, POLLIN, 0}};
      for (const WorkerAnswer& answer : pool_.wait(files, milliseconds_left())) {
        forget(answer.index);
        out_ += answer.failed() ? ended_line(answer.index, "failed", answer.failure)
                                : done_line(answer.index, answer.text);
      }
      end_late();
      if (files[0].revents & (POLLERR | POLLNVAL)) return;  // nobody reads: end what is under way
      if ((files[0].revents & POLLOUT) && !write_output()) return;
      if (files[1].revents != 0 && !read_input()) ended_ = true;
      // An answer may have made room for the next request.
    }
  }

 private:
  void take(const std::string& line) {
    if (line.empty()) return;
    WorkerMessage message = read_message(line);
    std::visit(Overloaded{[&](WorkRequest& request) { take(std::move(request)); },
                          [&](const CancelRequest& request) { cancel(request.id); },
                          [&](const WrongRequest& wrong) {
                            out_ += ended_line(wrong.id, "refused", wrong.message);
                          }},
               message);
  }

  void take(WorkRequest request) {
    if (known(request.id)) {
      out_ += ended_line(request.id, "refused", "this id is under way, allowed: another one");
    } else if (waiting_.size() >= most_waiting) {
      out_ += ended_line(request.id, "refused",
                         fmt::format("{} requests wait, allowed: no more", most_waiting));
    } else {
      waiting_.push_back(std::move(request));
    }
  }

  void cancel(std::uint64_t id) {
    const auto found = std::ranges::find(waiting_, id, &WorkRequest::id);
    if (found != waiting_.end()) {
      waiting_.erase(found);
    } else if (!pool_.cancel(id)) {
      return;  // its answer is on the way
    }
    forget(id);
    out_ += ended_line(id, "cancelled", "");
  }

  void start_waiting() {
    // Requests that somebody waits for come before those in the background.
    for (const bool background : {false, true})
      for (auto next = waiting_.begin(); next != waiting_.end();) {
        if (next->background != background) {
          ++next;
          continue;
        }
        // Requests of a kind start in the order in which they came.
        if (!may_start(*next)) break;
        start(*next);
        next = waiting_.erase(next);
      }
  }

  void start(const WorkRequest& request) {
    pool_.start(
        request.id, order_of(request),
        {.memory_bytes = settings_.memory_bytes, .nice = request.background ? background_nice : 0});
    running_.insert(request.id);
    if (request.background) in_background_.insert(request.id);
    const double seconds = request.seconds > 0 ? request.seconds : settings_.seconds;
    if (seconds > 0)
      deadlines_[request.id] = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                  std::chrono::duration<double>(seconds));
  }

  /// What nobody waits for takes the places that are left; it never keeps others from theirs.
  bool may_start(const WorkRequest& request) const {
    const std::size_t counted =
        request.background ? pool_.size() : pool_.size() - in_background_.size();
    return counted < settings_.most_jobs;
  }

  void forget(std::uint64_t id) {
    deadlines_.erase(id);
    running_.erase(id);
    in_background_.erase(id);
  }

  void end_late() {
    for (auto late = deadlines_.begin(); late != deadlines_.end();) {
      if (late->second > Clock::now()) {
        ++late;
        continue;
      }
      const std::uint64_t id = late->first;
      // Before the entry goes, which forget() does.
      ++late;
      pool_.cancel(id);
      forget(id);
      out_ += ended_line(id, "timeout", "it takes longer than it may");
    }
  }

  int milliseconds_left() const {
    constexpr auto longest = std::chrono::milliseconds{3'600'000};
    if (deadlines_.empty()) return -1;
    auto first = deadlines_.begin()->second;
    for (const auto& [id, deadline] : deadlines_) first = std::min(first, deadline);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now());
    return static_cast<int>(std::clamp(left, std::chrono::milliseconds{0}, longest).count());
  }

  /// Reads what is there; false at the end of the input.
  bool read_input() {
    std::array<char, 65536> buffer{};
    const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0) return errno == EINTR;
    in_.append(buffer.data(), static_cast<std::size_t>(n));
    std::size_t begin = 0;
    for (std::size_t end = in_.find('\n'); end != std::string::npos; end = in_.find('\n', begin)) {
      if (!too_long_) take(in_.substr(begin, end - begin));
      too_long_ = false;
      begin = end + 1;
    }
    in_.erase(0, begin);
    if (in_.empty() && begin > 0) in_ = {};  // a request may have been large
    if (n == 0 && !too_long_) take(std::exchange(in_, {}));
    if (in_.size() > longest_line) {
      if (!std::exchange(too_long_, true))
        out_ += ended_line({}, "refused", "a request is longer than 16 MiB");
      in_.clear();
    }
    return n > 0;
  }

  /// Writes a piece that a pipe which is ready takes without waiting; false: nobody reads.
  bool write_output() {
    const ssize_t n =
        write(STDOUT_FILENO, out_.data(), std::min<std::size_t>(out_.size(), PIPE_BUF));
    if (n > 0) out_.erase(0, static_cast<std::size_t>(n));
    constexpr std::size_t large = 1U << 16U;
    if (out_.empty() && out_.capacity() > large) {
      out_ = {};
      malloc_trim(0);
    }
    return n > 0 || errno == EINTR;
  }

  bool known(std::uint64_t id) const {
    return running_.contains(id) ||
           std::ranges::find(waiting_, id, &WorkRequest::id) != waiting_.end();
  }

  const WorkerSettings settings_;
  RequestProcess requests_;
  JobPool pool_{[this](std::size_t, const std::string& order) { return requests_.answer(order); }};
  std::deque<WorkRequest> waiting_;
  std::map<std::uint64_t, Clock::time_point> deadlines_;  ///< of jobs under way that have one
  std::set<std::uint64_t> running_, in_background_;       ///< the latter are among the former
  std::string in_, out_ = worker_greeting();
  bool too_long_ = false, ended_ = false;
};

WorkerSettings settings_of(const WorkerOptions& options) {
  WorkerSettings settings;
  settings.most_jobs = static_cast<std::size_t>(jobs_option(options.workers));
  if (!options.memory.empty()) {
    const std::optional<Bytes> memory = parse_bytes(options.memory);
    // Below that the program itself does not start.
    if (!memory || memory->value() < 64e6)
      bad_option("--memory",
                 fmt::format("is '{}', allowed: a size from 64MB, such as 2GiB", options.memory));
    settings.memory_bytes = static_cast<std::uint64_t>(memory->value());
  }
  if (!options.seconds.empty()) {
    const std::optional<double> seconds = parse_number(options.seconds);
    if (!seconds || !(*seconds > 0 && *seconds <= 1e6))
      bad_option("--seconds", fmt::format("is '{}', allowed: a number above 0", options.seconds));
    settings.seconds = *seconds;
  }
  settings.writes_files = !options.no_files;
  // Without --confined every file may be read anyway.
  if (!options.confined && !options.folders.empty())
    bad_option("--folder", "is for --confined alone, allowed: both");
  if (options.confined) settings.only_from = default_search_path(options.folders).directories;
  return settings;
}

}  // namespace

Outcome worker(const WorkerOptions& options, const Answering& answering) {
  const WorkerSettings settings = settings_of(options);
  std::signal(SIGPIPE, SIG_IGN);
  WorkerLoop(settings, answering).run();
  return {};
}

}  // namespace stepcast::cli
