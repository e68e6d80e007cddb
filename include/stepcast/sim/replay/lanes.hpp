#pragma once
#include <optional>
#include <span>
#include <vector>

#include "stepcast/sim/replay/replay.hpp"

/// Several seeds in one replay: a lane per seed (docs/models/replay.md, "Lanes").
namespace stepcast {

/// So many stall plans one replay takes at most.
inline constexpr std::size_t most_lanes = 8;

/// Says whether jobs of this input may run in lanes, under a stall plan like this one: every
/// segment of it draws, so that no step recurs, and nothing but draws and persistent factors slows
/// a rank; one step, nothing recorded, one kind of node, whole attention, nothing compiled (which
/// is followed operator by operator), and links that are shared without SimGrid. `input.stalls` is
/// not looked at.
bool may_run_in_lanes(const ReplayInput& input, const StallPlan& stalls);

/// The step times under each of the plans (at most most_lanes), which differ in seeds
/// only; each is that of replay() to the bit. Nothing where that is not certain: there the order of
/// what happens at the same time, or of lanes that would have to wait for each other, could matter,
/// and the plan has to be replayed alone. Requires may_run_in_lanes(). `input.stalls` is not looked
/// at.
std::vector<std::optional<Seconds>> replay_in_lanes(const ReplayInput& input,
                                                    std::span<const StallPlan> plans);

}  // namespace stepcast
