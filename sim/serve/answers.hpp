#pragma once
#include <string>
#include <string_view>

namespace stepcast {

/// Status and body of an HTTP answer.
struct ApiAnswer {
  int status = 200;
  std::string json;
};
/// `{"error": text}`.
ApiAnswer refused(int status, const std::string& text);

/// Who answers the requests that the server takes. It is the program's: the module `http` sees no
/// more of it.
class Answers {
 public:
  virtual ~Answers() = default;
  /// `what` is forecast, pipeline, explain, scale, choices, edit or import; `body` is JSON
  /// (docs/serve.md).
  virtual ApiAnswer post(std::string_view what, const std::string& body) = 0;
  /// Version and the scenarios to choose from.
  virtual std::string hello() const = 0;
  /// The text of one of them.
  virtual ApiAnswer preset(const std::string& name) const = 0;
};

}  // namespace stepcast
