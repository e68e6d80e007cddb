#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "stepcast/workloads/fusion.hpp"
#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {
namespace {

using Statements = std::span<const Operator>;

const Operator* statement(const LayerItem& item) {
  const auto* op = std::get_if<Operator>(&item);
  return op != nullptr && op->flow != nullptr ? op : nullptr;
}

bool reads(const Operator& op, char value) {
  return std::ranges::any_of(op.flow->reads, [&](const auto& r) { return r.value == value; });
}

bool is_read(Statements statements, char value) {
  return std::ranges::any_of(statements, [&](const Operator& op) { return reads(op, value); });
}

bool is_written(Statements statements, char value) {
  return std::ranges::any_of(statements,
                             [&](const Operator& op) { return op.flow->written.value == value; });
}

const StatementGroup::Saved* saved(const StatementGroup& group, char value) {
  const auto found = std::ranges::find(group.saved, value, &StatementGroup::Saved::value);
  return found == group.saved.end() ? nullptr : &*found;
}

/// Bytes of rows that a reduction at the end of `before` leaves for `after`: what both of them
/// read, and what the one makes for the other.
double kept_on_chip(Statements before, Statements after) {
  const StatementGroup& group = *before.front().flow->group;
  std::map<char, double> kept;
  for (const Operator& op : after)
    for (const VectorFlow::Operand& r : op.flow->reads)
      // Of several operands that are one value the widest counts, once.
      if (is_written(before, r.value) || (!is_written(after, r.value) && is_read(before, r.value)))
        kept[r.value] = std::max(kept[r.value], r.bytes);
  double sum = 0;
  for (const auto& [value, bytes] : kept) sum += bytes;
  return group.elements > 0 ? sum / group.elements * group.row : 0;
}

/// The group in parts, each of which can be one kernel.
std::vector<Statements> parts(Statements group, const DeviceSpec& device, FusionChoices& choices) {
  const double limit = device.vector_memory.value();
  std::vector<Statements> result;
  std::size_t from = 0;
  for (std::size_t i = 0; i + 1 < group.size(); ++i) {
    const Statements before = group.subspan(from, i + 1 - from), after = group.subspan(i + 1);
    // Only a reduction must end before its readers begin: its rows stay on the chip, or leave it.
    if (limit == 0 || !group[i].flow->reduces()) continue;
    if (choices.take(kept_on_chip(before, after) <= limit)) continue;
    result.push_back(before);
    from = i + 1;
  }
  result.push_back(group.subspan(from));
  return result;
}

/// What one kernel for all of `part` moves and computes.
struct Traffic {
  double bytes = 0, flops = 0;
};

Traffic traffic(Statements part, Statements behind) {
  const StatementGroup& group = *part.front().flow->group;
  std::map<char, double> moved;
  Traffic sum;
  for (const Operator& op : part) {
    sum.flops += op.flops.value();
    for (const VectorFlow::Operand& r : op.flow->reads)
      if (!is_written(part, r.value)) moved[r.value] = std::max(moved[r.value], r.bytes);
  }
  // What anything behind the part reads has to leave the chip.
  for (const Operator& op : part) {
    const VectorFlow::Operand& w = op.flow->written;
    const bool leaves = group.results.find(w.value) != std::string::npos;
    if (leaves || is_read(behind, w.value)) moved[w.value] = std::max(moved[w.value], w.bytes);
  }
  for (auto at = moved.begin(); at != moved.end();) {  // made again from what is read anyway
    const StatementGroup::Saved* s = saved(group, at->first);
    const double width = s != nullptr && group.elements > 0 ? at->second / group.elements : 0;
    if (width == 0) {
      ++at;
      continue;
    }
    const double bytes = s->source_bytes;
    sum.flops += s->flops * group.elements;
    double& source = moved[s->source];
    at = moved.erase(at);
    source = std::max(source, std::min(width, bytes) * group.elements);
  }
  for (const auto& [value, bytes] : moved) sum.bytes += bytes;
  return sum;
}

Operator one_kernel(Statements part, Statements behind, bool whole) {
  const StatementGroup& group = *part.front().flow->group;
  Operator op = part.front();
  const Traffic sum = traffic(part, behind);
  op.flops = Flops{sum.flops};
  op.bytes = Bytes{sum.bytes};
  op.flow = nullptr;
  op.name = group.name;
  if (whole) {
    op.role = group.role;
  } else {
    op.name += " part";
  }
  op.work = MemoryBoundWork{kind_of(group.role), std::get<MemoryBoundWork>(op.work).row};
  op.routed = std::ranges::any_of(part, &Operator::routed);
  // A kernel that begins outside of a library call is issued as from Python.
  op.in_call = std::ranges::all_of(part, &Operator::in_call);
  for (const Operator& statement : part) op.fused.push_back(statement.name);
  return op;
}

/// Nothing where the kernel moves more or takes longer than its statements.
std::optional<Operator> fused(Statements part, Statements behind, bool whole,
                              const DeviceSpec& device, FusionChoices& choices) {
  if (part.size() == 1) return {};
  Operator op = one_kernel(part, behind, whole);
  Seconds time{0};
  Bytes bytes{0};
  for (const Operator& statement : part) {
    time += operator_time(statement, device, false);
    bytes += statement.bytes;
  }
  // A fuser that makes kernels that take longer would not be switched on.
  const bool pays = op.bytes <= bytes && operator_time(op, device, false) <= time;
  if (!choices.take(pays)) return {};
  return op;
}

/// Of like groups beside each other, whose kernels are one after all.
bool stack(Operator& first, const Operator& second, const DeviceSpec& device,
           FusionChoices& choices) {
  Operator op = first;
  op.flops += second.flops;
  op.bytes += second.bytes;
  op.fused.insert(op.fused.end(), second.fused.begin(), second.fused.end());
  const Seconds apart = operator_time(first, device, false) + operator_time(second, device, false);
  if (!choices.take(operator_time(op, device, false) <= apart)) return false;
  first = std::move(op);
  return true;
}

void add_group(LayerItems& out, Statements group, const DeviceSpec& device,
               FusionChoices& choices) {
  const std::vector<Statements> all = parts(group, device, choices);
  std::size_t done = 0;
  for (const Statements& part : all) {
    done += part.size();
    std::optional<Operator> op = fused(part, group.subspan(done), all.size() == 1, device, choices);
    if (!op) {
      out.insert(out.end(), part.begin(), part.end());
      continue;
    }
    auto* before = out.empty() ? nullptr : std::get_if<Operator>(&out.back());
    // Groups that were cut are not stacked.
    const bool beside = group.front().flow->group->beside && all.size() == 1;
    if (beside && before != nullptr && before->role == op->role &&
        stack(*before, *op, device, choices))
      continue;
    out.push_back(std::move(*op));
  }
}

}  // namespace

LayerItems fuse_statements(LayerItems items, const DeviceSpec& device, FusionChoices& choices) {
  LayerItems out;
  std::vector<Operator> group;
  const auto finish = [&] {
    if (!group.empty()) add_group(out, group, device, choices);
    group.clear();
  };
  for (LayerItem& item : items) {
    const Operator* op = statement(item);
    // A group ends where another one begins, or the same begins again.
    if (op == nullptr || (!group.empty() && (op->flow->group != group.back().flow->group ||
                                             op->flow->index <= group.back().flow->index)))
      finish();
    if (op == nullptr)
      out.push_back(std::move(item));
    else
      group.push_back(*op);
  }
  finish();
  return out;
}

}  // namespace stepcast
