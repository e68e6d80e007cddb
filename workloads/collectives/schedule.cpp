#include "schedule.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast::collectives {
namespace {

/// Both flows, one after the other, as one.
void join(const PhaseFlow& a, const PhaseFlow& b, PhaseFlow& sum) {
  sum.latency = a.latency + b.latency;
  sum.bytes = a.bytes + b.bytes;
  sum.links.clear();
  // Steps without bytes have latency only.
  if (sum.bytes.value() == 0) return;
  // Weights are per byte of the flow, so that each half counts with its part of the bytes.
  const double part_a = a.bytes / sum.bytes;
  const double part_b = b.bytes / sum.bytes;
  sum.links.reserve(std::max(a.links.size(), b.links.size()));
  // Both lists ascend by link.
  auto i = a.links.begin();
  auto j = b.links.begin();
  while (i != a.links.end() && j != b.links.end()) {
    if (i->link == j->link) {
      sum.links.push_back({i->link, part_a * i->weight + part_b * j->weight});
      ++i, ++j;
    } else if (i->link < j->link) {
      sum.links.push_back({i->link, part_a * i->weight});
      ++i;
    } else {
      sum.links.push_back({j->link, part_b * j->weight});
      ++j;
    }
  }
  for (; i != a.links.end(); ++i) sum.links.push_back({i->link, part_a * i->weight});
  for (; j != b.links.end(); ++j) sum.links.push_back({j->link, part_b * j->weight});
}

double loops(const CollectiveLibrarySpec& library, Bytes buffered) {
  // NCCL's chunks follow each other and pay latencies once.
  if (library.library == CollectiveLibrarySpec::Library::nccl) return 1;
  return std::max(1.0, std::ceil(buffered / library.buffer));
}

}  // namespace

Seconds transfer_time(const Fabric& fabric, const PhaseFlow& flow, Reached reached) {
  double slowest = 0;
  auto use = flow.links.begin();
  // The links of a kind follow each other and, but for wires, have one bandwidth.
  for (std::size_t kind = 0; kind < link_kinds && use != flow.links.end(); ++kind) {
    const Fabric::Block& block = fabric.block(static_cast<LinkKind>(kind));
    if (static_cast<LinkKind>(kind) == LinkKind::wire) {
      for (; use != flow.links.end() && use->link.value < block.first + block.count; ++use) {
        const double usable = fabric.planned_bandwidth(use->link).value() * reached.near;
        slowest = std::max(slowest, use->weight / usable);
      }
      continue;
    }
    double largest = 0;
    for (; use != flow.links.end() && use->link.value < block.first + block.count; ++use)
      largest = std::max(largest, use->weight);
    if (largest == 0) continue;
    const bool near = info(static_cast<LinkKind>(kind)).family.tier <= LinkTier::super_node;
    slowest = std::max(slowest,
                       largest / (block.bandwidth.value() * (near ? reached.near : reached.far)));
  }
  return Seconds{flow.bytes.value() * slowest};
}

Schedule::Schedule(const Fabric& fabric, Group members, Bytes buffered, NetworkForm form)
    : fabric_{fabric},
      wiring_(fabric, members),
      form_{form},
      loops_{loops(fabric.cluster().collectives, buffered)} {}

void Schedule::repeats(std::size_t period) {
  // Messages as pairs are listed for everybody: their number is what is shown.
  if (period > 0 && form_ == NetworkForm::ports) wiring_.watch(static_cast<std::uint32_t>(period));
}

void Schedule::then(const Step& step, double times) {
  if (times <= 0) return;
  // As pairs every step is a phase of its own.
  if (form_ == NetworkForm::pairwise) return then_together({{step, times}});
  step.write_flow(times, next_);
  if (!phases_.empty() && phases_.back().flows.size() == 1) {
    // Joined only where a single flow stands on both sides.
    PhaseFlow& last = phases_.back().flows.front();
    join(last, next_, both_);
    // The phase before has its loops counted already.
    both_.latency = last.latency + next_.latency * loops_;
    const Seconds apart = transfer_time(fabric_, last) + transfer_time(fabric_, next_);
    // As long together as apart: the same link is the slowest of both.
    if (transfer_time(fabric_, both_) >= apart * (1 - 1e-12)) {
      std::swap(last, both_);
      return;
    }
  }
  phases_.push_back({{next_}});
  phases_.back().flows.front().latency *= loops_;
}

void Schedule::then_together(const std::vector<Repeated>& parts) {
  Phase& phase = phases_.emplace_back();
  for (const Repeated& part : parts) {
    const std::size_t first = phase.flows.size();
    if (form_ == NetworkForm::pairwise)
      part.step.add_messages(fabric_, part.times, phase.flows);
    else
      part.step.write_flow(part.times, phase.flows.emplace_back());
    // write_flow() and add_messages() know one step; here are all repeats and loops.
    for (std::size_t f = first; f < phase.flows.size(); ++f)
      phase.flows[f].latency = part.latency * loops_;
  }
}

}  // namespace stepcast::collectives
