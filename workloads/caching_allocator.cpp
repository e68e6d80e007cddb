#include "stepcast/workloads/caching_allocator.hpp"

#include <algorithm>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

// c10/cuda/CUDACachingAllocator.cpp
constexpr std::int64_t mebi = 1 << 20;
constexpr std::int64_t least_block = 512;          // kMinBlockSize
constexpr std::int64_t small_block = mebi;         // kSmallSize: what goes into the small pool
constexpr std::int64_t small_segment = 2 * mebi;   // kSmallBuffer
constexpr std::int64_t large_segment = 20 * mebi;  // kLargeBuffer
constexpr std::int64_t own_segment = 10 * mebi;    // kMinLargeAlloc
constexpr std::int64_t segment_step = 2 * mebi;    // kRoundLarge

std::int64_t rounded(std::int64_t bytes, std::int64_t step) {
  return (bytes + step - 1) / step * step;
}

/// What the device is asked for where no free block has the room.
std::int64_t segment_bytes(std::int64_t bytes) {
  if (bytes <= small_block) return small_segment;
  return bytes < own_segment ? large_segment : rounded(bytes, segment_step);
}

/// A rest of at most 1 MiB would never serve a request of the large pool.
bool worth_splitting(std::int64_t left, bool small) {
  return small ? left >= least_block : left > small_block;
}

}  // namespace

CachingAllocator::Handle CachingAllocator::allocate(std::int64_t bytes) {
  const std::int64_t size = std::max(least_block, rounded(bytes, least_block));
  const bool small = size <= small_block;
  std::set<Key>& free = pool(small);
  // Keys are ordered by size, then by address: the first that is large enough is the best fit.
  const auto fitting = free.lower_bound({{size, 0}, 0});
  Handle handle = none;
  if (fitting == free.end()) {
    handle = new_segment(segment_bytes(size), small);
  } else {
    handle = fitting->second;
    free.erase(fitting);
  }
  if (worth_splitting(blocks_[handle].bytes - size, small)) split(handle, size);
  blocks_[handle].used = true;
  allocated_ += blocks_[handle].bytes;
  most_ = std::max(most_, allocated_);
  return handle;
}

void CachingAllocator::release(Handle handle) {
  expects(handle < blocks_.size() && blocks_[handle].used, "a block is released once");
  blocks_[handle].used = false;
  allocated_ -= blocks_[handle].bytes;
  const Handle before = blocks_[handle].before, behind = blocks_[handle].behind;
  // Blocks know their neighbours of the same segment only; segments are never joined.
  if (behind != none && !blocks_[behind].used) swallow(handle);
  if (before != none && !blocks_[before].used) {
    // Its size, and with it its key, is about to change.
    pool(blocks_[before].small).erase(key(before));
    swallow(before);
    handle = before;
  }
  pool(blocks_[handle].small).insert(key(handle));
}

void CachingAllocator::release(std::vector<Handle>& handles) {
  for (const Handle handle : handles) release(handle);
  handles.clear();
}

/// Addresses rise, so that segments are taken in the order in which they were asked for.
CachingAllocator::Handle CachingAllocator::new_segment(std::int64_t bytes, bool small) {
  const Handle handle = new_block({.address = reserved_, .bytes = bytes, .small = small});
  reserved_ += bytes;
  return handle;
}

/// Uses handles of swallowed blocks again, so that the list does not grow with the steps.
CachingAllocator::Handle CachingAllocator::new_block(const Block& block) {
  if (spare_.empty()) {
    blocks_.push_back(block);
    return blocks_.size() - 1;
  }
  const Handle handle = spare_.back();
  spare_.pop_back();
  blocks_[handle] = block;
  return handle;
}

void CachingAllocator::split(Handle handle, std::int64_t bytes) {
  // The front keeps handle and address, so that who asked gets the lower part, as PyTorch's
  // allocator cuts (CUDACachingAllocator.cpp); the rest goes back to its pool.
  const Block whole = blocks_[handle];
  const Handle left = new_block({.address = whole.address + bytes,
                                 .bytes = whole.bytes - bytes,
                                 .before = handle,
                                 .behind = whole.behind,
                                 .small = whole.small});
  if (whole.behind != none) blocks_[whole.behind].before = left;
  blocks_[handle].bytes = bytes;
  blocks_[handle].behind = left;
  pool(whole.small).insert(key(left));
}

/// The block behind, which is free.
void CachingAllocator::swallow(Handle handle) {
  const Handle behind = blocks_[handle].behind;
  pool(blocks_[behind].small).erase(key(behind));
  blocks_[handle].bytes += blocks_[behind].bytes;
  blocks_[handle].behind = blocks_[behind].behind;
  if (blocks_[handle].behind != none) blocks_[blocks_[handle].behind].before = handle;
  spare_.push_back(behind);
}

}  // namespace stepcast
