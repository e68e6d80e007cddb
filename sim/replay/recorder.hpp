#pragma once
#include <array>
#include <vector>

#include "stepcast/sim/replay/recording.hpp"

namespace stepcast {

/// Writes down what a replay does. Rank classes from `ranks` on are left out, with the
/// communications that concern none of the others.
class Recorder {
 public:
  static constexpr std::uint32_t none = Recording::none;

  Recorder(Recording& out, std::size_t classes, std::uint32_t ranks, std::size_t lanes);

  bool records(std::uint32_t r) const { return r < limit_; }
  void host_speed(std::uint32_t r, double factor);
  void begin_unit(std::uint32_t r, const Unit& unit, std::uint32_t step, double device);
  void end_unit(std::uint32_t r, double device);
  void add_beside(std::uint32_t r, const Unit& unit);
  void end_step(std::uint32_t r, double device);

  /// Appends an entry that led from `before` to `after`; what moved the clocks since the last entry
  /// becomes a pause. Returns its index. Throws InputError when the run is too long to record.
  std::uint32_t segment(std::uint32_t r, const Clocks& before, const Clocks& after,
                        std::uint32_t what, double worked);
  std::uint32_t issue(std::uint32_t r, const Clocks& before, const Clocks& after,
                      bool after_compute);
  void wait(std::uint32_t r, const Clocks& before, const Clocks& after,
            std::uint32_t communication);
  void sync(std::uint32_t r, const Clocks& before, const Clocks& after, double copied);
  /// Notes what moved the clocks since the last entry.
  void catch_up(std::uint32_t r, const Clocks& now);

  void piece(std::uint32_t r, const Recording::Piece& piece);

  /// A communication begins; members follow. `channel` tells the in-order streams of a class apart.
  std::uint32_t begin_collective(std::uint32_t network, double start);
  std::uint32_t begin_transfer(Channel channel, const Unit& unit, double start);
  void member(std::uint32_t communication, const Recording::Member& member, std::size_t channel);
  void end(std::uint32_t communication, double end, double arrival);
  /// What the wait or issue with this entry belongs to.
  std::uint32_t communication_of(std::uint32_t r, std::uint32_t entry) const;

  void finish(double end) { out_.end = end; }

 private:
  struct Cursor {
    Clocks last;
    std::uint32_t unit = none;
  };
  std::uint32_t add(std::uint32_t r, const Clocks& before, Recording::Entry entry);

  Recording& out_;
  std::uint32_t limit_;
  std::size_t channels_;
  std::vector<Cursor> cursors_;
  std::vector<std::uint32_t> last_on_channel_;  ///< [class][channel]
  std::size_t entries_ = 0;
};

}  // namespace stepcast
