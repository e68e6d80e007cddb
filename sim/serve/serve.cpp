#include "stepcast/sim/serve/serve.hpp"

#include <httplib.h>

#include <algorithm>

#include "api.hpp"
#include "front.hpp"
#include "http.hpp"
#include "stepcast/base/errors.hpp"

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

void serve_page(const ServeSettings& settings, const std::function<void(int port)>& ready) {
  Api api{settings.worker, settings.folders};
  Front server{most_request_bytes};
  set_up(server, api, settings);
  // SO_REUSEPORT, the library's own choice, would let two servers share a port.
  server.set_socket_options([](auto socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  const int port = bind(server, settings);
  if (port == 0)
    throw InputError({Diagnostic{
        {}, "--port", "is not free on " + settings.host + ", allowed: another one, or 0 for any"}});
  server.accept_many();
  ready(port);
  server.listen_after_bind();
}

}  // namespace stepcast
