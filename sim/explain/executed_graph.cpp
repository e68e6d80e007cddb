#include "executed_graph.hpp"

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/range/iterator_range.hpp>
#include <cmath>
#include <limits>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

/// Dates that differ by less, relative to the run, are one.
constexpr double rounding = 1e-12;

using Kind = Recording::Kind;
using Clock = ExecutedGraph::Clock;
constexpr Clock clocks[] = {Clock::main, Clock::worker, Clock::device};

double of(const Clocks& c, Clock clock) {
  switch (clock) {
    case Clock::main:
      return c.main;
    case Clock::worker:
      return c.worker;
    case Clock::device:
      break;
  }
  return c.device;
}

}  // namespace

ExecutedGraph::ExecutedGraph(const RecordedRun& run) : run_{run} {
  number();
  for (std::uint32_t c = 0; c < first_.size(); ++c) add_rank(c);
  for (std::uint32_t i = 0; i < run_.recording.communications.size(); ++i) add_communication(i);
  for (std::uint32_t c = 0; c < first_.size(); ++c)
    if (entries_[c] > 0) arc(at(c, entries_[c] - 1, Clock::device), sink(), 0);
  solve();
}

void ExecutedGraph::number() {
  // Vertex 0 is the source. Each entry of a rank has three vertices, one for each clock, and each
  // communication three, for its moments.
  Vertex next = 1;
  for (const Recording::RankRecord& rank : run_.recording.ranks) {
    // The last entry closes the record; it did nothing.
    expects(!rank.entries.empty(), "every rank class is recorded");
    const auto entries = static_cast<std::uint32_t>(rank.entries.size() - 1);
    first_.push_back(next);
    entries_.push_back(entries);
    next += 3 * entries;
  }
  first_communication_ = next;
  vertices_ = next + 3 * static_cast<Vertex>(run_.recording.communications.size()) + 1;
}

ExecutedGraph::Place ExecutedGraph::place(Vertex vertex) const {
  if (vertex >= first_communication_) {
    const Vertex offset = vertex - first_communication_;
    return {true, 0, offset / 3, static_cast<std::uint8_t>(offset % 3)};
  }
  const auto next = std::ranges::upper_bound(first_, vertex);
  const auto c = static_cast<std::uint32_t>(next - first_.begin() - 1);
  const Vertex offset = vertex - first_[c];
  return {false, c, offset / 3, static_cast<std::uint8_t>(offset % 3)};
}

double ExecutedGraph::date(Vertex vertex) const {
  // Source and sink stand outside of the recording: a step begins at 0 and ends with its last rank.
  if (vertex == source()) return 0;
  if (vertex == sink()) return run_.recording.end;
  const Place p = place(vertex);
  if (!p.communication)
    return of(run_.recording.ranks[p.rank_class].entries[p.index].after,
              static_cast<Clock>(p.part));
  const Recording::Communication& c = run_.recording.communications[p.index];
  switch (static_cast<Moment>(p.part)) {
    case Moment::start:
      return c.start;
    case Moment::end:
      return c.end;
    case Moment::arrival:
      break;
  }
  return c.arrival;
}

bool ExecutedGraph::same(double a, double b) const {
  return std::abs(a - b) <= rounding * run_.recording.end;
}

void ExecutedGraph::arc(Vertex from, Vertex to, double weight) {
  // In the max-plus matrix of a segment minus infinity says that one clock does not wait for
  // another.
  if (std::isfinite(weight)) arcs_.push_back({from, to, weight});
}

Clocks ExecutedGraph::clocks_before(std::uint32_t c, std::uint32_t entry) const {
  return entry == 0 ? Clocks{} : run_.recording.ranks[c].entries[entry - 1].after;
}

void ExecutedGraph::carry(std::uint32_t c, std::uint32_t entry, Clock clock) {
  arc(before(c, entry, clock), at(c, entry, clock), 0);
}

ExecutedGraph::Vertex ExecutedGraph::device_by(std::uint32_t c, std::uint32_t entry,
                                               double time) const {
  const auto& entries = run_.recording.ranks[c].entries;
  const auto end = entries.begin() + entry;
  // The last entry whose device clock is not past `time`: who waited until then waited for it.
  const auto later =
      std::upper_bound(entries.begin(), end, time,
                       [](double t, const Recording::Entry& e) { return t < e.after.device; });
  return before(c, static_cast<std::uint32_t>(later - entries.begin()), Clock::device);
}

