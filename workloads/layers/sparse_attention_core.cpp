#include "attention_cores.hpp"

// Kernels that score all earlier tokens, choose some, and attend to them.
// docs/models/sparse_attention.md.
namespace stepcast::rows {

double ChosenTokens::twice_chosen() const {
  if (top_k >= length) return length;
  return 2 * top_k - top_k * top_k / length;
}

namespace {

double tokens(const ChosenTokens& chosen) { return chosen.sequences * chosen.length; }

Operator kernel(const char* name, const SparseAttentionWork& work, double flops, double bytes) {
  return {.name = name,
          .work = work,
          .flops = Flops{flops},
          .bytes = Bytes{bytes},
          .launch = LaunchClass::matmul};
}

}  // namespace

/// Products of all heads of queries with one key, forward with every earlier token; backward those
/// of the chosen ones are made again, and the gradients of queries and keys from them.
Operator index_scores(const ChosenTokens& chosen, double heads, double width, bool backward) {
  const double twice = backward ? chosen.twice_chosen() : chosen.twice_all();
  const double operands = element * tokens(chosen) * (heads * width + width + heads);
  const double scores = fp32 * tokens(chosen) * twice / 2;
  const SparseAttentionWork work{chosen.sequences, chosen.length, twice / 2, heads, width, 0};
  Operator op = kernel(backward ? "index scores backward" : "index scores", work,
                       (backward ? 3 : 1) * tokens(chosen) * twice * heads * width,
                       (backward ? 2 : 1) * (operands + scores));
  if (!backward) op.fp8 = Fp8::ready;  // its operands were rotated for it
  return op;
}

/// Every score is read once, the numbers of the chosen tokens are written.
Operator index_top_k(const ChosenTokens& chosen) {
  const double scores = tokens(chosen) * chosen.twice_all() / 2;
  const double numbers = tokens(chosen) * chosen.twice_chosen() / 2;
  return vector_row("index top-k", scores, fp32 * (scores + numbers));
}

/// Two products forward; backward five, as fused attention has them. The keys of a sequence are
/// read once: a lower bound, as each query chooses its own.
Operator sparse_attention(const ChosenTokens& chosen, double heads, double qk_dim, double v_dim,
                          bool backward) {
  const double pairs = tokens(chosen) * chosen.twice_chosen() * heads;
  const double flops = pairs * (backward ? 3 * qk_dim + 2 * v_dim : qk_dim + v_dim);
  const double moved = element * tokens(chosen) * (heads * (qk_dim + v_dim) + qk_dim);
  const double others = fp32 * tokens(chosen) * (heads + chosen.twice_chosen() / 2);
  return kernel(backward ? "sparse attention backward" : "sparse attention",
                {chosen.sequences, chosen.length, chosen.twice_chosen() / 2, heads, qk_dim, v_dim},
                flops, (backward ? 2 : 1) * moved + others);
}

}  // namespace stepcast::rows
