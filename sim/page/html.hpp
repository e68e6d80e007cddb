#pragma once
#include <string>

namespace stepcast {

/// One HTML page of its own: styles, the chart library, the scripts of the page and `data`, a JSON
/// text that they read. `title` and `lead` are text, not mark-up.
std::string html_page(const std::string& title, const std::string& lead, const std::string& verdict,
                      const std::string& data);

}  // namespace stepcast
