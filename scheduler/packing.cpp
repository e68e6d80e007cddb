#include "stepcast/scheduler/packing.hpp"

#include <algorithm>
#include <set>

#include "attention_aware.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/random.hpp"

namespace stepcast {
namespace {

PackedBatch empty_batch(const BatchShape& shape) {
  PackedBatch batch{shape, {}};
  batch.packs.resize(static_cast<std::size_t>(shape.packs()));
  return batch;
}

void count_padding(PackedBatch& batch) {
  batch.padding = batch.shape.packs() * batch.shape.capacity - batch.tokens;
}

/// One document per sequence; what is longer is cut off and lost.
PackedBatch one_per_sequence(const DocumentSpec& documents, const BatchShape& shape) {
  PackedBatch batch = empty_batch(shape);
  for (Pack& pack : batch.packs) {
    const std::int64_t length =
        document_length(documents, static_cast<std::uint64_t>(batch.documents++));
    pack = {std::min(length, shape.capacity)};
    batch.tokens += pack.front();
    batch.truncated_tokens += length - pack.front();
  }
  count_padding(batch);
  return batch;
}

/// All documents one after another, cut where a sequence is full.
PackedBatch sequential(const DocumentSpec& documents, const BatchShape& shape) {
  PackedBatch batch = empty_batch(shape);
  std::int64_t left = 0;
  for (Pack& pack : batch.packs) {
    for (std::int64_t room = shape.capacity; room > 0;) {
      // A document that does not fit goes on at the front of the next sequence.
      if (left == 0)
        left = document_length(documents, static_cast<std::uint64_t>(batch.documents++));
      pack.push_back(std::min(left, room));
      left -= pack.back();
      room -= pack.back();
    }
    // What is left over at the end of a sequence was cut there.
    batch.cuts += left > 0;
  }
  batch.tokens = shape.packs() * shape.capacity;
  batch.deferred_tokens = left;
  return batch;
}

/// Documents in drawing order while their tokens fit into the step, those that are longer than a
/// sequence cut into whole sequences and a rest.
std::vector<std::int64_t> pieces_of_a_step(const DocumentSpec& documents, PackedBatch& batch) {
  const BatchShape& shape = batch.shape;
  std::vector<std::int64_t> pieces;
  std::int64_t room = shape.packs() * shape.capacity;
  while (true) {
    std::int64_t length = document_length(documents, static_cast<std::uint64_t>(batch.documents));
    // The first document too long for the rest of the step begins the next step.
    if (length > room) return pieces;
    ++batch.documents;
    room -= length;
    for (; length > shape.capacity; length -= shape.capacity, ++batch.cuts)
      pieces.push_back(shape.capacity);
    pieces.push_back(length);
  }
}

/// Fisher and Yates: every order of the sequences is as likely, as behind the sampler of a trainer,
/// which draws packed sequences at random.
void shuffle(std::vector<Pack>& packs, std::int64_t seed) {
  for (std::size_t left = packs.size(); left > 1; --left) {
    // Counter-based: the draw depends on the place and the seed alone.
    const double draw = uniform_number(static_cast<std::uint64_t>(seed), 0, deal_stream, left);
    std::swap(packs[left - 1], packs[static_cast<std::size_t>(draw * static_cast<double>(left))]);
  }
}

/// Longest piece first into the sequence with the least room that suffices (best fit decreasing;
/// Ding et al., Fewer Truncations Improve Language Modeling, ICML 2024).
PackedBatch best_fit(const DocumentSpec& documents, const BatchShape& shape) {
  PackedBatch batch = empty_batch(shape);
  std::vector<std::int64_t> pieces = pieces_of_a_step(documents, batch);
  std::ranges::sort(pieces, std::greater<>{});
  // Sequences by room and number: of equal room the first one takes the piece.
  std::set<std::pair<std::int64_t, std::size_t>> room_of;
  for (std::size_t p = 0; p < batch.packs.size(); ++p) room_of.emplace(shape.capacity, p);
  for (const std::int64_t piece : pieces) {
    const auto found = room_of.lower_bound({piece, 0});
    if (found == room_of.end()) {
      batch.deferred_tokens += piece;
      continue;
    }
    const auto [room, pack] = *found;
    room_of.erase(found);
    // Full sequences leave the set.
    if (room > piece) room_of.emplace(room - piece, pack);
    batch.packs[pack].push_back(piece);
    batch.tokens += piece;
  }
  count_padding(batch);
  shuffle(batch.packs, documents.seed);
  return batch;
}

PackedBatch attention_aware(const DocumentSpec& documents, const BatchShape& shape) {
  return balance_attention(sequential(documents, shape));
}

PackedBatch slot_balanced(const DocumentSpec& documents, const BatchShape& shape) {
  return balance_micro_batches(sequential(documents, shape));
}

double square(std::int64_t n) { return static_cast<double>(n) * static_cast<double>(n); }

/// Of the tokens [from, to) of a sequence: a token sees as many others as stand before it in its
/// document, so that tokens u to v of one document count v^2 - u^2.
AttentionLoad load_of_range(const Pack& pack, std::int64_t from, std::int64_t to) {
  AttentionLoad load{0, 0};
  std::int64_t begin = 0;
  for (const std::int64_t length : pack) {
    // The overlap of the range with this document, counted from the document's begin.
    const std::int64_t u = std::clamp(from - begin, std::int64_t{0}, length);
    const std::int64_t v = std::clamp(to - begin, std::int64_t{0}, length);
    load.pairs += square(v) - square(u);
    load.tokens += static_cast<double>(v - u);
    begin += length;
  }
  return load;
}

}  // namespace

std::span<const Pack> PackedBatch::slot(std::int64_t replica, std::int64_t micro_batch) const {
  const std::int64_t first = (replica * shape.micro_batches + micro_batch) * shape.sequences;
  return {packs.data() + first, static_cast<std::size_t>(shape.sequences)};
}

const std::vector<Packing>& packings() {
  static const std::vector<Packing> table{{"none", one_per_sequence},
                                          {"sequential", sequential},
                                          {"best_fit", best_fit},
                                          {"attention_aware", attention_aware},
                                          {"slot_balanced", slot_balanced}};
  return table;
}

const Packing& packing(std::string_view name) {
  const auto found = std::ranges::find(packings(), name, &Packing::name);
  expects(found != packings().end(), "a packing of the table");
  return *found;
}

double attention_cost(const Pack& pack) {
  double sum = 0;
  for (const std::int64_t length : pack) sum += square(length);
  return sum;
}

double attention_cost(std::span<const Pack> slot) {
  double sum = 0;
  for (const Pack& pack : slot) sum += attention_cost(pack);
  return sum;
}

AttentionLoad attention_load(const DataSpec& spec, std::span<const Pack> slot,
                             std::int64_t capacity, std::int64_t ring, std::int64_t rings) {
  // A causal mask does not see where documents end: all sequences are the same work.
  if (spec.mask == DataSpec::Mask::causal) return {};
  AttentionLoad sum{0, 0};
  const auto add = [&sum](const AttentionLoad& load) {
    sum.pairs += load.pairs;
    sum.tokens += load.tokens;
  };
  // Zigzag: rank i holds slice i and its mirror image, which is even work for one document alone.
  const bool zigzag = rings > 1 && spec.context_split == DataSpec::ContextSplit::zigzag;
  const std::int64_t slice = capacity / (2 * rings), mirror = 2 * rings - 1 - ring;
  for (const Pack& pack : slot) {
    if (zigzag) {
      add(load_of_range(pack, ring * slice, (ring + 1) * slice));
      add(load_of_range(pack, mirror * slice, (mirror + 1) * slice));
    } else {
      add(load_of_range(pack, 0, capacity));
    }
  }
  // A rank holds 1 / rings of the tokens: its share is taken relative to that.
  const double share = (zigzag ? static_cast<double>(rings) : 1) / static_cast<double>(slot.size());
  return {sum.pairs * share / square(capacity), sum.tokens * share / static_cast<double>(capacity)};
}

Imbalance imbalance(const PackedBatch& batch) {
  const BatchShape& shape = batch.shape;
  std::vector<double> replica(static_cast<std::size_t>(shape.replicas));
  Imbalance result;
  double total = 0, largest = 0;
  for (std::int64_t m = 0; m < shape.micro_batches; ++m) {
    double sum = 0, most = 0;
    for (std::int64_t r = 0; r < shape.replicas; ++r) {
      const double cost = attention_cost(batch.slot(r, m));
      replica[static_cast<std::size_t>(r)] += cost;
      sum += cost;
      most = std::max(most, cost);
    }
    // A micro-batch index waits for the slowest of its replicas.
    if (sum > 0)
      result.slot = std::max(result.slot, most * static_cast<double>(shape.replicas) / sum);
    total += sum;
    largest = std::max(largest, most);
  }
  if (total <= 0) return result;
  result.replica = *std::ranges::max_element(replica) * static_cast<double>(shape.replicas) / total;
  result.all = largest * static_cast<double>(shape.slots()) / total;
  return result;
}

}  // namespace stepcast
