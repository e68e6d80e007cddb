#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/forecast/forecast.hpp"

/// People search for these names of the indices of a recording.
namespace stepcast {

/// Writes `F mb3 chunk1`, `B mb0 chunk0 slice2`.
std::string unit_name(const Unit& unit);

/// Names the first and the last operator of a segment: `norm .. qkv`; `compute` where they
/// have no names.
std::string segment_name(const StageProgram& program, std::uint32_t segment);

/// Names one operator; `compute` where it has no name.
const std::string& operator_name(const StageProgram& program, std::uint32_t segment,
                                 std::size_t index);

/// The time of one communication is told from its plan: per link kind (`nic_up`) and `latency`.
struct CommunicationShare {
  std::string where;
  double seconds;
};
/// The shares add up to `duration`: what the plan takes when nothing else moves, stretched to it.
std::vector<CommunicationShare> communication_shares(const RecordedRun& run,
                                                     const Recording::Communication& communication,
                                                     double duration);

/// Names of the collectives that a rank class issued, in the order of its entries: with
/// the layer (`all_to_all dispatch L12`) where a unit issues one per layer.
class CallNames {
 public:
  CallNames(const RecordedRun& run, const ModelSpec& model, std::uint32_t rank_class);
  std::string of_entry(std::uint32_t entry, std::uint32_t call) const;

 private:
  struct ChunkLayers;
  static std::vector<ChunkLayers> layers_of_chunks(const LayerTable& layers, const ModelSpec& model,
                                                   std::uint32_t stage);
  void number_layers(const Unit& unit, const std::vector<ChunkLayers>& chunks,
                     const std::vector<std::uint32_t>& entries);

  std::vector<std::string> names_;   ///< by call of the stage's program
  std::vector<std::int64_t> layer_;  ///< by entry; -1: not known; empty: of none
};

/// As engine.solver of a result has it.
const char* name(Solver solver);

}  // namespace stepcast
