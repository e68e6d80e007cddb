#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

/// The page with controls (docs/serve.md): HTTP in front, one `stepcast worker` behind.
namespace stepcast {

/// Where the page is served, who may ask, and the command line of its worker.
struct ServeSettings {
  std::string host = "127.0.0.1";
  int first_port = 8471, last_port = 8490;     ///< the first free one; 0: any
  std::vector<std::string> allowed_hosts;      ///< NAME or NAME:PORT, beside loopback names
  std::string token;                           ///< that every request for data has to bring
  std::vector<std::string> worker;             ///< command line of the worker
  std::vector<std::filesystem::path> folders;  ///< where scenarios to choose from lie
};

/// Serves until the process ends; `ready` gets the port. Throws InputError when no port is free.
void serve_page(const ServeSettings& settings, const std::function<void(int port)>& ready);

}  // namespace stepcast
