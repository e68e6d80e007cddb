#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

/// Normalisation of `count` elements per the model's norm.
Operator norm_forward(const ModelSpec& model, std::string name, double count,
                      OperatorRole role = OperatorRole::norm);
Operator norm_backward(const ModelSpec& model, std::string name, double count,
                       OperatorRole role = OperatorRole::norm_backward);
Operator residual(std::string name, double count, OperatorRole role = OperatorRole::residual);
/// Rotary positions of `count` elements.
Operator rope_forward(double count);
Operator rope_backward(double count);
/// In one kernel with the sum, where dropout is on; its backward is a kernel of its own.
Operator joined_residual(const LayerContext& context, std::string name, double count);
void dropout_backward(Backward& backward, const LayerContext& context, std::string name,
                      double count);

}  // namespace stepcast::rows
