#include "orders.hpp"

namespace stepcast {
namespace {

std::string text(std::int64_t n) { return std::to_string(n); }

}  // namespace

std::string one_chunk(const PipelineShape& shape) {
  if (shape.chunks == 1) return {};
  return "runs one chunk per stage but vpp is " + text(shape.chunks) +
         ", allowed: vpp 1 or interleaved_1f1b";
}

std::string two_chunks(const PipelineShape& shape) {
  if (shape.chunks == 2) return {};
  return "runs two chunks per stage, vpp is " + text(shape.chunks) + ", allowed: vpp 2";
}

std::string several_chunks(const PipelineShape& shape) {
  if (shape.chunks >= 2) return {};
  return "needs at least 2 chunks per stage, vpp is " + text(shape.chunks) +
         ", allowed: vpp >= 2, or " + (shape.slices > 1 ? "seqpipe" : "1f1b");
}

std::string one_slice(const PipelineShape& shape) {
  if (shape.slices == 1) return {};
  return "does not slice the sequence but slices is " + text(shape.slices) +
         ", allowed: slices 1, or terapipe, seqpipe, seqvpp, seqsmartvpp";
}

std::string standard_warm_up(const PipelineShape& shape) {
  if (shape.warm_up.kind == WarmUp::Kind::standard) return {};
  return "has one warm-up, allowed: warmup standard, or interleaved_1f1b";
}

std::string two_per_stage(const PipelineShape& shape) {
  if (shape.micro_batches >= 2 * shape.stages) return {};
  return "needs at least 2 micro-batches per stage, got " + text(shape.micro_batches) + " on " +
         text(shape.stages) + " stages, allowed: " + text(2 * shape.stages) + " or more";
}

std::string first_wrong(const PipelineShape& shape,
                        std::initializer_list<std::string (*)(const PipelineShape&)> rules) {
  // Later rules may divide by what earlier ones have checked.
  for (const auto rule : rules) {
    std::string wrong = rule(shape);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace stepcast
