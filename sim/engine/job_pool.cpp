#include "stepcast/sim/engine/job_pool.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "flow_network.hpp"
#include "job_process.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {

/// What stands before an order on a channel.
struct JobPool::OrderHeader {
  std::size_t index = 0, size = 0;
};
/// What stands before an answer.
struct JobPool::AnswerHeader {
  JobEnd end = JobEnd::answered;
  bool last = false;  ///< the process ends with this answer
  std::size_t size = 0;
};

namespace {

bool read_all(int channel, void* to, std::size_t size) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t n = recv(channel, at, size, MSG_WAITALL);
    // A signal ends a call early, a closed channel ends the pool.
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

template <class Header>
std::string with_header(const Header& header, const std::string& text) {
  std::string message(sizeof header, '\0');
  std::memcpy(message.data(), &header, sizeof header);
  return message + text;
}

/// Jobs of one process ask for as much memory again: what was given back is kept for the next.
void keep_memory() {
  constexpr int kept = 32 << 20;
  mallopt(M_TRIM_THRESHOLD, kept);
  mallopt(M_MMAP_THRESHOLD, kept / 2);
}

/// A process that has had so much keeps some of it.
bool is_large() {
  constexpr long most_kib = 256L << 10U;
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss > most_kib;
}

}  // namespace

JobPool::~JobPool() {
  for (Member& member : members_) end(member);
}

std::size_t JobPool::size() const {
  return static_cast<std::size_t>(std::ranges::count(members_, true, &Member::busy));
}

void JobPool::start(std::size_t index, const std::string& order, const JobLimits& limits) {
  const auto waits = [&](const Member& m) { return !m.busy && m.limits == limits; };
  const auto found = std::ranges::find_if(members_, waits);
  give(found != members_.end() ? *found : hire(limits), index, order);
}

/// Where the process is gone, wait() says so.
void JobPool::give(Member& member, std::size_t index, std::string order) {
  send_all(member.channel, with_header(OrderHeader{index, order.size()}, order));
  member.busy = true;
  member.index = index;
  member.order = std::move(order);
}

JobPool::Member& JobPool::hire(const JobLimits& limits) {
  std::array<int, 2> channel{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel.data()) != 0)
    throw EngineError(fmt::format("no socket for a worker: {}", std::strerror(errno)));
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) {
    obey(limits, parent);
    // Ends of other members must not stay open here, or they would not see that nobody asks.
    close(channel[0]);
    for (const Member& other : members_) close(other.channel);
    serve(channel[1]);
  }
  close(channel[1]);
  if (process < 0) {
    close(channel[0]);
    throw EngineError(fmt::format("no process for a worker: {}", std::strerror(errno)));
  }
  return members_.emplace_back(Member{.process = process, .channel = channel[0], .limits = limits});
}

void JobPool::serve(int channel) const {
  keep_memory();
  OrderHeader next;
  std::string order;
  for (bool first = true; read_all(channel, &next, sizeof next); first = false) {
    order.resize(next.size);
    if (!read_all(channel, order.data(), next.size)) break;
    const JobOutcome outcome = outcome_of([&] { return job_(next.index, order); });
    AnswerHeader header{outcome.end, simgrid_is_loaded() || is_large(), outcome.text.size()};
    // What earlier jobs left may be in the way: the order is for a process that had none.
    if (outcome.end == JobEnd::needs_memory) header.last = !first;
    if (!send_all(channel, with_header(header, outcome.text)) || header.last) break;
  }
  // _exit leaves what the parent registered alone: its buffers are flushed once, by itself.
  _exit(0);
}

bool JobPool::cancel(std::size_t index) {
  const auto has = [&](const Member& m) { return m.busy && m.index == index; };
  const auto found = std::ranges::find_if(members_, has);
  if (found == members_.end()) return false;
  end(*found);
  members_.erase(found);
  return true;
}

std::vector<WorkerAnswer> JobPool::wait(std::vector<pollfd>& others, int timeout_ms) {
  std::vector<pollfd> files = others;
  files.reserve(others.size() + members_.size());
  for (const Member& member : members_)
    files.push_back({member.busy ? member.channel : -1, POLLIN, 0});
  // An interrupted wait is one without news.
  if (poll(files.data(), files.size(), timeout_ms) < 0) {
    if (errno != EINTR)
      throw EngineError(fmt::format("waiting for workers: {}", std::strerror(errno)));
    for (pollfd& file : files) file.revents = 0;
  }
  std::copy_n(files.begin(), others.size(), others.begin());
  std::vector<WorkerAnswer> answers;
  // take_answer() may hire: members are found by their place.
  for (std::size_t k = 0; others.size() + k < files.size(); ++k)
    if (WorkerAnswer answer; files[others.size() + k].revents != 0 && take_answer(k, answer))
      answers.push_back(std::move(answer));
  std::erase_if(members_, [](const Member& member) { return member.channel < 0; });
  // By index, so that what is done with answers does not depend on who was polled first.
  std::ranges::sort(answers, {}, &WorkerAnswer::index);
  return answers;
}

bool JobPool::take_answer(std::size_t place, WorkerAnswer& answer) {
  Member& member = members_[place];
  std::array<char, 65536> buffer{};
  const ssize_t n = read(member.channel, buffer.data(), buffer.size());
  if (n < 0 && errno == EINTR) return false;
  if (n > 0) member.received.append(buffer.data(), static_cast<std::size_t>(n));
  AnswerHeader header;
  const bool begun = member.received.size() >= sizeof header;
  if (begun) std::memcpy(&header, member.received.data(), sizeof header);
  const bool whole = begun && member.received.size() == sizeof header + header.size;
  if (!whole && n > 0) return false;
  member.busy = false;
  answer.index = member.index;
  if (whole && header.end == JobEnd::needs_memory && header.last) {
    // Hired before the old one goes, since members move when one is added.
    Member& anew = hire(member.limits);
    give(anew, members_[place].index, std::move(members_[place].order));
    end(members_[place]);
    return false;
  }
  if (whole) {
    std::string text = std::exchange(member.received, {}).substr(sizeof header);
    answer.bad_input = header.end == JobEnd::threw_input;
    (header.end == JobEnd::answered ? answer.text : answer.failure) = std::move(text);
    if (header.end != JobEnd::answered && answer.failure.empty())
      answer.failure = "it threw without a word";
    // Its process has ended, or is about to.
    if (header.last) end(member);
    return true;
  }
  close(std::exchange(member.channel, -1));
  answer.failure = failure_of(status_of_ended(member.process));
  return true;
}

void JobPool::end(Member& member) {
  // One that waits ends by itself when nobody asks any more; nobody reads what another would say.
  if (member.busy) kill(member.process, SIGKILL);  // what it started ends with it, see obey()
  close(std::exchange(member.channel, -1));
  status_of_ended(member.process);
}

}  // namespace stepcast
