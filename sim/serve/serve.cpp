#include "stepcast/sim/serve/serve.hpp"

#include "api.hpp"
#include "http.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/module.hpp"

namespace stepcast {

const std::string& http_fingerprint();  // cmake/fingerprint.cmake

void serve_page(const ServeSettings& settings, const std::function<void(int port)>& ready) {
  auto* const serve_http =
      reinterpret_cast<ServeHttp*>(module_entry("http", "stepcast_serve_http", http_fingerprint()));
  Api api{settings.worker, settings.folders};
  if (!serve_http(settings, api, ready))
    refuse_input({}, "--port",
                 "is not free on " + settings.host + ", allowed: another one, or 0 for any");
}

}  // namespace stepcast
