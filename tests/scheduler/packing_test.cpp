#include "stepcast/scheduler/packing.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stepcast/base/random.hpp"

namespace stepcast {
namespace {

DocumentSpec lognormal(double mean, double sigma, std::int64_t seed = 1) {
  DocumentSpec spec;
  spec.mean = mean;
  spec.sigma = sigma;
  spec.seed = seed;
  return spec;
}

DocumentSpec random_documents() {
  DocumentSpec spec = lognormal(*rc::gen::inRange(20, 2000), *rc::gen::inRange(0, 20) / 10.0,
                                *rc::gen::inRange(0, 1000));
  spec.distribution =
      *rc::gen::element(DocumentSpec::Distribution::lognormal, DocumentSpec::Distribution::fixed,
                        DocumentSpec::Distribution::file);
  spec.length = *rc::gen::inRange(1, 3000);
  spec.lengths = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 4000)));
  return spec;
}

BatchShape random_shape() {
  return {*rc::gen::inRange(1, 9), *rc::gen::inRange(1, 9), *rc::gen::inRange(1, 4),
          *rc::gen::element<std::int64_t>(64, 512, 1000)};
}

std::int64_t sum(const Pack& pack) {
  return std::accumulate(pack.begin(), pack.end(), std::int64_t{0});
}

double costliest_slot(const PackedBatch& batch) {
  double most = 0;
  for (std::int64_t r = 0; r < batch.shape.replicas; ++r)
    for (std::int64_t m = 0; m < batch.shape.micro_batches; ++m)
      most = std::max(most, attention_cost(batch.slot(r, m)));
  return most;
}

TEST(Documents, LognormalHasItsMeanAndDependsOnTheNumberOnly) {
  const DocumentSpec spec = lognormal(1200, 1.3, 7);
  double total = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) total += static_cast<double>(document_length(spec, i));
  // sd of the mean: 1200 sqrt(e^(1.69) - 1) / sqrt(n) = 5.6
  EXPECT_NEAR(total / n, 1200, 25);
  EXPECT_EQ(document_length(spec, 17), document_length(spec, 17));
  EXPECT_NE(document_length(spec, 17), document_length(lognormal(1200, 1.3, 8), 17));
}

// exp(mu + sigma z) of the draw of its number, with mu such that the mean is the given one.
TEST(Documents, LognormalLengthsAreTheirDraws) {
  const DocumentSpec spec = lognormal(1200, 1.3, 7);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const double z = normal_number(7, 0, document_stream, i);
    const double length = std::round(1200 * std::exp(1.3 * z - 1.3 * 1.3 / 2));
    EXPECT_EQ(document_length(spec, i), static_cast<std::int64_t>(std::max(1.0, length)));
  }
}

TEST(Documents, OfAFileComeRound) {
  DocumentSpec spec;
  spec.distribution = DocumentSpec::Distribution::file;
  spec.lengths = {5, 3, 8};
  EXPECT_EQ(document_length(spec, 2), 8);
  EXPECT_EQ(document_length(spec, 3), 5);
}

TEST(Packing, EveryTokenIsCounted) {
  EXPECT_TRUE(rc::check([] {
    const DocumentSpec documents = random_documents();
    const BatchShape shape = random_shape();
    const std::string name{(*rc::gen::elementOf(packings())).name};
    const PackedBatch batch = packing(name).pack(documents, shape);
    RC_ASSERT(batch.packs.size() == static_cast<std::size_t>(shape.packs()));
    std::int64_t drawn = 0, held = 0;
    for (std::int64_t i = 0; i < batch.documents; ++i) drawn += document_length(documents, i);
    for (const Pack& pack : batch.packs) {
      RC_ASSERT(sum(pack) <= shape.capacity);
      for (const std::int64_t piece : pack) RC_ASSERT(piece > 0);
      held += sum(pack);
    }
    RC_ASSERT(held == batch.tokens);
    RC_ASSERT(held + batch.padding == shape.packs() * shape.capacity);
    RC_ASSERT(held + batch.truncated_tokens + batch.deferred_tokens == drawn);
    RC_ASSERT((batch.truncated_tokens == 0) || name == "none");
    if (name != "none" && name != "best_fit") RC_ASSERT(batch.padding == 0);
  }));
}

