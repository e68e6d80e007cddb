// Module `http`: the only code that links cpp-httplib, and with it TLS and brotli.
#include <httplib.h>

#include <algorithm>

#include "front.hpp"
#include "http.hpp"

namespace stepcast {
namespace {

/// The port that the server listens on; 0 where none is free.
int bind(httplib::Server& server, const ServeSettings& settings) {
  if (settings.first_port == 0) return std::max(server.bind_to_any_port(settings.host), 0);
  for (int port = settings.first_port; port <= settings.last_port; ++port)
    if (server.bind_to_port(settings.host, port)) return port;
  return 0;
}

}  // namespace
}  // namespace stepcast

extern "C" [[gnu::visibility("default")]] bool stepcast_serve_http(
    const stepcast::ServeSettings& settings, stepcast::Answers& answers,
    const std::function<void(int)>& ready) {
  using namespace stepcast;
  Front server{most_request_bytes};
  set_up(server, answers, settings);
  // SO_REUSEPORT, the library's own choice, would let two servers share a port.
  server.set_socket_options([](auto socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  const int port = bind(server, settings);
  if (port == 0) return false;
  server.accept_many();
  ready(port);
  server.listen_after_bind();
  return true;
}
