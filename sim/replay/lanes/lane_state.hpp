#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "../fifo.hpp"
#include "../rank_state.hpp"
#include "lane_queue.hpp"
#include "step_code.hpp"

/// State of a replay in lanes. What a rank does next is the same in all lanes; when, is not.
namespace stepcast {

/// Entries that every lane takes one after the other, each at its own pace.
template <class T>
class LaneFifo {
 public:
  void push_back(const T& entry) { entries_.push_back(entry); }
  bool empty(std::size_t lane) const { return next_[lane] == passed_ + entries_.size(); }
  T& front(std::size_t lane) { return entries_[next_[lane] - passed_]; }
  void pop_front(std::size_t lane) {
    ++next_[lane];
    if (std::ranges::min(next_) == passed_) return;
    entries_.pop_front();
    ++passed_;
  }

 private:
  std::deque<T> entries_;
  std::array<std::size_t, lanes> next_{};
  std::size_t passed_ = 0;  ///< entries that all lanes have taken
};

/// A date that becomes known lane by lane.
struct LaneDate {
  LaneTimes at = LaneTimes::all(unknown_date);
  std::uint32_t unknown = lanes;

  void set(std::size_t lane, double time) {
    at[lane] = time;
    --unknown;
  }
  void set(const LaneTimes& times) {
    at = times;
    unknown = 0;
  }
};

struct LaneSlot {
  LaneDate end;
  double held = 0;                  ///< NetworkCall::held
  LaneTimes start, device, worked;  ///< where it holds cores, as in SlotState
  std::uint32_t issue = 0;
};

/// An issued collective of a rank.
struct LaneIssue {
  std::uint32_t meeting = 0;
  LaneTimes ready;
};

/// A communication stream. Where nothing on it ever meets another flow, all lanes go together.
struct LaneStream {
  Fifo<LaneIssue> together;
  bool busy = false;
  LaneFifo<LaneIssue> apart;
  std::array<bool, lanes> busy_in{};
  LaneTimes free_at;
};

struct LaneMeeting {
  struct Member {
    std::uint32_t rank, call, slot, issue;
    Stream stream;
  };
  std::uint32_t call = 0;       ///< NetworkCall that describes it
  std::uint32_t together = 0;   ///< members that have arrived in all lanes at once
  std::vector<Member> members;  ///< that have issued it
  LaneTimes start;              ///< when the last of those that have arrived is ready
  std::array<std::uint32_t, lanes> arrived{}, phase{}, running{};
  std::uint32_t lanes_left = lanes;
};

struct LaneSend {
  std::uint32_t message = 0;
  LaneTimes ready;
};

struct LaneChannel {
  LaneFifo<LaneSend> queue;
  std::array<bool, lanes> busy{};
  LaneTimes free_at;
};

struct LaneMessage {
  std::uint32_t number = 0;
  LaneDate arrival;
};

struct LaneRank {
  LaneRank(const StepCode& its_code, std::size_t slot_count)
      : code{&its_code}, queue{its_code.queue}, slots(slot_count) {}

  const StepCode* code;
  const StageProgram* program = nullptr;
  const std::uint32_t* call_of = nullptr;  ///< [call of the program] -> NetworkMap::calls
  Rank id{0};
  std::uint32_t variant = 0;

  std::size_t pc = 0;
  Waiting waiting = Waiting::nothing;
  std::uint32_t awaited = 0;  ///< slot or message
  bool held = false;          ///< goes on in some lanes only

  LaneClocks clocks;
  LaneTimes worked;  ///< device time of all segments so far
  LaneSpeeds speeds;
  LaneTimes copied;  ///< when the last HostCopy has what it copies
  LaneQueue queue;
  std::uint64_t segments_run = 0;
  std::vector<LaneSlot> slots;
  std::array<LaneStream, streams> stream;
  std::array<std::uint64_t, group_kinds> calls_made{};
  std::array<LaneChannel, channels> channel;
  std::vector<LaneMessage> inbox;  ///< sent and not read
  LaneTimes last_send_arrival;
  std::array<std::uint32_t, lanes> sends_pending{};
};

}  // namespace stepcast
