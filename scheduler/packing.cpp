#include "stepcast/scheduler/packing.hpp"

#include <algorithm>
#include <boost/heap/d_ary_heap.hpp>
#include <numeric>
#include <set>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/random.hpp"

namespace stepcast {
namespace {

/// A bin under construction; the heap yields the cheapest, of equals the first.
struct Bin {
  double cost = 0;
  std::uint32_t index = 0;
  bool operator<(const Bin& other) const {
    return cost != other.cost ? cost > other.cost : index > other.index;
  }
};
using BinHeap = boost::heap::d_ary_heap<Bin, boost::heap::arity<4>>;

/// All empty; equal costs leave the heap by index, so that the same documents pack the same way.
BinHeap bins_of(std::size_t count) {
  BinHeap heap;
  heap.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) heap.push({0, i});
  return heap;
}

/// Attention of n tokens among themselves, up to the factor that all packs share.
double pairs_of(std::int64_t n) { return static_cast<double>(n) * static_cast<double>(n); }

/// Deals pieces to packs with room.
class Dealer {
 public:
  Dealer(std::size_t packs, std::int64_t capacity)
      : packs_(packs), room_(packs, capacity), heap_{bins_of(packs)} {}

  /// To the cheapest pack with room for all of it; where no pack has, part of it fills the roomiest
  /// one and the rest is dealt again. Returns the number of cuts.
  std::int64_t deal(std::int64_t piece) {
    std::int64_t cuts = 0;
    // Progress is sure: each round fills a pack for good, and the packs hold all tokens.
    while (!put(piece)) {
      // Cutting at the roomiest pack makes the fewest cuts.
      const auto roomiest = std::ranges::max_element(room_);
      const auto pack = static_cast<std::uint32_t>(roomiest - room_.begin());
      const std::int64_t part = *roomiest;
      expects(part > 0, "the packs hold all pieces");
      fill(pack, part);
      piece -= part;
      ++cuts;
    }
    return cuts;
  }
  std::vector<Pack> take() { return std::move(packs_); }

 private:
  // Packs that lack the room come back to the heap afterwards, since a shorter piece may fit.
  bool put(std::int64_t piece) {
    std::vector<Bin> without_room;
    bool done = false;
    while (!heap_.empty() && !done) {
      Bin bin = heap_.top();
      heap_.pop();
      // A full pack never has room again and leaves the heap for good.
      if (room_[bin.index] == 0) continue;
      if (room_[bin.index] >= piece) {
        fill(bin.index, piece);
        bin.cost += pairs_of(piece);
        done = true;
      }
      without_room.push_back(bin);
    }
    for (const Bin& bin : without_room) heap_.push(bin);
    return done;
  }

  void fill(std::uint32_t pack, std::int64_t piece) {
    packs_[pack].push_back(piece);
    room_[pack] -= piece;
  }

  std::vector<Pack> packs_;
  std::vector<std::int64_t> room_;
  BinHeap heap_;
};

/// Sequences in descending order of cost, equal ones in their old order.
std::vector<std::size_t> by_cost(std::span<const double> costs) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return costs[i]; });
  return order;
}

// Costs are asked once per pack: sorting would ask them again and again.
std::vector<double> costs_of(std::span<const Pack> packs) {
  std::vector<double> costs;
  for (const Pack& pack : packs) costs.push_back(attention_cost(pack));
  return costs;
}

/// The sequences grouped into slots of `shape.sequences`.
std::vector<std::vector<Pack>> slots_of(std::vector<Pack> packs, const BatchShape& shape) {
  const std::vector<double> costs = costs_of(packs);
  // A slot is full at `sequences`, so that every slot ends up with equally many.
  const auto bins = static_cast<std::uint32_t>(shape.slots());
  const auto bin = longest_first(costs, bins, static_cast<std::size_t>(shape.sequences));
  std::vector<std::vector<Pack>> slots(bins);
  for (std::size_t p = 0; p < packs.size(); ++p) slots[bin[p]].push_back(std::move(packs[p]));
  return slots;
}

std::vector<double> costs_of(const std::vector<std::vector<Pack>>& slots) {
  std::vector<double> costs;
  costs.reserve(slots.size());
  for (const auto& slot : slots) costs.push_back(attention_cost(std::span<const Pack>{slot}));
  return costs;
}

/// Slots of like cost get the same micro-batch index; every second index deals the replicas in
/// reverse, so that their sums come out alike.
void place(std::vector<std::vector<Pack>> slots, PackedBatch& batch) {
  const BatchShape& shape = batch.shape;
  std::int64_t i = 0;
  for (const std::size_t s : by_cost(costs_of(slots))) {
    const std::int64_t m = i / shape.replicas, k = i % shape.replicas;
    const std::int64_t replica = m % 2 == 0 ? k : shape.replicas - 1 - k;
    std::ranges::move(slots[s],
                      batch.packs.begin() + (replica * shape.micro_batches + m) * shape.sequences);
    ++i;
  }
}

