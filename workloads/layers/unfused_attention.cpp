#include "unfused_attention.hpp"

#include "context_parallel.hpp"

namespace stepcast::rows {

namespace {

/// Sizes of the matrices of scores. The mask is applied, so that nothing of them is left out; the
/// keys are those of the slice and of all slices before it.
struct Scores {
  Scores(const Shape& shape, const Core& core)
      : batch{shape.sequences * core.heads},
        rows{shape.length},
        keys{shape.before + shape.length},
        count{batch * rows * keys} {}
  double batch, rows, keys, count;
};

/// Bytes on average: half of the scores lie above the diagonal.
double read_of_a_score(KernelSpec::Softmax softmax) {
  return softmax == KernelSpec::Softmax::causal ? element / 2 : element;
}

/// Into the order of the next product.
Operator copy(const char* name, double count) { return vector_row(name, 0, 2 * element * count); }

}  // namespace

LayerItems unfused_forward(const Shape& shape, const Core& core, KernelSpec::Softmax softmax) {
  const Scores s{shape, core};
  const double read = read_of_a_score(softmax);
  // FLOPs of a softmax: maximum, difference, exponential, sum and division of each score.
  return {batched_product("attention scores", s.batch, s.rows, s.keys, core.qk_dim),
          vector_row("attention softmax", 5 * s.count, (read + element) * s.count),
          vector_row("attention dropout", 2 * s.count, (2 * element + mask) * s.count),
          batched_product("attention context", s.batch, s.rows, core.v_dim, s.keys),
          copy("attention context copy", shape.tokens * core.out)};
}

LayerItems unfused_backward(const Shape& shape, const Core& core, KernelSpec::Softmax softmax) {
  const Scores s{shape, core};
  const double read = read_of_a_score(softmax);
  // In the order of autograd: through the second product first, then dropout and softmax, then the
  // first product's two gradients.
  return {copy("attention context gradient copy", shape.tokens * core.out),
          batched_product("attention probabilities gradient", s.batch, s.rows, s.keys, core.v_dim),
          batched_product("attention value gradient", s.batch, s.keys, core.v_dim, s.rows),
          vector_row("attention dropout backward", 2 * s.count, (2 * element + mask) * s.count),
          vector_row("attention softmax backward", 5 * s.count, (2 * read + element) * s.count),
          batched_product("attention query gradient", s.batch, s.rows, core.qk_dim, s.keys),
          batched_product("attention key gradient", s.batch, s.keys, core.qk_dim, s.rows),
          copy("attention gradients joined", shape.tokens * (core.q + core.k + core.v))};
}

}  // namespace stepcast::rows
