#include "stepcast/topology/parallel_plan.hpp"

#include <numeric>

#include "stepcast/topology/cluster_spec.hpp"

namespace stepcast {

double ParallelPlan::slice_length(std::int64_t sequence, std::int64_t slice) const {
  // Without a table all slices are equal, and may be fractions of a token.
  if (slice_tokens.empty()) return static_cast<double>(sequence) / static_cast<double>(slices);
  return static_cast<double>(slice_tokens[static_cast<std::size_t>(slice)]);
}

double ParallelPlan::slice_start(std::int64_t sequence, std::int64_t slice) const {
  if (slice_tokens.empty()) return slice_length(sequence, 0) * static_cast<double>(slice);
  return static_cast<double>(
      std::accumulate(slice_tokens.begin(), slice_tokens.begin() + slice, std::int64_t{0}));
}

double ParallelPlan::slice_weight(std::int64_t sequence, std::int64_t slice) const {
  // The mean slice weighs one: products with the weights add up to the whole sequence.
  if (slice_tokens.empty()) return 1;
  return slice_length(sequence, slice) * static_cast<double>(slices) /
         static_cast<double>(sequence);
}

void describe(Visitor& visitor, ParallelPlan& plan) {
  constexpr Range size = between(1, max_devices);
  visitor.field({"tp", &plan.tp, "tensor parallel size", size});
  visitor.field({"pp", &plan.pp, "pipeline stages", size});
  visitor.field({"vpp", &plan.vpp, "chunks of the model per stage", between(1, 1024)});
  visitor.field({"cp", &plan.cp, "context parallel size", size});
  visitor.field({"ep", &plan.ep, "expert parallel size", size});
  visitor.field({"etp", &plan.etp, "tensor parallel size inside an expert", size});
  // The size that follows from the others, so that a file can be run on another number of devices
  // without a change.
  visitor.field({"dp", OptionalCount{&plan.dp_given, "auto"},
                 "data parallel size; auto: devices / (tp*cp*pp)", size});
  // Ulysses splits heads, a ring splits the sequence; hybrid does both
  // (docs/models/context_parallel.md).
  Choice context = choice(plan.context_algorithm,
                          {{"ring"}, {"ulysses"}, {"allgather"}, {"hybrid", true, true}});
  context.number = &plan.ulysses_degree;
  visitor.field(
      {"context_algorithm", context,
       "how attention crosses ranks; hybrid(u): ulysses over u ranks, ring over the others", size});
  visitor.field({"order", &plan.order, "rank order, fastest first"});
  visitor.field({"sequence_parallel", &plan.sequence_parallel,
                 "norms and dropout split the sequence over the tensor group"});
  visitor.field({"zero", &plan.zero, "sharded: 1 optimizer, 2 and gradients, 3 and parameters",
                 between(0, 3)});
  visitor.field({"dp_replicate", &plan.dp_replicate,
                 "groups of data ranks, each of which shares out all that zero shards and sums "
                 "gradients with the others (hybrid sharding, HSDP)",
                 size});
  visitor.field({"hpz", &plan.hpz,
                 "with zero 3: ranks that share out a second copy of the weights, from which "
                 "backward passes gather (ZeRO++); 1: none",
                 size});
  // A table has a row per chunk and a column per stage.
  Choice layers = choice(plan.layers, {{"auto"}, {"even"}, {"table"}});
  layers.table = &plan.layers_per_chunk;
  layers.table_option = static_cast<std::size_t>(ParallelPlan::Layers::table);
  visitor.field({"layers_per_chunk", layers,
                 "auto: balanced by time, embedding and head included; even: equal numbers, the "
                 "first chunks take the rest; or a table",
                 between(0, 100000)});
}

}  // namespace stepcast
