#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "stepcast/sim/engine/workers.hpp"

/// Private to plan/.
namespace stepcast {

/// Keeps what jobs of a search answered in one SQLite file, so that a search that was ended goes
/// on where it was. What `put` returned from survives the death of the process. Every function
/// throws InputError that names the file when it cannot be read or written, or is another kind of
/// file.
class AnswerStore {
 public:
  explicit AnswerStore(const std::string& path);
  ~AnswerStore();
  AnswerStore(const AnswerStore&) = delete;
  AnswerStore& operator=(const AnswerStore&) = delete;

  std::optional<std::string> find(const std::string& key) const;
  void put(const std::string& key, const std::string& text);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

/// run_in_workers, but jobs whose answers the store (may be null) has under `key(i)` are
/// not run; they are `done` first, in order. Failed jobs are not kept.
void run_kept(AnswerStore* store, std::size_t count, int workers,
              const std::function<std::string(std::size_t)>& key,
              const std::function<std::string(std::size_t)>& job,
              const std::function<void(const WorkerAnswer&)>& done);

}  // namespace stepcast
