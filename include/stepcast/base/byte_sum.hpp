#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace stepcast {

/// A checksum of 62 bits of texts and numbers in order (FNV-1a). Any one byte that differs is seen:
/// each step is a bijection of what was before.
class ByteSum {
 public:
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    for (const char c : text) byte(static_cast<unsigned char>(c));
  }
  void add(std::int64_t number) {
    for (int shift = 0; shift < 64; shift += 8)
      byte(static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> shift));
  }
  /// What is no number counts as none, and both zeros are one: as SQLite keeps them.
  void add(const std::optional<double>& number) {
    const bool there = number && !std::isnan(*number);
    std::int64_t bits = 0;
    if (there && *number != 0) std::memcpy(&bits, &*number, sizeof bits);
    byte(there ? 1 : 0);
    add(bits);
  }
  /// 0 to `mask`, so that two of them add up below the limit of whole numbers of 64 bits.
  std::int64_t value() const { return static_cast<std::int64_t>((state_ ^ (state_ >> 62)) & mask); }

  static constexpr std::uint64_t mask = (std::uint64_t{1} << 62) - 1;

 private:
  void byte(unsigned char value) { state_ = (state_ ^ value) * 1099511628211U; }

  std::uint64_t state_ = 14695981039346656037U;
};

}  // namespace stepcast
