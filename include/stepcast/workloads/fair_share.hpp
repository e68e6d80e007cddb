#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace stepcast {

/// A flow goes over links that it shares with others: it takes weight x its own rate on each.
struct SharedFlow {
  double latency = 0;  ///< after its bytes [s]
  double bytes = 0;
  std::vector<std::pair<std::uint32_t, double>> links;  ///< (index, weight > 0)
};

/// The time [s] until the last of the flows has arrived when all start together and nothing
/// else moves. Rates are max-min fair and change when a flow ends (progressive filling: Bertsekas
/// and Gallager, Data Networks, 6.5.2). A flow without links takes its latency. `bandwidths` are in
/// B/s.
double time_together(std::span<const SharedFlow> flows, std::span<const double> bandwidths);

}  // namespace stepcast
