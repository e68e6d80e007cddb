#include "workloads/layer_order.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <map>
#include <numeric>
#include <tuple>

#include "lowering_fixtures.hpp"
#include "workloads/program_builder.hpp"

namespace stepcast {
namespace {

using namespace lowering;

using Times = std::map<std::string, double>;

const std::string& name_of(const LayerItem& item) {
  static const std::string none;
  if (const auto* op = std::get_if<Operator>(&item)) return op->name;
  const auto* call = std::get_if<LayerCommunication>(&item);
  return call != nullptr ? call->name : none;
}

double time_of(const LayerItem& item, const Times& times) {
  const auto known = times.find(name_of(item));
  return known == times.end() ? 0 : known->second;
}

/// The plain reference: what a device with streams makes of the items, one after the other.
double executed(const LayerItems& items, const Times& times) {
  double compute = 0, last = 0;
  std::array<double, streams> busy{};
  std::map<CommunicationId, double> end;
  for (const LayerItem& item : items) {
    if (const auto* wait = std::get_if<WaitFor>(&item)) {
      compute = std::max(compute, end.at(wait->id));
    } else if (const auto* call = std::get_if<LayerCommunication>(&item)) {
      double& stream = busy[static_cast<std::size_t>(stream_of(call->group))];
      stream = std::max(stream, compute) + time_of(item, times);
      end[call->id] = stream;
      if (!call->overlapped) compute = stream;
      last = std::max(last, stream);
    } else {
      compute += time_of(item, times);
    }
  }
  return std::max(compute, last);
}

/// In milliseconds of each item; what has a name alike takes as long.
std::vector<double> by_item(const LayerItems& items, const Times& times) {
  std::vector<double> result;
  for (const LayerItem& item : items) result.push_back(time_of(item, times));
  return result;
}

LayerOrder written(const LayerItems& items) {
  LayerOrder order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

Operator work(std::string name) { return {.name = std::move(name), .work = MatmulWork{8, 16, 32}}; }

Operator leaf_gradient(std::string name) {
  Operator op = work(std::move(name));
  op.slack.last = true;
  return op;
}

LayerCommunication exchange(std::string name) {
  return {.name = std::move(name), .group = GroupKind::expert};
}

LayerItems reordered(const LayerItems& items, const Times& times) {
  return in_order(items, overlapping_order(items, by_item(items, times)));
}

std::vector<std::string> names_of(const LayerItems& items) {
  std::vector<std::string> result;
  for (const LayerItem& item : items)
    result.push_back(std::holds_alternative<WaitFor>(item) ? "wait" : name_of(item));
  return result;
}

using Names = std::vector<std::string>;

TEST(LayerOrder, WeightGradientsStandBesideTheExchangeBehindThem) {
  const LayerItems items{work("a"), leaf_gradient("w"), exchange("x"), work("b")};
  const Times times{{"a", 4}, {"w", 5}, {"x", 6}, {"b", 3}};
  EXPECT_DOUBLE_EQ(executed(items, times), 18);
  const LayerItems after = reordered(items, times);
  EXPECT_EQ(names_of(after), (Names{"a", "x", "w", "wait", "b"}));
  EXPECT_DOUBLE_EQ(executed(after, times), 13);
}

TEST(LayerOrder, WhatReadsWhatWasKeptStandsBesideTheExchangeBeforeIt) {
  Operator again = work("again");
  again.slack = {.ahead = 3, .branch = 1};
  const LayerItems items{work("a"), exchange("x"), work("b"), again, work("c")};
  const Times times{{"a", 1}, {"x", 6}, {"b", 1}, {"again", 4}, {"c", 1}};
  const LayerItems after = reordered(items, times);
  EXPECT_EQ(names_of(after), (Names{"a", "x", "again", "wait", "b", "c"}));
  EXPECT_DOUBLE_EQ(executed(after, times), 9);
}

TEST(LayerOrder, AnItemMovesNoFurtherThanItsSlack) {
  Operator near = work("near");
  near.slack = {.ahead = 1, .branch = 1};
  const LayerItems items{exchange("x"), work("a"), work("b"), near, work("c")};
  const Times times{{"x", 6}, {"a", 1}, {"b", 1}, {"near", 4}, {"c", 1}};
  EXPECT_EQ(names_of(reordered(items, times)), names_of(items));
}

TEST(LayerOrder, WhatHidesSomethingWhereItIsWrittenStays) {
  LayerCommunication beside = exchange("beside");
  beside.overlapped = true;
  beside.group = GroupKind::tensor;
  beside.id = {CommunicationRole::column_gradient};
  const LayerItems items{work("a"),          beside,        leaf_gradient("w"),
                         WaitFor{beside.id}, exchange("x"), work("b")};
  const Times times{{"a", 4}, {"beside", 5}, {"w", 5}, {"x", 6}, {"b", 3}};
  EXPECT_EQ(names_of(reordered(items, times)), names_of(items));
}

TEST(LayerOrder, ExchangesThatMeetLaterStartTogether) {
  LayerCommunication second = exchange("y");
  second.slack.ahead = 1;
  second.group = GroupKind::context;
  const LayerItems items{exchange("x"), second, work("a")};
  const Times times{{"x", 6}, {"y", 4}, {"a", 1}};
  const LayerItems after = reordered(items, times);
  EXPECT_EQ(names_of(after), (Names{"x", "y", "wait", "a"}));
  EXPECT_DOUBLE_EQ(executed(after, times), 7);
}

TEST(LayerOrder, GradientsWaitUntilTheirWeightGradients) {
  const LayerItems items{work("a"), leaf_gradient("w"), exchange("x"), work("b")};
  EXPECT_EQ(waiting_gradients(items, written(items)), 0);
  EXPECT_EQ(waiting_gradients(items, {0, 2, 3, 1}), 2.0 * 16 * 32);  // [k x n] in BF16
}

struct AnyLayer {
  WorkloadSpec spec = any_workload();
  AnyLayer() {
    if (!spec.model.moe) return;
    if (spec.moe.overlap == MoeSpec::Overlap::shared_expert) spec.moe.overlap = {};
    if (!spec.moe.in_pieces()) spec.moe.pieces = 1;
  }
  std::vector<LayerItems> passes() const {
    const bool moe = spec.model.moe.has_value() && *rc::gen::arbitrary<bool>();
    const Passes all = transformer_layer(context(spec), moe ? LayerKind::moe : LayerKind::dense);
    return {all.forward, all.backward, all.backward_input};
  }
};

Times any_times(const LayerItems& items) {
  Times times;
  for (const LayerItem& item : items)
    if (!name_of(item).empty()) times.try_emplace(name_of(item), *rc::gen::inRange(0, 100));
  return times;
}

using Row = std::tuple<std::string, double, double>;

std::multiset<Row> rows_of(const LayerItems& items) {
  std::multiset<Row> rows;
  for (const LayerItem& item : items) {
    if (const auto* op = std::get_if<Operator>(&item))
      rows.insert({op->name, op->flops.value(), op->bytes.value()});
    if (const auto* call = std::get_if<LayerCommunication>(&item))
      rows.insert({call->name, static_cast<double>(call->call.kind), call->call.bytes.value()});
  }
  return rows;
}

RC_GTEST_PROP(LayerOrder, DoesTheSameWork, ()) {
  for (const LayerItems& items : AnyLayer{}.passes())
    RC_ASSERT(rows_of(reordered(items, any_times(items))) == rows_of(items));
}

/// Times that the order was found by, and others: it must not matter that the first are guesses.
RC_GTEST_PROP(LayerOrder, IsNeverLongerHoweverLongItemsTake, ()) {
  for (const LayerItems& items : AnyLayer{}.passes()) {
    const LayerItems after = reordered(items, any_times(items));
    const Times others = any_times(items);
    RC_ASSERT(executed(after, others) <= executed(items, others) + 1e-9);
  }
}

RC_GTEST_PROP(LayerOrder, KeepsWhatDependsBehindWhatItReads, ()) {
  for (const LayerItems& items : AnyLayer{}.passes()) {
    const PassDependencies dependencies{items};
    const LayerOrder order = overlapping_order(items, by_item(items, any_times(items)));
    std::vector<std::size_t> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    for (std::size_t j = 0; j < items.size(); ++j)
      for (std::size_t i = 0; i < j; ++i)
        RC_ASSERT(!dependencies.depends(j, i) || place[i] < place[j]);
  }
}

/// What the order was found by is what a device makes of it.
RC_GTEST_PROP(LayerOrder, EndsWhenItIsExpectedTo, ()) {
  for (const LayerItems& items : AnyLayer{}.passes()) {
    const Times times = any_times(items);
    const std::vector<double> each = by_item(items, times);
    const LayerOrder order = overlapping_order(items, each);
    const double end = expected_end(items, PassDependencies{items}, each, order);
    RC_ASSERT(std::abs(executed(in_order(items, order), times) - end) < 1e-6);
  }
}

/// Beside the best of all orders of a few items: never below it, never above the written one.
TEST(LayerOrder, LiesBetweenTheWrittenAndTheBestOrder) {
  const LayerItems items{work("a"),          leaf_gradient("v"), exchange("x"), work("b"),
                         leaf_gradient("w"), exchange("y"),      work("c")};
  const Times times{{"a", 2}, {"v", 7}, {"x", 6}, {"b", 2}, {"w", 3}, {"y", 4}, {"c", 1}};
  const PassDependencies dependencies{items};
  LayerOrder order = written(items);
  double best = executed(items, times);
  do {
    bool valid = true;
    std::vector<std::size_t> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    for (std::size_t j = 0; j < order.size(); ++j)
      for (std::size_t i = 0; i < j; ++i)
        valid = valid && (!dependencies.depends(j, i) || place[i] < place[j]);
    if (valid) best = std::min(best, executed(in_order(items, order), times));
  } while (std::ranges::next_permutation(order).found);
  const double found = executed(reordered(items, times), times);
  EXPECT_DOUBLE_EQ(best, 16);  // 5 on the chain, 7 beside x, 4 for y
  EXPECT_DOUBLE_EQ(found, best);
}

WorkloadSpec sequence_and_experts() {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.cp = spec.plan.ep = 4;
  spec.plan.context_algorithm = ParallelPlan::ContextAlgorithm::ulysses;
  return spec;
}

std::ptrdiff_t place(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) - names.begin();
}

/// Where exchanges are long, shared experts run beside them, with tensor ranks and without.
TEST(LayerOrder, SharedExpertsStandBesideTheExchangesOfTokens) {
  for (const std::int64_t tp : {1, 2}) {
    WorkloadSpec spec = workload(small_moe());
    spec.plan.tp = tp;
    spec.plan.sequence_parallel = true;
    spec.plan.dp = spec.plan.ep = 4;
    const LayerItems items = transformer_layer(context(spec), LayerKind::moe).forward;
    Times times;
    for (const LayerItem& item : items)
      if (std::holds_alternative<Operator>(item))
        times[name_of(item)] = 1;
      else
        times[name_of(item)] = name_of(item) == "dispatch" || name_of(item) == "combine" ? 20 : 2;
    times["all_to_all expert counts"] = 0;
    const Names names = names_of(reordered(items, times));
    for (const char* shared : {"shared expert up", "shared expert activation"})
      EXPECT_LT(place(names, shared), place(names, "unpermute")) << tp;
    EXPECT_GT(place(names, "shared expert up"), place(names, "dispatch")) << tp;
  }
}

/// A rank sends seven eighths of 8 MB inside its node, over links of their own or over one port.
TEST(LayerOrder, GuessesTransfersByTheirSlowestLink) {
  ClusterSpec cluster = plain_cluster();
  cluster.node_devices = 8;
  ParallelPlan plan;
  plan.tp = 8;
  LayerCommunication call = exchange("x");
  call.group = GroupKind::tensor;
  call.call = {CollectiveKind::all_gather, Bytes{8e6}};
  const auto guess = [&](const NodeFabric& fabric) {
    cluster.node_fabric = fabric;
    return expected_times({call}, cluster, plan, cluster.device, false).at(0) - 5e-6;  // its start
  };
  const LinkSpec link{BytesPerSecond{1e9}, Seconds{0}};
  EXPECT_NEAR(guess(SwitchFabric{.port = link}), 7e-3, 1e-9);
  EXPECT_NEAR(guess(MeshFabric{.link = link}), 1e-3, 1e-9);
  call.call.kind = CollectiveKind::all_reduce;
  EXPECT_NEAR(guess(SwitchFabric{.port = link}), 14e-3, 1e-9);
}

/// Of six ranks of a stage two lie in each node of four, because stages run fastest; of those that
/// cross nodes one.
TEST(LayerOrder, GuessesTransfersBetweenRanksThatStagesDrawApart) {
  ClusterSpec cluster = plain_cluster();
  cluster.node_devices = 4;
  cluster.network.nic = {.link = {BytesPerSecond{1e9}, Seconds{0}}};
  ParallelPlan plan;
  plan.order = {"pp", "tp", "cp", "ep", "dp"};
  plan.pp = 2;
  plan.dp = plan.ep = 6;
  plan.expert_part = 4;
  LayerCommunication call = exchange("x");
  call.call = {CollectiveKind::all_gather, Bytes{6e6}};
  for (const GroupKind kind : {GroupKind::expert, GroupKind::expert_outer}) {
    call.group = kind;
    const double guess = expected_times({call}, cluster, plan, cluster.device, false).at(0);
    EXPECT_NEAR(guess - 5e-6, 4e-3, 1e-9) << static_cast<int>(kind);  // two thirds leave the node
  }
}

/// Of a whole stage: streams and dependencies change, what is done does not.
TEST(LayerOrder, AStageDoesTheSameWork) {
  WorkloadSpec spec = sequence_and_experts();
  const ClusterSpec cluster = plain_cluster();
  const LayerTable layers = assign_layers(spec, cluster);
  const StageProgram plain = lower_stage(spec, layers, cluster, Stage{0});
  spec.runtime.layer_order = RuntimeSpec::LayerOrder::overlapped;
  const StageProgram ordered = lower_stage(spec, layers, cluster, Stage{0});
  EXPECT_EQ(ordered.executed_flops, plain.executed_flops);
  EXPECT_EQ(ordered.model_flops, plain.model_flops);
  const auto device = [](const StageProgram& program, const Instructions& code) {
    double sum = 0;
    for (const Instruction& step : code)
      if (const auto* run = std::get_if<Compute>(&step))
        sum += program.segments[run->segment].device_time();
    return sum;
  };
  EXPECT_NEAR(device(ordered, ordered.chunks[0].backward), device(plain, plain.chunks[0].backward),
              1e-12);
  EXPECT_NE(ordered.chunks[0].backward.size(), plain.chunks[0].backward.size());
}

}  // namespace
}  // namespace stepcast
