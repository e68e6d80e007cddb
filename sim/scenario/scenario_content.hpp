#pragma once
#include <string>

#include "stepcast/sim/scenario/draft.hpp"

namespace stepcast {

/// What the scenario means, for its hash: what `auto` stands for, a model however it was given, and
/// what is in the files that its keys name. Two scenarios of one content have one forecast.
std::string content_of(ScenarioDraft draft);

}  // namespace stepcast