/// Positions of the sequences with the one document that fills them.
std::vector<std::size_t> heavy_packs(std::int64_t seed) {
  DocumentSpec documents;
  documents.distribution = DocumentSpec::Distribution::file;
  documents.seed = seed;
  documents.lengths.assign(16, 100);                               // 16 sequences of one document
  documents.lengths.insert(documents.lengths.end(), 48 * 10, 10);  // and 48 of ten
  const PackedBatch batch = packing("best_fit").pack(documents, {8, 8, 1, 100});
  EXPECT_EQ(batch.padding, 0);
  std::vector<std::size_t> heavy;
  for (std::size_t p = 0; p < batch.packs.size(); ++p)
    if (batch.packs[p].size() == 1) heavy.push_back(p);
  return heavy;
}

// Of 64 sequences 16 are heavy. Over many seeds each position has one in a quarter of the draws
// (standard deviation of 2000 draws: 19), where dealing in the order of packing has them on the
// first two replicas every time.
TEST(Packing, BestFitDealsHeavySequencesAnywhere) {
  std::vector<int> count(64);
  const int draws = 2000;
  for (int seed = 0; seed < draws; ++seed) {
    const std::vector<std::size_t> heavy = heavy_packs(seed);
    ASSERT_EQ(heavy.size(), 16U);
    for (const std::size_t p : heavy) ++count[p];
  }
  for (const int c : count) EXPECT_NEAR(c, draws / 4, 5 * 19);
  EXPECT_EQ(heavy_packs(7), heavy_packs(7));
}

// Only the order depends on the seed where the documents do not.
TEST(Packing, BestFitKeepsItsSequencesWhateverTheOrder) {
  EXPECT_TRUE(rc::check([] {
    DocumentSpec documents = random_documents();
    if (documents.distribution == DocumentSpec::Distribution::lognormal)
      documents.distribution = DocumentSpec::Distribution::file;
    const BatchShape shape = random_shape();
    PackedBatch one = packing("best_fit").pack(documents, shape);
    RC_ASSERT(one.packs == packing("best_fit").pack(documents, shape).packs);
    documents.seed = *rc::gen::inRange(1001, 2000);
    PackedBatch other = packing("best_fit").pack(documents, shape);
    std::ranges::sort(one.packs);
    std::ranges::sort(other.packs);
    RC_ASSERT(one.packs == other.packs);
    RC_ASSERT(one.tokens == other.tokens && one.padding == other.padding);
  }));
}

TEST(Packing, AttentionAwareIsNeverWorseThanSequential) {
  EXPECT_TRUE(rc::check([] {
    const DocumentSpec documents = random_documents();
    const BatchShape shape = random_shape();
    const PackedBatch plain = packing("sequential").pack(documents, shape);
    const PackedBatch aware = packing("attention_aware").pack(documents, shape);
    RC_ASSERT(costliest_slot(aware) <= costliest_slot(plain));
    RC_ASSERT(aware.tokens == plain.tokens);
  }));
}

TEST(Packing, AttentionAwareLevelsALongTailedCorpus) {
  const BatchShape shape{16, 8, 1, 8192};
  const DocumentSpec documents = lognormal(1200, 1.3, 7);
  const Imbalance plain = imbalance(packing("sequential").pack(documents, shape));
  const Imbalance aware = imbalance(packing("attention_aware").pack(documents, shape));
  EXPECT_GT(plain.slot, 1.5);
  EXPECT_LT(aware.slot, plain.slot);
  EXPECT_LT(aware.replica, plain.replica);
}

/// The sequences of a micro-batch index, in an order of their own.
std::vector<Pack> of_index(const PackedBatch& batch, std::int64_t index) {
  std::vector<Pack> packs;
  for (std::int64_t r = 0; r < batch.shape.replicas; ++r)
    for (const Pack& pack : batch.slot(r, index)) packs.push_back(pack);
  std::ranges::sort(packs);
  return packs;
}

double costliest_of_index(const PackedBatch& batch, std::int64_t index) {
  double most = 0;
  for (std::int64_t r = 0; r < batch.shape.replicas; ++r)
    most = std::max(most, attention_cost(batch.slot(r, index)));
  return most;
}

