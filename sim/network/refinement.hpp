#pragma once
#include <cstdint>
#include <vector>

#include "job_graph.hpp"

namespace stepcast {

/// Colours of an equitable partition: ranks of one colour belong to groups and channels of equal
/// colours in equal roles, groups have equal numbers of members of each rank colour and use links
/// of equal colours, links carry equal weights of each colour. Numbered by first appearance.
/// docs/models/folding.md.
struct Colours {
  std::vector<std::uint32_t> rank, object, link;
  std::uint32_t ranks = 0, objects = 0, links = 0;  ///< how many colours each has
};

/// Coarsest such partition that keeps ranks with different keys apart (colour refinement). It is
/// found by hashes and compared without them. Throws ContractError where two hashes are equal by
/// chance.
Colours refine(const JobGraph& graph, const std::vector<std::uint64_t>& rank_keys);

/// Every rank, object and link its own colour.
Colours separate(const JobGraph& graph, std::size_t ranks);

/// Whether ranks of one colour have equal keys and see equal colours in equal roles, and so do
/// objects and links: compared value by value, not by hashes. Colours are numbered by first
/// appearance.
bool equitable(const JobGraph& graph, const std::vector<std::uint64_t>& rank_keys,
               const Colours& colours);

}  // namespace stepcast
