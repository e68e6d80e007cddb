#pragma once
#include <string>
#include <vector>

#include "commands.hpp"

namespace stepcast::cli {

struct ChoicesOptions : PresetOptions {
  std::string scenario;
  LaunchOptions launch;
  std::vector<std::string> keys;       ///< `path.to.key=value,value`
  std::vector<std::string> overrides;  ///< --set
  std::string json;                    ///< as for run
};
Outcome choices(const ChoicesOptions& options);

struct ServeOptions {
  std::string port;                         ///< empty: 8471 or the next free one
  std::string host = "127.0.0.1", workers;  ///< workers: empty: one per processor
  std::vector<std::string> allowed_hosts, folders;
  bool opens = false;
};
/// Serves until a signal ends the process.
Outcome serve(const ServeOptions& options);

}  // namespace stepcast::cli
