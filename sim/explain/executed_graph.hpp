#pragma once
#include <cstdint>
#include <vector>

#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {

/// What a recorded run waited for, as a graph: a vertex is a moment (a clock of a rank class after
/// an entry, or the start, end or arrival of a communication), an arc is a time that passes at
/// least between two moments. A moment is the latest of its arcs, so the longest path to it is its
/// date. docs/explain.md.
class ExecutedGraph {
 public:
  using Vertex = std::uint32_t;
  static constexpr Vertex none = UINT32_MAX;
  enum class Clock : std::uint8_t { main, worker, device };
  enum class Moment : std::uint8_t { start, end, arrival };

  struct Arc {
    Vertex from, to;
    double weight;
  };

  /// Every rank class of the run must be recorded.
  explicit ExecutedGraph(const RecordedRun& run);

  Vertex source() const { return 0; }  ///< the start of the run
  Vertex sink() const { return vertices_ - 1; }
  Vertex vertices() const { return vertices_; }

  Vertex at(std::uint32_t rank_class, std::uint32_t entry, Clock clock) const {
    return first_[rank_class] + 3 * entry + static_cast<Vertex>(clock);
  }
  Vertex at(std::uint32_t communication, Moment moment) const {
    return first_communication_ + 3 * communication + static_cast<Vertex>(moment);
  }
  /// Entries of a class that are in the graph: all but the wait for the end of the run.
  std::uint32_t entries(std::uint32_t rank_class) const { return entries_[rank_class]; }

  struct Place {
    bool communication;
    std::uint32_t rank_class;  ///< of an entry
    std::uint32_t index;       ///< entry or communication
    std::uint8_t part;         ///< Clock or Moment
  };
  Place place(Vertex vertex) const;  ///< neither source nor sink

  /// The date that was recorded for a vertex.
  double date(Vertex vertex) const;
  /// Longest path from the source. Equals `date` for what the arcs explain.
  double longest(Vertex vertex) const { return longest_[vertex]; }
  /// How much later the moment may come without moving the end of the run.
  double slack(Vertex vertex) const { return slack_[vertex]; }
  /// The moments of a longest path, from the source to the sink.
  std::vector<Vertex> critical_path() const;

 private:
  void number();
  void add_rank(std::uint32_t rank_class);
  void add_segment(std::uint32_t rank_class, std::uint32_t entry);
  void add_issue(std::uint32_t rank_class, std::uint32_t entry);
  void add_wait(std::uint32_t rank_class, std::uint32_t entry);
  void add_given_cores(std::uint32_t c, std::uint32_t e);
  void add_sync(std::uint32_t rank_class, std::uint32_t entry);
  void add_pause(std::uint32_t rank_class, std::uint32_t entry);
  void add_communication(std::uint32_t index);
  void carry(std::uint32_t rank_class, std::uint32_t entry, Clock clock);
  Vertex before(std::uint32_t rank_class, std::uint32_t entry, Clock clock) const {
    return entry == 0 ? source() : at(rank_class, entry - 1, clock);
  }
  Clocks clocks_before(std::uint32_t rank_class, std::uint32_t entry) const;
  /// The last moment of the class's compute stream that is not after `time`, before the entry.
  Vertex device_by(std::uint32_t rank_class, std::uint32_t entry, double time) const;
  bool same(double a, double b) const;
  void arc(Vertex from, Vertex to, double weight);
  void solve();

  const RecordedRun& run_;
  std::vector<Vertex> first_;
  std::vector<std::uint32_t> entries_;
  Vertex first_communication_ = 0, vertices_ = 0;
  std::vector<Arc> arcs_;
  std::vector<double> longest_, slack_;
  std::vector<Vertex> from_;  ///< the vertex before on a longest path
};

}  // namespace stepcast
