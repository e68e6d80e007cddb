#include "dispatcher.hpp"

// MindFormers' MoEV2 with TopkRouterV2: blocks of a fixed size for every expert, a call of an NPU
// per statement, and nothing that a host has to know. docs/models/dispatchers.md.
namespace stepcast::rows {

namespace {

constexpr double index_bytes = 4;  ///< int32

double of_pairs(const Experts& e) { return e.tokens * e.top_k; }

/// Every pair gets a place among those of its expert by a running sum, and every expert its tokens
/// by a sort of all pairs.
void put_places(LayerItems& items, const Experts& e) {
  const double pairs = of_pairs(e), table = pairs * e.count;
  // one-hot, running sum, product with it, limit with its cast and product, sum
  put(items, {"expert places", {7}, 50 * table});
  put(items, {"expert places of pairs", {6}, 46 * pairs});
  // transposed; numbers of its pairs, and numbers above all of them for the others
  put(items, {"expert tokens", {6}, 60 * table});
  put(items, {"expert tokens sort", {1}, 12 * table});
  put(items, {"expert tokens of places", {7}, 54 * e.copies});
  put(items, {"top-k weights", {2}, 20 * pairs});
}

/// Shares of the experts, by a table of all pairs, times their mean scores.
void put_losses(LayerItems& items, const Experts& e) {
  const double scores = e.tokens * e.count, pairs = of_pairs(e);
  const RouterSpec& router = e.context.moe.router;
  if (router.aux_loss)
    put(items, {"balancing loss", {8}, fp32 * scores + (8 + 2 * fp32 * e.count) * pairs});
  if (router.z_loss) put(items, {"z loss", {11}, 30 * scores});
}

/// The exchange wants what goes to one rank, and gives what came from one, in one piece, whereas
/// experts are no outer dimension: cut and joined on either side.
void cut_and_join(LayerItems& items, const Experts& e, const std::string& name) {
  if (e.ep <= 1) return;
  put_rows(items, e, name + " cut", {1}, 2 * e.copies);
  put_rows(items, e, name + " join", {1}, 2 * e.copies);
}

void transpose(LayerItems& items, const Experts& e, const std::string& name) {
  put_rows(items, e, name + " transpose", {1}, 2 * e.rows);
}

/// Kernels from `from` on become one where a fuser runs.
void group(LayerItems& items, std::size_t from, const std::string& name,
           std::vector<RowFlow> flows) {
  group_rows(items, from, name, OperatorRole::other, std::move(flows));
}

}  // namespace

void choose_places(LayerItems& items, const Experts& e, bool in_statements) {
  // Bytes per score and pair are those of the statements of MindFormers' TopkRouterV2, one item per
  // kernel that was counted.
  const double scores = e.tokens * e.count, pairs = of_pairs(e);
  put(items, {"top-k scores", {1}, 2 * fp32 * scores});
  if (e.spec.correction_bias) put(items, {"expert bias", {2}, 2 * fp32 * (scores + pairs)});
  if (e.spec.groups > 1) put(items, {"top-k groups", {9}, 28 * scores});
  put(items, {"top-k", {1}, fp32 * scores + 2 * fp32 * pairs});
  put_losses(items, e);
  if (in_statements) return put_places(items, e);
  put(items, {"expert places", {1}, index_bytes * (2 * pairs + e.copies)});
  put(items, {"top-k weights", {5}, 38 * pairs});  // of those within the capacity, scaled
}

LayerItems choose_places_backward(const Experts& e) {
  LayerItems items;
  const double scores = e.tokens * e.count;
  const RouterSpec& router = e.context.moe.router;
  // No gradient goes through places: indices have none.
  put(items, {"top-k weights backward", {2}, 20 * of_pairs(e)});
  put(items, {"top-k backward", {3}, fp32 * scores + 4 * fp32 * of_pairs(e)});
  if (router.aux_loss) put(items, {"balancing loss backward", {3}, 4 * fp32 * scores});
  if (router.z_loss) put(items, {"z loss backward", {9}, 30 * scores});
  put(items, {"top-k scores backward", {1}, 3 * fp32 * scores});
  return items;
}

void fill_blocks(LayerItems& items, const Experts& e) {
  put_rows(items, e, "permute zero row", {1}, 2 * e.tokens);
  put_rows(items, e, "permute select", {1}, 2 * e.copies, VectorKind::gather);
  cut_and_join(items, e, "permute");
}

LayerItems fill_blocks_backward(const Experts& e) {
  // In the reverse order of the forward; the slice drops the row that takes what exceeds the
  // capacity.
  LayerItems items;
  const std::string name = "permute backward";
  cut_and_join(items, e, name);
  put_rows(items, e, name + " zeros", {1}, e.tokens);
  put_rows(items, e, name + " add", {1}, 3 * e.copies, VectorKind::scatter_add);
  put_rows(items, e, name + " slice", {1}, 2 * e.tokens);
  return items;
}

LayerItems empty_blocks(const Experts& e) {
  LayerItems items;
  const std::string name = "unpermute";
  const double pairs = of_pairs(e), rows = e.row_bytes(pairs);
  cut_and_join(items, e, name);
  // The row that stands for dropped pairs reads as zero.
  put_rows(items, e, name + " zero rows", {1}, 2 * e.copies);
  put_rows(items, e, name + " select", {1}, 2 * pairs, VectorKind::gather);
  put(items, {name + " weights", {1}, (fp32 + element) * pairs});
  // From here on kernels that a fusing compiler joins, with what each of them reads and writes.
  const std::size_t from = items.size();
  put_rows(items, e, name + " weigh", {1}, 2 * pairs);
  put_rows(items, e, name + " sum", {1}, pairs + e.tokens);
  group(items, from, name + " weigh and sum",
        {{{{'a', rows}}, {'b', rows}}, {{{'b', rows}}, {'y', e.row_bytes(e.tokens)}}});
  return items;
}

LayerItems empty_blocks_backward(const Experts& e) {
  LayerItems items;
  const std::string name = "unpermute backward";
  const double pairs = of_pairs(e), rows = e.row_bytes(pairs), tokens = e.row_bytes(e.tokens);
  // A gradient per token is spread over its pairs before weights and rows part ways.
  put_rows(items, e, name + " spread", {1}, e.tokens + pairs);
  put_rows(items, e, name + " weight gradient", {1}, 3 * pairs);
  put_rows(items, e, name + " weight sum", {1}, pairs);
  put_rows(items, e, name + " weigh", {1}, 2 * pairs);
  group(items, 0, name,
        {{{{'g', tokens}}, {'b', rows}},
         {{{'b', rows}, {'a', rows}}, {'c', rows}},
         {{{'c', rows}}, {'1', 0}},
         {{{'b', rows}}, {'y', rows}}});
  put(items, {name + " weights", {1}, (fp32 + element) * pairs});
  put_rows(items, e, name + " zeros", {1}, e.copies);
  put_rows(items, e, name + " add", {1}, 3 * pairs, VectorKind::scatter_add);
  put_rows(items, e, name + " slice", {1}, 2 * e.copies);
  cut_and_join(items, e, name);
  return items;
}

LayerItems order_blocks(const Experts& e, const std::string& name, Sort sort) {
  LayerItems items;
  // Rows arrive by rank and leave by rank, while products want them by expert: the transposition is
  // on the side of the experts.
  const bool arrived = sort == Sort::forth || sort == Sort::back_gradient;
  if (arrived) {
    cut_and_join(items, e, name);
    transpose(items, e, name);
  } else {
    transpose(items, e, name);
    cut_and_join(items, e, name);
  }
  return items;
}

}  // namespace stepcast::rows
