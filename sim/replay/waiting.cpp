#include <algorithm>

#include "replayer.hpp"

// What a rank waited for: exposed communication first, the rest once everything that can move is
// known.
namespace stepcast {

/// The compute stream waits until `to` for a communication that moves from `moving_from` on. What
/// else moved before that is told when everything that can move is known.
void Replayer::idle(RankIndex r, double to, double moving_from, ExposedKind kind,
                    const HostReady& host, bool pipeline, std::uint32_t recorded) {
  RankState& rank = ranks_[r];
  const Clocks before = rank.clocks;
  const double from = before.device;
  rank.clocks.device = std::max(from, to);
  if (recorder_) recorder_->wait(r, before, rank.clocks, recorded);
  if (to <= from) return;
  const double moving = std::clamp(moving_from, from, to);
  rank.times().exposed[static_cast<std::size_t>(kind)] += Seconds{to - moving};
  if (recorder_) recorder_->piece(r, {moving, to, WaitPart::exposed, kind});
  if (moving <= from) return;
  rank.log.add({from, moving, host, pipeline});
  rank.host_queue.compile_lag().take(
      std::max(0.0, std::min(host.at, moving) - std::max(host.prompt, from)));
  ++unsettled_;
}

/// A stream that is free but has not begun its next collective may begin it in the past.
void Replayer::settle_when_due() {
  if (unsettled_ > entries_per_settling * ranks_.size() && free_streams_.empty()) settle();
}

/// Nothing can begin before the earliest clock of a rank that still works, nor before the engine's.
void Replayer::settle() {
  double known = engine_.earliest();
  for (const RankState& rank : ranks_) {
    if (rank.waiting != Waiting::done) known = std::min(known, rank.clocks.device);
  }
  for (RankIndex r = 0; r < ranks_.size(); ++r) settle(r, known, ranks_[r].clocks.device);
  unsettled_ = 0;
}

/// What else moved during a wait is known only now, so that the pieces of it are recorded here.
void Replayer::settle(RankIndex r, double known, double device) {
  RankState& rank = ranks_[r];
  rank.log.settle(known, device, rank.books, recorder_ ? &pieces_ : nullptr);
  for (const Recording::Piece& piece : pieces_) recorder_->piece(r, piece);
  pieces_.clear();
}

}  // namespace stepcast
