#include <algorithm>
#include <utility>
#include <vector>

#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/operators.hpp"

namespace stepcast {

namespace {

/// One hop of an exchange: calls that start together, and what stands between them and the next.
struct Leg {
  LayerItems calls, behind;
};
using Legs = std::vector<Leg>;

/// A pass, cut at its exchanges.
struct Cut {
  LayerItems before, between, after;
  Legs first, second;
};

const LayerCommunication* exchange(const LayerItem& item, CommunicationRole role) {
  const auto* call = std::get_if<LayerCommunication>(&item);
  return call != nullptr && call->id.role == role ? call : nullptr;
}

LayerItems::const_iterator find_exchange(LayerItems::const_iterator from,
                                         LayerItems::const_iterator end, CommunicationRole role) {
  return std::find_if(from, end,
                      [&](const LayerItem& item) { return exchange(item, role) != nullptr; });
}

/// The exchange whose first call is `at`, and what stands behind it; waits for it are left out.
std::pair<Legs, LayerItems::const_iterator> legs_from(const LayerItems& items,
                                                      LayerItems::const_iterator at,
                                                      CommunicationRole role) {
  Legs legs;
  while (true) {
    Leg& leg = legs.emplace_back();
    for (; at != items.end() && exchange(*at, role) != nullptr; ++at) {
      LayerCommunication call = *exchange(*at, role);
      call.overlapped = true;
      leg.calls.push_back(std::move(call));
    }
    while (at != items.end() && std::holds_alternative<WaitFor>(*at) &&
           std::get<WaitFor>(*at).id.role == role)
      ++at;
    const auto next = find_exchange(at, items.end(), role);
    if (next == items.end()) return {std::move(legs), at};
    leg.behind.assign(at, next);
    at = next;
  }
}

Cut cut(const LayerItems& items, CommunicationRole first, CommunicationRole second) {
  // Two exchanges cut a pass into three parts: between them another micro-batch's parts can run.
  const auto a = find_exchange(items.begin(), items.end(), first);
  const auto b = find_exchange(items.begin(), items.end(), second);
  expects(a != items.end() && b != items.end(), "a paired layer exchanges tokens");
  auto [first_legs, behind_first] = legs_from(items, a, first);
  auto [second_legs, behind_second] = legs_from(items, b, second);
  return {.before = {items.begin(), a},
          .between = {behind_first, b},
          .after = {behind_second, items.end()},
          .first = std::move(first_legs),
          .second = std::move(second_legs)};
}

/// Behind the attention of a forward, whose output joins the residual stream; the end where
/// nothing does.
std::ptrdiff_t end_of_attention(const LayerItems& forward) {
  const auto joined = std::ranges::find_if(forward, [](const auto& item) {
    const auto* op = std::get_if<Operator>(&item);
    return op != nullptr && op->role == OperatorRole::residual;
  });
  return joined == forward.end() ? forward.end() - forward.begin() : joined - forward.begin() + 1;
}

/// Behind the last weight gradient of the routed experts: what is left belongs to the attention.
std::ptrdiff_t end_of_experts(const LayerItems& weights) {
  const auto last = std::ranges::find_if(weights.rbegin(), weights.rend(), [](const auto& item) {
    const auto* op = std::get_if<Operator>(&item);
    return op != nullptr && op->role == OperatorRole::expert_weight_gradient;
  });
  return weights.rend() - last;
}

/// Lists a pair's items in the order in which they are issued.
class PairWriter {
 public:
  using Place = LayerItems::const_iterator;

  void put(Place first, Place last) { items_.insert(items_.end(), first, last); }
  void put(const LayerItems& part) { put(part.begin(), part.end()); }
  void start(const Legs& legs) { put(legs.front().calls); }
  void wait(const Leg& leg) {
    for (const LayerItem& call : leg.calls)
      items_.push_back(WaitFor{std::get<LayerCommunication>(call).id});
  }
  /// Behind the first leg of an exchange, up to the issue of its last one.
  void go_on(const Legs& legs) {
    for (std::size_t i = 1; i < legs.size(); ++i) {
      wait(legs[i - 1]);
      put(legs[i - 1].behind);
      put(legs[i].calls);
    }
  }
  LayerItems done() { return std::move(items_); }

 private:
  LayerItems items_;
};

}  // namespace

// An exchange is issued as soon as what it sends is there; the order of waits is that of the
// compute stream. A second hop starts half-way through the work that stands beside the exchange.
LayerItems paired_layers(const Passes& forward, const Passes& backward) {
  using Role = CommunicationRole;
  const Cut f = cut(forward.forward, Role::dispatch, Role::combine);
  const Cut b = cut(backward.backward_input, Role::combine_backward, Role::dispatch_backward);
  const LayerItems& weights = backward.backward_weight;
  const auto attention_weights = weights.begin() + end_of_experts(weights);
  const auto experts = f.before.begin() + end_of_attention(f.before);
  PairWriter pair;
  // The backward's first exchange moves beside attention of the forward, which needs none of it.
  pair.put(b.before);
  pair.start(b.first);
  pair.put(f.before.begin(), experts);
  pair.go_on(b.first);
  pair.put(experts, f.before.end());
  // Tokens of the forward travel while the experts of the backward work, and the other way round.
  pair.start(f.first);
  pair.wait(b.first.back());
  pair.put(b.between);
  pair.go_on(f.first);
  // Weight gradients wait for nothing: they fill the time of exchanges that have no other partner.
  pair.start(b.second);
  pair.put(weights.begin(), attention_weights);
  pair.go_on(b.second);
  pair.wait(f.first.back());
  pair.put(f.between);
  pair.start(f.second);
  pair.wait(b.second.back());
  pair.put(b.after);
  pair.go_on(f.second);
  pair.put(attention_weights, weights.end());
  pair.wait(f.second.back());
  pair.put(f.after);
  return pair.done();
}

}  // namespace stepcast