void ExecutedGraph::add_rank(std::uint32_t c) {
  for (std::uint32_t e = 0; e < entries_[c]; ++e) {
    switch (run_.recording.ranks[c].entries[e].kind) {
      case Kind::segment:
        add_segment(c, e);
        break;
      case Kind::issue:
        add_issue(c, e);
        break;
      case Kind::wait:
        add_wait(c, e);
        break;
      case Kind::give_cores:
        add_given_cores(c, e);
        break;
      case Kind::sync:
        add_sync(c, e);
        break;
      case Kind::pause:
        add_pause(c, e);
        break;
    }
  }
}

/// By the matrix of the segment. Where the host's queue was full or the speed changed on the way,
/// the matrix does not hold: then by what was observed.
void ExecutedGraph::add_segment(std::uint32_t c, std::uint32_t e) {
  const Recording::RankRecord& rank = run_.recording.ranks[c];
  const Recording::Entry& entry = rank.entries[e];
  const Segment& segment = run_.programs[run_.network.classes.stage[c].value].segments[entry.what];
  // What jitter and slow devices made of the segment is one factor on its device times.
  const double ideal = segment.device_time();
  const SegmentMatrix m = segment.matrix({ideal > 0 ? entry.worked / ideal : 1, rank.host_speed});
  const Clocks from = clocks_before(c, e), planned = m.apply(from), &after = entry.after;
  const Vertex main = at(c, e, Clock::main), worker = at(c, e, Clock::worker),
               device = at(c, e, Clock::device);
  if (same(planned.main, after.main)) {
    arc(before(c, e, Clock::main), main, m.main);
  } else {
    // The main thread stood before a full queue until the device had finished an earlier operator.
    const Vertex freed = device_by(c, e, after.main);
    arc(freed, main, after.main - date(freed));
  }
  if (same(planned.worker, after.worker)) {
    arc(before(c, e, Clock::worker), worker, m.worker);
    arc(before(c, e, Clock::main), worker, m.main_worker);
  } else {
    arc(main, worker, after.worker - after.main);
  }
  arc(before(c, e, Clock::device), device, m.device);
  if (same(planned.device, after.device)) {
    arc(before(c, e, Clock::worker), device, m.worker_device);
    arc(before(c, e, Clock::main), device, m.main_device);
  } else if (!same(from.device + m.device, after.device)) {
    // Neither the matrix nor the device alone explains the date: the last launch does.
    arc(worker, device, after.device - after.worker);
  }
}

void ExecutedGraph::add_issue(std::uint32_t c, std::uint32_t e) {
  const Clocks from = clocks_before(c, e), &after = run_.recording.ranks[c].entries[e].after;
  const Vertex main = at(c, e, Clock::main), worker = at(c, e, Clock::worker);
  // The worker takes a call up when both it and the main thread are ready.
  const double spent = after.worker - std::max(from.worker, after.main);
  arc(before(c, e, Clock::main), main, after.main - from.main);
  arc(before(c, e, Clock::worker), worker, spent);
  arc(main, worker, spent);
  carry(c, e, Clock::device);
}

void ExecutedGraph::add_wait(std::uint32_t c, std::uint32_t e) {
  const Recording::Entry& entry = run_.recording.ranks[c].entries[e];
  carry(c, e, Clock::main);
  carry(c, e, Clock::worker);
  carry(c, e, Clock::device);
  const Vertex device = at(c, e, Clock::device);
  // What was waited for is known where the wait lasted; else the device was ahead, or held by the
  // host.
  if (entry.communication != Recording::none) {
    arc(at(entry.communication, Moment::arrival), device, 0);
  } else if (same(entry.after.device, entry.after.main)) {
    arc(before(c, e, Clock::main), device, 0);
  } else {
    arc(before(c, e, Clock::device), device, entry.after.device - clocks_before(c, e).device);
  }
}

void ExecutedGraph::add_given_cores(std::uint32_t c, std::uint32_t e) {
  carry(c, e, Clock::main);
  carry(c, e, Clock::worker);
  const double taken = run_.recording.ranks[c].entries[e].after.device - clocks_before(c, e).device;
  arc(before(c, e, Clock::device), at(c, e, Clock::device), taken);
}

