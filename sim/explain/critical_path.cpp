#include <algorithm>
#include <map>
#include <span>

#include "executed_graph.hpp"
#include "stepcast/sim/explain/explain.hpp"
#include "stepcast/sim/report/names.hpp"

namespace stepcast {
namespace {

using Kind = Recording::Kind;
using Vertex = ExecutedGraph::Vertex;
constexpr double no_slack = 1e-9;  ///< of the run

std::vector<PathShare> longest_first(const std::map<std::string, double>& times, double scale) {
  std::vector<PathShare> shares;
  shares.reserve(times.size());
  for (const auto& [name, seconds] : times) shares.push_back({name, seconds * scale});
  std::ranges::stable_sort(shares, std::greater<>{}, &PathShare::seconds);
  return shares;
}

/// What the host does for these operators at its own speed.
double issuing(std::span<const OperatorCost> operators) {
  double sum = 0;
  for (const OperatorCost& op : operators) sum += op.main + op.worker;
  return sum;
}

/// What the main thread compiles for these operators at its own speed.
double compiling(std::span<const OperatorCost> operators) {
  double sum = 0;
  for (const OperatorCost& op : operators) sum += op.compile;
  return sum;
}

class PathReader {
 public:
  explicit PathReader(const RecordedRun& run) : run_{run}, graph_{run} {}

  CriticalPath read() {
    const double begin = first_counted();
    const auto path = graph_.critical_path();
    for (std::size_t i = 1; i < path.size(); ++i) {
      // The first of several steps fills pipelines and queues; the path is shown of those behind
      // it.
      const double from = std::max(begin, graph_.date(path[i - 1])), to = graph_.date(path[i]);
      if (to > from) step(path[i - 1], path[i], from, to);
    }
    const auto steps = run_.forecast.timeline.steps.size();
    const double scale = steps > 1 ? 1 / static_cast<double>(steps - 1) : 1;
    result_.total = (run_.recording.end - begin) * scale;
    result_.categories = longest_first(categories_, scale);
    result_.operators = longest_first(operators_, scale);
    result_.links = longest_first(links_, scale);
    slacks();
    return std::move(result_);
  }

 private:
  double first_counted() const {
    double end = 0;
    if (run_.forecast.timeline.steps.size() < 2) return end;
    // Steps of several ranks end at dates of their own: the last one counts.
    for (const auto& rank : run_.recording.ranks) end = std::max(end, rank.step_ends.front());
    return end;
  }
  const StageProgram& program(std::uint32_t c) const {
    return run_.programs[run_.network.classes.stage[c].value];
  }

  void step(Vertex before, Vertex vertex, double from, double to) {
    const ExecutedGraph::Place place =
        // The sink is of no rank; what ends there is of the vertex before it.
        vertex == graph_.sink() ? graph_.place(before) : graph_.place(vertex);
    if (place.communication) return communication(place, from, to);
    const Recording::Entry& entry = run_.recording.ranks[place.rank_class].entries[place.index];
    const auto host = [&](const char* label) {
      operators_[label] += to - from;
      add(place.rank_class, from, to, "host", label);
    };
    switch (entry.kind) {
      case Kind::segment:
        return segment(before, place, from, to);
      case Kind::issue:
        return host("host: issue communication");
      case Kind::sync:
        return host("host: synchronise");
      case Kind::give_cores:
        operators_["cores held by exchanges"] += to - from;
        return add(place.rank_class, from, to, given_to(entry), "cores held by an exchange");
      case Kind::wait:
      case Kind::pause:
        operators_["pauses"] += to - from;
        return add(place.rank_class, from, to, "pauses", "pause");
    }
  }

  void communication(const ExecutedGraph::Place& place, double from, double to) {
    const Recording::Communication& c = run_.recording.communications[place.index];
    const std::uint32_t rank_class = run_.recording.members_of(c)->rank_class;
    if (static_cast<ExecutedGraph::Moment>(place.part) == ExecutedGraph::Moment::start) {
      operators_["host: issue communication"] += to - from;
      return add(rank_class, from, to, "host", "launch");
    }
    const std::string called = name_of(c);
    operators_[called] += to - from;
    if (static_cast<ExecutedGraph::Moment>(place.part) == ExecutedGraph::Moment::arrival) {
      links_["latency"] += to - from;
    } else {
      // A flow loads several links; its time belongs to those that were full.
      for (const CommunicationShare& share : communication_shares(run_, c, to - from))
        links_[share.where] += share.seconds;
    }
    add(rank_class, from, to, std::string(name(kind_of(c))) + " communication", called);
  }

