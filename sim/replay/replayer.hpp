#pragma once
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "rank_state.hpp"
#include "stepcast/sim/replay.hpp"

namespace stepcast {

/// What an event tag means: a kind over an index.
enum class Tag : std::uint64_t { join, phase_part, transfer };
inline constexpr std::uint64_t tag_kinds = 3;
/// Waits per rank that are kept before those that nothing can change any more are split.
inline constexpr std::uint64_t waits_per_settling = 64;
constexpr std::uint64_t tag_of(Tag kind, std::uint64_t index) {
  return index * tag_kinds + static_cast<std::uint64_t>(kind);
}

/// One replay. Program execution is in replay.cpp, transfers in replay_transfers.cpp, collectives
/// in replay_collectives.cpp.
class Replayer : public EngineClient {
 public:
  explicit Replayer(const ReplayInput& input);
  Timeline run();

  void on_event(double now, std::uint64_t tag) override;
  void on_flow_end(double now, std::uint64_t tag) override;

 private:
  using RankIndex = std::uint32_t;

  // program execution
  void work();
  void advance(RankIndex r);
  bool next_instruction(RankIndex r, const Instructions& code);
  bool execute(RankIndex r, const Instruction& instruction);
  const Instructions& unit_code(RankState& rank, const StageProgram& program,
                                const Unit& unit) const;
  bool run_unit(RankIndex r);
  void compute(RankState& rank, const Segment& segment);

  // pipeline transfers
  bool receive(RankIndex r, const Unit& unit);
  void send(RankIndex r, const Unit& unit);
  bool settle_send(RankIndex r);
  void pump_channel(RankIndex r, bool forward);
  void transfer(RankIndex r, bool forward, double start);
  void bytes_ended(RankIndex r, bool forward, double end);
  ChannelState& channel(RankIndex r, bool forward) {
    return forward ? ranks_[r].forward : ranks_[r].backward;
  }
  const StageProgram& program(RankIndex r) const {
    return input_.programs[map_.classes.stage[r].value];
  }
  const NetworkCall& network_call(RankIndex r, std::uint32_t call) const {
    return map_.calls[map_.call_of[r][call]];
  }
  const NetworkHop& hop(RankIndex r, bool forward) const {
    return forward ? map_.forward[r] : map_.backward[r];
  }
  static bool feeds(const PipelineShape& shape, const Unit& unit, Stage stage, bool sending);

  // collectives
  void communicate(RankIndex r, const Communicate& instruction);
  bool wait_slot(RankIndex r, std::uint32_t slot);
  void pump_stream(RankIndex r, Stream stream);
  void join(RankIndex r, const StreamState::Pending& pending);
  void begin_phase(std::uint64_t id, double now);
  void part_ended(std::uint64_t id, double now);
  void finish(std::uint64_t id, double now);

  void wake(RankIndex r) { ready_.push_back(r); }
  void idle(RankState& rank, double to, double moving_from, ExposedKind kind, double host_ready,
            bool pipeline);
  void settle();
  [[noreturn]] void report_deadlock() const;
  Timeline timeline();

  const ReplayInput& input_;
  const NetworkMap& map_;
  Engine engine_;
  std::vector<StageOrder> orders_;  ///< by stage
  std::vector<RankState> ranks_;
  std::vector<RankIndex> ready_;
  std::vector<Meeting> meetings_;
  std::vector<std::uint64_t> free_meetings_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t>
      open_meetings_;                                             ///< by group and sequence number
  std::vector<std::array<std::uint64_t, group_kinds>> sequence_;  ///< [class][group kind]
  std::uint64_t tasks_ = 0, lone_flows_ = 0, unsettled_ = 0;
};

}  // namespace stepcast
