#pragma once
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// Says whether the part at this place of breakdown_names() is a kind of exposed
/// communication.
inline bool is_exposed_part(std::size_t place) { return place > 0 && place <= exposed_kinds; }

/// The word of tables for the part at this place: `host stall`.
std::string part_word(std::size_t place);

}  // namespace stepcast
