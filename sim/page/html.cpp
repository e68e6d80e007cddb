#include "html.hpp"

#include "page_assets.hpp"
#include "stepcast/base/palette.hpp"
#include "stepcast/base/svg.hpp"
#include "stepcast/base/version.hpp"

namespace stepcast {
namespace {

/// A script must not end early: text of a scenario may hold `</script>`, and JSON reads the escape
/// as the sign itself.
std::string in_script(const std::string& json) {
  std::string safe;
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

void script(std::string& page, const std::string_view text) {
  page += "<script>\n";
  page += text;
  page += "</script>\n";
}

}  // namespace

std::string html_page(const std::string& title, const std::string& lead, const std::string& verdict,
                      const std::string& data) {
  // One file that asks for nothing: an empty icon keeps browsers from looking for a favicon.
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>" +
      escaped(title) + "</title>\n<style>\n";
  page += palette_css();
  page += assets::style;
  page += "</style>\n</head>\n<body>\n<header>\n<h1>" + escaped(title) +
          "</h1>\n<p class=\"quiet\">" + escaped(lead) + "</p>\n<p class=\"verdict\">" +
          escaped(verdict) +
          "</p>\n<nav aria-label=\"Sections\"></nav>\n</header>\n<main></main>\n"
          "<footer>Stepcast " +
          std::string(version) +
          ". Charts: D3, copyright Mike Bostock, BSD 3-clause licence (text in the source of this "
          "page).</footer>\n<script type=\"application/json\" id=\"data\">";
  page += in_script(data);
  page += "</script>\n<!--\n";
  page += assets::chart_library_licence;
  page += "-->\n";
  script(page, assets::chart_library);
  script(page, assets::script);
  return page + "</body>\n</html>\n";
}

}  // namespace stepcast
