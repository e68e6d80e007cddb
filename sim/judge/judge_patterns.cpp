#include "judge_patterns.hpp"

#include <algorithm>

#include "stepcast/base/errors.hpp"

namespace stepcast::judge {
namespace {

/// Beyond a power of two, odd members of the first pairs stand back behind the even ones.
struct Standing {
  // HD needs a power of two: the rest hands its data to a neighbour and waits.
  explicit Standing(const Rings& sets) {
    std::size_t power = 1;
    while (power * 2 <= sets.front().size()) power *= 2;
    const std::size_t extra = sets.front().size() - power;
    for (const Ring& set : sets) {
      cores.emplace_back();
      for (std::size_t i = 0; i < set.size(); ++i) {
        if (i < 2 * extra && i % 2 == 1)
          behind.emplace_back(set[i], set[i - 1]);
        else
          cores.back().push_back(set[i]);
      }
    }
    // The first members of the core stand for two.
    parts.assign(power, 1);
    std::fill_n(parts.begin(), extra, 2);
  }
  std::vector<Post> out(double bytes) const {
    std::vector<Post> all;
    for (const auto& [back, front] : behind) all.push_back({back, front, bytes});
    return all;
  }
  std::vector<Post> in(double bytes) const {
    std::vector<Post> all;
    for (const auto& [back, front] : behind) all.push_back({front, back, bytes});
    return all;
  }
  Rings cores;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> behind;
  std::vector<int> parts;  ///< that a member of the core stands for
};

}  // namespace

/// Everybody hands a p-th part to the next one, p - 1 times.
void Patterns::ring_pass(const Rings& sets, double bytes) {
  std::vector<Post> all;
  // Every step loads the same links: one round, so many times.
  for (const Ring& ring : sets)
    for (std::size_t i = 0; i < ring.size(); ++i)
      all.push_back({ring[i], ring[(i + 1) % ring.size()], bytes / count(ring)});
  then(std::move(all), count(sets.front()) - 1);
}

std::vector<Post> Patterns::all_pairs(const Rings& sets, double bytes_per_pair) {
  std::vector<Post> all;
  for (const Ring& set : sets)
    for (const std::uint32_t a : set)
      for (const std::uint32_t b : set)
        if (a != b) all.push_back({a, b, bytes_per_pair});
  return all;
}

void Patterns::mesh_pass(const Rings& sets, double bytes_per_pair) {
  then(all_pairs(sets, bytes_per_pair));
}

void Patterns::scatter(const Rings& sets, double bytes) {
  std::vector<Post> all;
  for (const Ring& set : sets)
    for (std::size_t i = 1; i < set.size(); ++i)
      all.push_back({set[0], set[i], bytes / count(set)});
  then(std::move(all));
}

/// A slice that has to go j places on leaves in the step of the lowest bit of j.
std::vector<std::vector<Post>> Patterns::nhr_steps(const Rings& sets, double bytes) {
  const std::size_t size = sets.front().size();
  std::vector<std::vector<Post>> steps;
  // Powers of two: a slice reaches its goal over the bits of its distance.
  for (std::size_t d = 1; d < size; d *= 2) {
    double slices = 0;
    // The lowest set bit of j.
    for (std::size_t j = 1; j < size; ++j)
      if ((j & (~j + 1)) == d) ++slices;
    std::vector<Post>& all = steps.emplace_back();
    for (const Ring& set : sets)
      for (std::size_t i = 0; i < size; ++i)
        all.push_back({set[i], set[(i + d) % size], bytes * slices / static_cast<double>(size)});
  }
  return steps;
}

void Patterns::nhr_pass(const Rings& sets, double bytes, bool halving) {
  std::vector<std::vector<Post>> steps = nhr_steps(sets, bytes);
  if (!halving) std::ranges::reverse(steps);
  for (std::vector<Post>& step : steps) then(std::move(step));
}

/// Partners at distance d swap all parts of the members that lie on the partner's side.
void Patterns::exchange(const Rings& cores, const std::vector<int>& parts, double part,
                        bool halving) {
  const std::size_t size = cores.front().size();
  // A reduction halves from the nearest partner on, a gather doubles from the farthest.
  std::vector<std::size_t> distances;
  for (std::size_t d = 1; d < size; d *= 2) distances.push_back(d);
  if (!halving) std::ranges::reverse(distances);
  for (const std::size_t d : distances) {
    std::vector<Post> all;
    for (const Ring& core : cores)
      for (std::size_t i = 0; i < size; ++i) {
        int own = 0;
        // Members on the partner's side differ in the bit of d and agree in all lower ones.
        for (std::size_t j = 0; j < size; ++j)
          if (j % (2 * d) == (i ^ d) % (2 * d)) own += parts[j];
        all.push_back({core[i], core[i ^ d], part * own});
      }
    then(std::move(all));
  }
}

void Patterns::halving_pass(const Rings& sets, double bytes, bool halving) {
  const Standing standing(sets);
  // Cut by all members: who stands in front of another holds two parts.
  const double part = bytes / count(sets.front());
  if (!standing.behind.empty()) then(standing.out(halving ? bytes : part));
  exchange(standing.cores, standing.parts, part, halving);
  if (!standing.behind.empty()) then(standing.in(halving ? part : bytes));
}

void Patterns::halving_all_reduce(const Rings& sets, double bytes) {
  // Here the core alone cuts the bytes: whoever stands back gets the whole result at the end.
  const Standing standing(sets);
  const std::vector<int> ones(standing.parts.size(), 1);
  const double part = bytes / count(standing.cores.front());
  if (!standing.behind.empty()) then(standing.out(bytes));
  exchange(standing.cores, ones, part, true);
  exchange(standing.cores, ones, part, false);
  if (!standing.behind.empty()) then(standing.in(bytes));
}

void Patterns::one_pass(const Rings& sets, double bytes, const std::string& pattern, bool reduce) {
  if (pattern == "ring") return ring_pass(sets, bytes);
  if (pattern == "mesh") return mesh_pass(sets, bytes / count(sets.front()));
  if (pattern == "nhr" || pattern == "nb") return nhr_pass(sets, bytes, reduce);
  if (pattern == "hd") return halving_pass(sets, bytes, reduce);
  if (pattern == "dimensions") return grid_pass(sets, bytes, reduce);
  throw EngineError("the judge does not know the algorithm " + pattern);
}

void Patterns::all_reduce(const Rings& sets, double bytes, const std::string& pattern) {
  // HD has a form of its own, others reduce and then gather.
  if (pattern == "hd") return halving_all_reduce(sets, bytes);
  one_pass(sets, bytes, pattern, true);
  one_pass(sets, bytes, pattern, false);
}

void Patterns::broadcast(const Rings& sets, double bytes, const std::string& pattern) {
  const std::size_t size = sets.front().size();
  // From member to member, always as a whole.
  if (pattern == "ring") {
    for (std::size_t i = 1; i < size; ++i) {
      std::vector<Post> all;
      for (const Ring& set : sets) all.push_back({set[i - 1], set[i], bytes});
      then(std::move(all));
    }
    return;
  }
  // Each step doubles the number of members that have the bytes.
  if (pattern == "hd") {
    for (std::size_t have = 1; have < size; have *= 2) {
      std::vector<Post> all;
      for (const Ring& set : sets)
        for (std::size_t i = 0; i < have && i + have < size; ++i)
          all.push_back({set[i], set[i + have], bytes});
      then(std::move(all));
    }
    return;
  }
  // Scatter, then gather: links carry parts instead of the whole.
  if (pattern == "mesh" || pattern == "dimensions")
    scatter(sets, bytes);
  else
    nhr_pass(sets, bytes, true);
  one_pass(sets, bytes, pattern, false);
}

}  // namespace stepcast::judge
