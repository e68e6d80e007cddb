#pragma once
#include <string>

namespace stepcast {

/// What a page of a study says above its charts.
struct StudyHead {
  std::string title, lead, verdict;
};

/// The answers of `compare`, `explain` and `check` (the JSON that each writes) as one
/// HTML page that needs no network; `kind` is the name of the command, or `profile` for compare
/// with a profile. Throws ContractError for
/// another one.
std::string study_page(const std::string& kind, const StudyHead& head, const std::string& json);

}  // namespace stepcast
