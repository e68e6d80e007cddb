#include "shell_text.hpp"

#include <algorithm>

namespace stepcast::shell {

Traced Traced::part(std::size_t begin, std::size_t end) const {
  return {text.substr(begin, end - begin),
          {from.begin() + static_cast<std::ptrdiff_t>(begin),
           from.begin() + static_cast<std::ptrdiff_t>(end)}};
}

Traced Sources::add(const std::string& name, std::string text) {
  const std::uint32_t begin =
      files_.empty()
          ? 0
          : files_.back().begin + static_cast<std::uint32_t>(files_.back().text.size()) + 1;
  Traced traced{text, {}};
  for (std::size_t i = 0; i < text.size(); ++i)
    traced.from.push_back(begin + static_cast<std::uint32_t>(i));
  files_.push_back({name, std::move(text), begin});
  return traced;
}

Place Sources::place(std::uint32_t origin) const {
  const auto behind =
      std::ranges::upper_bound(files_, origin, {}, [](const File& f) { return f.begin; });
  if (behind == files_.begin()) return {};
  const File& file = *std::prev(behind);
  const std::string_view before = std::string_view(file.text).substr(
      0, std::min<std::size_t>(origin - file.begin, file.text.size()));
  const std::size_t line = before.rfind('\n');
  const std::size_t start = line == std::string_view::npos ? 0 : line + 1;
  return {file.name, 1 + static_cast<int>(std::ranges::count(before, '\n')),
          1 + static_cast<int>(before.size() - start)};
}

}  // namespace stepcast::shell
