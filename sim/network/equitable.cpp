#include <algorithm>
#include <tuple>
#include <utility>

#include "refinement.hpp"

namespace stepcast {
namespace {

/// What one rank, object or link sees, as a list in an order of its own.
using Sight = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

class Comparison {
 public:
  Comparison(const JobGraph& graph, const std::vector<std::uint64_t>& keys, const Colours& colours)
      : graph_{graph}, keys_{keys}, colours_{colours} {}

  bool holds() {
    return alike(colours_.rank, colours_.ranks,
                 [&](std::uint32_t r, Sight& sight) { see_rank(r, sight); }) &&
           alike(colours_.object, colours_.objects,
                 [&](std::uint32_t o, Sight& sight) { see_object(o, sight); }) &&
           alike(colours_.link, colours_.links,
                 [&](std::uint32_t l, Sight& sight) { see_link(l, sight); }) &&
           objects_are_alike() && links_are_alike();
  }

 private:
  /// Whether all of one colour see what the first of that colour sees.
  template <class See>
  bool alike(const std::vector<std::uint32_t>& colour, std::uint32_t colours, const See& see) {
    // One pass: whoever comes first of a colour is what all others of it are held against.
    std::vector<Sight> first(colours);
    std::vector<bool> known(colours);
    Sight own;
    for (std::uint32_t i = 0; i < colour.size(); ++i) {
      own.clear();
      see(i, own);
      if (!known[colour[i]]) {
        known[colour[i]] = true;
        first[colour[i]] = own;
      } else if (own != first[colour[i]]) {
        return false;
      }
    }
    return true;
  }

  void see_rank(std::uint32_t r, Sight& sight) const {
    const auto see = [&](std::uint32_t object) {
      sight.emplace_back(0, object == no_index ? no_index : colours_.object[object]);
    };
    // A missing group is something to see as well: no_index is no colour.
    sight.emplace_back(keys_[r], 0);
    graph_.each_of(Rank{r}, see);
  }

  /// Members of a group in any order, the ends of a channel in theirs; then the links by role.
  void see_object(std::uint32_t o, Sight& sight) const {
    const JobGraph::Object& object = graph_.objects()[o];
    const bool ordered = object.kind != JobGraph::Object::Kind::group;
    for (const Rank member : graph_.members(object))
      sight.emplace_back(0, colours_.rank[member.value]);
    // Sorting makes lists of multisets comparable; a channel's ends must not change places.
    if (!ordered) std::ranges::sort(sight);
    const auto links = static_cast<std::ptrdiff_t>(sight.size());
    for (const JobGraph::Use& use : graph_.uses_of_object(o))
      sight.emplace_back(graph_.role(use), colours_.link[use.link]);
    std::sort(sight.begin() + links, sight.end());
  }

  void see_link(std::uint32_t l, Sight& sight) const {
    for (const std::uint32_t u : graph_.uses_of_link(l)) {
      const JobGraph::Use& use = graph_.uses()[u];
      sight.emplace_back(graph_.role(use), colours_.object[use.object]);
    }
    std::ranges::sort(sight);
  }

  bool objects_are_alike() const {
    std::vector<const JobGraph::Object*> first(colours_.objects);
    for (std::uint32_t o = 0; o < colours_.object.size(); ++o) {
      const JobGraph::Object& own = graph_.objects()[o];
      const JobGraph::Object*& other = first[colours_.object[o]];
      if (other == nullptr) other = &own;
      // What does not depend on neighbours: kind, flows, size and latency.
      const auto self = [&](const JobGraph::Object& x) {
        return std::tuple(x.kind, x.group, graph_.flows_of(x), x.count, x.latency);
      };
      if (self(own) != self(*other)) return false;
    }
    return true;
  }

  bool links_are_alike() const {
    std::vector<const JobGraph::UsedLink*> first(colours_.links);
    for (std::uint32_t l = 0; l < colours_.link.size(); ++l) {
      const JobGraph::UsedLink& own = graph_.links()[l];
      const JobGraph::UsedLink*& other = first[colours_.link[l]];
      if (other == nullptr) other = &own;
      const auto self = [](const JobGraph::UsedLink& x) {
        return std::tuple(x.bandwidth, x.of_one_device, x.hashed);
      };
      if (self(own) != self(*other)) return false;
    }
    return true;
  }

  const JobGraph& graph_;
  const std::vector<std::uint64_t>& keys_;
  const Colours& colours_;
};

}  // namespace

bool equitable(const JobGraph& graph, const std::vector<std::uint64_t>& rank_keys,
               const Colours& colours) {
  return Comparison(graph, rank_keys, colours).holds();
}

}  // namespace stepcast
