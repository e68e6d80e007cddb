#include "dispatcher.hpp"

// The allgather dispatcher of Megatron-LM and MindSpeed, statement by statement.
namespace stepcast::rows {

namespace {

constexpr double expert_number = 8;  ///< bytes, int64
constexpr double flag = 1;           ///< byte of a mask

bool own_in_one_kernel(const Experts& e) { return !e.indexed(); }

/// Bytes per token of what is gathered beside it: numbers or mask of its experts, and weights.
double map_bytes(const Experts& e) {
  return e.form->mask() ? flag * e.count : expert_number * e.top_k;
}
double weights_of_token(const Experts& e) {
  return e.weight_bytes() * (e.form->mask() ? e.count : e.top_k);
}

void gather_all(LayerItems& items, const Experts& e, const std::string& name, CollectiveKind kind,
                double bytes_per_token) {
  // Over the expert group first, then over the tensor ranks that share its experts.
  const double own = bytes_per_token * e.tokens;
  communicate(items, name, GroupKind::expert, e.ep, kind, e.ep * own);
  communicate(items, name + " tensor", GroupKind::expert_tensor, e.etp, kind, e.ep * e.etp * own);
}

void own_by_number(LayerItems& items, const Experts& e) {
  const Platform platform = platform_of(e);
  const bool on_device = platform.npu && e.context.moe.products != MoeSpec::Products::sequential;
  const double pairs = e.gathered() * e.top_k, numbers = expert_number * pairs;
  // Pairs of the experts on this rank among all gathered ones: two comparisons and their product.
  put(items, {"own pairs", {3}, 2 * numbers});
  put(items, {"own numbers", platform.masked_select(), numbers + expert_number * e.rows});
  put(items, {"own weights", platform.masked_select(), e.weight_bytes() * (pairs + e.rows)});
  put(items, {"own places", platform.nonzero(), flag * pairs + expert_number * e.rows});
  put_rows(items, e, "own select", {1}, 2 * e.rows, VectorKind::gather);
  // Own rows come in the order of tokens; the grouped product needs that of experts.
  const Calls sort = platform.argsort(static_cast<int>(expert_number));
  put(items, {"sort by expert", sort, 2 * expert_number * e.rows * sort.kernels});
  const bool bins = e.form->counts == DispatcherForm::Counts::bincount;
  put(items,
      {"expert counts", bins ? platform.bincount() : platform.histogram(), expert_number * e.rows});
  // Grouped products on NPUs read the counts on the device; others wait for them on the host.
  if (on_device)
    put(items, {"expert list", {3}, expert_number * e.local});
  else
    put(items, {"expert counts to host", {0, 1, 1}});
  put_rows(items, e, "sort by expert select", {1}, 2 * e.rows, VectorKind::gather);
}

void own_by_mask(LayerItems& items, const Experts& e) {
  const Platform platform = platform_of(e);
  const double flags = flag * e.gathered() * e.local, weights = e.weight_bytes() * flags;
  // The columns of the own experts, of mask and weights.
  put(items, {"own slices", {2}, 2 * (flags + weights)});
  put(items, {"expert counts", {1}, flags});
  put(items, {"expert counts to host", {0, 1, 1}});
  // The fused kernel takes a map of rows; its size has to be known on the host.
  if (own_in_one_kernel(e)) {
    put(items, {"own map", {3}, (flag + fp32) * flags});
    put(items, {"own rows to host", {0, 1, 1}});
    return put_rows(items, e, "own rows", {1}, 2 * e.rows, VectorKind::gather);
  }
  put(items, {"own mask", {1}, 2 * flags});
  put(items, {"own numbers", {1}, expert_number * e.gathered()});
  put(items, {"own numbers select", platform.masked_select(), flags + expert_number * e.rows});
  put_rows(items, e, "own select", {1}, 2 * e.rows, VectorKind::gather);
  put(items, {"own weights", {1}, 2 * weights});
  put(items, {"own weights select", platform.masked_select(), weights + e.weight_bytes() * e.rows});
}

}  // namespace

void announce_gather(LayerItems& items, const Experts& e) {
  gather_all(items, e, e.form->mask() ? "all_gather expert mask" : "all_gather expert numbers",
             CollectiveKind::all_gather, map_bytes(e));
  gather_all(items, e, "all_gather router weights", CollectiveKind::all_gather,
             weights_of_token(e));
}

LayerItems own_pairs(const Experts& e) {
  LayerItems items;
  if (e.form->mask())
    own_by_mask(items, e);
  else
    own_by_number(items, e);
  return items;
}

LayerItems own_pairs_backward(const Experts& e) {
  LayerItems items;
  const bool masked = e.form->mask();
  // Backward through the sort, then through the selection.
  if (!masked) add_rows(items, e, "unsort gradient", e.rows, e.rows);
  if (masked && own_in_one_kernel(e))
    put_rows(items, e, "own rows backward", {1}, e.rows + e.gathered(), VectorKind::scatter_add);
  else
    add_rows(items, e, "own pairs backward", e.rows, e.gathered());
  const double weights = e.gathered() * weights_of_token(e);
  put(items, {"own weights backward", platform_of(e).masked_scatter(), weights});
  if (masked) put(items, {"own slices backward", {2}, 2 * weights});
  // Every rank has a part of the gradient of every token's weights.
  gather_all(items, e, "reduce_scatter router weights gradient", CollectiveKind::reduce_scatter,
             weights_of_token(e));
  return items;
}

LayerItems gathered_outputs(const Experts& e) {
  LayerItems items;
  const std::string name = "add up outputs";
  const bool masked = e.form->mask();
  if (!masked) {
    put_rows(items, e, "unsort zeros", {1}, e.rows);
    put_rows(items, e, "unsort add", {1}, 3 * e.rows, VectorKind::scatter_add);
    put(items, {"own weights cast", {1}, (fp32 + element) * e.rows});
  }
  if (!e.form->weighs_inside()) weigh_rows(items, e, name, e.rows);
  // Into zeros of all gathered tokens, which the reduction then scatters.
  add_rows(items, e, name, e.rows, e.gathered());
  if (e.outputs_in_fp32()) put_rows(items, e, name + " cast", {1}, 3 * e.gathered());
  return items;
}

LayerItems gathered_outputs_backward(const Experts& e) {
  LayerItems items;
  const std::string name = "add up outputs backward";
  // Outputs that were summed in FP32 have FP32 gradients; rows are BF16.
  if (e.outputs_in_fp32()) put_rows(items, e, name + " cast", {1}, 3 * e.gathered());
  select_rows(items, e, name, e.rows);
  if (!e.form->weighs_inside()) weigh_rows_backward(items, e, name, e.rows, e.rows);
  if (!e.form->mask()) select_rows(items, e, "sort gradient by expert", e.rows);
  return items;
}

}  // namespace stepcast::rows
