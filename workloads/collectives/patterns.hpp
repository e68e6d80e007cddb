#pragma once
#include <functional>

#include "schedule.hpp"

/// The flat algorithms over sets in lock step. Bytes as in CollectiveCall, for one set of p
/// members. Formulas: docs/models/collectives.md.
namespace stepcast::collectives {

enum class Pattern { ring, mesh, nhr, hd, dimensions };
const char* name(Pattern pattern);
/// Whether each of so many members does the same as all others, a broadcast aside.
bool treats_all_alike(Pattern pattern, std::size_t members);

void reduce_scatter(Schedule& schedule, const Sets& sets, Bytes bytes, Pattern pattern);
void all_gather(Schedule& schedule, const Sets& sets, Bytes bytes, Pattern pattern);
void all_reduce(Schedule& schedule, const Sets& sets, Bytes bytes, Pattern pattern);
/// From the first member of each set.
void broadcast(Schedule& schedule, const Sets& sets, Bytes bytes, Pattern pattern);
/// The first member sends each other one its p-th part.
void scatter(Schedule& schedule, const Sets& sets, Bytes bytes);
/// All pairs at once, one step.
void full_mesh(Schedule& schedule, const Sets& sets, Bytes per_pair);
/// All pairs at once, written by the kernels of their senders: the latency of one message.
void all_at_once(Schedule& schedule, const Sets& sets, Bytes per_pair);
/// p - 1 steps; in step k each member sends to the k-th after it.
void pairwise(Schedule& schedule, const Sets& sets, Bytes per_pair);

/// Of the message between two members of a set.
using MessageSize = std::function<Bytes(DeviceId from, DeviceId to)>;
/// As above, with messages of any sizes.
void full_mesh(Schedule& schedule, const Sets& sets, const MessageSize& bytes);
void all_at_once(Schedule& schedule, const Sets& sets, const MessageSize& bytes);
void pairwise(Schedule& schedule, const Sets& sets, const MessageSize& bytes);

/// Whether each set is a whole box of a torus or mesh of one node, all of the same sides.
bool are_boxes(const Fabric& fabric, const Sets& sets);
/// Whether each set is a line of one node's full mesh: a wire for each pair.
bool are_mesh_lines(const Fabric& fabric, const Sets& sets);

/// Parts of the above, a file each.
void ring_pass(Schedule& schedule, const Sets& sets, Bytes bytes);
void ring_broadcast(Schedule& schedule, const Sets& sets, Bytes bytes);
enum class Direction { halving, doubling };
void nhr_pass(Schedule& schedule, const Sets& sets, Bytes bytes, Direction direction);
/// Steps of one pass of NHR, the parts that a member sends to the one 2^k further on, and that
/// step.
std::size_t nhr_steps(std::size_t members);
std::size_t nhr_parts(std::size_t members, std::size_t k);
void nhr_step(Step& step, const Sets& sets, Bytes bytes, std::size_t k);
void dimension_pass(Schedule& schedule, const Sets& sets, Bytes bytes, Direction direction);
void dimension_exchange(Schedule& schedule, const Sets& sets, Bytes bytes);
void hd_pass(Schedule& schedule, const Sets& sets, Bytes bytes, Direction direction);
void hd_all_reduce(Schedule& schedule, const Sets& sets, Bytes bytes);
void hd_broadcast(Schedule& schedule, const Sets& sets, Bytes bytes);

}  // namespace stepcast::collectives
