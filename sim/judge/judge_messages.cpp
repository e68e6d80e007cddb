
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "judge_patterns.hpp"

namespace stepcast::judge {
namespace {

using enum CollectiveKind;

/// The parent in a binary tree over 0..size-1 whose odd numbers are leaves.
std::size_t parent(std::size_t node, std::size_t size) {
  // Bits of the number say where in the tree a node stands; beyond the end the parent moves in.
  std::size_t bit = 1;
  while ((node & bit) == 0) bit *= 2;
  const std::size_t up = node - bit + ((node & (2 * bit)) ? 0 : 2 * bit);
  return up >= size ? node - bit : up;
}

class Writer : private Patterns {
 public:
  Writer(const Fabric& fabric, const Ring& members, const CollectiveCall& call)
      : fabric_{fabric}, members_{members}, call_{call}, bytes_{call.bytes.value()} {
    sides_ = fabric.wires().sides();
    rings_ = fabric.wires().rings();
    for (std::size_t i = 0; i < call.skew.factor.size(); ++i)
      factor_[members[i]] = call.skew.factor[i];
  }

  std::vector<Turn> write(const std::string& algorithm) {
    // Only NCCL has chunked rings; HCCL's ring takes its steps one by one.
    const bool nccl = fabric_.cluster().collectives.library == CollectiveLibrarySpec::Library::nccl;
    // Alone, or with nothing to move, a call has no messages.
    if (algorithm == "none" || members_.size() < 2) return {};
    if (algorithm.starts_with("hierarchical("))
      hierarchical(algorithm.substr(13, algorithm.size() - 14));
    else if (algorithm == "pipeline" && call_.kind == all_to_all)
      all_to_all_by_level();
    else if (algorithm == "pipeline")
      pipeline();
    else if (algorithm == "parallel")
      parallel();
    else if (algorithm == "tree")
      trees();
    else if (algorithm == "pairwise")
      all_to_all_in_turn({members_}, parts_of_pairs());
    else if (algorithm == "one_sided")
      all_to_all_at_once({members_}, parts_of_pairs());
    else if (algorithm == "one_shot")
      mesh_pass({members_}, bytes_);
    else if (algorithm == "ring" && nccl && call_.kind != all_to_all)
      chunked_ring();
    else
      flat(algorithm);
    return std::move(turns_);
  }

 private:
  /// Members by node or super-node, in order of first appearance; and those of like index.
  Rings parts(const Ring& members, bool super) const {
    // Members come in the order of the group, and parts in that of their first member.
    std::map<std::uint32_t, std::size_t> place;
    Rings result;
    for (const std::uint32_t m : members) {
      const std::uint32_t part = super ? fabric_.super_node_of({m}) : fabric_.node_of({m}).value;
      const auto [found, fresh] = place.try_emplace(part, result.size());
      if (fresh) result.emplace_back();
      result[found->second].push_back(m);
    }
    return result;
  }

  static Rings across(const Rings& parts) {
    // Rails: the i-th member of each part. Parts have equal sizes, or at() throws.
    Rings result(parts.front().size());
    for (const Ring& part : parts)
      for (std::size_t i = 0; i < part.size(); ++i) result.at(i).push_back(part[i]);
    return result;
  }

  void flat(const std::string& pattern) {
    // One set of all members, so that flat and hierarchical forms share the patterns.
    const Rings sets{members_};
    switch (call_.kind) {
      case CollectiveKind::all_reduce:
        return all_reduce(sets, bytes_, pattern);
      case reduce_scatter:
        return one_pass(sets, bytes_, pattern, true);
      case all_gather:
        return one_pass(sets, bytes_, pattern, false);
      case CollectiveKind::broadcast:
        return broadcast(sets, bytes_, pattern);
      case all_to_all:
        // On a ring, a message for the k-th neighbour is
        // handed on k times: half of the way on average.
        if (pattern == "ring") return ring_pass(sets, bytes_ * count(members_) / 2);
        if (pattern == "dimensions") return grid_exchange(members_, bytes_);
        return all_to_all_at_once(sets, parts_of_pairs());
      case send_recv:
        break;
    }
    // A lone message from the first member to the second.
    together({{{{members_[0], members_[1], bytes_}}, 1}});
  }

