#include <utility>

#include "dispatcher.hpp"
#include "feed_forward.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast::rows {

namespace {

using Put = std::function<void(const LayerItem&)>;

Put into(LayerItems& items) {
  return [&items](const LayerItem& item) { items.push_back(item); };
}
Put into(Backward& backward) {
  return [&backward](const LayerItem& item) { backward.add_input(item); };
}

void put_all(const Put& put, const LayerItems& items) {
  for (const LayerItem& item : items) put(item);
}

/// Parts of rows lie beside each other in a row and must be joined behind a gather, cut before a
/// reduction: newer versions share whole rows.
bool in_parts(const Experts& e) {
  if (e.form == nullptr) return e.indexed();
  return e.form->trades_parts || e.form->order == DispatcherForm::Order::sort;
}

/// Ranks that hold all rows add up what each made of them with its part of the experts, and in the
/// backward pass its gradient, as a framework does that differentiates what each rank runs.
void add_up_parts(LayerItems& items, const Experts& e, const std::string& what) {
  items.push_back(LayerCommunication{"all_reduce " + what,
                                     GroupKind::expert_tensor,
                                     {CollectiveKind::all_reduce, Bytes{e.row_bytes(e.rows)}},
                                     false});
}

/// The ranks of an expert's tensor group share its rows, as many as the expert is loaded.
/// `outputs`: rows, or gradients of rows, that the experts made.
void share_rows(LayerItems& items, const Experts& e, const std::string& what, CollectiveKind kind,
                bool outputs) {
  // Gathered tokens are on all tensor ranks already.
  if (e.etp <= 1 || e.gathers()) return;
  if (e.whole()) return outputs ? add_up_parts(items, e, what) : void();
  const bool gathers = kind == CollectiveKind::all_gather;
  const std::string name = (gathers ? "all_gather " : "reduce_scatter ") + what;
  // Weights in FP32 make the outputs FP32, on the wire as well.
  const double wide = outputs && e.outputs_in_fp32() ? fp32 / element : 1;
  CollectiveCall call{kind, Bytes{wide * e.row_bytes(e.copies * e.etp)}};
  // The exchange takes as long as its fullest rank.
  call.skew.factor = e.rank_shares();
  const auto cast = [&](double rows) {
    if (wide > 1) put_rows(items, e, name + " cast", {1}, (1 + wide) * rows);
  };
  const auto join = [&](bool now) {
    if (in_parts(e) && now)
      items.push_back(routed(vector_row(name + " parts", 0, 2 * e.row_bytes(e.rows))));
  };
  cast(gathers ? e.rows / e.etp : e.rows);
  join(!gathers);
  items.push_back(LayerCommunication{name, GroupKind::expert_tensor, std::move(call), false});
  join(gathers);
  cast(gathers ? e.rows : e.rows / e.etp);
  const bool weights =
      !outputs && e.form != nullptr && e.form->weights == DispatcherForm::Weights::travel;
  if (weights)
    communicate(items, name + " weights", GroupKind::expert_tensor, e.etp, kind,
                e.weight_bytes() * e.copies * e.etp);
}

/// Older versions exchange parts of the sequence for parts of the rows over the tensor ranks that
/// share experts, with a copy.
void trade_parts(LayerItems& items, const Experts& e, const std::string& name) {
  if (e.form == nullptr || !in_parts(e) || e.etp <= 1 || e.gathers()) return;
  items.push_back(vector_row(name + " copy", 0, 2 * e.row_bytes(e.tokens)));
  communicate(items, name, GroupKind::expert_tensor, e.etp, CollectiveKind::all_to_all,
              e.row_bytes(e.tokens));
}

/// Zeros, and rows that are put or added into them.
std::vector<RowFlow> one_move(double read, double written) {
  return {{{}, {'z', written}}, {{{'a', read}}, {'y', written}}};
}

void sort_rows(LayerItems& items, const Experts& e, const char* name, Sort sort) {
  if (e.form != nullptr) return put_all(into(items), order_rows(e, name, sort));
  if (!e.sorts()) return;
  if (!e.indexed()) {
    items.push_back(routed(vector_row(name, 0, e.row_bytes(e.arrived_rows() + e.rows))));
    return;
  }
  // Kernels of the framework copy rows by index, forth and back.
  const double rows = e.sorted_rows(), bytes = e.row_bytes(rows);
  const std::string bias = std::string{name} + " bias";
  switch (sort) {
    case Sort::forth:
      return select_rows(items, e, name, rows);
    case Sort::back:
      place_rows(items, e, name, rows);
      group_rows(items, items.size() - 2, name, OperatorRole::other, one_move(bytes, bytes));
      if (e.carries_bias()) place_rows(items, e, bias, rows);
      return;
    case Sort::back_gradient:
      select_rows(items, e, name, rows);
      if (e.carries_bias()) select_rows(items, e, bias, rows);
      return;
    case Sort::forth_gradient:
      add_rows(items, e, name, rows, rows);
      return group_rows(items, items.size() - 2, name, OperatorRole::other, one_move(bytes, bytes));
  }
}

/// Lining up tokens for the exchange, or adding them up behind it, and their gradients.
enum class Permute { forth, back, back_gradient, forth_gradient };

OperatorRole role_of(Permute permute) {
  switch (permute) {
    case Permute::forth:
      return OperatorRole::permute;
    case Permute::back:
      return OperatorRole::unpermute;
    case Permute::back_gradient:
      return OperatorRole::unpermute_backward;
    case Permute::forth_gradient:
      break;
  }
  return OperatorRole::permute_backward;
}

LayerItems indexed_permute(const Experts& e, const char* name, Permute permute) {
  LayerItems items;
  const double rows = e.row_bytes(e.copies), tokens = e.row_bytes(e.tokens);
  const auto group = [&](std::vector<RowFlow> flows) {
    group_rows(items, 0, name, role_of(permute), std::move(flows));
  };
  switch (permute) {
    case Permute::forth:
      select_rows(items, e, name, e.copies);
      break;
    case Permute::back:
      // The inverse gathers each token's rows, so that a fused kernel needs no zeros to add to.
      place_rows(items, e, name, e.copies);
      weigh_rows(items, e, name, e.copies);
      items.push_back(vector_row(std::string{name} + " sum", e.copies * e.shape.hidden,
                                 e.row_bytes(e.copies + e.tokens)));
      group({{{}, {'z', rows}},
             {{{'a', rows}}, {'b', rows}},
             {{{'b', rows}}, {'c', rows}},
             {{{'c', rows}}, {'y', tokens}}});
      break;
    case Permute::back_gradient:
      weigh_rows_backward(items, e, name, e.copies, e.tokens);
      select_rows(items, e, name, e.copies);
      group({{{{'g', tokens}}, {'c', rows}},
             {{{'g', tokens}, {'b', rows}}, {'d', rows}},
             {{{'d', rows}}, {'1', 0}},
             {{{'c', rows}}, {'y', rows}}});
      break;
    case Permute::forth_gradient:
      // A token went to several experts: its gradient is the sum of what comes back.
      add_rows(items, e, name, e.copies, e.tokens);
      group(one_move(rows, tokens));
      break;
  }
  return items;
}

void permute(const Put& put, const Experts& e, const char* name, double flops, Permute kind) {
  const double rows = permuted_rows(e);
  // Tokens that are gathered go to all ranks, so that nothing is lined up for one of them.
  if (rows <= 0) return;
  if (e.indexed()) return put_all(put, indexed_permute(e, name, kind));
  put(vector_row(name, flops, (1 + rows) * e.row_bytes(e.tokens), role_of(kind)));
}

/// Lining up tokens in front of an exchange. Vector cores of the fused kernel write rows from where
/// they stand to their experts: no copy is made, what is computed on the way stays.
void line_up(const Put& put, const Experts& e, const char* name, double flops, Permute kind) {
  if (e.context.moe.overlap != MoeSpec::Overlap::tiles || e.ep <= 1)
    return permute(put, e, name, flops, kind);
  Operator op = vector_row(name, flops, 0, role_of(kind));
  op.launch = LaunchClass::in_kernel;
  if (flops > 0 && permuted_rows(e) > 0) put(op);
}

/// Tokens, counts and splits made ready for the dispatch.
void prepare(LayerItems& items, const Experts& e) {
  if (e.form == nullptr) {
    line_up(into(items), e, "permute", 0, Permute::forth);
    return announce(items, e);
  }
  if (e.gathers()) return announce_gather(items, e);
  if (e.form->hybrid) return announce_hybridep(items, e);
  if (e.form->library()) return announce_deepep(items, e);
  trade_parts(items, e, "all_to_all token parts");
  prepare_rows(items, e);
}

LayerItems statements_of(const Experts& e, Permute kind) {
  LayerItems items;
  const auto add = [&](const LayerItems& more) { put_all(into(items), more); };
  switch (kind) {
    case Permute::back:
      add(finish_rows(e));
      trade_parts(items, e, "all_to_all output parts");
      return items;
    case Permute::back_gradient:
      trade_parts(items, e, "all_to_all output gradient parts");
      add(finish_rows_backward(e));
      return items;
    case Permute::forth_gradient:
      add(prepare_rows_backward(e));
      trade_parts(items, e, "all_to_all token gradient parts");
      return items;
    case Permute::forth:
      // Counts and rows of the way there are one thing: prepare() has both.
      break;
  }
  expects(false, "rows are lined up with their counts");
  return items;
}

/// Rows lined up or added up behind or in front of the exchange.
void finish(const Put& put, const Experts& e, const char* name, double flops, Permute kind) {
  if (e.form != nullptr) {
    if (!e.gathers() && !e.form->library()) put_all(put, statements_of(e, kind));
    return;
  }
  // The gradient of the way back is sent as the tokens were, so that it stands before an exchange.
  if (kind == Permute::back_gradient) return line_up(put, e, name, flops, kind);
  permute(put, e, name, flops, kind);
}

/// What such a library launches is behind what graphs of Megatron-LM's `moe_preprocess` hold.
bool calls_library(const Experts& e) { return e.form != nullptr && e.form->library(); }

/// Hops that are one kernel start together.
std::size_t run_together(const Put& put, Hops& hops, std::size_t first,
                         const std::function<void()>& beside) {
  std::size_t last = first;
  // A library does both hops of an exchange in one kernel.
  while (hops[last].with_next) ++last;
  for (std::size_t i = first; i <= last; ++i) {
    put_all(put, hops[i].before);
    hops[i].call.overlapped = true;
    put(hops[i].call);
  }
  if (beside) beside();
  for (std::size_t i = first; i <= last; ++i) put(WaitFor{hops[i].call.id});
  for (std::size_t i = first; i <= last; ++i) put_all(put, hops[i].after);
  return last;
}

/// The hops one after the other; `beside` runs while the one between the parts is under way.
void run(const Put& put, Hops hops, const std::function<void()>& beside) {
  // What is hidden runs beside the longest hop.
  const std::size_t wide = widest(hops);
  for (std::size_t i = 0; i < hops.size(); ++i) {
    if (hops[i].with_next) {
      i = run_together(put, hops, i, beside);
      continue;
    }
    put_all(put, hops[i].before);
    hops[i].call.overlapped = beside && i == wide;
    put(hops[i].call);
    if (hops[i].call.overlapped) {
      beside();
      put(WaitFor{hops[i].call.id});
    }
    put_all(put, hops[i].after);
  }
}

}  // namespace

