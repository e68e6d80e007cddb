#pragma once
#include <cstddef>

namespace stepcast {

/// What one rank of a replay holds, generously [B]: what is not used costs addresses, not memory.
inline constexpr std::size_t room_per_rank = 96 << 10;

/// Asks the system for large pages under what is allocated from now on, as far as `bytes` reach. A
/// replay goes from rank to rank, on small pages it waits for the table of pages at most steps.
/// Nothing but speed follows from it; where C library or system have no such thing nothing happens,
/// nor where the bytes are too few to matter. Else the heap of the process keeps from then on what
/// is freed and has blocks of up to 32 MiB in it, until the process ends: one that replays again
/// and again holds as much as the largest of its replays did.
void expect_allocations(std::size_t bytes);

}  // namespace stepcast
