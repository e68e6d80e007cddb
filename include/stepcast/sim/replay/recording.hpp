#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/workloads/program.hpp"
#include "stepcast/workloads/segment.hpp"

/// A recording is what a replay did, entry by entry: for traces, the report page and the critical
/// path (docs/trace.md).
namespace stepcast {

/// An instant of a rank that does not compute belongs to one of these (docs/formats.md,
/// "Attribution").
enum class WaitPart : std::uint8_t { exposed, bubble, host_stall, compile_stall, other_idle };

/// Rank classes that leave every entry; what the others do is only added up.
struct RecordedClasses {
  std::uint32_t first = std::numeric_limits<std::uint32_t>::max();  ///< so many from the first on
  bool of_each_stage = true;  ///< and the first class of each stage
};

/// The code of units of a kind that are neither the first nor the last of their chunk.
const Instructions& usual_code(const ChunkProgram& chunk, UnitKind kind);

/// All times are seconds since the start of the run.
struct Recording {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  enum class Kind : std::uint8_t {
    segment,     ///< the device runs operators
    issue,       ///< the host issues a collective, or posts a send or a receive
    wait,        ///< the compute stream waits for a communication
    give_cores,  ///< it was slower beside a communication that held some of its cores
    sync,        ///< the host waits for the compute stream
    pause  ///< anything else that moved a clock: data loading, garbage collection, a checkpoint
  };

  /// An entry is what moved the clocks of a rank class. It began with the clocks after the entry
  /// before it.
  struct Entry {
    Clocks after;
    double worked = 0;   ///< of a segment: device time
    double copied = -1;  ///< of a sync that waits for a copy alone: when the stream had got there
    std::uint32_t what = none;           ///< of a segment: index in the stage's program
    std::uint32_t communication = none;  ///< that it issued or waited for
    std::uint32_t unit = none;           ///< index in RankRecord::units; none: beside the pipeline
    Kind kind = Kind::pause;
    bool after_compute = false;  ///< of an issue: what it issues waits for the compute stream too
  };

  /// One unit of the pipeline on the compute stream, from its input to its output.
  struct UnitSpan {
    Unit unit;
    std::uint32_t step;
    double start, end;
  };

  /// A part of a wait, with the reason for which the report counts it.
  struct Piece {
    double from, to;
    WaitPart part;
    ExposedKind kind;  ///< of an exposed part
  };

  struct RankRecord {
    std::vector<Entry> entries;
    std::vector<UnitSpan> units;
    std::vector<Piece> pieces;      ///< not in order of time
    std::vector<double> step_ends;  ///< of the compute stream, by step
    double host_speed = 1;          ///< factor on host time
  };

  /// A rank class that takes part in a communication.
  struct Member {
    std::uint32_t rank_class;
    std::uint32_t call;           ///< of its stage's program; none: a pipeline transfer
    std::uint32_t entry;          ///< that issued it; none: not recorded
    std::uint32_t before = none;  ///< the communication before it on its stream or channel
    double arrived = 0;           ///< when it was ready: issued, inputs there, stream free
  };

  /// A collective or a pipeline transfer.
  struct Communication {
    double start = 0, end = 0;                    ///< of the bytes
    double arrival = 0;                           ///< at the receiver; of a collective its end
    std::uint32_t network = none;                 ///< NetworkMap::calls; none: a pipeline transfer
    Channel channel = Channel::output_next;       ///< of a transfer
    Unit unit{};                                  ///< of a transfer: the unit that consumes it
    std::uint32_t first_member = 0, members = 0;  ///< of a transfer the sender, then the receiver
  };

  /// What the ranks of all classes did with one segment, in sums: how often it ran, and how
  /// long the device worked on it. Of several steps all but the first count.
  struct Worked {
    double count = 0, seconds = 0;
  };
  /// How long a link was used in full, in parts of the run; the last parts may lie behind
  /// its end.
  struct LinkUse {
    double bytes = 0;
    std::vector<float> busy;
  };

  std::vector<RankRecord> ranks;  ///< by class; empty ones were not recorded
  /// Where not every class is recorded, these are sums over all of them.
  std::vector<std::vector<std::vector<Worked>>> worked;  ///< [stage][variant][segment]
  std::vector<LinkUse> links;                            ///< [NetworkMap::links]
  double part = 0;                                       ///< of LinkUse::busy [s]
  /// The communications in which a recorded class takes part.
  std::vector<Communication> communications;
  std::vector<Member> members;
  double end = 0;  ///< of the last step

  /// Says whether every class is recorded, so that what each waited for is known.
  bool whole() const { return worked.empty(); }
  const Member* members_of(const Communication& c) const { return members.data() + c.first_member; }
};

}  // namespace stepcast
