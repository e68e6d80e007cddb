#include "rivals.hpp"

namespace stepcast {

std::optional<StreamSet> Rivals::of(const NetworkCall& call, Stream stream) const {
  StreamSet all;
  for (const auto& phase : call.phases) {
    // Flows of one phase may hold each other up.
    if (phase.size() > 1) return {};
    for (const NetworkFlow& flow : phase) {
      if (others_[flow.number]) return {};
      all |= streams_[flow.number];
    }
  }
  // Its own stream is in order and cannot hold it up.
  return all.reset(static_cast<std::size_t>(stream));
}

}  // namespace stepcast
