#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/ids.hpp"
#include "stepcast/scheduler/packing.hpp"
#include "stepcast/topology/chunk_placement.hpp"

/// The pipeline schedules say which work runs in which order. Sources and closed forms of all of
/// them: docs/models/pipeline.md.
namespace stepcast {

/// F, B, and a B that is split into the gradients of input and weights (zero bubble, arXiv
/// 2401.10241).
enum class UnitKind : std::uint8_t { forward, backward, backward_input, backward_weight };

/// A unit is one entry of a stage's total order. `backward` is backward_input and backward_weight
/// in one.
struct Unit {
  UnitKind kind;
  MicroBatch micro_batch;
  Chunk chunk;
  SequenceSlice slice = {};  ///< part of the sequence; 0 when the micro-batch is not sliced
  bool with_next = false;    ///< this unit and the next one of the order run as one (a pair)
  friend bool operator==(const Unit&, const Unit&) = default;
};

using StageOrder = std::vector<Unit>;

/// The warm-up says how many forwards run before the steady phase, next to what the schedule's
/// source says.
struct WarmUp {
  enum class Kind : std::uint8_t { standard, extra, less_memory };
  Kind kind = Kind::standard;
  std::int64_t extra = 0;  ///< forwards more than standard; 0 unless `extra`
  friend bool operator==(const WarmUp&, const WarmUp&) = default;
};

/// The keys of `schedule:`.
struct ScheduleSpec {
  enum class PointToPoint { overlapped, blocking };
  std::string pipeline = "1f1b";  ///< without meaning where a table is given
  std::string table;              ///< file of the orders; empty: those of `pipeline`
  std::int64_t slices = 1;        ///< of the sequence of a micro-batch; a table says its own
  std::vector<std::int64_t> slice_tokens;  ///< of each slice; empty: equal, or `balanced_slices`
  bool balanced_slices = false;            ///< their tokens are chosen (balanced_slices.hpp)
  std::int64_t pipeline_group_given = 0;  ///< `group`: micro-batches per chunk visit; 0 = auto = pp
  WarmUp warm_up = {};
  std::optional<std::int64_t> put_off;  ///< of PipelineShape; nothing: the schedule's own
  PointToPoint p2p = PointToPoint::overlapped;
  bool post_validation = false;  ///< no stage waits for the gradient norm of another one
  DataSpec data = {};

  const std::string& name() const { return table.empty() ? pipeline : table; }
};
void describe(Visitor& visitor, ScheduleSpec& spec);

/// The shape of one pipeline.
struct PipelineShape {
  std::int64_t stages = 1, chunks = 1, micro_batches = 1;
  std::int64_t group = 0;   ///< resolved, >= 1
  std::int64_t slices = 1;  ///< of the sequence of each micro-batch
  WarmUp warm_up = {};
  ChunkPlacement placement = ChunkPlacement::loop;  ///< that of the schedule
  /// Stage r of zb_h1 and zb_h2 defers the weight gradients of put_off * r backwards; 0 stands for
  /// r and for 2 r of them.
  std::int64_t put_off = 0;

