#pragma once
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

/// Device memory as PyTorch's caching allocator hands it out (docs/models/memory.md, "What an
/// allocator keeps").
namespace stepcast {

/// Blocks of one stream, without limits on splitting, without expandable segments, on a device that
/// does not run out. Segments are asked for and never given back.
class CachingAllocator {
 public:
  using Handle = std::size_t;

  /// The smallest free block that has the room, or one of a new segment; what is left of it is
  /// split off.
  Handle allocate(std::int64_t bytes);
  /// Joins free neighbours of the same segment. Each handle once.
  void release(Handle handle);
  /// All of them, which are forgotten.
  void release(std::vector<Handle>& handles);
  /// Asks for a block and gives it back.
  void touch(std::int64_t bytes) { release(allocate(bytes)); }

  std::int64_t reserved() const { return reserved_; }    ///< bytes of all segments
  std::int64_t allocated() const { return allocated_; }  ///< of blocks in use, rounded up
  std::int64_t most_allocated() const { return most_; }  ///< at once, until now

 private:
  static constexpr Handle none = static_cast<Handle>(-1);

  struct Block {
    std::int64_t address = 0, bytes = 0;
    Handle before = none, behind = none;  ///< in the segment
    bool small = false, used = false;
  };
  using Key = std::pair<std::pair<std::int64_t, std::int64_t>, Handle>;  ///< bytes, address

  std::set<Key>& pool(bool small) { return small ? small_ : large_; }
  Key key(Handle handle) const {
    return {{blocks_[handle].bytes, blocks_[handle].address}, handle};
  }
  Handle new_segment(std::int64_t bytes, bool small);
  Handle new_block(const Block& block);
  void split(Handle handle, std::int64_t bytes);
  void swallow(Handle handle);

  std::vector<Block> blocks_;
  std::vector<Handle> spare_;  ///< of `blocks_`, those that were joined to others
  std::set<Key> small_, large_;
  std::int64_t reserved_ = 0, allocated_ = 0, most_ = 0;
};

}  // namespace stepcast
