#pragma once
#include <cstdint>

namespace stepcast {

/// Streams of numbers, so that one seed may serve several things.
inline constexpr std::uint32_t jitter_stream = 0, gc_stream = 1, allocator_stream = 2,
                               document_stream = 3;

/// Standard normal numbers that depend on nothing but the four words (Philox 4x32-10 and
/// Box-Muller), so that they are the same in every order of evaluation. Salmon et al., Parallel
/// Random Numbers: As Easy as 1, 2, 3, SC 2011; the seed is the key, the rest the counter.
double normal_number(std::uint64_t seed, std::uint32_t rank, std::uint32_t stream,
                     std::uint64_t index);
/// Uniform in [0, 1) in steps of 2^-53, likewise.
double uniform_number(std::uint64_t seed, std::uint32_t rank, std::uint32_t stream,
                      std::uint64_t index);

}  // namespace stepcast
