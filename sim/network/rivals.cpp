#include "rivals.hpp"

namespace stepcast {

std::optional<StreamSet> Rivals::of(const NetworkCall& call, Stream stream) const {
  StreamSet all;
  for (const auto& phase : call.phases) {
    if (phase.size() > 1) return {};
    for (const NetworkFlow& flow : phase) {
      if (others_[flow.number]) return {};
      all |= streams_[flow.number];
    }
  }
  return all.reset(static_cast<std::size_t>(stream));
}

}  // namespace stepcast