TEST(Packing, SlotBalancedMovesSequencesInsideTheirMicroBatch) {
  EXPECT_TRUE(rc::check([] {
    const DocumentSpec documents = random_documents();
    const BatchShape shape = random_shape();
    const PackedBatch plain = packing("sequential").pack(documents, shape);
    const PackedBatch moved = packing("slot_balanced").pack(documents, shape);
    for (std::int64_t m = 0; m < shape.micro_batches; ++m) {
      RC_ASSERT(of_index(moved, m) == of_index(plain, m));
      RC_ASSERT(costliest_of_index(moved, m) <= costliest_of_index(plain, m));
    }
    RC_ASSERT(moved.cuts == plain.cuts);
    RC_ASSERT(moved.deferred_tokens == plain.deferred_tokens);
  }));
}

// 100^2 + 100^2 on one replica and 4 x 50^2 on the other become one of each on both; of two
// micro-batches of a sequence each the replica that had the costly one gets the cheap one.
TEST(Packing, SlotBalancedLevelsWhatCanBeLevelled) {
  DocumentSpec documents;
  documents.distribution = DocumentSpec::Distribution::file;
  documents.lengths = {100, 100, 50, 50, 50, 50};
  const PackedBatch slots = packing("slot_balanced").pack(documents, {2, 1, 2, 100});
  EXPECT_EQ(attention_cost(slots.slot(0, 0)), 15000);
  EXPECT_EQ(attention_cost(slots.slot(1, 0)), 15000);
  documents.lengths = {100, 100, 50, 50, 50, 50};  // replica 0: 100 and 100, replica 1: halves
  const PackedBatch plain = packing("sequential").pack(documents, {2, 2, 1, 100});
  EXPECT_DOUBLE_EQ(imbalance(plain).replica, 20000.0 / 15000);
  const PackedBatch moved = packing("slot_balanced").pack(documents, {2, 2, 1, 100});
  EXPECT_DOUBLE_EQ(imbalance(moved).replica, 1);
  EXPECT_EQ(imbalance(moved).slot, imbalance(plain).slot);
}

TEST(Packing, NoneTruncatesAndPads) {
  DocumentSpec documents;
  documents.distribution = DocumentSpec::Distribution::file;
  documents.lengths = {10, 250, 100};
  const PackedBatch batch = packing("none").pack(documents, {2, 2, 1, 100});
  EXPECT_EQ(batch.packs, (std::vector<Pack>{{10}, {100}, {100}, {10}}));
  EXPECT_EQ(batch.truncated_tokens, 150);
  EXPECT_EQ(batch.padding, 180);
}

TEST(Packing, SequentialCutsAtTheEndOfASequence) {
  DocumentSpec documents;
  documents.distribution = DocumentSpec::Distribution::file;
  documents.lengths = {70, 60};
  const PackedBatch batch = packing("sequential").pack(documents, {1, 2, 1, 100});
  EXPECT_EQ(batch.packs, (std::vector<Pack>{{70, 30}, {30, 70}}));
  EXPECT_EQ(batch.cuts, 1);
  EXPECT_EQ(batch.documents, 3);
}

// Largest load of the best way to spread the weights, by trying all.
double least_load(const std::vector<double>& weights, std::size_t i, std::vector<double>& loads) {
  if (i == weights.size()) return *std::ranges::max_element(loads);
  double best = std::numeric_limits<double>::infinity();
  for (double& load : loads) {
    load += weights[i];
    best = std::min(best, least_load(weights, i + 1, loads));
    load -= weights[i];
  }
  return best;
}

TEST(LongestFirst, KeepsGrahamsBound) {
  EXPECT_TRUE(rc::check([] {
    const auto bins = *rc::gen::inRange<std::uint32_t>(1, 4);
    const auto count = *rc::gen::inRange(1, 9);
    std::vector<double> weights, loads(bins), all(bins);
    for (int i = 0; i < count; ++i) weights.push_back(*rc::gen::inRange(1, 50));
    const auto bin = longest_first(weights, bins);
    for (std::size_t i = 0; i < weights.size(); ++i) loads[bin[i]] += weights[i];
    const double bound = 4.0 / 3 - 1 / (3.0 * bins);
    RC_ASSERT(*std::ranges::max_element(loads) <= bound * least_load(weights, 0, all) + 1e-9);
  }));
}

