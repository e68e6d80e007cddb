#include <array>

#include "entries.hpp"

namespace stepcast::fuzz {
namespace {

constexpr std::array<const char*, 44> values{"0",
                                             "-1",
                                             "1",
                                             "2",
                                             "3",
                                             "7",
                                             "1e308",
                                             "-1e308",
                                             "5e-324",
                                             "1e-9",
                                             "1e9",
                                             "1e18",
                                             "9007199254740993",
                                             "1Mi",
                                             "1Ti",
                                             "0.5",
                                             "1.5",
                                             "nan",
                                             ".inf",
                                             "-.inf",
                                             "true",
                                             "none",
                                             "auto",
                                             "search",
                                             "[]",
                                             "{}",
                                             "[1]",
                                             "[[1]]",
                                             "{value: 1, source: assumed}",
                                             "''",
                                             "~",
                                             "0B",
                                             "1B",
                                             "1e18B",
                                             "1B/s",
                                             "1e24B/s",
                                             "0s",
                                             "1e6s",
                                             "1ns",
                                             "1%",
                                             "-1%",
                                             "0FLOPS",
                                             "1FLOPS",
                                             "1e24FLOPS"};

struct Line {
  std::size_t begin, end;  ///< without its end
};

Line line_at(const std::string& text, std::size_t place) {
  const std::size_t before = place == 0 ? std::string::npos : text.rfind('\n', place - 1);
  return {before == std::string::npos ? 0 : before + 1,
          std::min(text.find('\n', place), text.size())};
}

/// The word of letters and digits around the place.
void replace_word(std::string& text, std::size_t place, const char* value) {
  constexpr std::string_view ends = " \n\t,:[]{}()\"'=";
  const std::size_t before = text.find_last_of(ends, place);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  const std::size_t end = std::min(text.find_first_of(ends, begin), text.size());
  text.replace(begin, end - begin, value);
}

}  // namespace

std::span<const char* const> hostile_values() { return values; }

std::string edited(std::string text, const std::function<std::size_t(std::size_t)>& draw) {
  if (text.empty()) return text;
  const std::size_t place = draw(text.size());
  const auto [begin, end] = line_at(text, place);
  const std::string line = text.substr(begin, end - begin);
  switch (draw(8)) {
    case 0:
      text.erase(begin, end - begin + (end < text.size() ? 1 : 0));
      break;
    case 1:
      text.insert(begin, line + "\n");
      break;
    case 2:
      text.insert(begin, "  ");
      break;
    default:
      replace_word(text, place, values[draw(values.size())]);
  }
  return text;
}

}  // namespace stepcast::fuzz
