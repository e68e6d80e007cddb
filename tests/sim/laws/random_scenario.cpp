#include "random_scenario.hpp"

#include <stdexcept>

#include "drawing.hpp"
#include "stepcast/sim/forecast/prepare.hpp"

namespace stepcast::laws {
namespace {

const std::string directory = std::string(STEPCAST_SOURCE_DIR) + "/tests/sim/laws";

}  // namespace

Draft draw_scenario(std::uint64_t seed, std::size_t index, std::size_t attempt) {
  return Drawing(seed, index, attempt).draw();
}

Scenario read_draft(const Draft& draft, const std::vector<std::string>& more) {
  std::vector<std::string> settings = draft.settings;
  settings.insert(settings.end(), more.begin(), more.end());
  return prepare_scenario(directory + "/" + draft.file, settings, SearchPath{{directory}},
                          IdleAlgorithms::kept);
}

std::string command_of(const Draft& draft) {
  std::string text = draft.file;
  for (const std::string& setting : draft.settings) text += " --set '" + setting + "'";
  return text;
}

ValidCase valid_case(std::uint64_t seed, std::size_t index) {
  constexpr std::size_t most_refused = 500, wanting = 3000;
  const auto& rare = rare_features();
  // Their number and that of the schedules share no factor, so that each meets each in its turn.
  const std::string& wanted = rare[index % rare.size()];
  std::size_t refused = 0;
  for (std::size_t attempt = 0; refused < most_refused; ++attempt) {
    Draft draft = draw_scenario(seed, index, attempt);
    if (attempt < wanting && !draft.features.contains(wanted)) continue;
    try {
      Scenario scenario = read_draft(draft);
      return {std::move(draft), std::move(scenario), refused};
    } catch (const InputError&) {
      ++refused;  // the reader says what does not go together
    }
  }
  throw std::runtime_error("no valid draft of case " + std::to_string(index));
}

}  // namespace stepcast::laws