  /// Bytes from one member to another.
  using Sizes = std::function<double(std::uint32_t from, std::uint32_t to)>;
  static Sizes each(double bytes) {
    return [bytes](std::uint32_t, std::uint32_t) { return bytes; };
  }
  /// What a member has for another one, in an exchange.
  double part(std::uint32_t from, std::uint32_t to) const {
    const double equal = bytes_ / count(members_);
    return factor_.empty() ? equal : equal * factor_.at(call_.skew.senders ? from : to);
  }
  Sizes parts_of_pairs() const {
    return [this](std::uint32_t from, std::uint32_t to) { return part(from, to); };
  }

  void all_to_all_at_once(const Rings& sets, const Sizes& bytes) {
    std::vector<Post> all = all_pairs(sets, 0);
    for (Post& post : all) post.bytes = bytes(post.from, post.to);
    then(std::move(all));
  }

  /// Member i sends to the k-th after it in step k. Where no pair has a link of its own the steps
  /// load the same links and are one flow.
  void all_to_all_in_turn(const Rings& sets, const Sizes& bytes) {
    const std::size_t size = sets.front().size();
    // Pairs have links of their own inside a mesh of one node only.
    const bool one_node = std::ranges::all_of(sets.front(), [&](std::uint32_t m) {
      return fabric_.node_of({m}) == fabric_.node_of({sets.front().front()});
    });
    const bool own_links = one_node && fabric_.mesh_size() > 0;
    std::vector<Post> all;
    for (std::size_t k = 1; k < size; ++k) {
      for (const Ring& set : sets)
        for (std::size_t i = 0; i < size; ++i) {
          const std::uint32_t to = set[(i + k) % size];
          all.push_back({set[i], to, bytes(set[i], to)});
        }
      // On links of their own the steps are phases, one after the other.
      if (own_links) then(std::exchange(all, {}));
    }
    if (!own_links) together({{std::move(all), 1}});
  }

  /// What goes to a member of another group goes over the one of its index in the own group first.
  void all_to_all_over_rails(const Rings& groups) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> inside, across;
    for (const Ring& own : groups)
      for (const std::uint32_t from : own)
        for (const Ring& other : groups)
          for (std::size_t i = 0; i < other.size(); ++i) {
            inside[{from, own.at(i)}] += part(from, other[i]);
            across[{own.at(i), other[i]}] += part(from, other[i]);
          }
    const auto sizes = [](const auto& of) {
      return [&of](std::uint32_t from, std::uint32_t to) { return of.at({from, to}); };
    };
    all_to_all_at_once(groups, sizes(inside));
    all_to_all_in_turn(Writer::across(groups), sizes(across));
  }

  /// A ring between the nodes and a mesh inside them, at the same time.
  void pipeline() {
    const Rings nodes = parts(members_, false), rails = across(nodes);
    // A part per member passes node by node.
    const double part = bytes_ / count(members_);
    Round ring{{}, count(nodes) - 1};
    const Round inside{all_pairs(nodes, part), count(nodes) - 1};
    for (const Ring& rail : rails)
      for (std::size_t i = 0; i < rail.size(); ++i)
        ring.messages.push_back({rail[i], rail[(i + 1) % rail.size()], part});
    // Behind one port both move as one flow: they share what the port injects.
    std::vector<Round> both{ring, inside};
    if (fabric_.super_behind_ports()) {
      both = {ring};
      both.front().messages.insert(both.front().messages.end(), inside.messages.begin(),
                                   inside.messages.end());
    }
    // A reduce-scatter ends, and an all-gather begins, with what is inside the nodes.
    if (call_.kind != all_gather) {
      then(inside.messages);
      together(both);
    }
    if (call_.kind != reduce_scatter) {
      together(both);
      then(inside.messages);
    }
  }

