#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

// The first questions about each shipped scenario: answered, or refused with a remedy that, taken
// literally, is one.
namespace stepcast {
namespace {

namespace fs = std::filesystem;
using Overrides = std::vector<std::string>;

const fs::path folder = fs::path(STEPCAST_SOURCE_DIR) / "scenarios";

/// Nothing where the scenario may run.
std::optional<Diagnostic> refusal(const std::string& file, const Overrides& overrides) {
  try {
    (void)prepare_scenario(file, overrides, default_search_path({}));
    return {};
  } catch (const InputError& error) {
    return error.diagnostics().front();
  }
}

/// What a message says to do: `--set '...'`, or the values that it allows.
std::vector<std::string> remedies(const Diagnostic& wrong) {
  const std::string& text = wrong.message;
  if (const std::size_t at = text.find("--set '"); at != std::string::npos) {
    const std::size_t begin = at + std::string_view("--set '").size();
    return {text.substr(begin, text.find('\'', begin) - begin)};
  }
  const std::size_t at = text.find("allowed: ");
  if (at == std::string::npos) return {};
  std::vector<std::string> all;
  const std::string list = text.substr(at + std::string_view("allowed: ").size());
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(", ", begin), list.size());
    all.push_back(wrong.path + "=" + list.substr(begin, end - begin));
    begin = end + 2;
  }
  std::ranges::reverse(all);  // the largest first: it changes least
  return all;
}

/// Whether the remedies of a refusal, and of what they meet, lead to a scenario that may run.
bool is_answered(const std::string& file, const Overrides& overrides, int depth,
                 std::string& said) {
  const auto wrong = refusal(file, overrides);
  if (!wrong) return true;
  said += wrong->text() + "\n";
  if (depth == 0) return false;
  for (const std::string& remedy : remedies(*wrong)) {
    Overrides all = overrides;
    const bool swaps = remedy.starts_with("cluster={");
    if (swaps) std::erase_if(all, [](const auto& o) { return o.starts_with("cluster.extends="); });
    all.push_back(remedy);
    if (is_answered(file, all, depth - 1, said)) return true;
  }
  return false;
}

TEST(SixChanges, AreAnsweredOrTheirRemedyIs) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string file = entry.path().string();
    const auto devices = prepare_scenario(file, {}, default_search_path({})).cluster.devices;
    for (const Overrides& change : {Overrides{"parallel.tp=4"},
                                    {"cluster.devices=" + std::to_string(devices / 2)},
                                    {"cluster.devices=" + std::to_string(2 * devices)},
                                    {"cluster.extends=dgx-h100"},
                                    {"cluster.extends=atlas-900-a3"},
                                    {"training.micro_batch=2"}}) {
      std::string said;
      EXPECT_TRUE(is_answered(file, change, 6, said))
          << entry.path().filename() << " " << change.front() << "\n"
          << said;
    }
  }
}

}  // namespace
}  // namespace stepcast
