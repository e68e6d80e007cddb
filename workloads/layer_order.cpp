#include "layer_order.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>

#include "program_builder.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {

namespace {

/// Waits and read-backs stay where they are.
Slack slack_of(const LayerItem& item) {
  if (const auto* op = std::get_if<Operator>(&item)) return op->slack;
  if (const auto* call = std::get_if<LayerCommunication>(&item)) return call->slack;
  return {};
}

/// Communications that the layer itself lets run beside what follows, until its WaitFor.
bool runs_beside(const LayerItem& item) {
  const auto* call = std::get_if<LayerCommunication>(&item);
  return call != nullptr && call->overlapped;
}

/// One that its first reader waits for.
bool exchanges(const LayerItem& item) {
  return std::holds_alternative<LayerCommunication>(item) && !runs_beside(item);
}

/// What hides a communication where it is written stays there.
std::vector<Slack> free_slack(const LayerItems& items) {
  std::vector<Slack> result;
  std::set<CommunicationId> under_way;
  for (const LayerItem& item : items) {
    const auto* wait = std::get_if<WaitFor>(&item);
    if (wait != nullptr) under_way.erase(wait->id);
    if (runs_beside(item)) under_way.insert(std::get<LayerCommunication>(item).id);
    result.push_back(under_way.empty() ? slack_of(item) : Slack{});
  }
  return result;
}

bool follows(const std::vector<Slack>& slack, std::size_t j, std::size_t i) {
  const Slack& before = slack[i];
  const Slack& behind = slack[j];
  // A weight gradient is read by what stands right behind it and belongs to it, by nothing else.
  if (before.last) return behind.last && j == i + 1;
  if (before.branch != 0 && before.branch == behind.branch) return true;
  return behind.ahead < j - i && before.behind < j - i;
}

}  // namespace

PassDependencies::PassDependencies(const LayerItems& items)
    : size_{items.size()}, depends_(size_ * size_, 0), waits_(size_) {
  const std::vector<Slack> slack = free_slack(items);
  for (std::size_t j = 0; j < size_; ++j) {
    if (slack[j].movable()) movable_.push_back(j);
    const auto* wait = std::get_if<WaitFor>(&items[j]);
    for (std::size_t i = 0; i < j; ++i) {
      if (!follows(slack, j, i)) continue;
      depends_[j * size_ + i] = 1;
      // A WaitFor ends the one communication that it names; all others wait for what they read.
      const bool named = wait != nullptr && runs_beside(items[i]) &&
                         std::get<LayerCommunication>(items[i]).id == wait->id;
      if (named || exchanges(items[i])) waits_[j].push_back(i);
    }
  }
}

double expected_end(const LayerItems& items, const PassDependencies& dependencies,
                    const std::vector<double>& times, const LayerOrder& order) {
  double compute = 0, last = 0;
  std::array<double, streams> busy{};
  std::vector<double> end(items.size(), 0);
  for (const std::size_t item : order) {
    for (const std::size_t call : dependencies.waits_for(item))
      compute = std::max(compute, end[call]);
    if (const auto* call = std::get_if<LayerCommunication>(&items[item])) {
      // Communications of one stream run one behind the other.
      double& stream = busy[static_cast<std::size_t>(stream_of(call->group))];
      stream = end[item] = std::max(compute, stream) + times[item];
      last = std::max(last, stream);
    } else {
      compute += times[item];
    }
  }
  return std::max(compute, last);
}

namespace {

/// Places to which an item of the order may go, as indices into the order without it.
struct Reach {
  std::size_t first, last;
};

Reach reach(const PassDependencies& dependencies, const LayerOrder& rest, std::size_t item) {
  // The item may go behind the last it depends on, and before the first that depends on it.
  // Original numbers say which of two comes first, because a layer was recorded in an order that
  // works.
  Reach result{0, rest.size()};
  for (std::size_t place = 0; place < rest.size(); ++place) {
    const std::size_t other = rest[place];
    if (other < item && dependencies.depends(item, other)) result.first = place + 1;
    if (other > item && dependencies.depends(other, item))
      result.last = std::min(result.last, place);
  }
  return result;
}

/// Behind the start of an exchange, in front of what waits for one, and as early as may be.
bool beside_exchange(const LayerItems& items, const PassDependencies& dependencies,
                     const LayerOrder& rest, std::size_t place) {
  const bool behind_start = place > 0 && exchanges(items[rest[place - 1]]);
  return behind_start || (place < rest.size() && !dependencies.waits_for(rest[place]).empty());
}

/// What rounds off is no gain.
constexpr double least_gain = 1e-9;

}  // namespace