  /// What a member has for a node goes to the one of like index there, who hands it on. While it is
  /// under way, its node exchanges what is its own and what came before; the last to come is left.
  void all_to_all_by_level() {
    const Rings nodes = parts(members_, false), rails = across(nodes);
    Round between, inside;
    std::vector<Post> last;
    for (std::size_t n = 0; n < nodes.size(); ++n)
      for (std::size_t turn = 0; turn < nodes.size(); ++turn) {
        // What has come so many nodes far, to the member of like index here, is handed on.
        const Ring &from = nodes[n], &here = nodes[(n + turn) % nodes.size()];
        const bool is_last = turn + 1 == nodes.size();
        for (std::size_t i = 0; i < here.size(); ++i) {
          double whole = 0;
          for (std::size_t j = 0; j < here.size(); ++j) {
            const double own = part(from.at(i), here[j]);
            whole += own;
            if (i != j) (is_last ? last : inside.messages).push_back({here[i], here[j], own});
          }
          if (turn > 0) between.messages.push_back({from[i], here[i], whole});
        }
      }
    together({between, inside});
    then(std::move(last));
  }

  /// Half of the bytes inside first and half between first, then what each has left the other way.
  /// The mesh has done as much of its bytes as NHR of its own.
  void parallel() {
    const Rings nodes = parts(members_, false), rails = across(nodes);
    const auto both = [&](double inside, double between, bool halving) {
      std::vector<std::vector<Post>> steps = nhr_steps(rails, between);
      // A gather takes the steps of a reduction backwards.
      if (!halving) std::ranges::reverse(steps);
      for (std::vector<Post>& step : steps) {
        // NHR has moved this part of its bytes after the step; the mesh keeps pace with it.
        const double done = step.front().bytes * count(nodes) / (between * (count(nodes) - 1));
        const Round nhr{std::move(step), 1};
        together({{all_pairs(nodes, inside * done / count(nodes.front())), 1}, nhr});
      }
    };
    const double half = bytes_ / 2;
    if (call_.kind != all_gather) {
      // First halves: whole data on either side. Second: what the first has left, on the other
      // side.
      both(half, half, true);
      both(half / count(nodes), half / count(rails), true);
    }
    if (call_.kind != reduce_scatter) {
      both(half / count(nodes), half / count(rails), false);
      both(half, half, false);
    }
  }

  /// The tiers are those that have more than one member: nodes, super-nodes, the whole.
  void hierarchical(const std::string& patterns) {
    const Rings super_nodes = parts(members_, true);
    // Super-nodes of different sizes make no tier: like indices would not exist.
    const bool supers =
        fabric_.cluster().super_node && std::ranges::all_of(super_nodes, [&](const Ring& part) {
          return part.size() == super_nodes.front().size();
        });
    const Rings nodes = parts(members_, false), rails = across(nodes);
    if (call_.kind == all_to_all) {
      // An exchange has two levels: inside the largest equal groups, then between them.
      const Rings groups = supers && super_nodes.size() > 1 ? super_nodes : nodes;
      if (!factor_.empty()) return all_to_all_over_rails(groups);
      mesh_pass(groups, bytes_ / count(groups.front()));
      return all_to_all_in_turn(across(groups), each(bytes_ / count(groups)));
    }
    std::vector<Rings> levels{nodes};
    if (supers) {
      // Between nodes of a super-node first, then between super-nodes.
      Rings middle;
      for (const Ring& rail : rails)
        for (const Ring& part : parts(rail, true)) middle.push_back(part);
      levels.push_back(middle);
      levels.push_back(across(super_nodes));
    } else {
      levels.push_back(rails);
    }
    // A tier of one member has nothing to do, and no pattern in the name.
    std::erase_if(levels, [](const Rings& sets) { return sets.front().size() < 2; });
    std::vector<std::pair<Rings, std::string>> tiers;
    std::size_t at = 0;
    // Patterns stand in the name of the algorithm, from the innermost tier on.
    for (const Rings& sets : levels) {
      const std::size_t end = patterns.find(", ", at);
      tiers.emplace_back(sets, patterns.substr(at, end - at));
      at = end == std::string::npos ? patterns.size() : end + 2;
    }
    if (call_.kind == CollectiveKind::all_reduce || call_.kind == CollectiveKind::broadcast)
      return down(tiers, 0, bytes_);
    // A share of the whole for the inner tiers, outer tiers first for a reduce-scatter.
    std::vector<double> bytes(tiers.size(), bytes_);
    for (std::size_t t = tiers.size() - 1; t > 0; --t)
      bytes[t - 1] = bytes[t] / count(tiers[t].first.front());
    for (std::size_t i = 0; i < tiers.size(); ++i) {
      const std::size_t t = call_.kind == all_gather ? i : tiers.size() - 1 - i;
      one_pass(tiers[t].first, bytes[t], tiers[t].second, call_.kind == reduce_scatter);
    }
  }

