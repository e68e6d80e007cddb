#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The part of protobuf's wire format that Chakra traces use: varints, 64 and 32 bit values, and
/// bytes with a length. docs/decisions/0016-chakra-by-hand.md says why this is no library.
namespace stepcast::chakra {

/// Numbers of NodeType and CollectiveCommType in et_def.proto.
enum NodeType : std::uint64_t {
  metadata = 1,
  mem_load = 2,
  mem_store = 3,
  comp = 4,
  send = 5,
  receive = 6,
  collective = 7
};
inline constexpr std::uint64_t all_reduce = 0, all_gather = 2, broadcast = 5, all_to_all = 6,
                               reduce_scatter = 7;

/// Appends fields of one message.
class Writer {
 public:
  void varint(std::uint32_t field, std::uint64_t value);
  void text(std::uint32_t field, std::string_view value);
  void real(std::uint32_t field, double value);
  void packed(std::uint32_t field, const std::vector<std::uint64_t>& values);
  void message(std::uint32_t field, const Writer& inner) { text(field, inner.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};
/// A varint by itself, which stands before each record of a file.
void append_varint(std::string& out, std::uint64_t value);

/// One field of a message.
struct Field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;  ///< of a varint or a fixed one, as its bits
  std::string_view bytes;   ///< of one with a length
  enum class Form : std::uint8_t { varint, fixed64, bytes, fixed32 } form = Form::varint;
};

/// Takes fields off the front of a message. After the end or a broken field it yields nothing, and
/// says which.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_{bytes} {}
  std::optional<Field> next();
  bool broken() const { return broken_; }

 private:
  std::string_view rest_;
  bool broken_ = false;
};
/// A varint off the front; nothing where it does not end within ten bytes.
std::optional<std::uint64_t> take_varint(std::string_view& rest);
/// The values of a packed field; nothing where it is broken.
std::optional<std::vector<std::uint64_t>> unpacked(std::string_view bytes);

}  // namespace stepcast::chakra
