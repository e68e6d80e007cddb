#pragma once

namespace stepcast {

/// One function object of several, for std::visit: without a catch-all among them a new alternative
/// of the variant fails to compile where it is not handled.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace stepcast
