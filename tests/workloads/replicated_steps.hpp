#pragma once

#include "lowered_steps.hpp"

namespace stepcast::lowering {

/// Bytes that a kind of collective of a group moves in `code`.
inline double bytes_of(const StageProgram& program, const Instructions& code, GroupKind group,
                       CollectiveKind kind) {
  double sum = 0;
  for (const Instruction& instruction : code)
    if (const auto* call = std::get_if<Communicate>(&instruction)) {
      const StageCall& target = program.calls[call->call];
      if (target.group == group && target.call.kind == kind) sum += target.call.bytes.value();
    }
  return sum;
}

/// Four replicas of a small dense model, in one stage.
inline WorkloadSpec replicated(std::int64_t zero, bool overlap) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.dp = 4;
  spec.plan.zero = zero;
  spec.communication.gradient_overlap = overlap;
  spec.communication.bucket = 4000000;
  return spec;
}

}  // namespace stepcast::lowering
