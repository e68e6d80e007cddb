#include "received.hpp"

#include "rows.hpp"

namespace stepcast {

Passes received(const LayerContext& context, bool gradient) {
  const rows::Shape shape{context};
  LayerItems forward;
  rows::Backward backward;
  // Each tensor rank has received a part (`communication.pipeline.scatter_gather`).
  LayerItems gather;
  rows::communicate(gather, gradient ? "all_gather received gradient" : "all_gather received input",
                    GroupKind::tensor, shape.tp, CollectiveKind::all_gather,
                    rows::element * shape.tokens * shape.hidden);
  if (gradient)
    backward.add_input(gather);
  else
    forward = std::move(gather);
  return rows::assemble(context, std::move(forward), std::move(backward), {});
}

}  // namespace stepcast
