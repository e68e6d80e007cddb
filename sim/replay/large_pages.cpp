#include "large_pages.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>

// Any header of the library says whether it is glibc.
#if defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>
#endif

namespace stepcast {

#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
namespace {

constexpr std::size_t page = std::size_t{2} << 20;     ///< large, of x86-64 and of most of AArch64
constexpr std::size_t fewest = std::size_t{16} << 20;  ///< more than fits a second-level cache
/// The heap keeps no more when it is given back.
constexpr std::size_t most = std::numeric_limits<int>::max() - page;

}  // namespace

/// The heap grows by the block and keeps it when it is freed, so that what comes next lies on its
/// pages. glibc would map a block of its own instead, and give the end of the heap back. A kernel
/// without large pages refuses the advice, which changes nothing.
void expect_allocations(std::size_t bytes) {
  // Small replays live in the caches, where pages do not matter.
  if (bytes < fewest) return;
  constexpr int usual_maps = 65536, largest_threshold = 32 << 20;
  const std::size_t size = std::min(bytes, most);
  // Freed memory stays with the process and its large pages.
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_MMAP_THRESHOLD, largest_threshold);
  // Without maps of its own the block comes from the heap, which then has grown by it.
  mallopt(M_MMAP_MAX, 0);
  void* const block = std::malloc(size);
  if (block != nullptr) {
    void* begin = block;
    std::size_t room = size;
    // Advice is given for whole large pages alone.
    if (std::align(page, page, begin, room) != nullptr)
      madvise(begin, room / page * page, MADV_HUGEPAGE);
    std::free(block);
  }
  mallopt(M_MMAP_MAX, usual_maps);
}
#else
void expect_allocations(std::size_t) {}
#endif

}  // namespace stepcast
