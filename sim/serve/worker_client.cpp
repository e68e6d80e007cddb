#include "worker_client.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>

#include "stepcast/base/program.hpp"

namespace stepcast {
namespace {

constexpr std::size_t most_slots = 1024;

/// The id of a line `{"id":7,...`; false where there is none.
bool id_of(const std::string& line, std::uint64_t& id) {
  constexpr std::string_view begin = "{\"id\":";
  if (!line.starts_with(begin)) return false;
  return std::from_chars(line.data() + begin.size(), line.data() + line.size(), id).ec ==
         std::errc{};
}

}  // namespace

WorkerClient::~WorkerClient() {
  {
    const std::lock_guard lock{mutex_};
    if (process_ > 0) kill(process_, SIGKILL);
  }
  if (reader_.joinable()) reader_.join();
}

bool WorkerClient::start() {
  // The thread of a worker that ended has to be joined before another can take its place.
  if (reader_.joinable()) reader_.join();
  std::array<int, 2> in{}, out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0) return false;
  if (pipe2(out.data(), O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    return false;
  }
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::vector<char*> words;
  for (const std::string& word : command_) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const int failure =
      posix_spawn(&process_, program_again().c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  // Ends of the other process, which has copies: a pipe closes only with its last end.
  close(in[0]);
  close(out[1]);
  if (failure != 0) {
    close(in[1]);
    close(out[0]);
    process_ = 0;
    return false;
  }
  in_ = in[1];
  reader_ = std::thread{[this, file = out[0]] { read_answers(file); }};
  return true;
}

bool WorkerClient::send(const std::string& line) const {
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t n = write(in_, line.data() + written, line.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    written += static_cast<std::size_t>(n);
  }
  return true;
}

void WorkerClient::read_answers(int file) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t n = read(file, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos;
         end = text.find('\n', begin)) {
      const std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      std::uint64_t id = 0;
      if (!id_of(line, id)) continue;  // the greeting
      const std::lock_guard lock{mutex_};
      const auto found = requests_.find(id);
      if (found != requests_.end()) found->second = {line, true};
    }
    text.erase(0, begin);
    if (text.empty()) text = {};  // an answer may have been large
    changed_.notify_all();
  }
  // The worker is gone or is ended here, and whoever waits gets no answer.
  const std::lock_guard lock{mutex_};
  close(file);
  close(in_);
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = 0;
  for (auto& [id, request] : requests_) request.done = true;
  changed_.notify_all();
}

/// Takes its place as the newest of its slot and ends the one before; true: it is older itself.
bool WorkerClient::outdated(const std::string& slot, std::uint64_t seq, std::uint64_t id) {
  if (slot.empty()) return false;
  if (newest_.size() >= most_slots) newest_.clear();
  const auto [found, added] = newest_.try_emplace(slot, Newest{seq, id});
  if (added) return false;
  if (seq < found->second.seq) return true;
  cancel(found->second.id);
  found->second = {seq, id};
  return false;
}

/// One that is answered already is left alone.
void WorkerClient::cancel(std::uint64_t id) const {
  if (requests_.contains(id)) send(fmt::format("{{\"cancel\":{}}}\n", id));
}

std::string WorkerClient::ask(const std::string& rest, const std::string& slot, std::uint64_t seq,
                              const std::vector<std::string>& ended) {
  std::unique_lock lock{mutex_};
  if (process_ == 0 && !start()) return "";
  const std::uint64_t id = next_++;
  if (outdated(slot, seq, id)) return fmt::format(R"({{"id":{},"state":"cancelled"}})", id);
  for (const std::string& other : ended) {
    const auto found = newest_.find(other);
    if (found != newest_.end() && found->second.seq < seq) cancel(found->second.id);
  }
  requests_[id] = {};
  send(fmt::format("{{\"id\":{},{}\n", id, rest));
  changed_.wait(lock, [&] { return requests_[id].done; });
  std::string answer = std::move(requests_[id].answer);
  requests_.erase(id);
  return answer;
}

}  // namespace stepcast
