#include "shell_text.hpp"

#include <algorithm>

namespace stepcast::shell {

Traced Traced::part(std::size_t begin, std::size_t end) const {
  return {text.substr(begin, end - begin),
          {from.begin() + static_cast<std::ptrdiff_t>(begin),
           from.begin() + static_cast<std::ptrdiff_t>(end)}};
}

bool Traced::is_ascii() const {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_comparable(const std::string& pattern, const Traced& text) {
  constexpr int most_stars = 4;  // each takes the time times the length
  return std::ranges::count(pattern, '*') <= most_stars &&
         (text.is_ascii() || pattern.find_first_of("?[") == std::string::npos);
}

Traced Sources::add(const std::string& name, std::string text) {
  // One place more for each file, so that its end is not the beginning of the next.
  const std::uint32_t begin = files_.empty() ? 0 : files_.back().begin + files_.back().size + 1;
  File file{name, begin, static_cast<std::uint32_t>(text.size()), {0}};
  Traced traced;
  traced.from.reserve(text.size());
  for (std::uint32_t i = 0; i < file.size; ++i) {
    traced.from.push_back(begin + i);
    if (text[i] == '\n') file.lines.push_back(i + 1);
  }
  traced.text = std::move(text);
  files_.push_back(std::move(file));
  return traced;
}

Place Sources::place(std::uint32_t origin) const {
  // Origins count characters over all files one after the other: the file that begins last before
  // one has it.
  const auto behind =
      std::ranges::upper_bound(files_, origin, {}, [](const File& f) { return f.begin; });
  if (behind == files_.begin()) return {};
  const File& file = *std::prev(behind);
  const std::uint32_t at = std::min(origin - file.begin, file.size);
  const auto line = std::prev(std::ranges::upper_bound(file.lines, at));
  return {file.name, 1 + static_cast<int>(line - file.lines.begin()),
          1 + static_cast<int>(at - *line)};
}

}  // namespace stepcast::shell