// Graham's own worst case for two bins: 3 3 2 2 2 gives 7, the best is 6.
TEST(LongestFirst, MeetsTheBoundInItsWorstCase) {
  const std::vector<double> weights{3, 3, 2, 2, 2};
  const auto bin = longest_first(weights, 2);
  std::vector<double> loads(2);
  for (std::size_t i = 0; i < weights.size(); ++i) loads[bin[i]] += weights[i];
  EXPECT_EQ(*std::ranges::max_element(loads), 7);
}

TEST(LongestFirst, HoldsNoMoreThanTheLimit) {
  const std::vector<double> weights{9, 1, 1, 1};
  const auto bin = longest_first(weights, 2, 2);
  EXPECT_EQ(std::ranges::count(bin, 0U), 2);
}

AttentionLoad document_load(const Pack& pack, std::int64_t capacity) {
  DataSpec spec;
  spec.mask = DataSpec::Mask::document;
  return attention_load(spec, std::vector<Pack>{pack}, capacity, 0, 1);
}

TEST(AttentionLoad, OfKnownPacks) {
  EXPECT_EQ(document_load({8192}, 8192), (AttentionLoad{1, 1}));
  EXPECT_NEAR(document_load({6000, 2192}, 8192).pairs, 0.608, 5e-4);
  EXPECT_EQ(document_load({4096, 4096}, 8192).pairs, 0.5);
  EXPECT_EQ(document_load(Pack(8, 1024), 8192).pairs, 0.125);
  EXPECT_EQ(document_load(Pack(16, 512), 8192).pairs, 0.0625);
  EXPECT_EQ(document_load({4096}, 8192), (AttentionLoad{0.25, 0.5}));
}

TEST(AttentionLoad, IsWholeUnderTheCausalMask) {
  const DataSpec spec;
  EXPECT_EQ(attention_load(spec, std::vector<Pack>{{10, 20}}, 100, 0, 1), AttentionLoad{});
}

TEST(AttentionLoad, OfAZigzagSplitIsWhatItsTokensSee) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t rings = *rc::gen::inRange(1, 5), slice = *rc::gen::inRange(1, 9);
    const std::int64_t capacity = 2 * rings * slice;
    Pack pack;
    for (std::int64_t left = capacity; left > 0 && *rc::gen::inRange(0, 8) > 0; left -= pack.back())
      pack.push_back(*rc::gen::inRange<std::int64_t>(1, left + 1));
    std::vector<double> seen(static_cast<std::size_t>(rings));
    std::int64_t position = 0;
    for (const std::int64_t length : pack)
      for (std::int64_t i = 0; i < length; ++i, ++position) {
        const std::int64_t s = position / slice;
        seen[static_cast<std::size_t>(std::min(s, 2 * rings - 1 - s))] +=
            2 * static_cast<double>(i) + 1;
      }
    DataSpec spec;
    spec.mask = DataSpec::Mask::document;
    const auto whole = static_cast<double>(capacity) * static_cast<double>(capacity);
    for (std::int64_t i = 0; i < rings; ++i) {
      const AttentionLoad load = attention_load(spec, std::vector<Pack>{pack}, capacity, i, rings);
      RC_ASSERT(std::abs(load.pairs - static_cast<double>(rings) *
                                          seen[static_cast<std::size_t>(i)] / whole) < 1e-12);
    }
  }));
}

TEST(ImbalanceOf, TwoReplicasByHand) {
  PackedBatch batch{{2, 2, 1, 100}, {{100}, {50, 50}, {50, 50}, {100}}};
  const Imbalance i = imbalance(batch);
  EXPECT_DOUBLE_EQ(i.slot, 10000.0 / 7500);
  EXPECT_DOUBLE_EQ(i.replica, 1);
  EXPECT_DOUBLE_EQ(i.all, 10000.0 / 7500);
}

}  // namespace
}  // namespace stepcast
