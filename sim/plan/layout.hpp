#pragma once
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "layer_costs.hpp"
#include "schedule_form.hpp"

/// A model on the stages of one pipeline: times and bytes of each stage.
namespace stepcast {

/// In-flight counts of a schedule: for each stage the moments that no other moment covers.
/// [stage][moment][chunk]
using HeldMoments = std::vector<std::vector<std::vector<int>>>;

class MomentTable {
 public:
  /// `paired`: with the pairs of `moe.overlap: fb_pair`.
  const HeldMoments& of(const PipelineSchedule& schedule, const PipelineShape& shape,
                        bool paired = false);

 private:
  using Key = std::tuple<std::string_view, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, bool>;
  std::map<Key, HeldMoments> known_;
};

/// A stage, and all others that hold the same.
struct StageLayout {
  std::vector<double> forward, backward;  ///< [chunk] [s]
  std::vector<double> activation;         ///< [chunk] of one micro-batch [B]
  double unit = 0;                  ///< device time of a forward and a backward of every chunk [s]
  double split_unit = 0;            ///< the same with each backward in two parts [s]
  double pair = 0;                  ///< the same, forwards and backwards in pairs; 0: none are
  double entry_forward = 0;         ///< of it, a slice through the first chunk [s]
  double entry_backward = 0;        ///< likewise [s]
  double entry = 0;                 ///< of it, a slice through all chunks, both ways [s]
  double fetched = 0;               ///< over the host link, in each direction [s]
  double first_fetches = 0;         ///< of it, the layers that a backward begins with [s]
  double compute = 0;               ///< of it, the compute stream alone [s]
  double near = 0, wide = 0;        ///< of it, collectives that gradients meet [s]
  double dense = 0, expert = 0;     ///< parameters of one rank
  std::vector<PieceCounts> pieces;  ///< [chunk]
  std::array<double, 4> fixed{};    ///< by zero: bytes that do not depend on what is in flight
  std::array<double, 4> update{};   ///< by zero: what the update takes beyond fixed
};

struct PlanLayout {
  std::vector<StageLayout> kinds;
  std::vector<std::size_t> kind_of;  ///< [stage]
  std::size_t stages() const { return kind_of.size(); }
  const StageLayout& stage(std::size_t s) const { return kinds[kind_of[s]]; }
};

/// Ends of the layers by pipeline and number of slices, each balanced once, for scenarios whose
/// layers take equally long but for that.
class LayerEnds {
 public:
  const std::vector<std::size_t>& of(const Scenario& scenario);

 private:
  std::map<std::int64_t, LayerTimes> times_;  ///< by slices
  /// Slices, placement, stages, chunks.
  using Key = std::tuple<std::int64_t, ChunkPlacement, std::int64_t, std::int64_t>;
  std::map<Key, std::vector<std::size_t>> known_;
};

/// What chunks and stages hold, slices, and how chunks are placed.
using HeldKey = std::tuple<PieceCounts, std::int64_t, ChunkPlacement>;

/// Activations of one micro-batch that chunks keep, for scenarios whose layers are alike.
using ChunkBytes = std::map<HeldKey, double>;

/// Bytes of stages that repeat between the layouts of one family: scenarios that differ in nothing
/// but chunks, placement of chunks, slices, schedule and zero.
class FamilyBytes {
 public:
  /// `zeros` are the values of zero that are asked for. `chunks` must outlive this.
  FamilyBytes(std::vector<std::int64_t> zeros, ChunkBytes& chunks)
      : zeros_{std::move(zeros)}, chunks_{chunks} {}
  void add(const Scenario& scenario, const LayerTable& layers, Stage stage, StageLayout& layout);

 private:
  std::vector<std::int64_t> zeros_;
  ChunkBytes& chunks_;
  struct ByZero {
    std::array<double, 4> fixed{}, update{};
  };
  std::map<HeldKey, ByZero> fixed_;
};

/// Spreads the layers as a forecast does.
PlanLayout lay_out(const Scenario& scenario, const LayerCosts& costs, LayerEnds& ends,
                   FamilyBytes& bytes);

/// Bytes of activations at the worst moment of each stage.
std::vector<double> held_bytes(const PlanLayout& layout, const HeldMoments& moments);
/// Bytes of the fullest stage; `held` are the held_bytes().
double peak_memory(const PlanLayout& layout, const std::vector<double>& held, std::int64_t zero);

}  // namespace stepcast
