#pragma once
#include <cmath>

namespace stepcast {

/// The least of 1, 2, 5, 10, 20, 50 ... (or 0.5, 0.2 ...) that is at least `least` > 0.
inline double tick_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= least * (1 - 1e-9)) return digit * power;
  return 10 * power;
}

}  // namespace stepcast
