#pragma once
#include "patterns.hpp"

/// Algorithms of the table and what they ask about a group.
namespace stepcast::collectives {

using Plan = std::optional<CollectivePlan>;

Plan ring(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form);
/// Chunks follow each other; one ring per NIC of a node.
Plan nccl_ring(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form);
Plan mesh(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form);
/// All-to-all by kernels that write into the memory of all others at once.
Plan one_sided(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form);
/// All-reduce in one step: everybody sends everything to everybody.
Plan one_shot(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form);
Plan nhr(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form);
Plan nb(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form);
Plan hd(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form);
Plan pairwise(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form);
Plan pipeline(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form);
/// The pipeline's all-to-all: nodes exchange what was not yet handed on inside them.
Plan level_exchange(const Fabric& fabric, Group members, const CollectiveCall& call,
                    NetworkForm form);
/// A mesh inside nodes and NHR between them, both all the time, each with a slice.
Plan parallel(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form);
Plan hierarchical(const Fabric& fabric, Group members, const CollectiveCall& call,
                  NetworkForm form);
/// Dimension by dimension of a torus or nD full mesh, as many rotations at once as there are.
Plan dimensions(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form);
Plan tree(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form);
/// A transfer.
Plan direct(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form);
/// What HCCL and NCCL would choose.
std::string_view select(const Fabric& fabric, Group members, const CollectiveCall& call);

/// A group cut at a level: neighbours inside (ascending order kept), members of like index across.
struct Split {
  Sets inside;
  Sets across;
};
enum class Level { node, super_node };
/// Nothing when the parts have different sizes.
std::optional<Split> split(const Fabric& fabric, Group members, Level level);
/// How many members each part of split() has; nothing when the parts have different sizes.
std::optional<std::size_t> part_size(const Fabric& fabric, Group members, Level level);

/// Sizes of the messages of a skewed all-to-all over the members.
MessageSize message_sizes(Group members, const CollectiveCall& call);

/// The last super-node has fewer nodes than the others, so that groups of even nodes may have
/// uneven super-nodes.
bool has_partial_super_node(const Fabric& fabric);

/// The widest locality of any pair; whatever is beyond a super-node counts as `leaf`.
Locality reach(const Fabric& fabric, Group members);
/// Every pair has a mesh link.
bool in_one_mesh(const Fabric& fabric, Group members);
/// Mesh where pairs have links of their own, dimension by dimension on boxes of a grid, else ring.
Pattern node_pattern(const Fabric& fabric, const Sets& nodes);
/// What HCCL reckons for one pass of `bytes` of the slowest NIC over so many servers; an all-reduce
/// doubles all three. HD folds the servers beyond a power of two.
struct ServerCosts {
  Seconds ring, nhr, hd;
};
ServerCosts server_costs(const ClusterSpec& cluster, std::size_t servers, Bytes bytes);
/// The cheapest of these; ties prefer ring, then NHR.
Pattern server_pattern(const Fabric& fabric, std::size_t servers, CollectiveKind kind, Bytes bytes);

}  // namespace stepcast::collectives
