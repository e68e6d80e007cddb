#pragma once
#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>

namespace stepcast {

/// A request that has been read; what is written goes to its socket. Whoever does not read an
/// answer is given `longest_write` from its first byte on: how long it takes to find the answer
/// is the worker's own limit.
class WholeRequest : public httplib::Stream {
 public:
  WholeRequest(int socket, const std::string& text, std::chrono::milliseconds longest_write)
      : socket_{socket}, text_{text}, longest_write_{longest_write} {}

  bool is_readable() const override { return place_ < text_.size(); }
  bool is_writable() const override { return !end_ || Clock::now() < *end_; }
  ssize_t read(char* to, std::size_t size) override {
    const std::size_t count = std::min(size, text_.size() - place_);
    std::memcpy(to, text_.data() + place_, count);
    place_ += count;
    return static_cast<ssize_t>(count);
  }
  /// The socket's own timeout ends a write that nobody reads.
  ssize_t write(const char* from, std::size_t size) override {
    if (!end_) end_ = Clock::now() + longest_write_;
    return is_writable() ? send(socket_, from, size, MSG_NOSIGNAL) : -1;
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    get_remote_ip_and_port(ip, port);
  }
  socket_t socket() const override { return socket_; }

 private:
  using Clock = std::chrono::steady_clock;
  int socket_;
  const std::string& text_;
  std::size_t place_ = 0;
  std::chrono::milliseconds longest_write_;
  std::optional<Clock::time_point> end_;
};

}  // namespace stepcast
