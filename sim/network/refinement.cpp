#include "refinement.hpp"

#include <bit>
#include <cstdint>
#include <numeric>
#include <unordered_map>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

/// Spreads 64 bits (the finalizer of SplitMix64, Steele et al. 2014). Sums of mixed values are
/// hashes of multisets.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) + b); }
std::uint64_t mix_number(double value) { return mix(std::bit_cast<std::uint64_t>(value)); }

/// Numbers equal signatures alike, in the order of their first appearance; returns how many there
/// are.
std::uint32_t number(const std::vector<std::uint64_t>& signatures,
                     std::vector<std::uint32_t>& colours) {
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    const auto next = static_cast<std::uint32_t>(known.size());
    // try_emplace keeps the number of an equal signature that is known already.
    colours[i] = known.try_emplace(signatures[i], next).first->second;
  }
  return static_cast<std::uint32_t>(known.size());
}

class Refiner {
 public:
  Refiner(const JobGraph& graph, const std::vector<std::uint64_t>& keys)
      : graph_{graph}, rank_signature_{keys} {
    colours_.rank.resize(keys.size());
    colours_.object.resize(graph.objects().size());
    colours_.link.resize(graph.links().size());
    object_signature_.resize(colours_.object.size());
    // Objects begin without colour: the first round sees them by what they are.
    link_signature_.resize(colours_.link.size());
    // First colours: what ranks and links are by themselves.
    colours_.ranks = number(rank_signature_, colours_.rank);
    for (std::size_t l = 0; l < link_signature_.size(); ++l) {
      const JobGraph::UsedLink& link = graph.links()[l];
      link_signature_[l] =
          mix(mix_number(link.bandwidth), (link.of_one_device ? 1 : 0) + (link.hashed ? 2 : 0));
    }
    colours_.links = number(link_signature_, colours_.link);
  }

  Colours run() {
    // The number of colours can only grow; when it stands still, the partition is equitable.
    for (std::uint32_t before = 0, now = 1; now != before;) {
      before = colours_.ranks + colours_.objects + colours_.links;
      see_objects();
      see_links();
      see_ranks();
      now = colours_.ranks + colours_.objects + colours_.links;
    }
    return std::move(colours_);
  }

 private:
  /// A flow sees its members' colours and, in its roles, those of its links; a channel's ends are
  /// told apart.
  void see_objects() {
    for (std::uint32_t o = 0; o < object_signature_.size(); ++o) {
      const JobGraph::Object& object = graph_.objects()[o];
      // Sums do not depend on order, so that members and links may come in any.
      std::uint64_t members = 0, links = 0, place = 0;
      const bool ordered = object.kind != JobGraph::Object::Kind::group;
      for (const Rank member : graph_.members(object)) {
        // Sender and receiver are told apart by their place.
        members += mix(colours_.rank[member.value], ordered ? place++ : 0);
      }
      for (const JobGraph::Use& use : graph_.uses_of_object(o)) {
        links += mix(graph_.role(use), colours_.link[use.link]);
      }
      const std::uint64_t self =
          mix(mix(static_cast<std::uint64_t>(object.kind), graph_.flows_of(object)),
              mix_number(object.latency));
      // The own colour goes in: colours are only ever split, never joined again.
      object_signature_[o] = mix(mix(self, colours_.object[o]), mix(members, links));
    }
    colours_.objects = number(object_signature_, colours_.object);
  }

  /// A link sees roles as well as colours: two flows of one class may load it differently.
  void see_links() {
    for (std::uint32_t l = 0; l < link_signature_.size(); ++l) {
      std::uint64_t flows = 0;
      for (const std::uint32_t u : graph_.uses_of_link(l)) {
        const JobGraph::Use& use = graph_.uses()[u];
        flows += mix(graph_.role(use), colours_.object[use.object]);
      }
      link_signature_[l] = mix(mix(colours_.link[l]), flows);
    }
    colours_.links = number(link_signature_, colours_.link);
  }

  void see_ranks() {
    for (std::uint32_t r = 0; r < rank_signature_.size(); ++r) {
      std::uint64_t signature = mix(colours_.rank[r]);
      const auto see = [&](std::uint32_t object) {
        // Each step mixes the last: here order counts.
        signature = mix(signature, object == no_index ? no_index : colours_.object[object]);
      };
      graph_.each_of(Rank{r}, see);
      rank_signature_[r] = signature;
    }
    colours_.ranks = number(rank_signature_, colours_.rank);
  }

  const JobGraph& graph_;
  Colours colours_;
  std::vector<std::uint64_t> rank_signature_, object_signature_, link_signature_;
};

}  // namespace

Colours refine(const JobGraph& graph, const std::vector<std::uint64_t>& rank_keys) {
  Colours colours = Refiner(graph, rank_keys).run();
  // Colours are told apart by hashes of 64 bits, of which two could be equal by chance.
  expects(equitable(graph, rank_keys, colours), "no two signatures have one hash");
  return colours;
}

/// With a colour for each, the unfolded run takes the same road, so that a comparison of the two
/// tests the folding alone.
Colours separate(const JobGraph& graph, std::size_t ranks) {
  Colours colours;
  const auto each = [](std::vector<std::uint32_t>& own, std::size_t count) {
    own.resize(count);
    std::iota(own.begin(), own.end(), 0U);
    return static_cast<std::uint32_t>(count);
  };
  colours.ranks = each(colours.rank, ranks);
  colours.objects = each(colours.object, graph.objects().size());
  colours.links = each(colours.link, graph.links().size());
  return colours;
}

}  // namespace stepcast
