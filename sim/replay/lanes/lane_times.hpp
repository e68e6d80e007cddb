#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "stepcast/sim/replay/lanes.hpp"

namespace stepcast {

inline constexpr std::size_t lanes = most_lanes;
inline constexpr double unknown_date = std::numeric_limits<double>::infinity();

/// A number per lane, side by side, so that one instruction takes several.
struct alignas(64) LaneTimes {
  std::array<double, lanes> at{};

  double& operator[](std::size_t lane) { return at[lane]; }
  double operator[](std::size_t lane) const { return at[lane]; }

  static LaneTimes all(double value) {
    LaneTimes result;
    result.at.fill(value);
    return result;
  }
};

inline LaneTimes operator+(const LaneTimes& a, const LaneTimes& b) {
  LaneTimes sum;
  for (std::size_t l = 0; l < lanes; ++l) sum.at[l] = a.at[l] + b.at[l];
  return sum;
}

inline LaneTimes operator+(const LaneTimes& a, double b) { return a + LaneTimes::all(b); }

inline LaneTimes operator*(const LaneTimes& a, double b) {
  LaneTimes product;
  for (std::size_t l = 0; l < lanes; ++l) product.at[l] = a.at[l] * b;
  return product;
}

inline LaneTimes later(const LaneTimes& a, const LaneTimes& b) {
  LaneTimes result;
  for (std::size_t l = 0; l < lanes; ++l) result.at[l] = a.at[l] < b.at[l] ? b.at[l] : a.at[l];
  return result;
}

/// The clocks of one rank in all lanes.
struct LaneClocks {
  LaneTimes main, worker, device;

  Clocks of(std::size_t lane) const { return {main[lane], worker[lane], device[lane]}; }
  void set(std::size_t lane, const Clocks& clocks) {
    main[lane] = clocks.main;
    worker[lane] = clocks.worker;
    device[lane] = clocks.device;
  }
};

/// SpeedFactors in all lanes.
struct LaneSpeeds {
  LaneTimes device = LaneTimes::all(1), host = LaneTimes::all(1);
  SpeedFactors of(std::size_t lane) const { return {device[lane], host[lane]}; }
};

}  // namespace stepcast
