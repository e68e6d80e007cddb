#include <algorithm>
#include <utility>

#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/operators.hpp"

namespace stepcast {

namespace {

/// A pass, cut at its exchanges.
struct Cut {
  LayerItems before, between, after;
  LayerItems first, second;  ///< an exchange: one call, or those of hops that are one kernel
};

const LayerCommunication* exchange(const LayerItem& item, CommunicationRole role) {
  const auto* call = std::get_if<LayerCommunication>(&item);
  return call != nullptr && call->id.role == role ? call : nullptr;
}

/// The exchange; of one with two hops the outer, which takes longest and which the other layer
/// should hide, or the first of hops that are one kernel.
LayerItems::const_iterator find_exchange(const LayerItems& items, CommunicationRole role) {
  const auto together = std::ranges::adjacent_find(items, [&](const auto& a, const auto& b) {
    return exchange(a, role) != nullptr && exchange(b, role) != nullptr;
  });
  if (together != items.end()) return together;
  for (const auto leg : {ExchangeLeg::outer, ExchangeLeg::whole, ExchangeLeg::inner}) {
    const auto found = std::ranges::find_if(items, [&](const LayerItem& item) {
      const auto* call = std::get_if<LayerCommunication>(&item);
      return call != nullptr && call->id == CommunicationId{role, leg};
    });
    if (found != items.end()) return found;
  }
  expects(false, "a paired layer exchanges tokens");
  return items.end();
}

/// The calls from `at` on that start together, and what stands behind them without their waits.
std::pair<LayerItems, LayerItems::const_iterator> calls_from(const LayerItems& items,
                                                             LayerItems::const_iterator at,
                                                             CommunicationRole role) {
  LayerItems calls;
  for (; at != items.end() && exchange(*at, role) != nullptr; ++at) {
    LayerCommunication call = *exchange(*at, role);
    call.overlapped = true;
    calls.push_back(std::move(call));
  }
  while (at != items.end() && std::holds_alternative<WaitFor>(*at) &&
         std::get<WaitFor>(*at).id.role == role)
    ++at;
  return {std::move(calls), at};
}

Cut cut(const LayerItems& items, CommunicationRole first, CommunicationRole second) {
  const auto a = find_exchange(items, first), b = find_exchange(items, second);
  auto [first_calls, behind_first] = calls_from(items, a, first);
  auto [second_calls, behind_second] = calls_from(items, b, second);
  return {.before = {items.begin(), a},
          .between = {behind_first, b},
          .after = {behind_second, items.end()},
          .first = std::move(first_calls),
          .second = std::move(second_calls)};
}

/// Behind the last weight gradient of the routed experts: what is left belongs to the attention.
std::ptrdiff_t end_of_experts(const LayerItems& weights) {
  const auto last = std::ranges::find_if(weights.rbegin(), weights.rend(), [](const auto& item) {
    const auto* op = std::get_if<Operator>(&item);
    return op != nullptr && op->role == OperatorRole::expert_weight_gradient;
  });
  return weights.rend() - last;
}

}  // namespace

// An exchange is issued as soon as what it sends is there; the order of waits is that of the
// compute stream.
LayerItems paired_layers(const Passes& forward, const Passes& backward) {
  using Role = CommunicationRole;
  const Cut f = cut(forward.forward, Role::dispatch, Role::combine);
  const Cut b = cut(backward.backward_input, Role::combine_backward, Role::dispatch_backward);
  const LayerItems& weights = backward.backward_weight;
  const auto attention_weights = weights.begin() + end_of_experts(weights);
  LayerItems items;
  const auto put = [&](auto first, auto last) { items.insert(items.end(), first, last); };
  const auto put_all = [&](const LayerItems& part) { put(part.begin(), part.end()); };
  const auto wait = [&](const LayerItems& calls) {
    for (const LayerItem& call : calls)
      items.push_back(WaitFor{std::get<LayerCommunication>(call).id});
  };
  put_all(b.before);
  put_all(b.first);
  put_all(f.before);
  put_all(f.first);
  wait(b.first);
  put_all(b.between);
  put_all(b.second);
  put(weights.begin(), attention_weights);
  wait(f.first);
  put_all(f.between);
  put_all(f.second);
  wait(b.second);
  put_all(b.after);
  put(attention_weights, weights.end());
  wait(f.second);
  put_all(f.after);
  return items;
}

}  // namespace stepcast
