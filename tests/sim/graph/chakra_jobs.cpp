#include "chakra_jobs.hpp"

#include <ostream>

namespace stepcast::graph_tests {
namespace {

constexpr double mib = 1024.0 * 1024.0;

StageCall call_of(const char* name, CollectiveKind kind, double bytes, bool data) {
  return {.name = name,
          .group = data ? GroupKind::data : GroupKind::tensor,
          .call = {kind, Bytes{bytes}},
          .stream = data ? Stream::data : Stream::tensor,
          .kind = data ? ExposedKind::data : ExposedKind::tensor,
          .issue = {}};
}

/// 2 L times computing with its collective; nothing goes on before that has ended.
Instructions unit_code(const Job& job, std::uint32_t segment) {
  Instructions code;
  const auto exchange = [&](std::uint32_t call) {
    code.push_back(Communicate{call, 0, true});
    code.push_back(Wait{0});
  };
  for (std::int64_t i = 0; i < 2 * job.layers; ++i) {
    const bool scatter = job.form == Job::Form::gather_scatter && job.tp > 1;
    if (scatter) exchange(2);
    code.push_back(Compute{segment});
    if (job.tp > 1) exchange(0);
  }
  return code;
}

StageProgram program_of(const Job& job, std::int64_t stage) {
  StageProgram program;
  const auto segment = [&](double us) {
    OperatorCost cost;
    cost.device = us * 1e-6;
    program.segments.emplace_back(std::vector<OperatorCost>{cost});
  };
  segment(job.forward_us);
  segment(job.backward_us);
  const CollectiveKind kinds[] = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                  CollectiveKind::all_to_all};
  const double bytes = job.tensor_mib * mib;
  program.calls.push_back(
      call_of("tensor", kinds[static_cast<std::size_t>(job.form)], bytes, false));
  program.calls.push_back(
      call_of("gradients", CollectiveKind::all_reduce, job.gradient_mib * mib, true));
  program.calls.push_back(call_of("gather", CollectiveKind::all_gather, bytes, false));
  program.slots = 1;
  ChunkProgram& chunk = program.chunks.emplace_back();
  chunk.forward = chunk.first_forward = unit_code(job, 0);
  chunk.backward = chunk.last_backward = unit_code(job, 1);
  if (stage + 1 < job.pp) chunk.send_forward = Bytes{job.boundary_mib * mib};
  if (stage > 0) chunk.send_backward = Bytes{job.boundary_mib * mib};
  if (job.dp > 1) program.epilogue = {Communicate{1, 0, true}, Wait{0}};
  return program;
}

}  // namespace

const std::vector<Job>& jobs() {
  using enum Job::Form;
  static const std::vector<Job> all{
      {"A",
       1,
       4,
       1,
       8,
       1,
       1000,
       2000,
       0,
       1,
       0,
       all_reduce,
       {66328496, 62328496, 58307965, 54287434}},
      {"B",
       1,
       8,
       1,
       16,
       1,
       1000,
       2000,
       0,
       64,
       0,
       all_reduce,
       {188040000, 184040000, 178789000, 173538000, 168287000, 163036000, 157785000, 152534000}},
      {"C", 8, 1, 1, 4, 2, 200, 400, 64, 0, 0, all_reduce, {83575424}},
      {"D",
       8,
       8,
       1,
       16,
       4,
       200,
       400,
       64,
       64,
       256,
       all_reduce,
       {1013510376, 991816520, 968871664, 945926808, 922981952, 900037096, 877092240, 854147384}},
      {"E",
       8,
       8,
       2,
       16,
       4,
       200,
       400,
       64,
       64,
       256,
       all_reduce,
       {1018764064, 997070208, 974125352, 951180496, 928235640, 905290784, 882345928, 859401072}},
      {"F",
       8,
       4,
       4,
       8,
       2,
       500,
       1000,
       32,
       32,
       128,
       all_reduce,
       {182425617, 173773853, 164496089, 155218325}},
      {"G",
       2,
       8,
       1,
       32,
       1,
       3000,
       6000,
       16,
       128,
       0,
       all_reduce,
       {923587936, 910927424, 895765912, 880604400, 865442888, 850281376, 835119864, 819958352}},
      {"H",
       4,
       4,
       1,
       8,
       2,
       500,
       1000,
       32,
       8,
       0,
       gather_scatter,
       {156174454, 148211422, 140091140, 131970858}},
      {"I",
       4,
       4,
       2,
       8,
       2,
       500,
       1000,
       32,
       32,
       64,
       all_to_all,
       {160491103, 152716823, 144316543, 135916263}}};
  return all;
}

void PrintTo(const Job& job, std::ostream* out) { *out << job.name; }

TaskGraph graph_of(const Job& job) {
  TaskGraph graph;
  graph.name = job.name;
  graph.plan.tp = job.tp;
  graph.plan.pp = job.pp;
  graph.plan.dp = job.dp;
  graph.shape = {
      .stages = job.pp, .chunks = 1, .micro_batches = job.micro_batches, .group = job.pp};
  graph.global_batch = job.micro_batches * job.dp;
  graph.orders = stage_orders(pipeline_schedule("1f1b"), graph.shape);
  for (std::int64_t s = 0; s < job.pp; ++s) graph.programs.push_back(program_of(job, s));
  return graph;
}

}  // namespace stepcast::graph_tests
