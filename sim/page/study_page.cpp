#include "html.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/page/pages.hpp"

namespace stepcast {

std::string study_page(const std::string& kind, const StudyHead& head, const std::string& json) {
  expects(kind == "compare" || kind == "profile" || kind == "explain" || kind == "check",
          "the page knows the study");
  return html_page(head.title, head.lead, head.verdict,
                   R"({"kind":")" + kind + R"(","answer":)" + json + "}");
}

}  // namespace stepcast
