#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/ids.hpp"

/// Which work in which order: the pipeline schedules.
namespace stepcast {

enum class UnitKind : std::uint8_t { forward, backward, backward_input, backward_weight };

/// One entry of a stage's total order. `backward` is backward_input and backward_weight in one.
struct Unit {
  UnitKind kind;
  MicroBatch micro_batch;
  Chunk chunk;
  friend bool operator==(const Unit&, const Unit&) = default;
};
/// `F3.1`, `B0`, `b2.0`, `w2.0`; the chunk is left out when there is one chunk.
std::string to_string(const Unit& unit, std::int64_t chunks);

using StageOrder = std::vector<Unit>;

/// `schedule:`
struct ScheduleSpec {
  enum class PointToPoint { overlapped, blocking };
  std::string pipeline = "1f1b";
  std::int64_t pipeline_group_given = 0;  ///< `group`: micro-batches per chunk visit; 0 = auto = pp
  PointToPoint p2p = PointToPoint::overlapped;
};
void describe(Visitor& visitor, ScheduleSpec& spec);

/// Shape of one pipeline.
struct PipelineShape {
  std::int64_t stages = 1, chunks = 1, micro_batches = 1;
  std::int64_t group = 0;  ///< resolved, >= 1
};

/// One schedule: its order per stage, and the rule that the shape must keep (empty text = fine,
/// otherwise what is wrong and what is allowed).
struct PipelineSchedule {
  std::string_view name;
  StageOrder (*order)(const PipelineShape&, Stage);
  std::string (*rule)(const PipelineShape&);
};
/// gpipe, 1f1b, interleaved_1f1b. Sources and closed forms: docs/models/pipeline.md.
const std::vector<PipelineSchedule>& pipeline_schedules();
const PipelineSchedule& pipeline_schedule(std::string_view name);

/// Most forwards of each chunk that are not yet freed by their backward, along one order. [chunk]
std::vector<int> in_flight(const StageOrder& order, std::int64_t chunks);
/// The different sets of forwards that are held at once along one order, each once, ascending.
/// [moment][chunk]
std::vector<std::vector<int>> in_flight_moments(const StageOrder& order, std::int64_t chunks);
/// Most forwards that are held at once, over all chunks together.
int peak_in_flight(const StageOrder& order);

/// Virtual stage of a chunk: chunk * stages + stage (loop placement).
constexpr std::int64_t virtual_stage(const PipelineShape& shape, Chunk chunk, Stage stage) {
  return chunk.value * shape.stages + stage.value;
}

}  // namespace stepcast