void experts_forward(LayerItems& items, const Experts& e) {
  // Tensor ranks that share the experts need each other's rows, before they are put in order.
  share_rows(items, e, "expert rows", CollectiveKind::all_gather, false);
  sort_rows(items, e, "sort by expert", Sort::forth);
  const Put put = into(items);
  put_all(put, expert_padding(e, "experts pad", true));
  put_all(put, products_forward(e, ExpertProduct::up));
  put_all(put, expert_activations(e, false));
  put_all(put, products_forward(e, ExpertProduct::down));
  put_all(put, expert_outputs(e));
  put_all(put, expert_padding(e, "experts unpad", false));
  sort_rows(items, e, "unsort", Sort::back);
  share_rows(items, e, "expert rows", CollectiveKind::reduce_scatter, true);
}

void experts_backward(Backward& backward, const Experts& e, bool weights) {
  LayerItems items;
  share_rows(items, e, "expert gradient", CollectiveKind::all_gather, true);
  sort_rows(items, e, "sort gradient by expert", Sort::back_gradient);
  put_all(into(items), expert_padding(e, "experts unpad backward", false));
  backward.add_input(items);
  backward.add_input(expert_output_gradients(e));
  // Only the activation is made again: its inputs were kept.
  if (e.context.training.recomputes(TrainingSpec::Module::moe_act))
    add_again(backward, expert_activations(e, false));
  backward.add_input(products_backward(e, ExpertProduct::down));
  // Where a schedule splits the pass, the gradient of the weights comes later.
  if (weights) add_weights(backward, e, ExpertProduct::down);
  backward.add_input(expert_activations(e, true));
  backward.add_input(products_backward(e, ExpertProduct::up));
  backward.add_input(expert_input_gradients(e));
  items.clear();
  put_all(into(items), expert_padding(e, "experts pad backward", true));
  sort_rows(items, e, "unsort gradient", Sort::forth_gradient);
  share_rows(items, e, "expert gradient", CollectiveKind::reduce_scatter, false);
  backward.add_input(items);
}

