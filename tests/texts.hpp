#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace stepcast::test {

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// `text` with the first `from`, which it must hold, replaced.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

}  // namespace stepcast::test
