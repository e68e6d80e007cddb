#include "front.hpp"

#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <set>
#include <vector>

#include "whole_request.hpp"

namespace stepcast {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t threads = 64;
constexpr std::size_t most_open = 2 * Front::most_waiting;  ///< with those of the last moment
constexpr std::size_t longest_head = 1U << 16U;
constexpr std::size_t most_held = std::size_t{64} << 20U;  ///< bytes of requests that are not whole
/// A browser speaks as soon as it is connected.
constexpr milliseconds moment{100}, silence{5000}, patience{10000}, longest_write{30000};
constexpr milliseconds tick{50};

/// Tells a client that there are too many, as far as it listens.
void refuse(int socket) {
  constexpr std::string_view text =
      "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 45\r\n"
      "Retry-After: 5\r\nConnection: close\r\n\r\n"
      "{\"error\":\"too many connections, ask again\"}\r\n";
  std::array<char, 4096> unread{};
  while (recv(socket, unread.data(), unread.size(), MSG_DONTWAIT) > 0) {
  }
  static_cast<void>(!send(socket, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  shutdown(socket, SHUT_RDWR);
  close(socket);
}

/// Where a connection comes from. A host of IPv6 has the addresses of a whole network.
std::string peer_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  constexpr std::size_t network = 8;
  if (address.ss_family == AF_INET6)
    return {reinterpret_cast<const char*>(&reinterpret_cast<sockaddr_in6&>(address).sin6_addr),
            network};
  if (address.ss_family == AF_INET)
    return {reinterpret_cast<const char*>(&reinterpret_cast<sockaddr_in&>(address).sin_addr),
            sizeof(in_addr)};
  return {};
}

/// ASCII letters as small ones.
std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  });
  return text;
}

/// Hides what a client could decompress. The library takes brotli at its slowest, 1.7 ms for each
/// kB (docs/serve.md), and the client is on the same machine.
void ask_for_plain_answer(std::string& text) {
  const std::string head = lowered(text.substr(0, text.find("\r\n\r\n")));
  constexpr std::string_view name = "\r\naccept-encoding:";
  for (std::size_t place = head.find(name); place != std::string::npos;
       place = head.find(name, place + name.size()))
    text[place + 2] = 'X';
}

/// Jobs of the accepting thread are done at once: they only hand the connection over.
struct AtOnce : httplib::TaskQueue {
  void enqueue(std::function<void()> job) override { job(); }
  void shutdown() override {}
};

}  // namespace

Front::Front(std::size_t most_bytes)
    : most_bytes_{most_bytes}, wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}, pool_{threads} {
  new_task_queue = [] { return new AtOnce; };
  watcher_ = std::thread{[this] { watch(); }};
}

Front::~Front() {
  ends_ = true;
  eventfd_write(wake_, 1);
  watcher_.join();
  pool_.shutdown();
  take_new();
  for (const Connection& connection : waiting_) close(connection.socket);
  close(wake_);
}

bool Front::process_and_close_socket(socket_t socket) {
  if (open_ >= most_open) {
    refuse(socket);
    return false;
  }
  ++open_;
  {
    const std::lock_guard lock{mutex_};
    new_.push_back({socket, Clock::now(), {}, 0, peer_of(socket)});
  }
  eventfd_write(wake_, 1);
  return true;
}

void Front::watch() {
  while (!ends_) {
    read_ready();
    drop_late();
    take_new();
  }
}

void Front::take_new() {
  const std::lock_guard lock{mutex_};
  waiting_.splice(waiting_.end(), new_);
}

/// Waits until something comes, at most for a tick where deadlines are open, and reads it.
void Front::read_ready() {
  std::vector<pollfd> files{{wake_, POLLIN, 0}};
  for (const Connection& connection : waiting_) files.push_back({connection.socket, POLLIN, 0});
  if (poll(files.data(), files.size(), waiting_.empty() ? -1 : static_cast<int>(tick.count())) <= 0)
    return;
  eventfd_t count = 0;
  if (files.front().revents != 0) eventfd_read(wake_, &count);
  // All texts that were begun and not finished count together, so that many slow senders cannot
  // fill the memory.
  std::size_t held = 0;
  std::set<std::string> began;
  for (const Connection& connection : waiting_) held += connection.text.size();
  auto connection = waiting_.begin();
  for (std::size_t i = 1; i < files.size(); ++i) {
    const auto current = connection++;
    if (files[i].revents == 0) continue;
    const std::size_t before = current->text.size();
    const Next next = read(*current);
    held += current->text.size() - before;
    // A new beginning may displace older ones of the same peer; that is decided behind the loop,
    // which holds an iterator.
    if (next == Next::wait && before == 0 && !current->text.empty()) began.insert(current->peer);
    // Beyond the limit whoever has just sent is refused.
    if (next == Next::wait && held <= most_held) continue;
    if (next == Next::answer) {
      answer(std::move(*current));
    } else {
      next == Next::close ? static_cast<void>(close(current->socket)) : refuse(current->socket);
      --open_;
    }
    waiting_.erase(current);
  }
  for (const std::string& peer : began) drop_begun(peer);
}

