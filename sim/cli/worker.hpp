#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "commands.hpp"

/// The protocol of `stepcast worker` (docs/worker.md): a line of JSON is a message.
namespace stepcast::cli {

struct WorkerOptions {
  std::string workers;  ///< -j; empty: one per processor
  std::string memory;   ///< of one request, `2GiB`; empty: no limit
  std::string seconds;  ///< of one request; empty: no limit
  bool no_files = false;
  bool confined = false;             ///< reads presets and `folders` only
  std::vector<std::string> folders;  ///< --folder
};
/// What one request's command line gives.
using Answering = std::function<Outcome(const std::vector<std::string>& arguments)>;
/// Reads requests from stdin and answers on stdout until stdin ends or stdout is closed.
Outcome worker(const WorkerOptions& options, const Answering& answering);

struct WorkRequest {
  std::uint64_t id = 0;
  std::vector<std::string> arguments;  ///< of stepcast
  std::string input;                   ///< its standard input
  std::string directory;               ///< that relative paths count from; empty: the worker's
  double seconds = 0;                  ///< 0: as the worker was told
  bool background = false;             ///< of lower priority
};
struct CancelRequest {
  std::uint64_t id = 0;
};
/// A line that is no request: why, and whose it would have been.
struct WrongRequest {
  std::optional<std::uint64_t> id;
  std::string message;
};
using WorkerMessage = std::variant<WorkRequest, CancelRequest, WrongRequest>;

/// What `list` shows of a preset.
struct ListedPreset {
  std::string kind, name, question;
  std::string facts;  ///< other names and sizes; empty: none are known
};
/// `list --json`, for the programs that ask a worker.
std::string presets_json(const std::vector<ListedPreset>& presets);

/// A line that read_message() takes for this request again.
std::string order_of(const WorkRequest& request);

/// Never throws.
WorkerMessage read_message(const std::string& line);
/// The first line of a worker: version of the protocol and of the program.
std::string worker_greeting();
/// Runs a request in the current process. The text is the answer without its id.
std::string answer_of(const WorkRequest& request, const Answering& answering);
/// The line of an answer that answer_of() gave.
std::string done_line(std::uint64_t id, const std::string& answer);
/// The line of a request without an answer; `state` is cancelled, timeout, failed or refused.
std::string ended_line(std::optional<std::uint64_t> id, const char* state,
                       const std::string& message);

}  // namespace stepcast::cli
