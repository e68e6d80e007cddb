#pragma once
#include <optional>
#include <vector>

#include "stepcast/sim/replay/link_history.hpp"
#include "stepcast/sim/replay/recording.hpp"

namespace stepcast {

/// Writes down what a replay does. Of classes that are not recorded it adds up the work and the use
/// of links; their communications with others of their kind are left out.
class Recorder {
 public:
  static constexpr std::uint32_t none = Recording::none;

  Recorder(Recording& out, const NetworkMap& network, const std::vector<StageProgram>& programs,
           const RecordedClasses& recorded, std::size_t lanes);

  bool records(std::uint32_t r) const { return records_[r]; }
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
  void give_cores(std::uint32_t r, const Clocks& before, const Clocks& after,
                  std::uint32_t communication);
  void sync(std::uint32_t r, const Clocks& before, const Clocks& after, double copied);

  void piece(std::uint32_t r, const Recording::Piece& piece);

  /// A communication begins; members follow. `channel` tells the in-order streams of a class apart.
  /// Returns the index of the member.
  std::uint32_t begin_collective(std::uint32_t network, double start);
  std::uint32_t begin_transfer(Channel channel, const Unit& unit, double start);
  std::uint32_t member(std::uint32_t communication, const Recording::Member& member,
                       std::size_t channel);
  /// Names the entry that issued what this member takes part in, where that is known only later.
  void issued(std::uint32_t communication, std::uint32_t member, std::uint32_t entry);
  void end(std::uint32_t communication, double end, double arrival);
  /// The bytes of a collective, or of a transfer of class `sender`, moved: for the use of links.
  void moved(std::uint32_t network, double from, double to) {
    if (links_) links_->add_call(network, from, to);
  }
  void moved(Channel channel, std::uint32_t sender, double from, double to) {
    if (links_) links_->add_transfer(channel, sender, from, to);
  }
  /// What the wait or issue with this entry belongs to.
  std::uint32_t communication_of(std::uint32_t r, std::uint32_t entry) const;

  void finish(double end);

 private:
  struct Cursor {
    Clocks last;
    std::uint32_t unit = none;
  };
  std::uint32_t add(std::uint32_t r, const Clocks& before, Recording::Entry entry);

  void add_work(std::uint32_t r, std::uint32_t segment, double seconds);

  Recording& out_;
  const NetworkMap& network_;
  std::vector<bool> records_;         ///< by class
  std::vector<std::uint32_t> steps_;  ///< by class: those that are done
  std::optional<LinkHistory> links_;  ///< where not every class is recorded
  std::vector<std::vector<std::vector<Recording::Worked>>> first_step_;  ///< as Recording::worked
  std::size_t channels_;
  std::vector<Cursor> cursors_;
  std::vector<std::uint32_t> last_on_channel_;  ///< [class][channel]
  std::size_t entries_ = 0;
};

}  // namespace stepcast
