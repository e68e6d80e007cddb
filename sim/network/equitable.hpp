#pragma once
#include <cstdint>
#include <vector>

#include "job_graph.hpp"
#include "refinement.hpp"

namespace stepcast {

/// Whether ranks of one colour have equal keys and see equal colours in equal roles, and so do
/// objects and links: compared value by value, not by hashes. Colours are numbered by first
/// appearance.
bool equitable(const JobGraph& graph, const std::vector<std::uint64_t>& rank_keys,
               const Colours& colours);

}  // namespace stepcast
