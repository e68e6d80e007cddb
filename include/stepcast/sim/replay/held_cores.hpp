#pragma once
#include <algorithm>

namespace stepcast {

/// An exchange that the compute stream is about to wait for, in seconds of the replay.
struct HeldExchange {
  double held = 0;            ///< part of the cores that its kernel holds
  double start = 0, end = 0;  ///< while it runs
  double issued = 0;          ///< where the compute stream was when it was issued
  double worked = 0;          ///< what the compute stream has computed since then
};

/// Device time that it took from what was computed beside it: while it ran, the compute stream did
/// 1 - held of the work that is booked. `now` is the clock of the compute stream without it, so
/// that max(end, now + result) is when the stream goes on; what fits before `end` delays nothing.
/// At least 0. Model: docs/models/collectives.md, "Beside what is computed".
inline double taken_by(const HeldExchange& exchange, double now) {
  const double from = std::max(exchange.start, exchange.issued);
  const double beside = std::min(std::min(now, exchange.end) - from, exchange.worked);
  if (!(exchange.held > 0) || !(beside > 0)) return 0;
  return std::min(exchange.held * (exchange.end - from),
                  beside * exchange.held / (1 - exchange.held));
}

}  // namespace stepcast
