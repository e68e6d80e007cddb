#pragma once
#include <cstddef>
#include <functional>

#include "stepcast/sim/serve/serve.hpp"

namespace httplib {
class Server;
}

namespace stepcast {

class Answers;

/// 1 MiB of a scenario and what is around it.
inline constexpr std::size_t most_request_bytes = (std::size_t{1} << 20U) + (std::size_t{1} << 16U);

/// Gives a server its routes, its limits and its refusals (docs/serve.md, Safety).
void set_up(httplib::Server& server, Answers& answers, const ServeSettings& settings);

/// The entry of module `http`: serves until the process ends; `ready` gets the port. False: none is
/// free.
using ServeHttp = bool(const ServeSettings& settings, Answers& answers,
                       const std::function<void(int port)>& ready);

}  // namespace stepcast