namespace {

/// Up projection and activation of the shared experts beside the dispatch, down projection beside
/// the combine.
void exchange_forward(LayerItems& items, const Experts& e) {
  const double width = e.shared_width();
  std::function<void()> up, down;
  if (e.hides) {
    up = [&] { feed_forward_in(items, e.context, shared_name, e.kind, width); };
    down = [&] { feed_forward_out(items, e.context, shared_name, width); };
  }
  run(into(items), exchange_hops(e, {CommunicationRole::dispatch}), up);
  experts_forward(items, e);
  run(into(items), exchange_hops(e, {CommunicationRole::combine}), down);
}

/// Backward the gradient of the shared down projection runs beside the combine's; that of the up
/// projection, and the weight gradient of the routed experts, beside the dispatch's.
void exchange_backward(Backward& backward, const Experts& e) {
  const double width = e.shared_width();
  const auto routed_weights = [&] { add_weights(backward, e, ExpertProduct::up); };
  std::function<void()> down, up;
  if (e.hides) {
    down = [&] { feed_forward_out_backward(backward, e.context, shared_name, e.kind, width); };
    up = [&] {
      routed_weights();
      feed_forward_in_backward(backward, e.context, shared_name, e.kind, width);
    };
  }
  run(into(backward), exchange_hops(e, {CommunicationRole::combine_backward}), down);
  experts_backward(backward, e, true);
  if (!e.hides) routed_weights();
  run(into(backward), exchange_hops(e, {CommunicationRole::dispatch_backward}), up);
}

}  // namespace

void routed_forward(LayerItems& items, const Experts& e) {
  // What a library prepares for itself stays outside of the graph.
  const bool in_graph = !calls_library(e) && e.context.captures(GraphScope::moe_preprocess);
  captured(items, in_graph, [&] { prepare(items, e); });
  if (e.context.moe.in_pieces() && e.ep > 1)
    pieces_forward(items, e.context);
  else
    exchange_forward(items, e);
  finish(into(items), e, "unpermute", 2 * e.copies * e.shape.hidden, Permute::back);
}

void routed_backward(Backward& backward, const Experts& e, const std::function<void()>& beside) {
  finish(into(backward), e, "unpermute backward", 4 * e.copies * e.shape.hidden,
         Permute::back_gradient);
  beside();
  if (e.context.moe.in_pieces() && e.ep > 1)
    pieces_backward(backward, e.context);
  else
    exchange_backward(backward, e);
  captured(backward, e.context.captures(GraphScope::moe_preprocess), [&] {
    finish(into(backward), e, "permute backward", e.copies * e.shape.hidden,
           Permute::forth_gradient);
  });
}

}  // namespace stepcast::rows
