#pragma once
#include <optional>
#include <vector>

#include "link_classes.hpp"
#include "stepcast/sim/network/network_map.hpp"

namespace stepcast {

/// Finds which streams of a rank flows can meet, link by link.
class Rivals {
 public:
  explicit Rivals(std::size_t flows) : streams_(flows), others_(flows) {}

  /// Two of these flows can be on that link at a time. `stream_of` says whose stream a flow is; a
  /// number beyond the streams stands for a channel. `of_one_device`: all are of one rank.
  template <class StreamOf>
  void meet(const LinkLoads& loads, bool of_one_device, const StreamOf& stream_of) {
    StreamSet together;
    bool others = !of_one_device;
    for (const auto& [flow, weight] : loads) {
      const std::size_t stream = stream_of(flow);
      others = others || stream >= streams;
      if (stream < streams) together.set(stream);
    }
    for (const auto& [flow, weight] : loads) {
      streams_[flow] |= together;
      others_[flow] = others_[flow] || others;
    }
  }

  /// Of a call of that stream, whose flows are numbered: nothing where a flow can meet what is not
  /// its members' own, or another one of its phase.
  std::optional<StreamSet> of(const NetworkCall& call, Stream stream) const;

 private:
  std::vector<StreamSet> streams_;  ///< by flow: of the links that it is on
  std::vector<bool> others_;        ///< by flow: it can meet transfers, or flows of other ranks
};

}  // namespace stepcast
