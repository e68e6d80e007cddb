#include "chakra_wire.hpp"

#include <bit>

namespace stepcast::chakra {
namespace {

enum WireType : std::uint32_t {
  wire_varint = 0,
  wire_fixed64 = 1,
  wire_bytes = 2,
  wire_fixed32 = 5
};

/// The lowest byte comes first.
std::optional<std::uint64_t> take_fixed(std::string_view& rest, std::size_t size) {
  if (rest.size() < size) return {};
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8U | static_cast<unsigned char>(rest[i]);
  rest.remove_prefix(size);
  return value;
}

}  // namespace

/// Seven bits a byte, the lowest ones first; the highest bit says that more follow.
void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>((value & 0x7FU) | 0x80U);
  out += static_cast<char>(value);
}

void Writer::varint(std::uint32_t field, std::uint64_t value) {
  append_varint(bytes_, field << 3U | wire_varint);
  append_varint(bytes_, value);
}

void Writer::text(std::uint32_t field, std::string_view value) {
  append_varint(bytes_, field << 3U | wire_bytes);
  append_varint(bytes_, value.size());
  bytes_ += value;
}

void Writer::real(std::uint32_t field, double value) {
  append_varint(bytes_, field << 3U | wire_fixed64);
  auto bits = std::bit_cast<std::uint64_t>(value);
  for (int i = 0; i < 8; ++i, bits >>= 8U) bytes_ += static_cast<char>(bits & 0xFFU);
}

void Writer::packed(std::uint32_t field, const std::vector<std::uint64_t>& values) {
  if (values.empty()) return;
  std::string inner;
  for (const std::uint64_t value : values) append_varint(inner, value);
  text(field, inner);
}

std::optional<std::uint64_t> take_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  // Seven bits a byte, the lowest first, ten bytes at most (protobuf's encoding).
  for (std::size_t i = 0; i < 10 && i < rest.size(); ++i) {
    const auto byte = static_cast<unsigned char>(rest[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << (7 * i);
    if (byte < 0x80) {
      rest.remove_prefix(i + 1);
      return value;
    }
  }
  return {};
}

std::optional<Field> Reader::next() {
  if (broken_ || rest_.empty()) return {};
  broken_ = true;  // until the whole field is there
  const auto key = take_varint(rest_);
  // Field numbers begin at 1.
  if (!key || *key >> 3U == 0 || *key >> 3U > 1U << 29U) return {};
  Field field{.number = static_cast<std::uint32_t>(*key >> 3U)};
  std::optional<std::uint64_t> value;
  switch (*key & 7U) {
    case wire_varint:
      value = take_varint(rest_);
      break;
    case wire_fixed64:
      field.form = Field::Form::fixed64;
      value = take_fixed(rest_, 8);
      break;
    case wire_fixed32:
      field.form = Field::Form::fixed32;
      value = take_fixed(rest_, 4);
      break;
    case wire_bytes: {
      field.form = Field::Form::bytes;
      value = take_varint(rest_);
      if (!value || *value > rest_.size()) return {};
      field.bytes = rest_.substr(0, *value);
      rest_.remove_prefix(*value);
      break;
    }
    default:
      return {};
  }
  if (!value) return {};
  field.value = *value;
  broken_ = false;
  return field;
}

std::optional<std::vector<std::uint64_t>> unpacked(std::string_view bytes) {
  std::vector<std::uint64_t> values;
  while (!bytes.empty()) {
    const auto value = take_varint(bytes);
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

}  // namespace stepcast::chakra
