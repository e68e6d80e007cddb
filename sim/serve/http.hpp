#pragma once
#include <cstddef>
#include <string>

#include "stepcast/sim/serve/serve.hpp"

namespace httplib {
class Server;
}

namespace stepcast {

class Api;

/// 1 MiB of a scenario and what is around it.
inline constexpr std::size_t most_request_bytes = (std::size_t{1} << 20U) + (std::size_t{1} << 16U);

/// Gives a server its routes, its limits and its refusals (docs/serve.md, Safety).
void set_up(httplib::Server& server, Api& api, const ServeSettings& settings);

}  // namespace stepcast