  void down(const std::vector<std::pair<Rings, std::string>>& tiers, std::size_t tier,
            double bytes) {
    const auto& [sets, pattern] = tiers[tier];
    const bool last = tier + 1 == tiers.size();
    if (call_.kind == CollectiveKind::broadcast) {
      // A broadcast scatters downwards and gathers on the way back.
      if (last) return broadcast(sets, bytes, pattern);
      scatter({sets.front()}, bytes);
    } else {
      if (last) return all_reduce(sets, bytes, pattern);
      one_pass(sets, bytes, pattern, true);
    }
    // One tier further each member holds one part of this tier.
    down(tiers, tier + 1, bytes / count(sets.front()));
    one_pass(sets, bytes, pattern, false);
  }

  /// NCCL: a ring for every member of a node; the chunks of all follow each other as one flow.
  void chunked_ring() {
    const double size = count(members_);
    // Each member sends this much to its neighbour, all chunks together.
    double sent = bytes_;
    if (call_.kind == CollectiveKind::all_reduce) sent *= 2;
    if (call_.kind != CollectiveKind::broadcast) sent *= (size - 1) / size;
    // Uneven nodes have no rails: one ring goes through all members.
    const Rings nodes = parts(members_, false);
    const bool even = std::ranges::all_of(
        nodes, [&](const Ring& node) { return node.size() == nodes.front().size(); });
    Round round;
    // Messages to itself do not exist.
    const auto around = [&](const Ring& ring, double bytes) {
      for (std::size_t i = 0; i < ring.size(); ++i)
        if (ring.size() > 1)
          round.messages.push_back({ring[i], ring[(i + 1) % ring.size()], bytes});
    };
    if (!even || nodes.size() == 1) {
      around(members_, sent);
    } else {
      // With a ring per member, (local - 1) / local of the bytes stay inside and 1 / local cross.
      const double local = count(nodes.front());
      for (const Ring& node : nodes) around(node, sent * (local - 1) / local);
      for (const Ring& rail : across(nodes)) around(rail, sent / local);
    }
    together({round});
  }

  /// Two trees between the nodes with half of the bytes each, chains inside, up and down.
  void trees() {
    const Rings nodes = parts(members_, false), rails = across(nodes);
    const std::size_t n = nodes.size();
    const double local = count(rails);
    Round round;
    // Reduction and broadcast pass each edge once each way.
    const auto both = [&](std::uint32_t a, std::uint32_t b, double bytes) {
      round.messages.push_back({a, b, bytes});
      round.messages.push_back({b, a, bytes});
    };
    // Inside a node all members but one pass the bytes on.
    for (const Ring& node : nodes)
      for (std::size_t i = 0; node.size() > 1 && i < node.size(); ++i)
        both(node[i], node[(i + 1) % node.size()], bytes_ * (local - 1) / local);
    // The second tree is the first one mirrored, or shifted by one where the number is odd.
    const auto other = [&](std::size_t i) { return n % 2 == 0 ? n - 1 - i : (i + 1) % n; };
    for (const Ring& rail : rails)
      for (std::size_t i = 1; i < n; ++i) {
        both(rail[i], rail[parent(i, n)], bytes_ / (2 * local));
        both(rail[other(i)], rail[other(parent(i, n))], bytes_ / (2 * local));
      }
    together({round});
  }

  const Fabric& fabric_;
  const Ring& members_;
  const CollectiveCall& call_;
  double bytes_;
  std::map<std::uint32_t, double> factor_;  ///< of unequal messages, by member
};

}  // namespace

std::vector<Turn> turns_of(const Fabric& fabric, const std::vector<std::uint32_t>& members,
                           const CollectiveCall& call, const std::string& algorithm) {
  return Writer(fabric, members, call).write(algorithm);
}

}  // namespace stepcast::judge
