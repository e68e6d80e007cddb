#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "answers.hpp"
#include "worker_client.hpp"

namespace stepcast {

/// What the page may ask: each question is a command line of `stepcast`, put together here from
/// checked parts, so that nothing else reaches the worker.
class Api : public Answers {
 public:
  Api(std::vector<std::string> worker, const std::vector<std::filesystem::path>& folders);

  ApiAnswer post(std::string_view what, const std::string& body) override;
  std::string hello() const override { return hello_; }
  ApiAnswer preset(const std::string& name) const override;

 private:
  struct Preset {
    std::string name;
    std::filesystem::path path;
    std::string question, text, about;
  };
  const Preset* find(const std::string& name) const;

  std::vector<Preset> presets_;
  std::string hello_;
  WorkerClient worker_;
};

}  // namespace stepcast
