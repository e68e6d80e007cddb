#pragma once
#include <bit>
#include <cstdint>

namespace stepcast {

/// Spreads 64 bits (the finalizer of SplitMix64, Steele et al. 2014). Sums of mixed values are
/// hashes of multisets.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) + b); }
inline std::uint64_t mix_number(double value) { return mix(std::bit_cast<std::uint64_t>(value)); }

}  // namespace stepcast
