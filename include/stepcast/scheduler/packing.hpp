#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/describe.hpp"

/// Packing decides which documents share a sequence, and which micro-batch of which replica gets
/// it. Formulas and sources: docs/models/packing.md.
namespace stepcast {

/// The keys of `schedule.data.documents`: how long the documents of the corpus are, in
/// tokens.
struct DocumentSpec {
  enum class Distribution { lognormal, fixed, file };
  Distribution distribution = Distribution::lognormal;
  double mean = 0;   ///< lognormal
  double sigma = 1;  ///< lognormal: of the logarithm
  std::int64_t seed = 1;
  std::int64_t length = 0;            ///< fixed
  std::string file;                   ///< as written
  std::vector<std::int64_t> lengths;  ///< what the file holds; drawn in order, again and again
};

/// The keys of `schedule.data:`.
struct DataSpec {
  enum class Mask { causal, document };
  enum class ContextSplit { zigzag, per_document };
  std::optional<DocumentSpec> documents;
  std::string packing = "none";
  Mask mask = Mask::causal;
  ContextSplit context_split = ContextSplit::zigzag;
};
void describe(Visitor& visitor, DataSpec& spec);

/// The length of the document with that number, at least 1 token. The same spec gives the
/// same length.
std::int64_t document_length(const DocumentSpec& spec, std::uint64_t index);

/// A step has replicas x micro-batches x sequences of `capacity` tokens.
struct BatchShape {
  std::int64_t replicas = 1, micro_batches = 1, sequences = 1, capacity = 1;
  std::int64_t packs() const { return replicas * micro_batches * sequences; }
  std::int64_t slots() const { return replicas * micro_batches; }
};

/// A pack is one sequence: the lengths of its segments in order; what is missing to the capacity is
/// padding.
using Pack = std::vector<std::int64_t>;

/// The documents of one step as sequences, by replica and micro-batch. Lengths in tokens.
struct PackedBatch {
  BatchShape shape;
  std::vector<Pack> packs;     ///< [(replica * micro_batches + micro_batch) * sequences + sequence]
  std::int64_t documents = 0;  ///< of which some part is in the batch
  std::int64_t tokens = 0;     ///< of documents in the batch
  std::int64_t padding = 0;    ///< tokens = capacity of all packs - padding
  std::int64_t truncated_tokens = 0;  ///< lost for training
  std::int64_t deferred_tokens = 0;   ///< of drawn documents, left for the next step
  std::int64_t cuts = 0;              ///< documents cut in two, counted once per cut

  std::span<const Pack> slot(std::int64_t replica, std::int64_t micro_batch) const;
};

/// Fills the packs of one step from the documents 0, 1, 2, ..
struct Packing {
  std::string_view name;
  PackedBatch (*pack)(const DocumentSpec& documents, const BatchShape& shape);
};
const std::vector<Packing>& packings();
const Packing& packing(std::string_view name);

/// The sum of the squared segment lengths, which is twice the visible pairs of causal
/// attention, to first order.
double attention_cost(const Pack& pack);
double attention_cost(std::span<const Pack> slot);

/// The attention of one micro-batch on one context rank, as a share of causal attention
/// over whole sequences: its pairs, and its tokens that are no padding. A kernel that reaches half
/// its speed at `half` queries takes (pairs + q tokens) / (1 + q) of its full time with q = half /
/// queries.
struct AttentionLoad {
  double pairs = 1, tokens = 1;
  friend bool operator==(const AttentionLoad&, const AttentionLoad&) = default;
};
/// The share of ring position `ring` of `rings`. Under the document mask with a zigzag
/// split rank i holds slices i and 2 rings - 1 - i of every sequence; per document all ranks are
/// alike.
AttentionLoad attention_load(const DataSpec& spec, std::span<const Pack> slot,
                             std::int64_t capacity, std::int64_t ring, std::int64_t rings);

/// Says how unequal the attention of a batch is; each figure is a maximum over a mean.
struct Imbalance {
  double slot = 1;     ///< over the replicas of one micro-batch index, the worst index
  double replica = 1;  ///< over the replicas, summed over the step
  double all = 1;      ///< over all slots
};
Imbalance imbalance(const PackedBatch& batch);

/// Takes the longest processing time first (Graham, SIAM J. Appl. Math. 17, 1969): weights in
/// descending order, each to the least loaded bin that holds fewer than `most` so far. It returns
/// the bin of each weight. Without a limit the largest load is at most 4/3 - 1/(3 bins) of the
/// least possible one. It needs bins >= 1 and bins * most >= weights.
std::vector<std::uint32_t> longest_first(
    std::span<const double> weights, std::uint32_t bins,
    std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace stepcast