  /// From the compute stream all of it is computing; from the host what passed until the device had
  /// work for the rest of the segment is the host's. Along the host's own clock what is longer than
  /// its own work is the wait for a full queue, in which the device computes.
  void segment(Vertex before, const ExecutedGraph::Place& place, double from, double to) {
    const Recording::RankRecord& rank = run_.recording.ranks[place.rank_class];
    const Recording::Entry& entry = rank.entries[place.index];
    const auto& operators = program(place.rank_class).segments[entry.what].operators();
    const auto clock_of = [&](Vertex v) {
      if (v == graph_.source()) return ExecutedGraph::Clock::device;
      return static_cast<ExecutedGraph::Clock>(graph_.place(v).part);
    };
    double ready = from, compiled = 0;
    std::size_t first = 0;
    const bool on_host =
        static_cast<ExecutedGraph::Clock>(place.part) != ExecutedGraph::Clock::device;
    if (on_host) {
      ready = std::min(to, from + issuing(operators) * rank.host_speed);
    } else if (clock_of(before) != ExecutedGraph::Clock::device) {
      const double ideal = program(place.rank_class).segments[entry.what].device_time();
      const SpeedFactors speed{ideal > 0 ? entry.worked / ideal : 1, rank.host_speed};
      Clocks clocks = place.index == 0 ? Clocks{} : rank.entries[place.index - 1].after;
      for (std::size_t i = 0; i < operators.size(); ++i) {
        const double device = clocks.device;
        clocks = issue_operator(clocks, operators[i], speed);
        // The device had work already: this launch held nobody up.
        if (clocks.worker + operators[i].launch <= device) continue;
        first = i;
        ready = std::clamp(clocks.worker + operators[i].launch, from, to);
      }
    }
    const std::size_t launched = on_host ? operators.size() : first + 1;
    if (clock_of(before) == ExecutedGraph::Clock::main)
      compiled = compiling(std::span(operators).first(launched)) * rank.host_speed;
    issued(place.rank_class, from, ready, compiled);
    if (to > ready) computed(place.rank_class, entry.what, first, ready, to);
  }

  /// What it compiles stands behind what it issues, wherever in between it was.
  void issued(std::uint32_t c, double from, double to, double compiled) {
    if (to <= from) return;
    const double own = to - std::min(compiled, to - from);
    if (own > from) {
      operators_["host: issue operators"] += own - from;
      add(c, from, own, "host", "issue operators");
    }
    if (to <= own) return;
    operators_["host: compile kernels"] += to - own;
    add(c, own, to, "compiling", "compile kernels");
  }

  /// The device runs the operators of the segment from `first` on.
  void computed(std::uint32_t c, std::uint32_t segment, std::size_t first, double from, double to) {
    const auto& operators = program(c).segments[segment].operators();
    double work = 0;
    for (std::size_t i = first; i < operators.size(); ++i) work += operators[i].device;
    for (std::size_t i = first; i < operators.size(); ++i) {
      // Jitter and slow devices stretch all operators of a segment alike, so that shares stay.
      const double share = work > 0 ? operators[i].device / work : i == first ? 1 : 0;
      operators_[operator_name(program(c), segment, i)] += (to - from) * share;
    }
    add(c, from, to, "computing", segment_name(program(c), segment));
  }

  void add(std::uint32_t c, double from, double to, const std::string& category,
           const std::string& label) {
    categories_[category] += to - from;
    auto& spans = result_.spans;
    // Neighbours of one kind are one span: a reader looks for what holds the step up, not for
    // vertices.
    const bool goes_on =
        !spans.empty() && spans.back().rank_class == c && spans.back().category == category;
    if (goes_on) {
      spans.back().to = to;
    } else {
      spans.push_back({c, from, to, category, label});
    }
  }

  void slacks() {
    std::map<std::string, std::vector<double>> all;
    for (std::uint32_t c = 0; c < run_.recording.ranks.size(); ++c) {
      const std::string stage =
          "stage " + std::to_string(run_.network.classes.stage[c].value) + " computing";
      for (std::uint32_t e = 0; e < graph_.entries(c); ++e) {
        if (run_.recording.ranks[c].entries[e].kind != Kind::segment) continue;
        all[stage].push_back(graph_.slack(graph_.at(c, e, ExecutedGraph::Clock::device)));
      }
      // Runs of one stage are alike, and so are communications of one kind: the least and the
      // median of each say which of them could wait.
    }
    for (std::uint32_t i = 0; i < run_.recording.communications.size(); ++i) {
      const auto kind = kind_of(run_.recording.communications[i]);
      all[std::string(name(kind)) + " communication"].push_back(
          graph_.slack(graph_.at(i, ExecutedGraph::Moment::arrival)));
    }
    for (auto& [name, values] : all) {
      std::ranges::sort(values);
      // Below that dates are the same but for rounding.
      const double most = no_slack * run_.recording.end;
      const auto critical = std::ranges::upper_bound(values, most) - values.begin();
      const auto told = [&](double slack) { return slack <= most ? 0 : slack; };
      result_.slacks.push_back({name, values.size(), static_cast<std::uint64_t>(critical),
                                told(values.front()), told(values[values.size() / 2])});
    }
  }

  ExposedKind kind_of(const Recording::Communication& c) const {
    if (c.network == Recording::none) return ExposedKind::pipeline;
    const Recording::Member& first = *run_.recording.members_of(c);
    return program(first.rank_class).calls[first.call].kind;
  }

  std::string name_of(const Recording::Communication& c) const {
    if (c.network == Recording::none)
      return carries_output(c.channel) ? "send forward" : "send backward";
    const Recording::Member& first = *run_.recording.members_of(c);
    return program(first.rank_class).calls[first.call].name;
  }

  /// The category of what held the cores.
  std::string given_to(const Recording::Entry& entry) const {
    const Recording::Communication& c = run_.recording.communications[entry.communication];
    return std::string(name(kind_of(c))) + " communication";
  }

  const RecordedRun& run_;
  ExecutedGraph graph_;
  CriticalPath result_;
  std::map<std::string, double> categories_, operators_, links_;
};

}  // namespace

CriticalPath critical_path(const RecordedRun& run) { return PathReader(run).read(); }

}  // namespace stepcast
