#include <algorithm>
#include <functional>
#include <numeric>
#include <variant>

#include "data_parallel.hpp"

// Parameters that replicas exchange tensor by tensor: docs/models/data_parallel.md, "Tensor by
// tensor". Models with experts have none of it.
namespace stepcast {

namespace {

/// DeepSpeed keeps a parameter that is read again within so many others
/// (stage3_max_reuse_distance).
constexpr double reuse_distance = 1e9;

/// Views that DeepSpeed makes in Python for each part of a list: of a gather's output; of a
/// gradient, made flat and cut; of a vector's part in the list, and of the vector, made flat and
/// cut.
constexpr int gathered_views = 1, reduced_views = 2, vector_views = 3;

/// The shares that the products of a layer have of its parameters, in forward order: query, key and
/// value; output; what widens, gate included; what narrows.
std::vector<double> of_layer(const ModelSpec& model) {
  const auto& attention = std::get<GroupedQueryAttention>(model.attention);
  const auto queries = static_cast<double>(attention.heads * attention.head_dim);
  const auto keys = static_cast<double>(attention.kv_heads * attention.head_dim);
  const auto wide = static_cast<double>(model.ffn.hidden);
  const bool gate = model.ffn.kind == FeedForwardSpec::Kind::swiglu;
  std::vector<double> out{queries + 2 * keys, queries, (gate ? 2 : 1) * wide, wide};
  const double all = std::accumulate(out.begin(), out.end(), 0.0);
  for (double& share : out) share /= all;
  return out;
}

/// Of a piece: its products and tables, as shares of its parameters. Vectors are shared out among
/// them.
std::vector<double> matrices(const PieceKey& key, const ModelSpec& model) {
  switch (key.kind) {
    case PieceKind::dense_layer:
    case PieceKind::moe_layer:
    case PieceKind::mtp_module:
      return of_layer(model);
    case PieceKind::embedding:
    case PieceKind::head:
      return {1};
    case PieceKind::received_input:
    case PieceKind::received_gradient:
      break;
  }
  return {};
}

/// Norms and biases of a piece.
std::int64_t vectors(const PieceKey& key, const ModelSpec& model) {
  const std::int64_t of_norm = model.norm == ModelSpec::Norm::layer ? 2 : 1;
  if (key.kind == PieceKind::head) return of_norm;
  if (matrices(key, model).size() <= 1) return 0;
  const std::int64_t norms =
      model.norms_before() * (model.norm == ModelSpec::Norm::sandwich ? 2 : 1) +
      (model.qk_norm == ModelSpec::QkNorm::none ? 0 : 2);
  // Each product of a layer may have a bias.
  const std::int64_t biases = model.bias == ModelSpec::Bias::all   ? 4
                              : model.bias == ModelSpec::Bias::qkv ? 1
                                                                   : 0;
  return norms * of_norm + biases;
}

/// Shares of a piece's parameters that every tensor which can have an owner has: a gate is one of
/// its own, and so are norms.
std::vector<double> tensors(const PlacedPiece& placed, const ModelSpec& model) {
  const PieceKey& key = placed.piece->key;
  std::vector<double> out = matrices(key, model);
  if (out.empty()) return out;
  const bool layer = out.size() > 1;
  if (layer && model.ffn.kind == FeedForwardSpec::Kind::swiglu) {
    out[2] /= 2;
    out.push_back(out[2]);
  }
  // Two norms of a layer, and the last one, which comes with the head.
  const std::size_t norms = layer ? 2 : key.kind == PieceKind::head ? 1 : 0;
  const double norm = static_cast<double>(model.hidden) / placed.parameters.dense;
  for (double& share : out) share *= 1 - static_cast<double>(norms) * norm;
  out.insert(out.end(), norms, norm);
  return out;
}

}  // namespace

void DataParallel::fetch(const PlacedPiece& placed, Slots& slots, Instructions& out,
                         Source source) {
  if (!in_lists()) return gather(weights(placed), true, slots, out, source);
  for (const double share : matrices(placed.piece->key, spec_.model))
    gather_list(placed, share, slots, out);
}

/// What runs again is gathered for that, and what is not read again soon enough once more for its
/// gradient.
void DataParallel::fetch_for_backward(const PlacedPiece& placed, Slots& slots, Instructions& out,
                                      Source source) {
  fetch(placed, slots, out, source);
  if (!in_lists() || !placed.recomputed) return;
  const std::vector<double> shares = matrices(placed.piece->key, spec_.model);
  double behind = 0;  // of what comes behind it in the layer
  for (auto share = shares.rbegin(); share != shares.rend(); ++share) {
    // Between both reads of a product all that stands behind it is read, forward and backward.
    if (2 * behind * placed.parameters.dense >= reuse_distance)
      gather_list(placed, *share, slots, out);
    behind += *share;
  }
}

/// The output is a list of as many tensors as there are ranks, which the library fills by a copy
/// each.
void DataParallel::gather_list(const PlacedPiece& placed, double share, Slots& slots,
                               Instructions& out) {
  builder_.library_launches("parts of gathered parameters", replicas(Part::dense), gathered_views,
                            out);
  gather(Part::dense, weights(placed).dense * share, true, slots, out);
}

void DataParallel::reduce_lists(const PlacedPiece& placed, Slots& slots, Instructions& out) {
  for (const double share : matrices(placed.piece->key, spec_.model)) {
    builder_.library_launches("parts of reduced gradients", replicas(Part::dense), reduced_views,
                              out);
    reduce(Part::dense, placed.parameters.dense * share, slots, out);
  }
}

/// What is too small for a list of its own is gathered behind the update, in one list, and each
/// vector is put together from a part of every rank. Its bytes are those that the matrices have.
void DataParallel::gather_vectors(const std::vector<Pieces>& chunks, Instructions& out) {
  std::int64_t count = 0;
  for (const Pieces& pieces : chunks)
    for (const PlacedPiece& placed : pieces) count += vectors(placed.piece->key, spec_.model);
  const double parts = static_cast<double>(count) * replicas(Part::dense);
  builder_.library_launches("parts of gathered vectors", parts, vector_views, out);
}

void DataParallel::wait_for_all(const Slots& gathered, Slots& reducing, Instructions& out) {
  for (const Slots* slots : {&gathered, static_cast<const Slots*>(&reducing)})
    for (const std::uint32_t slot : *slots) out.push_back(Wait{slot});
  reducing.clear();
  // `torch.cuda.synchronize()` at the end of `fetch_sub_module`.
  out.push_back(HostSync{});
}

/// One broadcast for each rank that owns something, of all that it owns: the largest tensor goes to
/// the first rank that has least.
void DataParallel::broadcast_owned(const Pieces& pieces, Instructions& out) {
  const double ranks = sharing(Part::dense);
  if (ranks <= 1) return;
  std::vector<double> bytes;
  for (const PlacedPiece& placed : pieces)
    for (const double share : tensors(placed, spec_.model))
      bytes.push_back(share * resident(weights(placed)).dense);
  std::erase_if(bytes, [](double tensor) { return tensor <= 0; });
  std::ranges::sort(bytes, std::greater<>{});
  std::vector<double> owned(std::min(static_cast<std::size_t>(ranks), bytes.size()));
  for (const double tensor : bytes) *std::ranges::min_element(owned) += tensor;
  Slots slots;
  for (const double of_owner : owned) {
    slots.push_back(builder_.new_slot());
    builder_.issue("broadcast parameters", gathered_over(Part::dense, Source::shards),
                   {CollectiveKind::broadcast, Bytes{of_owner}}, slots.back(), true, out);
  }
  for (const std::uint32_t slot : slots) out.push_back(Wait{slot});
}

}  // namespace stepcast
