#include "stepcast/workloads/caching_allocator.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

// Segments, splitting and joining of PyTorch's caching allocator (docs/models/memory.md).
namespace stepcast {
namespace {

constexpr std::int64_t block_kibi = 1024, block_mebi = 1024 * block_kibi;

TEST(CachingAllocator, RoundsBlocksAndSegments) {
  CachingAllocator memory;
  memory.allocate(1);
  EXPECT_EQ(memory.allocated(), 512);
  EXPECT_EQ(memory.reserved(), 2 * block_mebi);  // of the small pool
  memory.allocate(block_mebi + 1);
  EXPECT_EQ(memory.allocated(), 512 + block_mebi + 512);
  EXPECT_EQ(memory.reserved(), 22 * block_mebi);  // shared by blocks below 10 MiB
  memory.allocate(18 * block_mebi);
  EXPECT_EQ(memory.reserved(), 22 * block_mebi);  // fits into what is left
  memory.allocate(11 * block_mebi);
  EXPECT_EQ(memory.reserved(), 34 * block_mebi);  // in steps of 2 MiB
}

TEST(CachingAllocator, GivesTheSmallestBlockThatFits) {
  CachingAllocator memory;
  const auto large = memory.allocate(64 * block_mebi), between = memory.allocate(20 * block_mebi),
             small = memory.allocate(32 * block_mebi);
  memory.release(large);
  memory.release(small);
  memory.release(memory.allocate(30 * block_mebi));  // out of 32, of which 2 are split off
  memory.allocate(64 * block_mebi);
  EXPECT_EQ(memory.reserved(), 116 * block_mebi);
  memory.release(between);
  memory.allocate(32 * block_mebi);
  EXPECT_EQ(memory.reserved(), 116 * block_mebi);  // the two parts are one again
}

TEST(CachingAllocator, SegmentsAreNotJoined) {
  CachingAllocator memory;
  const auto first = memory.allocate(40 * block_mebi), second = memory.allocate(40 * block_mebi);
  memory.release(first);
  memory.release(second);
  memory.allocate(80 * block_mebi);
  EXPECT_EQ(memory.reserved(), 160 * block_mebi);
  EXPECT_EQ(memory.most_allocated(), 80 * block_mebi);
}

TEST(CachingAllocator, LeavesAMebibyteUnsplit) {
  CachingAllocator memory;
  memory.release(memory.allocate(20 * block_mebi));
  memory.allocate(19 * block_mebi);
  EXPECT_EQ(memory.allocated(), 20 * block_mebi);
  CachingAllocator split;
  split.release(split.allocate(20 * block_mebi));
  split.allocate(19 * block_mebi - 512);
  EXPECT_EQ(split.allocated(), 19 * block_mebi - 512);
}

/// The same rules, every block of every segment in one list by address, searched from end to end.
class PlainAllocator {
 public:
  std::size_t allocate(std::int64_t bytes) {
    const std::int64_t size = std::max<std::int64_t>(512, (bytes + 511) / 512 * 512);
    const bool small = size <= block_mebi;
    auto best = blocks_.end();
    for (auto b = blocks_.begin(); b != blocks_.end(); ++b)
      if (b->id == 0 && b->small == small && b->bytes >= size &&
          (best == blocks_.end() || b->bytes < best->bytes))
        best = b;
    if (best == blocks_.end()) {
      const std::int64_t segment = small                    ? 2 * block_mebi
                                   : size < 10 * block_mebi ? 20 * block_mebi
                                                            : (size + 2 * block_mebi - 1) /
                                                                  (2 * block_mebi) * 2 * block_mebi;
      reserved += segment;
      best = blocks_.insert(blocks_.end(), {segment, 0, ++segments_, small});
    }
    const std::int64_t left = best->bytes - size;
    if (small ? left >= 512 : left > block_mebi) {
      const Block rest{left, 0, best->segment, small};
      best->bytes = size;
      best = blocks_.insert(best + 1, rest) - 1;
    }
    best->id = ++ids_;
    return ids_;
  }

  void release(std::size_t id) {
    auto block = std::ranges::find(blocks_, id, &Block::id);
    block->id = 0;
    const auto join = [&](auto left) {
      if (left + 1 == blocks_.end() || left->id != 0 || (left + 1)->id != 0 ||
          left->segment != (left + 1)->segment)
        return;
      left->bytes += (left + 1)->bytes;
      blocks_.erase(left + 1);
    };
    join(block);
    if (block != blocks_.begin()) join(block - 1);
  }

  std::int64_t reserved = 0;

 private:
  struct Block {
    std::int64_t bytes;
    std::size_t id;
    std::int64_t segment;
    bool small;
  };
  std::vector<Block> blocks_;
  std::size_t ids_ = 0;
  std::int64_t segments_ = 0;
};

TEST(CachingAllocator, DoesWhatAPlainListDoes) {
  EXPECT_TRUE(rc::check([] {
    CachingAllocator memory;
    PlainAllocator plain;
    std::vector<std::pair<CachingAllocator::Handle, std::size_t>> held;
    const int steps = *rc::gen::inRange(1, 200);
    for (int step = 0; step < steps; ++step) {
      if (!held.empty() && *rc::gen::inRange(0, 2) == 0) {
        const auto at = held.begin() + *rc::gen::inRange<std::ptrdiff_t>(
                                           0, static_cast<std::ptrdiff_t>(held.size()));
        memory.release(at->first);
        plain.release(at->second);
        held.erase(at);
      } else {
        const std::int64_t bytes =
            *rc::gen::inRange<std::int64_t>(1, 64) *
            *rc::gen::element<std::int64_t>(100, 100 * block_kibi, block_mebi);
        held.emplace_back(memory.allocate(bytes), plain.allocate(bytes));
      }
      RC_ASSERT(memory.reserved() == plain.reserved);
      RC_ASSERT(memory.most_allocated() <= memory.reserved());
    }
    for (const auto& [handle, id] : held) memory.release(handle);
    RC_ASSERT(memory.allocated() == 0);
  }));
}

}  // namespace
}  // namespace stepcast
