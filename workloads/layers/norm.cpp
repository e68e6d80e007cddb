#include "norm.hpp"

namespace stepcast::rows {

namespace {

/// FLOPs per element; a layer norm also subtracts the mean and adds a bias.
double norm_flops(const ModelSpec& model) { return model.norm == ModelSpec::Norm::layer ? 7 : 4; }

}  // namespace

Operator norm_forward(const ModelSpec& model, std::string name, double count, OperatorRole role) {
  // In and out once: rows fit into on-chip memory, so that statistics cost no second read.
  return vector_row(std::move(name), norm_flops(model) * count, 2 * element * count, role);
}

Operator norm_backward(const ModelSpec& model, std::string name, double count, OperatorRole role) {
  // Twice the forward's (docs/models/operators.md).
  return vector_row(std::move(name) + " backward", 2 * norm_flops(model) * count,
                    4 * element * count, role);
}

Operator residual(std::string name, double count, OperatorRole role) {
  // Two operands and their sum.
  return vector_row(std::move(name), count, 3 * element * count, role);
}

namespace {

Operator rope(const char* name, double count, OperatorRole role) {
  return vector_row(name, 6 * count, 2 * element * count, role);
}

}  // namespace

Operator rope_forward(double count) { return rope("rope", count, OperatorRole::rope); }

Operator rope_backward(double count) {
  return rope("rope backward", count, OperatorRole::rope_backward);
}

Operator joined_residual(const LayerContext& context, std::string name, double count) {
  Operator sum = residual(std::move(name), count);
  // The mask is written for the backward pass.
  if (context.training.dropout) sum.bytes += Bytes{mask * count};
  return sum;
}

void dropout_backward(Backward& backward, const LayerContext& context, std::string name,
                      double count) {
  if (context.training.dropout)
    backward.add_input(
        vector_row(std::move(name) + " dropout backward", 2 * count, (2 * element + mask) * count));
}

}  // namespace stepcast::rows
