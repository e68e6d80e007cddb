#include "stepcast/sim/serve/serve.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "command_line.hpp"
#include "option.hpp"
#include "stepcast/base/confined_files.hpp"

namespace stepcast::cli {
namespace {

struct ServeOptions {
  std::string port;                         ///< empty: 8471 or the next free one
  std::string host = "127.0.0.1", workers;  ///< workers: empty: one per processor
  std::vector<std::string> allowed_hosts, folders;
  bool opens = false;
};

namespace fs = std::filesystem;

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string new_token() {
  std::random_device device;  // getrandom(2)
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

/// The token of earlier calls by this user, so that links still open; of this call alone where
/// there is no place to keep it.
std::string kept_token() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime == nullptr || *runtime == 0) return new_token();
  const fs::path folder = fs::path(runtime) / "stepcast", file = folder / "token";
  std::string token;
  if (std::ifstream{file} >> token && token.size() == 32) return token;
  token = new_token();
  std::error_code failure;
  fs::create_directories(folder, failure);
  const mode_t before = umask(0077);
  std::ofstream{file} << token << "\n";
  umask(before);
  return token;
}

/// What a large request took goes back to the system when it is done: by default each of 64 threads
/// keeps a heap of its own.
void keep_little() {
  constexpr int heaps = 2, large = 1 << 16, rest = 1 << 20;
  mallopt(M_ARENA_MAX, heaps);
  mallopt(M_MMAP_THRESHOLD, large);
  mallopt(M_TRIM_THRESHOLD, rest);
}

void open_browser(const std::string& address) {
  if (fork() != 0) return;
  execlp("xdg-open", "xdg-open", address.c_str(), static_cast<char*>(nullptr));
  _exit(1);
}

/// Serves until a signal ends the process.
Outcome serve(const ServeOptions& options) {
  constexpr std::int64_t most_port = 65535;
  ServeSettings settings{.host = options.host, .allowed_hosts = options.allowed_hosts};
  if (!options.port.empty())
    settings.first_port = settings.last_port =
        static_cast<int>(count_option("--port", options.port, 0, most_port));
  // A name that browsers ask for is what keeps other sites from using the server (DNS rebinding).
  if (!is_loopback(options.host) && options.allowed_hosts.empty())
    bad_option("--host",
               "lets others use this machine and needs --allow-host, the name under which "
               "browsers ask; allowed without it: 127.0.0.1");
  settings.token = kept_token();
  settings.folders = default_search_path(options.folders).directories;
  // The worker has no access to files but presets, and bounded memory and time: whoever sees the
  // page may ask it anything.
  settings.worker = {"stepcast", "worker",  "--no-files", "--confined",
                     "--memory", "1536MiB", "--seconds",  "20"};
  for (const std::string& folder : options.folders)
    settings.worker.insert(settings.worker.end(), {"--folder", folder});
  if (!options.workers.empty())
    settings.worker.insert(settings.worker.end(), {"--jobs", options.workers});
  keep_little();
  read_files_only_from(settings.folders);  // a link among the presets may lead elsewhere
  // A browser that closes its connection must not end the server.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);
  serve_page(settings, [&](int port) {
    const std::string host = is_loopback(options.host) ? options.host : "localhost";
    const std::string address = fmt::format("http://{}:{}/#token={}", host, port, settings.token);
    // Printed and flushed at once, since scripts wait for the line.
    std::cout << address << "\n" << std::flush;
    if (options.opens) open_browser(address);
  });
  return {};
}

}  // namespace

void add_serve_commands(CommandLine& line) {
  const auto [sub, options] =
      line.command(serve, "serve", "open a page in the browser that answers while one turns knobs",
                   "stepcast serve --folder my-scenarios");
  sub->add_option("--port", options->port,
                  "port, 0 for any free one; default: 8471 or the next free");
  sub->add_option("--host", options->host,
                  "address to listen on; anything but loopback lets others use this machine");
  repeated(sub, "--allow-host NAME[:PORT]", options->allowed_hosts,
           "name under which browsers may ask, with --host (repeatable)");
  repeated(sub, "--folder DIR", options->folders, "folder of scenarios and presets (repeatable)");
  option(sub, "-j,--jobs N", options->workers, "forecasts at a time, default: all processors");
  sub->add_flag("--open", options->opens, "open the page in the browser");
}

}  // namespace stepcast::cli
