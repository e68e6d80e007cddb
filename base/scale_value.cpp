#include <array>
#include <charconv>

#include "document_steps.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

/// Where the unit begins: `1.6TB/s` -> 3.
std::size_t number_length(const std::string& text) {
  for (std::size_t length = text.size(); length > 0; --length)
    if (parse_number(text.substr(0, length))) return length;
  return 0;
}

/// 1.5 x 1.2 is 1.8, without the last digit of a double.
std::string fifteen_digits(double value) {
  std::array<char, 32> buffer{};
  constexpr int digits = 15;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::general, digits);
  return {buffer.data(), end.ptr};
}

}  // namespace

void scale_value(Node& root, const std::string& path, const std::string& factor,
                 const Place& place) {
  const auto refuse_scaling = [&](const std::string& message) {
    refuse_input(place, path, message);
  };
  const auto by = parse_number(factor);
  if (!by || *by <= 0) refuse_scaling("is '*=" + factor + "', allowed: '*=1.2', a number above 0");
  Node* node = &root;
  for (std::size_t from = 0; node != nullptr && from <= path.size();) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    node = node->find(path.substr(from, dot - from));
    from = dot + 1;
  }
  if (node != nullptr && node->kind == Node::Kind::mapping && node->find("value") != nullptr)
    node = node->find("value");
  if (node == nullptr)
    refuse_scaling(
        "is not written in this scenario, so that there is no number to multiply, allowed: a "
        "value");
  const std::size_t length = node->kind == Node::Kind::scalar ? number_length(node->text) : 0;
  if (length == 0)
    refuse_scaling("is no single number here, so that it cannot be multiplied, allowed: a value");
  node->text =
      fifteen_digits(*parse_number(node->text.substr(0, length)) * *by) + node->text.substr(length);
  node->place = place;
}

}  // namespace stepcast
