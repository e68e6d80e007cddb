#pragma once
#include <string_view>

/// Texts of the live page, embedded when Stepcast is built.
namespace stepcast::live {

extern const std::string_view html, style, script;

}  // namespace stepcast::live