LayerOrder overlapping_order(const LayerItems& items, const std::vector<double>& times) {
  expects(times.size() == items.size(), "every item has a time");
  const PassDependencies dependencies{items};
  LayerOrder order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double end = expected_end(items, dependencies, times, order);
  // Of all moves of one item the best is taken, until none shortens the pass.
  for (bool moved = true; std::exchange(moved, false);) {
    LayerOrder best = order;
    double shortest = end * (1 - least_gain);
    for (const std::size_t item : dependencies.movable()) {
      LayerOrder rest = order;
      std::erase(rest, item);
      const Reach to = reach(dependencies, rest, item);
      for (std::size_t place = to.first; place <= to.last; ++place) {
        // Between two other computations an item would change nothing.
        if (place != to.first && !beside_exchange(items, dependencies, rest, place)) continue;
        LayerOrder changed = rest;
        changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(place), item);
        const double ends = expected_end(items, dependencies, times, changed);
        if (ends >= shortest) continue;
        shortest = ends;
        best = std::move(changed);
        moved = true;
      }
    }
    if (moved) end = shortest;
    order = std::move(best);
  }
  return order;
}

LayerItems in_order(const LayerItems& items, const LayerOrder& order) {
  if (order.empty()) return items;
  expects(order.size() == items.size(), "an order of this pass");
  const PassDependencies dependencies{items};
  const auto id_of = [](std::size_t call) {
    return CommunicationId{.role = CommunicationRole::reordered,
                           .piece = static_cast<std::int64_t>(call)};
  };
  LayerItems result;
  std::set<std::size_t> under_way;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::size_t item = order[place];
    for (const std::size_t call : dependencies.waits_for(item))
      if (under_way.erase(call) == 1) result.emplace_back(WaitFor{id_of(call)});
    result.push_back(items[item]);
    if (!exchanges(items[item])) continue;
    // The next item reads it: waiting for it at once is the same.
    const std::size_t next = place + 1 < order.size() ? order[place + 1] : item;
    if (next == item || std::ranges::count(dependencies.waits_for(next), item) != 0) continue;
    auto& call = std::get<LayerCommunication>(result.back());
    call.overlapped = true;
    call.id = id_of(item);
    under_way.insert(item);
  }
  // Read by nothing in the pass: the pass ends when they have.
  for (const std::size_t call : under_way) result.emplace_back(WaitFor{id_of(call)});
  return result;
}

namespace {

/// Of the gradient that the product of a weight gradient reads, beside the input that is kept
/// anyway.
double gradient_read(const Operator& op) {
  if (const auto* one = std::get_if<MatmulWork>(&op.work)) return half_bytes * one->n * one->k;
  if (const auto* all = std::get_if<GroupedMatmulWork>(&op.work))
    return half_bytes * all->groups * all->n * all->k;
  return 0;
}

}  // namespace

double waiting_gradients(const LayerItems& items, const LayerOrder& order) {
  double most = 0, now = 0;
  std::size_t written = 0;  // how far the written order has got by what does not move
  std::set<std::size_t> waiting, done;
  for (const std::size_t item : order) {
    const auto* op = std::get_if<Operator>(&items[item]);
    // Made now: its gradient waits no longer.
    if (op != nullptr && op->slack.last) {
      done.insert(item);
      if (waiting.erase(item) == 1) now -= gradient_read(*op);
      continue;
    }
    if (slack_of(items[item]).movable()) continue;
    // Weight gradients that were written before this item have their gradients by now, and wait.
    for (; written <= item; ++written) {
      const auto* passed = std::get_if<Operator>(&items[written]);
      if (passed == nullptr || !passed->slack.last || done.contains(written)) continue;
      waiting.insert(written);
      now += gradient_read(*passed);
    }
    most = std::max(most, now);
  }
  return most;
}

}  // namespace stepcast
