#include "huge_pages.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace stepcast {
namespace {

constexpr std::size_t usual_growth = std::size_t{128} << 10U;  // of glibc's heap
constexpr std::size_t least_gain = std::size_t{16} << 20U;     // less stays in the caches anyway

char* end_of_heap() { return static_cast<char*>(sbrk(0)); }

}  // namespace

HugePages::HugePages(std::size_t bytes) : before_{nullptr} {
  if (bytes < least_gain) return;
  constexpr std::size_t most = std::numeric_limits<int>::max();
  mallopt(M_TOP_PAD, static_cast<int>(std::min(bytes, most)));
  before_ = end_of_heap();
}

HugePages::~HugePages() {
  if (before_ == nullptr) return;
  mallopt(M_TOP_PAD, static_cast<int>(usual_growth));
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<std::uintptr_t>(before_) + page - 1) / page * page;
  const auto last = reinterpret_cast<std::uintptr_t>(end_of_heap()) / page * page;
  // A system that has none goes on with small pages.
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace stepcast