/// What a step waits for: the largest sum of squares of any slot.
double costliest_slot(const PackedBatch& batch) {
  double most = 0;
  for (std::int64_t r = 0; r < batch.shape.replicas; ++r)
    for (std::int64_t m = 0; m < batch.shape.micro_batches; ++m)
      most = std::max(most, attention_cost(batch.slot(r, m)));
  return most;
}

std::vector<std::vector<Pack>> slots_as_they_are(const PackedBatch& batch) {
  std::vector<std::vector<Pack>> slots;
  // Replicas outside, micro-batches inside: the order in which slots are numbered everywhere.
  for (std::int64_t r = 0; r < batch.shape.replicas; ++r)
    for (std::int64_t m = 0; m < batch.shape.micro_batches; ++m) {
      const auto slot = batch.slot(r, m);
      slots.emplace_back(slot.begin(), slot.end());
    }
  return slots;
}

double costliest(const std::vector<std::vector<Pack>>& slots) {
  expects(!slots.empty(), "the costliest slot is one of some");
  return std::ranges::max(costs_of(slots));
}

/// The slots of one micro-batch index, by replica.
std::vector<std::vector<Pack>> slots_of_index(const PackedBatch& batch, std::int64_t index) {
  std::vector<std::vector<Pack>> slots;
  for (std::int64_t r = 0; r < batch.shape.replicas; ++r) {
    const auto slot = batch.slot(r, index);
    slots.emplace_back(slot.begin(), slot.end());
  }
  return slots;
}

/// The same sequences in other slots, none of which is costlier than the costliest was.
std::vector<std::vector<Pack>> regrouped(const std::vector<std::vector<Pack>>& slots,
                                         std::int64_t sequences) {
  // Sequences are thrown together and dealt anew, heaviest first, each to the lightest slot.
  std::vector<Pack> packs;
  for (const auto& slot : slots) packs.insert(packs.end(), slot.begin(), slot.end());
  const auto replicas = static_cast<std::int64_t>(slots.size());
  auto moved = slots_of(std::move(packs), {replicas, 1, sequences, 1});
  // Dealing is a heuristic: where it comes out worse, the old groups are the better ones.
  return costliest(moved) <= costliest(slots) ? moved : slots;
}

/// The same sequences, moved whole between the replicas of their micro-batch by the attention of
/// their documents: the slots of an index get like sums, and so do the replicas over the step. No
/// slot is costlier than the costliest of its index was (docs/models/packing.md).
PackedBatch balance_micro_batches(const PackedBatch& batch) {
  PackedBatch result = batch;
  const BatchShape& shape = batch.shape;
  // What each replica has computed in the micro-batches so far.
  std::vector<double> so_far(static_cast<std::size_t>(shape.replicas), 0);
  for (std::int64_t m = 0; m < shape.micro_batches; ++m) {
    auto slots = regrouped(slots_of_index(batch, m), shape.sequences);
    const std::vector<double> costs = costs_of(slots);
    const std::vector<std::size_t> busiest_first = by_cost(so_far);
    // Costliest group to the replica that did least,
    // the next to the next: sums over a step level out.
    std::size_t next = busiest_first.size();
    for (const std::size_t s : by_cost(costs)) {
      const std::size_t replica = busiest_first[--next];
      so_far[replica] += costs[s];
      std::ranges::move(
          slots[s],
          result.packs.begin() +
              (static_cast<std::int64_t>(replica) * shape.micro_batches + m) * shape.sequences);
    }
  }
  return result;
}

/// The same tokens with the documents spread over the sequences and the sequences over the slots so
/// that attention costs alike. The costliest slot is never costlier than in `batch`, whose
/// sequences are full.
PackedBatch balance_attention(const PackedBatch& batch) {
  std::vector<std::int64_t> pieces;
  for (const Pack& pack : batch.packs) pieces.insert(pieces.end(), pack.begin(), pack.end());
  // Longest first: what is dealt late is short and mends the differences.
  std::ranges::sort(pieces, std::greater<>{});
  PackedBatch result = batch;
  Dealer dealer(batch.packs.size(), batch.shape.capacity);
  for (const std::int64_t piece : pieces) result.cuts += dealer.deal(piece);
  place(slots_of(dealer.take(), batch.shape), result);
  // Cuts may make the result worse than the batch was, which the header rules out.
  if (costliest_slot(result) <= costliest_slot(batch)) return result;
  // Documents stay where they were; only slots of like cost meet in a micro-batch.
  result.cuts = batch.cuts;
  place(slots_as_they_are(batch), result);
  return result;
}

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

std::vector<std::uint32_t> longest_first(std::span<const double> weights, std::uint32_t bins,
                                         std::size_t most) {
  expects(bins > 0 && (weights.size() + bins - 1) / bins <= most, "the bins hold all weights");
  std::vector<std::uint32_t> result(weights.size());
  std::vector<std::size_t> held(bins);
  BinHeap heap = bins_of(bins);
  // A bin that holds `most` stays off the heap.
  for (const std::size_t i : by_cost(weights)) {
    Bin bin = heap.top();
    heap.pop();
    bin.cost += weights[i];
    result[i] = bin.index;
    if (++held[bin.index] < most) heap.push(bin);
  }
  return result;
}

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
