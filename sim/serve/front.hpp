#pragma once
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace stepcast {

/// A server whose connections take a thread only once their whole request is there (docs/serve.md,
/// Safety): whoever says nothing, half of it or each byte late costs a descriptor for a few
/// seconds. Above `most_waiting` connections that wait, the newest silent ones are answered 503;
/// of more than `most_begun` requests that one peer began and did not end, its oldest are.
class Front : public httplib::Server {
 public:
  static constexpr std::size_t most_waiting = 256, most_begun = 32;

  /// A request of more than `most_bytes` is passed on without its body, to be refused.
  explicit Front(std::size_t most_bytes);
  ~Front() override;
  /// After binding: the library lets five connections wait to be accepted, and others for seconds.
  void accept_many() { ::listen(svr_sock_, static_cast<int>(2 * most_waiting)); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    int socket;
    Clock::time_point since;
    std::string text;
    std::size_t length = 0;  ///< of the whole request; 0: its head is not there yet
    std::string peer;        ///< its address; of one of IPv6 the network
  };
  enum class Next { wait, close, answer };

  bool process_and_close_socket(socket_t socket) override;
  void watch();
  void take_new();
  void read_ready();
  void drop_late();
  void drop_begun(const std::string& peer);
  Next read(Connection& connection) const;
  void find_length(Connection& connection) const;
  void answer(Connection connection);
  void serve(Connection& connection);

  const std::size_t most_bytes_;
  std::mutex mutex_;
  std::list<Connection> new_;      ///< accepted, for the watcher to take
  std::list<Connection> waiting_;  ///< the watcher's own, in the order of their coming
  std::atomic<std::size_t> open_{0}, answering_{0};
  std::atomic<bool> ends_{false};
  int wake_;  ///< an eventfd
  httplib::ThreadPool pool_;
  std::thread watcher_;
};

}  // namespace stepcast
