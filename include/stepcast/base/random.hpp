#pragma once
#include <cstdint>
#include <span>

namespace stepcast {

/// Each purpose has a stream of numbers of its own, so that one seed may serve several.
inline constexpr std::uint32_t jitter_stream = 0, gc_stream = 1, allocator_stream = 2,
                               document_stream = 3, spread_device_stream = 4,
                               spread_node_stream = 5, spread_host_stream = 6,
                               spread_link_stream = 7, spread_slow_stream = 8,
                               spread_event_stream = 9, spread_shared_stream = 10,
                               failure_stream = 11, hash_stream = 12, flap_stream = 13,
                               deal_stream = 14;

/// These standard normal numbers depend on nothing but the four words (Philox 4x32-10 and
/// Box-Muller), so that they are the same in every order of evaluation. The seed is the key, the
/// rest the counter. Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011.
double normal_number(std::uint64_t seed, std::uint32_t rank, std::uint32_t stream,
                     std::uint64_t index);
/// Uniform in [0, 1) in steps of 2^-53, and depend on the words alone likewise.
double uniform_number(std::uint64_t seed, std::uint32_t rank, std::uint32_t stream,
                      std::uint64_t index);

}  // namespace stepcast
