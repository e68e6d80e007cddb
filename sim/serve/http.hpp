#pragma once
#include <string>

#include "stepcast/sim/serve/serve.hpp"

namespace httplib {
class Server;
}

namespace stepcast {

class Api;

/// Gives a server its routes, its limits and its refusals (docs/serve.md, Safety).
void set_up(httplib::Server& server, Api& api, const ServeSettings& settings);

}  // namespace stepcast
