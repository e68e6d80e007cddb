#pragma once
#include <array>
#include <optional>
#include <vector>

#include "stage_pieces.hpp"

/// What waits in host memory: docs/models/offload.md. Private to workloads/.
namespace stepcast {

class HostOffload {
 public:
  HostOffload(const WorkloadSpec& spec, ProgramBuilder& builder)
      : spec_{spec}, training_{spec.training}, runtime_{spec.runtime}, builder_{builder} {}

  /// Behind the forward of a piece: what it leaves begins its way to the host.
  void store(const PlacedPiece& piece, Instructions& out);
  /// Before the backward of piece i: fetches the piece that comes next and waits for its own.
  void fetch_for(const Pieces& pieces, std::size_t i, Instructions& out);
  /// At the end of a step everything that was stored is there.
  void settle(Instructions& out);
  /// At the start of a step the weights of the experts that work in it begin their way to the
  /// device, piece after piece; those of pieces[i] are waited for by wait_for_experts(i).
  void fetch_experts(const Pieces& pieces, Instructions& out);
  void wait_for_experts(std::size_t i, Instructions& out) const;
  /// The updated weights of `parameters` go back.
  void store_experts(double parameters, Instructions& out);
  /// The optimizer part by part: one is fetched while another is worked on and a third goes back.
  void optimize(double parameters, Instructions& out);
  /// The optimizer on the host, part by part: gradients of one come there while another is updated
  /// and, of the parameters whose weights the device keeps, those of a third go back.
  void optimize_there(double parameters, double kept_weights, Instructions& out);

 private:
  /// Times of the host's update of a part: what is read before the first, what each takes while
  /// others are read and written, what the last takes, and what is written behind it.
  struct PartTimes {
    Seconds first, each, last, behind;
  };
  PartTimes times_there(double part) const;
  void fetch(const Pieces& pieces, std::size_t i, Instructions& out);
  void open_slots();

  const WorkloadSpec& spec_;
  const TrainingSpec& training_;
  const RuntimeSpec& runtime_;
  ProgramBuilder& builder_;
  bool open_ = false, stored_ = false;
  std::uint32_t store_slot_ = 0;
  std::array<std::uint32_t, 2> fetch_slots_{};
  std::vector<std::optional<std::uint32_t>> expert_slots_;  ///< [piece] of the chunk at hand
};

}  // namespace stepcast
