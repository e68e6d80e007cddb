#pragma once
#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace stepcast {

/// A `stepcast worker` that many threads ask; started when it is needed, and again when it ended.
class WorkerClient {
 public:
  /// `command` is what follows the path of this program, its own name first.
  explicit WorkerClient(std::vector<std::string> command) : command_{std::move(command)} {}
  WorkerClient(const WorkerClient&) = delete;
  WorkerClient& operator=(const WorkerClient&) = delete;
  ~WorkerClient();

  /// Sends `{"id":N,` + `rest` and waits: the line of the answer, empty when the worker ended. Of
  /// the requests of one `slot` the one of the highest `seq` counts; one below is cancelled. An
  /// empty slot is of its own. Older requests of the slots in `ended` are cancelled, too.
  std::string ask(const std::string& rest, const std::string& slot, std::uint64_t seq,
                  const std::vector<std::string>& ended = {});

 private:
  struct Request {
    std::string answer;
    bool done = false;
  };
  struct Newest {
    std::uint64_t seq = 0, id = 0;
  };
  bool start();
  bool send(const std::string& line) const;
  void read_answers(int file);
  bool outdated(const std::string& slot, std::uint64_t seq, std::uint64_t id);
  void cancel(std::uint64_t id) const;

  const std::vector<std::string> command_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Request> requests_;  ///< by id
  std::map<std::string, Newest> newest_;       ///< by slot
  std::uint64_t next_ = 0;
  pid_t process_ = 0;  ///< 0: none
  int in_ = -1;        ///< its standard input
  std::thread reader_;
};

}  // namespace stepcast
