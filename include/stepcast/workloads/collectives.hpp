#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/topology/fabric.hpp"
#include "stepcast/workloads/network_form.hpp"

/// A collective is phases on links. Formulas and selection rules with their sources:
/// docs/models/collectives.md.
namespace stepcast {

/// The last is a transfer from the first of two members to the other.
enum class CollectiveKind {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  send_recv
};
inline constexpr std::size_t collective_kinds = 6;
/// The first of these have a choice of algorithms; a transfer goes `direct`.
inline constexpr std::size_t chosen_kinds = 5;
const char* name(CollectiveKind kind);
/// HCCL pipelines an all-to-all between nodes where the buffer of the communicator holds this.
Bytes least_pipelined_exchange_buffer();

/// The messages of an all-to-all may be unequal: the one from a to b is `factor[b]` times the equal
/// one, or `factor[a]` times where the `senders` differ.
struct Skew {
  std::vector<double> factor;  ///< by member, each >= 0; empty: all alike
  bool senders = false;
  friend bool operator==(const Skew&, const Skew&) = default;
  friend auto operator<=>(const Skew&, const Skew&) = default;
};

/// The bytes of a collective mean, for all_reduce, broadcast and send_recv, the buffer per rank;
/// for reduce_scatter the input per rank; for all_gather the output per rank; for all_to_all the
/// bytes that one rank holds for all ranks, itself included. Only an all_to_all may be skewed; its
/// bytes are then those of the equal one.
struct CollectiveCall {
  CollectiveKind kind;
  Bytes bytes;
  Skew skew = {};
  /// Fabric and members repeat after so many of them, so that a plan that treats all alike need
  /// only list the links of the first ones (CollectivePlan::of_period); 0: not known.
  std::size_t period = 0;
};

/// Whose kernel moves the bytes of an exchange: it decides how many cores the device lacks
/// meanwhile (HeldCores).
enum class ExchangeKernel : std::uint8_t {
  library,  ///< the collective library's
  pieces,   ///< of tensor parallelism, beside the product that they belong to
  deepep,
  hybridep,
  joined  ///< that of another exchange, which starts with it and holds the cores of both
};
inline constexpr std::size_t exchange_kernels = 5;
const char* name(ExchangeKernel kernel);

/// The part of the cores of a device that an exchange among these devices holds while it runs.
double held_share(const Fabric& fabric, std::span<const DeviceId> members, CollectiveKind kind,
                  ExchangeKernel kernel);

/// The weight of a flow on a link is bytes over the link / bytes of the flow.
struct LinkWeight {
  LinkId link;
  double weight;
};

/// A flow is one part of a phase that moves on its own. Its time alone is latency + bytes *
/// max(weight / bandwidth).
struct PhaseFlow {
  Seconds latency{0};  ///< all of its steps together
  Bytes bytes{0};
  std::vector<LinkWeight>
      links;  ///< over all members, ascending; unsaturable trunks left out; empty when bytes is 0
};

/// The flows of a phase start together and the phase ends with the last of them (bytes end + its
/// latency).
struct Phase {
  std::vector<PhaseFlow> flows;
};

/// No call of the pairwise form has a step of more messages: an exchange of 1024 members has fewer.
inline constexpr std::size_t most_pairwise_messages = std::size_t{1} << 20U;

/// What `auto` chose, or what was asked for, for one group.
struct CollectivePlan {
  std::string algorithm;  ///< as reported: `mesh`, `ring`, `pipeline`, `hierarchical(mesh, nhr)`
  std::vector<Phase> phases;
  bool of_period = false;  ///< flows list the links of the first `period` members alone
};

/// `communication.algorithm`: a name of the table below per kind, or `auto`.
struct CollectiveChoice {
  std::array<std::string, collective_kinds> algorithm{"auto", "auto", "auto",
                                                      "auto", "auto", "auto"};
};
/// The keys of `communication.algorithm:`.
void describe(Visitor& visitor, CollectiveChoice& choice);

/// An algorithm gives the phases of `call` over two members or more, or nothing where it does not
/// apply.
using CollectiveAlgorithm = std::optional<CollectivePlan> (*)(const Fabric&,
                                                              std::span<const DeviceId> members,
                                                              const CollectiveCall& call,
                                                              NetworkForm form);
struct NamedAlgorithm {
  std::string_view name;
  CollectiveAlgorithm plan;
  std::array<bool, collective_kinds> serves;  ///< kinds that it makes on some group
};
/// The table has ring, mesh, one_shot, nhr, nb, hd, pairwise, one_sided, pipeline, parallel,
/// hierarchical, dimensions, tree, direct.
std::span<const NamedAlgorithm> collective_algorithms();

/// The phases of one call. `members` are distinct devices in ring order (ascending rank
/// order); groups of one member and calls of 0 bytes take no time (no phases, algorithm `none`). A
/// broadcast starts at the first. Steps that load the same links are one phase; reduction is in
/// line and takes no time of its own. Algorithm `auto` follows the library of the cluster (hccl or
/// nccl), whatever the form. Throws InputError when the named algorithm does not apply to the
/// group, or a step has more messages than the form allows.
CollectivePlan plan_collective(const Fabric& fabric, std::span<const DeviceId> members,
                               const CollectiveCall& call, std::string_view algorithm,
                               NetworkForm form = NetworkForm::ports);

/// The time of the plan when nothing else uses the network: the sum over phases of the
/// slowest flow. Flows of a phase that share links share them max-min fairly.
Seconds lone_time(const Fabric& fabric, const CollectivePlan& plan);

/// What a transfer takes beyond its bytes at the bandwidth of its links: route, step,
/// start, and what a message outside the cache is slower.
Seconds transfer_latency(const Fabric& fabric, DeviceId from, DeviceId to, Bytes bytes);

/// No algorithm in which only members pass data on can be faster on this fabric. The bound is the
/// maximum over ports and cuts of the bytes that must cross / capacity. Skews are left out.
Seconds bandwidth_bound(const Fabric& fabric, std::span<const DeviceId> members,
                        const CollectiveCall& call);

/// Nccl-tests' factor from algbw to busbw: 2(n-1)/n for all-reduce, 1 for broadcast
/// and send_recv, (n-1)/n for the others.
double bus_factor(CollectiveKind kind, std::size_t members);

}  // namespace stepcast