/// The oldest go: who sends whole requests is done before others push him out.
void Front::drop_begun(const std::string& peer) {
  const auto begun = [&](const Connection& c) { return c.peer == peer && !c.text.empty(); };
  auto surplus = std::ranges::count_if(waiting_, begun) - static_cast<std::ptrdiff_t>(most_begun);
  for (auto next = waiting_.begin(); surplus > 0 && next != waiting_.end();) {
    const auto current = next++;
    if (!begun(*current)) continue;
    refuse(current->socket);
    --open_;
    --surplus;
    waiting_.erase(current);
  }
}

/// The end of a stream that began a request is left to the server to complain about.
Front::Next Front::read(Connection& connection) const {
  std::array<char, 65536> buffer{};
  const ssize_t count = recv(connection.socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR ? Next::wait : Next::close;
  if (count == 0) return connection.text.empty() ? Next::close : Next::answer;
  connection.text.append(buffer.data(), static_cast<std::size_t>(count));
  if (connection.length == 0) find_length(connection);
  const bool whole = connection.length > 0 && connection.text.size() >= connection.length;
  return whole || (connection.length == 0 && connection.text.size() > longest_head) ? Next::answer
                                                                                    : Next::wait;
}

/// Where the server will refuse by the head alone, the request is whole with it.
void Front::find_length(Connection& connection) const {
  const std::size_t end = connection.text.find("\r\n\r\n");
  if (end == std::string::npos) return;
  connection.length = end + 4;
  const std::string head = lowered(connection.text.substr(0, end + 2));
  constexpr std::string_view name = "\r\ncontent-length:";
  std::size_t place = head.find(name);
  if (place == std::string::npos) return;
  place = head.find_first_not_of(' ', place + name.size());
  std::size_t body = 0;
  const auto parsed = std::from_chars(head.data() + place, head.data() + head.size(), body);
  if (parsed.ec != std::errc{} || body > most_bytes_) return;
  connection.length += body;
  if (head.find("\r\nexpect: 100-continue") != std::string::npos)
    static_cast<void>(
        !send(connection.socket, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_DONTWAIT | MSG_NOSIGNAL));
}

/// Of more connections than may wait the silent ones are refused, the newest first.
void Front::drop_late() {
  const Clock::time_point now = Clock::now();
  std::size_t waiting = waiting_.size() + answering_;
  for (auto next = waiting_.end(); next != waiting_.begin();) {
    const auto current = --next;
    const auto age = now - current->since;
    const bool crowded = waiting > most_waiting && current->text.empty() && age > moment;
    if (!crowded && age <= (current->text.empty() ? silence : patience)) continue;
    crowded ? refuse(current->socket) : static_cast<void>(close(current->socket));
    --waiting;
    --open_;
    next = waiting_.erase(current);
  }
}

void Front::answer(Connection connection) {
  if (answering_ >= most_waiting) {
    refuse(connection.socket);
    --open_;
    return;
  }
  ++answering_;
  pool_.enqueue([this, held = std::make_shared<Connection>(std::move(connection))] {
    serve(*held);
    --answering_;
    --open_;
  });
}

void Front::serve(Connection& connection) {
  ask_for_plain_answer(connection.text);
  WholeRequest stream{connection.socket, connection.text, longest_write};
  bool closed = false;
  process_request(stream, true, closed, nullptr);
  shutdown(connection.socket, SHUT_RDWR);
  close(connection.socket);
  connection.text = {};
  malloc_trim(0);  // an answer of many errors is many small pieces
}

}  // namespace stepcast
