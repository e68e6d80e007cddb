#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "worker_client.hpp"

namespace stepcast {

/// Status and body of an HTTP answer.
struct ApiAnswer {
  int status = 200;
  std::string json;
};
/// `{"error": text}`.
ApiAnswer refused(int status, const std::string& text);

/// What the page may ask: each question is a command line of `stepcast`, put together here from
/// checked parts, so that nothing else reaches the worker.
class Api {
 public:
  Api(std::vector<std::string> worker, const std::vector<std::filesystem::path>& folders);

  /// `what` is forecast, pipeline, explain, scale, choices, edit or import; `body` is JSON
  /// (docs/serve.md).
  ApiAnswer post(std::string_view what, const std::string& body);
  /// Version and the scenarios to choose from.
  std::string hello() const { return hello_; }
  /// The text of one of them.
  ApiAnswer preset(const std::string& name) const;

 private:
  struct Preset {
    std::string name;
    std::filesystem::path path;
    std::string question, text;
  };
  const Preset* find(const std::string& name) const;

  std::vector<Preset> presets_;
  std::string hello_;
  WorkerClient worker_;
};

}  // namespace stepcast
