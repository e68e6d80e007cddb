#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

/// Column-parallel: the input is gathered (with sequence parallelism), outputs stay sharded.
void column_forward(LayerItems& items, const Shape& shape, const Linear& linear);
/// dgrad hides the gather of the saved input, wgrad hides the reduction of the input gradient.
void column_backward(Backward& backward, const Shape& shape, const Linear& linear);
/// Row-parallel: outputs are partial sums, reduced (scattered with sequence parallelism).
void row_forward(LayerItems& items, const Shape& shape, const Linear& linear);
void row_backward(Backward& backward, const Shape& shape, const Linear& linear);

/// Products with one name together, of one input or of outputs that are added up: what tensor ranks
/// exchange is exchanged once, in pieces beside the last of them. One alone is as above.
using Linears = std::span<const Linear>;
void columns_forward(LayerItems& items, const Shape& shape, const std::string& name,
                     Linears linears);
void columns_backward(Backward& backward, const Shape& shape, const std::string& name,
                      Linears linears);
void rows_forward(LayerItems& items, const Shape& shape, const std::string& name, Linears linears);
void rows_backward(Backward& backward, const Shape& shape, const std::string& name,
                   Linears linears);

}  // namespace stepcast::rows
