#include <gtest/gtest.h>

#include <map>

#include "stepcast/sim/replay/replay.hpp"
#include "stepcast/workloads/operators.hpp"

namespace stepcast {
namespace {

// An MoE layer of published proportions: attention forward 10, experts forward 6, gradients of the
// experts' input and weights 6 each, of the attention's 12 and 8.
constexpr double forward_time = 16, backward_time = 32;

using Role = CommunicationRole;

Operator lasting(std::string name, double time, OperatorRole role = OperatorRole::other) {
  return {.name = std::move(name), .work = FixedWork{Seconds{time}}, .role = role};
}

LayerCommunication exchange(Role role, ExchangeLeg leg = ExchangeLeg::whole) {
  return {.name = "exchange",
          .group = GroupKind::expert,
          .call = {CollectiveKind::all_to_all, Bytes{1}},
          .id = {role, leg}};
}

Passes moe_layer() {
  const Operator expert_weights = lasting("experts wgrad", 6, OperatorRole::expert_weight_gradient);
  Passes passes;
  passes.forward = {lasting("attention", 10), exchange(Role::dispatch), lasting("experts up", 6),
                    exchange(Role::combine)};
  passes.backward_input = {exchange(Role::combine_backward), lasting("experts dgrad", 6),
                           exchange(Role::dispatch_backward), lasting("attention dgrad", 12)};
  passes.backward_weight = {expert_weights, lasting("attention wgrad", 8)};
  passes.backward = {exchange(Role::combine_backward),
                     lasting("experts dgrad", 6),
                     expert_weights,
                     exchange(Role::dispatch_backward),
                     lasting("attention dgrad", 12),
                     lasting("attention wgrad", 8)};
  return passes;
}

/// The same with exchanges of two hops each, rows of which are chosen between them in no time.
LayerItems in_two_hops(const LayerItems& items) {
  LayerItems out;
  for (const LayerItem& item : items) {
    const auto* call = std::get_if<LayerCommunication>(&item);
    if (call == nullptr) {
      out.push_back(item);
      continue;
    }
    out.push_back(exchange(call->id.role, ExchangeLeg::outer));
    out.push_back(lasting("select rows", 0));
    out.push_back(exchange(call->id.role, ExchangeLeg::inner));
  }
  return out;
}

Passes two_hop_layer() {
  Passes passes = moe_layer();
  // the attention's half behind which its output joins the residual stream
  passes.forward[0] = lasting("attention", 5, OperatorRole::residual);
  passes.forward.insert(passes.forward.begin() + 1, lasting("router", 5));
  for (LayerItems* items : {&passes.forward, &passes.backward, &passes.backward_input})
    *items = in_two_hops(*items);
  return passes;
}

/// One layer on one rank, on a host and a device that cost nothing.
class OneLayer {
 public:
  explicit OneLayer(const Passes& layer = moe_layer()) {
    ChunkProgram chunk;
    chunk.forward = chunk.first_forward = code(layer.forward);
    chunk.backward = chunk.last_backward = code(layer.backward);
    chunk.paired = {code(paired_layers(layer, layer))};
    program_.chunks = {chunk};
  }

  /// Two pairs between a forward and a backward alone.
  double step_time(double exchange_time) const {
    NetworkMap network;
    network.classes = {{Rank{0}}, {Stage{0}}, {0}, {1}, {0}};
    NetworkCall call;
    call.lone = true;
    call.alone = exchange_time;
    network.calls = {call};
    network.call_of = {std::vector<std::uint32_t>(program_.calls.size(), 0)};
    network.hops.fill({NetworkHop{}});
    const std::vector<StageProgram> programs{program_};
    const PipelineShape shape{1, 1, 3, 1};
    const auto orders = paired_orders(pipeline_schedule("1f1b"), shape);
    return replay({programs, network, HostSpec{}, shape, orders}).step_time.value();
  }

 private:
  std::uint32_t slot(const CommunicationId& id) {
    const auto [place, fresh] = slots_.try_emplace(id, program_.slots);
    if (fresh) {
      ++program_.slots;
      program_.calls.push_back({"exchange",
                                GroupKind::expert,
                                {CollectiveKind::all_to_all, Bytes{1}},
                                Stream::expert,
                                ExposedKind::expert,
                                {}});
    }
    return place->second;
  }
  Instructions code(const LayerItems& items) {
    Instructions out;
    for (const LayerItem& item : items) {
      if (const auto* op = std::get_if<Operator>(&item)) {
        OperatorCost cost;
        cost.device = std::get<FixedWork>(op->work).time.value();
        program_.segments.emplace_back(std::vector<OperatorCost>{cost});
        out.push_back(Compute{static_cast<std::uint32_t>(program_.segments.size() - 1)});
      } else if (const auto* call = std::get_if<LayerCommunication>(&item)) {
        const std::uint32_t own = slot(call->id);
        out.push_back(Communicate{own, own, true});
        if (!call->overlapped) out.push_back(Wait{own});
      } else {
        out.push_back(Wait{slot(std::get<WaitFor>(item).id)});
      }
    }
    return out;
  }

  StageProgram program_;
  std::map<CommunicationId, std::uint32_t> slots_;
};

TEST(PairedLayers, TakeTheTimesOfTheTwoStreamOrder) {
  const OneLayer layer;
  const std::pair<double, double> expected[] = {{0, 48},  {4, 48},  {8, 48},
                                                {12, 56}, {16, 68}, {20, 80}};
  for (const auto& [exchange_time, pair] : expected) {
    const double alone = forward_time + backward_time + 4 * exchange_time;
    EXPECT_NEAR(layer.step_time(exchange_time), alone + 2 * pair, 1e-9) << exchange_time;
  }
}

// Both hops of an exchange stand beside work: the second begins behind the attention's residual,
// the gradients of the experts' inputs and weights, and those of the attention's input. By hand, c
// each: with 4 the second hop of the backward's dispatch is late by 2, with 8 nearly all wait.
TEST(PairedLayers, HideBothHopsOfAnExchange) {
  const OneLayer layer{two_hop_layer()};
  const std::pair<double, double> expected[] = {{0, 48}, {2, 48}, {4, 50}, {8, 68}};
  for (const auto& [hop_time, pair] : expected) {
    const double alone = forward_time + backward_time + 8 * hop_time;
    EXPECT_NEAR(layer.step_time(hop_time), alone + 2 * pair, 1e-9) << hop_time;
  }
}

// Without pairs every exchange is exposed: 48 + 4 c per layer.
TEST(PairedLayers, HideNothingWhereTheyRunAlone) {
  const OneLayer layer;
  for (const double c : {0.0, 3.0, 50.0}) {
    const double hidden = 3 * (48 + 4 * c) - layer.step_time(c);
    EXPECT_GE(hidden, -1e-9);
    if (c == 3.0) {
      EXPECT_NEAR(hidden, 2 * 4 * c, 1e-9);
    }
  }
}

}  // namespace
}  // namespace stepcast
