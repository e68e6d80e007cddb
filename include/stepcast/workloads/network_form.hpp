#pragma once

namespace stepcast {

/// How a collective enters the network. `ports`: one flow over the links of all members for steps
/// with one bottleneck. `pairwise`: every step is a phase, and every message of it a flow over its
/// own route; all flows of a step carry the latency of the step. Lone times are equal wherever the
/// messages of a step that share links have one size: docs/decisions/0005-pairwise-by-steps.md.
enum class NetworkForm { ports, pairwise };

}  // namespace stepcast
