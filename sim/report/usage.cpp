#include "stepcast/sim/report/usage.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace stepcast {
namespace {

/// Bytes while so many micro-batches of each chunk are held.
Bytes with_held(const Scenario& scenario, const RecordedRun& run, Stage stage,
                const std::vector<int>& held) {
  return stage_memory(scenario.workload, run.layers, scenario.cluster, stage, held).passes();
}

bool frees(UnitKind kind) {
  return kind == UnitKind::backward || kind == UnitKind::backward_weight;
}

/// Flows of a communication, by number, with their bytes.
std::vector<std::pair<std::uint32_t, double>> flows_of(const RecordedRun& run,
                                                       const Recording::Communication& c) {
  std::vector<std::pair<std::uint32_t, double>> flows;
  const auto add = [&](const NetworkFlow& flow) {
    if (flow.number != NetworkFlow::unnumbered) flows.emplace_back(flow.number, flow.bytes);
  };
  if (c.network == Recording::none) {
    const std::uint32_t sender = run.recording.members_of(c)->rank_class;
    add(run.network.hop(c.channel, sender).flow);
    return flows;
  }
  for (const auto& phase : run.network.calls[c.network].phases) std::ranges::for_each(phase, add);
  return flows;
}

/// [flow number] the links that it loads, with the weight.
using LinksOfFlow = std::vector<std::vector<std::pair<std::uint32_t, double>>>;

LinksOfFlow links_of_flows(const NetworkMap& network) {
  LinksOfFlow result;
  for (std::uint32_t l = 0; l < network.links.size(); ++l) {
    for (const auto& [flow, weight] : network.links[l].loads) {
      if (result.size() <= flow) result.resize(flow + 1);
      result[flow].emplace_back(l, weight);
    }
  }
  return result;
}

/// Spreads `share` seconds of full use evenly over [from, to].
void spread(double from, double to, double share, double part, std::vector<double>& parts) {
  const auto index = [&](double time) {
    return std::min(parts.size() - 1, static_cast<std::size_t>(std::max(0.0, time / part)));
  };
  const std::size_t first = index(from), last = index(to);
  if (first == last || to <= from) {
    parts[first] += share / part;
    return;
  }
  for (std::size_t i = first; i <= last; ++i) {
    const double a = std::max(from, static_cast<double>(i) * part);
    const double b = i == last ? to : static_cast<double>(i + 1) * part;
    parts[i] += share * (b - a) / (to - from) / part;
  }
}

/// From all communications that were recorded.
void add_recorded(const RecordedRun& run, double part, std::vector<LinkUsage>& usage) {
  const LinksOfFlow links = links_of_flows(run.network);
  std::vector<std::map<std::int64_t, double>> of_stage(usage.size());  // bytes of each link
  for (const Recording::Communication& c : run.recording.communications) {
    const std::uint32_t first = run.recording.members_of(c)->rank_class;
    const std::int64_t stage = run.network.classes.stage[first].value;
    for (const auto& [flow, bytes] : flows_of(run, c)) {
      if (flow >= links.size()) continue;
      for (const auto& [link, weight] : links[flow]) {
        LinkUsage& used = usage[link];
        used.bytes += bytes * weight;
        of_stage[link][stage] += bytes * weight;
        spread(c.start, c.end, bytes * weight / used.bandwidth, part, used.share);
      }
    }
  }
  // A stage that hardly uses a link is not named.
  constexpr double least = 0.25;  // of the bytes of a link
  for (std::size_t link = 0; link < usage.size(); ++link)
    for (const auto& [stage, bytes] : of_stage[link])
      if (bytes >= least * usage[link].bytes) usage[link].stages.push_back(stage);
}

/// From what was added up, in parts of another length.
void add_sums(const Recording& recording, double part, std::vector<LinkUsage>& usage) {
  for (std::size_t l = 0; l < usage.size(); ++l) {
    const Recording::LinkUse& sum = recording.links[l];
    usage[l].bytes = sum.bytes;
    for (std::size_t i = 0; i < sum.busy.size(); ++i) {
      const double from = static_cast<double>(i) * recording.part;
      if (sum.busy[i] > 0)
        spread(from, std::min(from + recording.part, recording.end), sum.busy[i], part,
               usage[l].share);
    }
  }
}

}  // namespace

std::vector<MemoryMoment> memory_over_time(const Scenario& scenario, const RecordedRun& run,
                                           std::uint32_t rank_class) {
  if (scenario.synthetic) return {};
  const Stage stage = run.network.classes.stage[rank_class];
  const ParallelPlan& plan = scenario.workload.plan;
  const auto chunks = static_cast<std::size_t>(plan.vpp);
  std::vector<int> held(chunks, 0);
  double now = with_held(scenario, run, stage, held).value();
  // Memory is linear in what is held, so that one micro-batch of each chunk tells it.
  std::vector<double> of_chunk;
  for (std::size_t c = 0; c < chunks; ++c) {
    held[c] = 1;
    of_chunk.push_back(with_held(scenario, run, stage, held).value() - now);
    held[c] = 0;
  }
  std::vector<MemoryMoment> changes;
  for (const Recording::UnitSpan& span : run.recording.ranks[rank_class].units) {
    const double bytes = of_chunk[span.unit.chunk.value] *
                         plan.slice_weight(scenario.workload.training.sequence,
                                           static_cast<std::int64_t>(span.unit.slice.value));
    // Kept from the beginning of a forward to the end of its backward.
    if (span.unit.kind == UnitKind::forward) changes.push_back({span.start, bytes});
    if (frees(span.unit.kind)) changes.push_back({span.end, -bytes});
  }
  std::ranges::stable_sort(changes, {}, &MemoryMoment::time);
  std::vector<MemoryMoment> moments{{0, now}};
  for (const MemoryMoment& change : changes) moments.push_back({change.time, now += change.bytes});
  return moments;
}

std::vector<LinkUsage> link_usage(const RecordedRun& run, std::size_t parts) {
  const double end = run.recording.end;
  std::vector<LinkUsage> usage;
  for (const NetworkLink& link : run.network.links) {
    usage.push_back({.kind = link.kind,
                     .name = link.name,
                     .count = link.count,
                     .bandwidth = link.bandwidth,
                     .share = std::vector<double>(parts)});
  }
  // A run of no length has used nothing, and shares of it are none.
  if (end <= 0) return usage;
  const double part = end / static_cast<double>(parts);
  // Long runs keep sums of each part instead of every flow.
  if (run.recording.whole()) {
    add_recorded(run, part, usage);
  } else {
    add_sums(run.recording, part, usage);
  }
  for (LinkUsage& used : usage) used.mean = used.bytes / used.bandwidth / end;
  // By kind, the busiest link first; stable, so that equal ones keep their numbers' order.
  std::ranges::stable_sort(usage, [](const LinkUsage& a, const LinkUsage& b) {
    return std::tuple(a.kind, -a.mean) < std::tuple(b.kind, -b.mean);
  });
  return usage;
}

}  // namespace stepcast