  constexpr ChunkMap chunk_map() const { return {placement, stages, chunks}; }
};

/// Writes `F3.1`, `B0`, `b2.0`, `w2.0`; the chunk is left out when there is one chunk.
std::string to_string(const Unit& unit, std::int64_t chunks);
/// Writes the same with the slice, `F3.1/0`, which is left out when there is one.
std::string to_string(const Unit& unit, const PipelineShape& shape);
/// Writes all units of an order, `F0 F1 {F2|B0} B1`; braces hold a pair.
std::string to_string(const StageOrder& order, const PipelineShape& shape);

/// A schedule can serve the counts from `low` to `high`, both included.
struct CountRange {
  std::int64_t low = 1, high = 1;
  friend bool operator==(const CountRange&, const CountRange&) = default;
};
inline constexpr std::int64_t any_count = 1 << 20;  ///< `high` of a range that has no end

/// How forwards and backwards of a stage follow each other.
enum class Turns : std::uint8_t {
  other,        ///< in an order of its own
  apart,        ///< all forwards before the first backward
  alternating,  ///< after a warm-up, a forward and a backward in turn
  in_groups,    ///< the same over several chunks, a group of micro-batches per visit of a chunk
};

/// A schedule has its order per stage and the rule that the shape must keep. The rule's text is
/// empty when all is fine, otherwise it says what is wrong and what is allowed. `order` is for
/// shapes that keep the rule; it does not look at `shape.placement`.
struct PipelineSchedule {
  std::string_view name;
  StageOrder (*order)(const PipelineShape&, Stage);
  std::string (*rule)(const PipelineShape&);
  ChunkPlacement placement = ChunkPlacement::loop;
  CountRange chunks = {};        ///< chunks per stage that it serves
  CountRange slices = {};        ///< slices per micro-batch that it serves
  bool groups = false;           ///< it looks at `shape.group`
  bool splits_backward = false;  ///< some backwards are backward_input and backward_weight
  bool pairs = false;            ///< some forwards run as one with a backward
  bool puts_off = false;         ///< it looks at `shape.put_off`
  Turns turns = Turns::other;
  /// Gives all stages at once, where that is cheaper than one by one.
  std::vector<StageOrder> (*orders)(const PipelineShape&) = nullptr;
};
/// The table has every schedule once.
const std::vector<PipelineSchedule>& pipeline_schedules();
const PipelineSchedule& pipeline_schedule(std::string_view name);

/// The orders of all stages. [stage]
std::vector<StageOrder> stage_orders(const PipelineSchedule& schedule, const PipelineShape& shape);

/// Orders with each forward of the steady phase and the backward after it as one
/// (Megatron-LM, combined 1F1B). They serve schedules that do not pair by themselves:
/// interleaved_1f1b with a warm-up of extra(n), and 1f1b on one stage, which then runs one forward
/// ahead.
std::vector<StageOrder> paired_orders(const PipelineSchedule& schedule, const PipelineShape& shape);
/// Orders with each forward of the steady phase and the backward after it side by side: both
/// wait for their inputs, run one after the other, and send together (Megatron-LM without overlap
/// of pipeline transfers, one exchange per forward and backward). They serve interleaved_1f1b.
std::vector<StageOrder> exchanging_orders(const PipelineSchedule& schedule,
                                          const PipelineShape& shape);
/// Says whether exchanging_orders() serves: a warm-up of less_memory needs the output of a
/// forward before the backward behind it.
bool exchanges(const PipelineSchedule& schedule, const PipelineShape& shape);
/// Says why paired_orders() cannot serve, and is empty when it can.
std::string pairing_rule(const PipelineSchedule& schedule, const PipelineShape& shape);

/// Counts the most forwards of each chunk that are not yet freed by their backward, along one
/// order. [chunk]
std::vector<int> in_flight(const StageOrder& order, std::int64_t chunks);
/// The different sets of forwards that are held at once along one order, each once,
/// ascending. A forward that runs as one with a whole backward takes the place that this gives
/// back: their layers alternate, so that the pair holds a layer more than the set that it leaves.
/// [moment][chunk]
std::vector<std::vector<int>> in_flight_moments(const StageOrder& order, std::int64_t chunks);
/// The same sets where a forward of slice k counts as `weights[k]`, and as the part
/// `kept` of it between its backward_input and its backward_weight. [moment][chunk]
std::vector<std::vector<double>> in_flight_moments(const StageOrder& order, std::int64_t chunks,
                                                   const std::vector<double>& weights,
                                                   double kept = 1);
/// Counts the most forwards that are held at once, over all chunks together. A forward is held
/// until its backward, or until its backward_weight where the backward is split.
int peak_in_flight(const StageOrder& order);

/// The place of a chunk in its pipeline; 0 is the one that reads the input.
constexpr std::int64_t virtual_stage(const PipelineShape& shape, Chunk chunk, Stage stage) {
  return shape.chunk_map().virtual_stage({chunk, stage});
}
/// Counts the virtual stages of one pipeline.
constexpr std::int64_t virtual_stages(const PipelineShape& shape) {
  return shape.chunk_map().virtual_stages();
}
/// The seat whose forward this seat's forward reads; it is nothing at the input of the
/// model.
constexpr std::optional<Seat> seat_before(const PipelineShape& shape, Seat seat) {
  return shape.chunk_map().before(seat);
}
/// The seat whose backward this seat's backward reads; it is nothing at the loss.
constexpr std::optional<Seat> seat_after(const PipelineShape& shape, Seat seat) {
  return shape.chunk_map().after(seat);
}
/// The seat whose unit makes the input of this seat's unit: an activation for a forward, a
/// gradient for a backward. It is nothing at the ends of the model, and for backward_weight.
std::optional<Seat> source_of(const PipelineShape& shape, const Unit& unit, Stage stage);
/// The seat whose unit reads what this unit makes.
std::optional<Seat> reader_of(const PipelineShape& shape, const Unit& unit, Stage stage);
/// A chunk sees all micro-batches, or its direction's half.
constexpr std::int64_t micro_batches_per_chunk(const PipelineShape& shape) {
  return shape.placement == ChunkPlacement::bidirectional ? shape.micro_batches / 2
                                                          : shape.micro_batches;
}

}  // namespace stepcast