void ExecutedGraph::add_sync(std::uint32_t c, std::uint32_t e) {
  const Clocks from = clocks_before(c, e);
  const Recording::Entry& entry = run_.recording.ranks[c].entries[e];
  if (entry.copied >= 0) {
    // A copy to the host ends when the device has reached it; the host goes on from the later of
    // both.
    const double own = entry.after.main - std::max(from.main, entry.copied);
    const Vertex freed = device_by(c, e, entry.copied);
    arc(before(c, e, Clock::main), at(c, e, Clock::main), own);
    arc(freed, at(c, e, Clock::main), own + entry.copied - date(freed));
    carry(c, e, Clock::worker);
    return carry(c, e, Clock::device);
  }
  const double cost = run_.recording.ranks[c].entries[e].after.main -
                      std::max({from.main, from.worker, from.device});
  // A synchronisation waits for all three clocks, and costs the same behind each.
  for (const Clock clock : clocks) arc(before(c, e, clock), at(c, e, Clock::main), cost);
  carry(c, e, Clock::worker);
  carry(c, e, Clock::device);
}

void ExecutedGraph::add_pause(std::uint32_t c, std::uint32_t e) {
  const Clocks from = clocks_before(c, e), &after = run_.recording.ranks[c].entries[e].after;
  for (const Clock clock : clocks)
    arc(before(c, e, clock), at(c, e, clock), of(after, clock) - of(from, clock));
}

void ExecutedGraph::add_communication(std::uint32_t index) {
  const Recording::Communication& c = run_.recording.communications[index];
  const Recording::Member* members = run_.recording.members_of(c);
  const Vertex start = at(index, Moment::start);
  for (const Recording::Member* m = members; m != members + c.members; ++m) {
    // A member of a rank that was not recorded gives no date.
    if (m->entry == Recording::none) continue;
    const StageProgram& program = run_.programs[run_.network.classes.stage[m->rank_class].value];
    const OperatorCost& cost =
        m->call == Recording::none ? program.send_issue : program.calls[m->call].issue;
    arc(at(m->rank_class, m->entry, Clock::worker), start, cost.launch);
    // A collective starts when its last member does: each arc is one of them.
    if (run_.recording.ranks[m->rank_class].entries[m->entry].after_compute)
      arc(at(m->rank_class, m->entry, Clock::device), start, 0);
    // Streams work in order.
    if (m->before != Recording::none) arc(at(m->before, Moment::end), start, 0);
  }
  arc(start, at(index, Moment::end), c.end - c.start);
  arc(at(index, Moment::end), at(index, Moment::arrival), c.arrival - c.end);
}

void ExecutedGraph::solve() {
  using Graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, double,
                                                   boost::no_property, Vertex, std::size_t>;
  std::vector<std::pair<Vertex, Vertex>> ends;
  std::vector<double> weights;
  ends.reserve(arcs_.size());
  weights.reserve(arcs_.size());
  for (const Arc& a : arcs_) {
    ends.emplace_back(a.from, a.to);
    weights.push_back(a.weight);
  }
  arcs_ = {};
  const Graph graph(boost::edges_are_unsorted_multi_pass, ends.begin(), ends.end(), weights.begin(),
                    vertices_);
  std::vector<Vertex> order;  // successors first
  order.reserve(vertices_);
  boost::topological_sort(graph, std::back_inserter(order));

  constexpr double unreached = -std::numeric_limits<double>::infinity();
  longest_.assign(vertices_, unreached);
  from_.assign(vertices_, none);
  longest_[source()] = 0;
  for (std::size_t i = order.size(); i-- > 0;) {
    const Vertex v = order[i];
    for (const auto& edge : boost::make_iterator_range(out_edges(v, graph))) {
      const auto to = static_cast<Vertex>(target(edge, graph));
      const double date = longest_[v] + graph[edge];
      // The first of equals stays, so that the path is the same on every machine.
      if (date <= longest_[to]) continue;
      longest_[to] = date;
      from_[to] = v;
    }
  }
  slack_.assign(vertices_, std::numeric_limits<double>::infinity());
  // How much later a vertex may be without moving the sink.
  slack_[sink()] = 0;
  for (const Vertex v : order) {
    for (const auto& edge : boost::make_iterator_range(out_edges(v, graph))) {
      const auto to = static_cast<Vertex>(target(edge, graph));
      slack_[v] = std::min(slack_[v], slack_[to] + longest_[to] - longest_[v] - graph[edge]);
    }
  }
}

std::vector<ExecutedGraph::Vertex> ExecutedGraph::critical_path() const {
  std::vector<Vertex> path;
  for (Vertex v = sink(); v != none; v = from_[v]) path.push_back(v);
  std::ranges::reverse(path);
  return path;
}

}  // namespace stepcast
