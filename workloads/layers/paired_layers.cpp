#include <algorithm>

#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/operators.hpp"

namespace stepcast {

namespace {

/// A pass, cut at its exchanges.
struct Cut {
  LayerItems before, between, after;
  LayerCommunication first, second;
};

/// The exchange; of one with two hops the outer, which takes longest and which the other layer
/// should hide.
LayerItems::const_iterator find_exchange(const LayerItems& items, CommunicationRole role) {
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

Cut cut(const LayerItems& items, CommunicationRole first, CommunicationRole second) {
  const auto a = find_exchange(items, first), b = find_exchange(items, second);
  Cut parts{.before = {items.begin(), a},
            .between = {a + 1, b},
            .after = {b + 1, items.end()},
            .first = std::get<LayerCommunication>(*a),
            .second = std::get<LayerCommunication>(*b)};
  parts.first.overlapped = parts.second.overlapped = true;
  return parts;
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
  put_all(b.before);
  items.push_back(b.first);
  put_all(f.before);
  items.push_back(f.first);
  items.push_back(WaitFor{b.first.id});
  put_all(b.between);
  items.push_back(b.second);
  put(weights.begin(), attention_weights);
  items.push_back(WaitFor{f.first.id});
  put_all(f.between);
  items.push_back(f.second);
  items.push_back(WaitFor{b.second.id});
  put_all(b.after);
  put(attention_weights, weights.end());
  items.push_back(WaitFor{f.second.id});
  put_all(f.after);
  return items;
}

}  // namespace stepcast
