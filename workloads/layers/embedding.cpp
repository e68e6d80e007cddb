#include "layers.hpp"
#include "norm.hpp"

namespace stepcast {

namespace rows {

void embedding_forward(LayerItems& items, const LayerContext& context) {
  const Shape shape{context};
  const double bytes = element * shape.tokens * shape.hidden;
  items.push_back(vector_row("embedding", 0, 2 * bytes));
  // A tensor rank has the rows of its part of the vocabulary; the sum over all has those of each
  // token.
  communicate(items, shape.sequence_parallel ? "reduce_scatter embedding" : "all_reduce embedding",
              GroupKind::tensor, shape.tp,
              shape.sequence_parallel ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
              bytes);
  if (context.model.position == ModelSpec::Position::learned)
    items.push_back(residual("add positions", shape.shard * shape.hidden, OperatorRole::other));
}

void embedding_backward(Backward& backward, const LayerContext& context) {
  const Shape shape{context};
  const double count = shape.tokens * shape.hidden;
  const double row_bytes = element + 2 * shape.gradient_bytes;  // per element of a position
  if (context.model.position == ModelSpec::Position::learned)
    backward.add_weight(vector_row("positions gradient", shape.shard * shape.hidden,
                                   row_bytes * shape.shard * shape.hidden));
  // Any token may be of the rank's part of the vocabulary, so that the gradients of all are needed.
  if (shape.sequence_parallel)
    backward.add_weight(LayerCommunication{"all_gather embedding gradient",
                                           GroupKind::tensor,
                                           {CollectiveKind::all_gather, Bytes{element * count}}});
  // Autograd makes a gradient of the whole table, zeros but for the rows of these tokens, and adds
  // it to that of earlier micro-batches.
  const double table = static_cast<double>(context.model.vocabulary) / shape.tp * shape.hidden;
  Operator rows = vector_row("embedding gradient", count,
                             2 * element * count + 2 * shape.gradient_bytes * table);
  rows.accumulated = table;
  backward.add_weight(rows);
}

}  // namespace rows

Passes embedding(const LayerContext& context) {
  LayerItems forward;
  rows::Backward backward{context};
  rows::embedding_forward(forward, context);
  rows::embedding_backward(backward, context);
  const ModelSpec& model = context.model;
  const auto hidden = static_cast<double>(model.hidden);
  // Split over the vocabulary, so that its gradient belongs to the tensor group; a table of
  // positions is whole on each rank.
  ParameterGroups groups{.tensor = static_cast<double>(model.vocabulary) * hidden};
  if (model.position == ModelSpec::Position::learned)
    groups.replicated = static_cast<double>(model.positions) * hidden;
  return rows::assemble(context, std::move(forward), std::move(backward), groups);
}

}  // namespace stepcast
