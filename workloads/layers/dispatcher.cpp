#include "dispatcher.hpp"

#include <cmath>

// The all-to-all dispatcher of Megatron-LM and MindSpeed, statement by statement.
namespace stepcast::rows {

namespace {

using Form = DispatcherForm;

constexpr double number = 8;  ///< bytes of an expert number or count, int64

bool fuses_rows(const Experts& e) { return !e.indexed(); }
bool in_groups(const Experts& e) { return e.context.moe.products != MoeSpec::Products::sequential; }
double of_weights(const Experts& e) { return e.weight_bytes() * e.tokens * e.count; }

void count_tokens(LayerItems& items, const Experts& e) {
  const Form& f = *e.form;
  // A mask has a flag per token and expert and is summed; numbers are counted per pair.
  const double scores = e.tokens * e.count;
  if (f.mask())
    put(items, {"expert counts", {2}, scores});
  else
    put(items, {"expert counts",
                f.counts == Form::Counts::bincount ? platform_of(e).bincount()
                                                   : platform_of(e).histogram(),
                number * e.copies});
  // With one expert rank the tensor ranks still have to agree on the counts.
  const GroupKind group = e.ep > 1 ? GroupKind::expert : GroupKind::expert_tensor;
  const double ranks = e.ep > 1 ? e.ep : e.etp;
  communicate(items, "all_gather expert counts", group, ranks, CollectiveKind::all_gather,
              number * e.count * ranks);
  // Sums over ranks, experts and rows of the gathered counts, a small kernel each.
  put(items, {"expert splits", {5}, 5 * number * e.count});
}

/// Splits on their way to the host, and the numbers of experts of arriving rows, which older
/// versions make before the rows arrive.
void read_splits(LayerItems& items, const Experts& e) {
  const Form& f = *e.form;
  // grouped products on NPUs take tokens per expert from the device
  const bool on_device = f.npu && in_groups(e);
  const int chunks = !fuses_rows(e) && f.mask() && e.local <= 1 ? 0 : 1;
  const int queued = fuses_rows(e) && f.mask() ? 4 : 4 + chunks;
  switch (f.splits) {
    case Form::Splits::queued:
      put(items, {"expert splits", {0, queued - (on_device ? 1 : 0), 0}});
      items.push_back(CopyToHost{});
      break;
    case Form::Splits::blocking:
    case Form::Splits::mixed: {
      const int copies = on_device ? 1 : 2;
      put(items, {"expert splits", {0, copies, f.splits == Form::Splits::blocking ? copies : 0}});
      put(items, {"expert splits to device", {0, 2, 2}});
      if (e.local > 1)
        put(items, {"expert numbers", platform_of(e).repeat_interleave(), 2 * number * e.copies});
      break;
    }
  }
  if (on_device) put(items, {"expert list", {3}, number * e.local});
}

void permute_by_number(LayerItems& items, const Experts& e) {
  if (fuses_rows(e))
    return put_rows(items, e, "permute", {1}, e.copies + e.tokens, VectorKind::gather);
  const Calls sort = platform_of(e).argsort(static_cast<int>(number));
  put(items, {"permute sort", sort, 2 * number * e.copies * sort.kernels});
  put(items, {"permute tokens", {1}, 2 * number * e.copies});
  put_rows(items, e, "permute select", {1}, 2 * e.copies, VectorKind::gather);
}

void permute_by_mask(LayerItems& items, const Experts& e) {
  const Platform platform = platform_of(e);
  const double scores = e.tokens * e.count;
  if (fuses_rows(e)) {
    put(items, {"permute map", {3}, (1 + fp32) * scores});
    put_rows(items, e, "permute", {1}, e.copies + e.tokens, VectorKind::gather);
    if (platform.npu && e.weight_bytes() > element)  // tokens and weights have to be of one type
      put_rows(items, e, "permute casts", {4}, 3 * e.tokens + 5 * e.copies);
    return;
  }
  // Without the fused kernel: mask to numbers, numbers to rows.
  put(items, {"permute mask", {1}, 2 * scores});
  put(items, {"permute numbers", {1}, number * e.tokens});
  put(items, {"permute numbers select", platform.masked_select(), scores + number * e.copies});
  if (e.form->weighs_inside()) {
    put(items, {"permute weights", {1}, 2 * of_weights(e)});
    put(items, {"permute weights select", platform.masked_select(),
                of_weights(e) + e.weight_bytes() * e.copies});
  }
  put_rows(items, e, "permute select", {1}, 2 * e.copies, VectorKind::gather);
}

/// Tokens sorted by every expert's own flags, and as many as its capacity taken: sizes are known,
/// and nothing is counted, told or waited for.
void permute_padded(LayerItems& items, const Experts& e) {
  const double scores = e.tokens * e.count;
  put(items, {"permute sort", {8}, 8 * 2 * number * scores});
  put(items, {"permute weights", {1}, of_weights(e) + e.weight_bytes() * e.copies});
  put_rows(items, e, "permute select", {1}, 2 * e.copies, VectorKind::gather);
}

/// Weights of the pairs out of those of all experts, in the order of the rows.
void select_weights(LayerItems& items, const Experts& e, const std::string& name) {
  put(items, {name + " weights", {1}, 2 * of_weights(e)});
  put(items, {name + " weights select", platform_of(e).masked_select(),
              of_weights(e) + e.weight_bytes() * e.copies});
}

void weights_gradient(LayerItems& items, const Experts& e, const std::string& name) {
  put(items, {name + " weights zeros", {1}, of_weights(e)});
  put(items, {name + " weights", platform_of(e).masked_scatter(), 2 * of_weights(e)});
  put(items, {name + " weights copy", {1}, 2 * of_weights(e)});
}

/// Rows that are multiplied with FP32 weights are FP32 from there on.
double weighed(const Experts& e) { return e.weight_bytes() / element; }

void put_chunks(LayerItems& items, const Experts& e, const std::string& name, bool weights) {
  // Rows come by rank and expert, and are joined by expert: so many pieces of a cat.
  const double chunks = e.ep * e.etp * e.local;
  const bool equal = e.context.moe.capacity_pad;  // a transposed copy
  const int cats = equal ? 1 : static_cast<int>(std::ceil(chunks / platform_of(e).pieces_of_cat()));
  put_rows(items, e, name, {cats}, 2 * e.rows, VectorKind::gather);
  if (weights && e.form->weighs_inside())
    put(items, {name + " weights", {cats}, 2 * e.weight_bytes() * e.rows});
}

void put_sort(LayerItems& items, const Experts& e, const std::string& name, Sort sort) {
  const double rows = e.rows / e.etp;  // before tensor ranks share them
  if (fuses_rows(e)) return put_rows(items, e, name, {1}, 2 * rows, VectorKind::gather);
  switch (sort) {
    // Sorting is argsort, then the tokens by its result, then the rows; gradients need no sort,
    // since the order is saved.
    case Sort::forth: {
      const Calls keys = platform_of(e).argsort(static_cast<int>(fp32));
      put(items, {name + " sort", keys, 2 * fp32 * rows * keys.kernels});
      put(items, {name + " tokens", {1}, 2 * number * rows});
      return put_rows(items, e, name + " select", {1}, 2 * rows, VectorKind::gather);
    }
    case Sort::back:
      put_rows(items, e, name + " zeros", {1}, rows);
      put_rows(items, e, name + " place", {1}, 2 * rows, VectorKind::gather);
      return put_rows(items, e, name + " sum", {1}, 2 * rows);
    case Sort::back_gradient:
      return put_rows(items, e, name + " select", {1}, 2 * rows, VectorKind::gather);
    case Sort::forth_gradient:
      put_rows(items, e, name + " zeros", {1}, rows);
      return put_rows(items, e, name + " add", {1}, 3 * rows, VectorKind::scatter_add);
  }
}

}  // namespace

void prepare_rows(LayerItems& items, const Experts& e) {
  if (e.form->fixed()) return fill_blocks(items, e);
  if (e.context.moe.capacity_pad) return permute_padded(items, e);
  count_tokens(items, e);
  read_splits(items, e);
  // The choice of the router decides: numbers are sorted, masks are selected.
  if (e.form->mask())
    permute_by_mask(items, e);
  else
    permute_by_number(items, e);
  // Newer versions wait only here, when the device has the tokens in order already.
  if (e.form->splits == Form::Splits::queued) items.push_back(HostReadback{"expert splits", true});
}

LayerItems prepare_rows_backward(const Experts& e) {
  if (e.form->fixed()) return fill_blocks_backward(e);
  LayerItems items;
  const std::string name = "permute backward";
  // One fused kernel adds up the copies of a token where it stands.
  if (fuses_rows(e)) {
    put_rows(items, e, name, {1}, e.copies + e.tokens, VectorKind::gather);
    return items;
  }
  put_rows(items, e, name + " zeros", {1}, e.tokens);
  put_rows(items, e, name + " add", {1}, 3 * e.copies, VectorKind::scatter_add);
  if (e.form->weighs_inside()) weights_gradient(items, e, name);
  return items;
}

LayerItems finish_rows(const Experts& e) {
  if (e.form->fixed()) return empty_blocks(e);
  LayerItems items;
  const std::string name = "unpermute";
  if (fuses_rows(e)) {
    put_rows(items, e, name, {1}, e.copies + e.tokens, VectorKind::gather);
    return items;
  }
  // By number, rows are put back in the order of pairs, weighed and added over top-k.
  if (!e.form->mask()) {
    put_rows(items, e, name + " zeros", {1}, e.copies);
    put_rows(items, e, name + " place", {1}, 2 * e.copies, VectorKind::gather);
    put_rows(items, e, name + " weigh", {1}, 2 * e.copies);
    put_rows(items, e, name + " sum", {1}, e.copies + e.tokens);
    return items;
  }
  double wide = 1;
  if (!e.form->weighs_inside()) {
    select_weights(items, e, name);
    wide = weighed(e);
    put_rows(items, e, name + " weigh", {1}, (1 + wide) * e.copies);
  }
  // By mask, rows are added into the tokens that they came from.
  put_rows(items, e, name + " zeros", {1}, wide * e.tokens);
  put_rows(items, e, name + " add", {1}, 3 * wide * e.copies, VectorKind::scatter_add);
  // FP32 weights made the sum FP32; the next layer reads BF16.
  if (wide > 1) put_rows(items, e, name + " cast", {1}, (wide + 1) * e.tokens);
  return items;
}

LayerItems finish_rows_backward(const Experts& e) {
  if (e.form->fixed()) return empty_blocks_backward(e);
  LayerItems items;
  const std::string name = "unpermute backward";
  if (fuses_rows(e)) {
    put_rows(items, e, name, {1}, e.copies + e.tokens, VectorKind::gather);
    return items;
  }
  // Weights were applied before the way back: the gradient of the sum is copied to its rows.
  if (e.form->weighs_inside()) {
    put_rows(items, e, name + " select", {1}, 2 * e.copies, VectorKind::gather);
    return items;
  }
  const double wide = e.form->mask() ? weighed(e) : 1;
  // By number, one gradient per token is read for all of its pairs.
  const double sources = e.form->mask() ? e.copies : e.tokens;
  const auto take = [&] {
    put_rows(items, e, name + " select", {1}, 2 * wide * e.copies, VectorKind::gather);
  };
  if (e.form->mask()) take();
  put_rows(items, e, name + " weigh", {1}, wide * sources + e.copies);
  put_rows(items, e, name + " weight gradient", {1}, wide * (sources + e.copies) + e.copies);
  put_rows(items, e, name + " weight sum", {1}, wide * e.copies);
  if (e.form->mask()) {
    weights_gradient(items, e, name);
  } else {
    put(items, {name + " weight cast", {1}, (fp32 + element) * e.copies});
    take();
  }
  return items;
}

LayerItems order_rows(const Experts& e, const std::string& name, Sort sort) {
  LayerItems items;
  if (e.form->library()) return expand_deepep(e, name, sort);
  if (e.form->fixed()) return order_blocks(e, name, sort);
  // Rows of one expert are in order; gathered tokens were selected in it.
  if (e.local <= 1 || e.gathers()) return items;
  if (e.form->order == Form::Order::sort) {
    put_sort(items, e, name, sort);
    return items;
  }
  const bool forth = sort == Sort::forth || sort == Sort::forth_gradient;
  const bool fused = fuses_rows(e) && !e.form->npu;  // not on NPUs without a compiler
  if (!fused) {
    put_chunks(items, e, name, forth);
    return items;
  }
  const bool backward = sort == Sort::back_gradient || sort == Sort::forth_gradient;
  put_rows(items, e, name, {backward ? 1 : 2}, 2 * e.rows, VectorKind::gather);
  return items;
}

}  // namespace stepcast::rows
