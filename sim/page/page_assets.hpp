#pragma once
#include <string_view>

/// Texts of the report page, embedded when Stepcast is built.
namespace stepcast::assets {

extern const std::string_view style, script, chart_library, chart_library_licence;

}  // namespace stepcast::assets
