#include <algorithm>
#include <utility>

#include "experts.hpp"

// The tokens of a rank in equal pieces, one behind the other: while one is computed, others travel.
namespace stepcast::rows {

namespace {

/// What one piece does, cut where it waits for a communication.
using Steps = std::vector<LayerItems>;

void append(LayerItems& items, const LayerItems& more) {
  items.insert(items.end(), more.begin(), more.end());
}

/// Each hop starts at the end of a step, and the next step begins with waiting for it.
void add_hops(Steps& steps, const Hops& hops) {
  for (const Hop& hop : hops) {
    append(steps.back(), hop.before);
    LayerCommunication call = hop.call;
    call.overlapped = true;
    steps.back().push_back(call);
    append(steps.emplace_back(LayerItems{WaitFor{call.id}}), hop.after);
  }
}

/// Everything starts as early as its piece allows: the first hops of all pieces at once, then in
/// turns the youngest piece first, so that it travels while older ones are computed.
LayerItems interleave(const std::vector<Steps>& pieces) {
  LayerItems items;
  for (const Steps& piece : pieces) append(items, piece.front());
  const std::size_t steps = pieces.front().size();
  for (std::size_t turn = 1; turn < steps + pieces.size() - 1; ++turn)
    for (std::size_t p = std::min(pieces.size(), turn); p-- > 0;)
      if (turn - p < steps) append(items, pieces[p][turn - p]);
  return items;
}

/// Inside one kernel only its first operator is launched, and nothing is issued by the host.
void put_in_kernel(std::vector<Steps>& pieces) {
  bool launched = false;
  for (Steps& piece : pieces)
    for (LayerItems& step : piece)
      for (LayerItem& item : step) {
        if (auto* call = std::get_if<LayerCommunication>(&item)) call->in_kernel = true;
        if (auto* op = std::get_if<Operator>(&item); op && std::exchange(launched, true))
          op->launch = LaunchClass::in_kernel;
      }
}

/// The operators among the items as one piece of a kernel on cube and vector cores.
LayerItems fused(const LayerItems& whole, const std::string& name, std::int64_t pieces) {
  LayerItems result;
  FusedWork work{{}, static_cast<double>(pieces)};
  Operator op{.name = name, .work = work, .launch = LaunchClass::matmul};
  for (const LayerItem& item : whole) {
    const auto* part = std::get_if<Operator>(&item);
    if (part == nullptr) continue;
    work.stages.push_back(fused_stage(*part));
    op.flops += part->flops / work.tiles;
    op.bytes += part->bytes / work.tiles;
  }
  op.work = std::move(work);
  result.push_back(std::move(op));
  return result;
}

/// `compute` gives the items of the experts of a piece, or of all of them for the fused kernel.
LayerItems in_pieces(const LayerContext& context, CommunicationRole there, CommunicationRole back,
                     const std::function<LayerItems(const Experts&)>& compute) {
  const std::int64_t count = context.moe.pieces;
  const bool tiles = context.moe.overlap == MoeSpec::Overlap::tiles;
  const Experts part{context, static_cast<double>(count)};
  const LayerItems work =
      tiles ? fused(compute(Experts{context, 1}), Exchange{there}.name() + " experts", count)
            : compute(part);
  std::vector<Steps> pieces;
  for (std::int64_t p = 0; p < count; ++p) {
    Steps& steps = pieces.emplace_back(Steps{{}});
    add_hops(steps, exchange_hops(part, {there, p, count}));
    append(steps.back(), work);
    add_hops(steps, exchange_hops(part, {back, p, count}));
  }
  for (Steps& steps : pieces)
    for (LayerItems& step : steps)
      // one read-back tells the splits of all pieces
      std::erase_if(step, [&](const LayerItem& item) {
        return &steps != &pieces.front() && std::holds_alternative<HostReadback>(item);
      });
  if (tiles) put_in_kernel(pieces);
  return interleave(pieces);
}

}  // namespace

void pieces_forward(LayerItems& items, const LayerContext& context) {
  using Role = CommunicationRole;
  append(items, in_pieces(context, Role::dispatch, Role::combine, [](const Experts& e) {
           LayerItems work;
           experts_forward(work, e);
           return work;
         }));
}

void pieces_backward(Backward& backward, const LayerContext& context) {
  using Role = CommunicationRole;
  const LayerItems items =
      in_pieces(context, Role::combine_backward, Role::dispatch_backward, [](const Experts& e) {
        Backward work;
        experts_backward(work, e, false);
        return work.input;
      });
  // The weight gradients run once, beside the last way back.
  const Experts e{context, 1};
  const auto last = std::ranges::find_if(items.rbegin(), items.rend(), [](const LayerItem& item) {
    return std::holds_alternative<LayerCommunication>(item);
  });
  const auto split = last.base() - items.begin();
  for (std::ptrdiff_t i = 0; i < split; ++i) backward.add_input(items[static_cast<std::size_t>(i)]);
  Backward weights;
  add_weights(weights, e, ExpertProduct::down);
  add_weights(weights, e, ExpertProduct::up);
  const bool tiles = context.moe.overlap == MoeSpec::Overlap::tiles;
  for (LayerItem& item : weights.weight) {
    // the published backward kernel makes them as well (HyperMegaMoEGrad)
    if (auto* op = std::get_if<Operator>(&item); op && tiles) op->launch = LaunchClass::in_kernel;
    backward.add_weight(item);
  }
  for (std::size_t i = static_cast<std::size_t>(split); i < items.size(); ++i)
    backward.add_input(items[i]);
}

}  // namespace stepcast::rows
