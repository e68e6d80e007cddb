#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "../replayer.hpp"
#include "lane_state.hpp"

namespace stepcast {

/// One replay of several stall plans. Ranks run ahead as in Replayer, in all lanes together, and
/// wait until what they wait for is known in all of them; each lane has an engine of its own, which
/// does not go on beyond where a rank that another lane holds back could be felt. Where that was
/// guessed too far, the lane's result does not count. Ranks are in lane_ranks.cpp, what they
/// exchange in lane_network.cpp.
class LaneReplayer {
 public:
  LaneReplayer(const ReplayInput& input, std::span<const StallPlan> plans);
  std::vector<std::optional<Seconds>> run();

 private:
  using RankIndex = std::uint32_t;

  /// Who the engine of a lane tells.
  struct Client : EngineClient {
    LaneReplayer* replayer = nullptr;
    std::size_t lane = 0;
    void on_event(double now, std::uint64_t tag) override { replayer->event(lane, now, tag); }
    void on_flow_end(double now, std::uint64_t tag) override { replayer->flow_end(lane, now, tag); }
  };
  struct Lane {
    Engine engine;
    Client client;
    double bound = 0;  ///< nothing of the engine happens from here on
    bool certain = true;
    bool in_event = false;
    double last_start = -1;
    struct Started {
      std::uint32_t link;
      std::uint64_t starter;
      std::uint64_t entries;  ///< Engine::entries() then
    };
    std::vector<Started> started;  ///< at that date
    Lane(const NetworkMap& map, Sharing sharing) : engine{map.bandwidths, sharing} {}
  };

  // ranks
  void work();
  void advance(RankIndex r);
  bool execute(RankIndex r, const StepOp& op);
  void compute(LaneRank& rank, std::uint32_t segment);
  LaneTimes jitter(LaneRank& rank);
  LaneTimes issue(LaneRank& rank, const OperatorCost& cost);
  void synchronise(LaneRank& rank);
  bool wait_slot(LaneRank& rank, std::uint32_t slot);
  bool receive(LaneRank& rank, std::uint32_t message);
  bool settle(LaneRank& rank);
  void wait_for(LaneRank& rank, Waiting what, std::uint32_t which);

  // lanes that wait for each other
  bool step_engines();
  void refresh_bounds();
  void bound_by(const LaneRank& rank, std::size_t lane, double known);
  void known(RankIndex r, std::size_t lane, const LaneDate& date);

  // collectives
  void communicate(RankIndex r, const StepOp& op);
  std::uint32_t meeting_of(RankIndex r, std::uint32_t call);
  void pump_together(RankIndex r, Stream stream);
  void arrive_together(std::uint32_t id, const LaneTimes& start);
  void pump(RankIndex r, Stream stream, std::size_t lane);
  void arrive(std::uint32_t id, std::size_t lane, double start);
  void begin_phase(std::uint32_t id, std::size_t lane, double now);
  void part_ended(std::uint32_t id, std::size_t lane, double now);
  void finish(std::uint32_t id, std::size_t lane, double end);
  void pump_lanes();
  std::uint32_t new_meeting(std::uint32_t call);
  void free_meeting(std::uint32_t id);
  double alone(RankIndex r, std::uint32_t call) const;
  const NetworkCall& network_call(RankIndex r, std::uint32_t call) const {
    return map_.calls[ranks_[r].call_of[call]];
  }

  // pipeline transfers
  void send(RankIndex r, const StepOp& op);
  void send_alone(RankIndex r, Channel channel, const LaneSend& sent, LaneDate& arrival);
  void pump_channel(RankIndex r, Channel channel, std::size_t lane);
  void transfer(RankIndex r, Channel channel, std::size_t lane);
  void bytes_ended(RankIndex r, Channel channel, std::size_t lane, double end);
  bool meets(RankIndex r, Channel channel) const {
    return !input_.boundary_latency && !map_.hop(channel, r).flow.path.empty();
  }

  // engines
  void event(std::size_t lane, double now, std::uint64_t tag);
  void flow_end(std::size_t lane, double now, std::uint64_t tag);
  void post(std::size_t lane, double time, std::uint64_t tag);
  void start_flow(std::size_t lane, const NetworkFlow& flow, std::uint64_t tag,
                  std::uint64_t starter);

  void wake(RankIndex r) {
    ranks_[r].waiting = Waiting::nothing;
    ready_.push_back(r);
  }

  const ReplayInput& input_;
  const NetworkMap& map_;
  std::vector<std::uint64_t> seeds_;
  double sigma_;
  bool host_is_free_;
  std::size_t plans_;                         ///< lanes that count
  std::vector<bool> shared_;                  ///< [stream] something on it may meet other flows
  std::vector<std::vector<StepCode>> codes_;  ///< [stage][variant]
  std::vector<LaneRank> ranks_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<RankIndex> ready_;
  std::vector<RankIndex> held_;
  std::vector<std::pair<RankIndex, Stream>> free_streams_;  ///< of those that go together
  struct LaneStreamAt {
    RankIndex rank;
    Stream stream;
    std::size_t lane;
  };
  std::vector<LaneStreamAt> lane_streams_;  ///< that became free in one lane; the last is next
  bool pumping_ = false;
  std::vector<LaneMeeting> meetings_;
  std::vector<std::uint32_t> free_meetings_;
  struct OpenMeeting {
    std::uint64_t nth;
    std::uint32_t id;
  };
  std::vector<std::vector<OpenMeeting>> open_meetings_;  ///< some have not issued; by group class
  std::size_t done_ = 0;
  LaneTimes end_;
};

/// [stream] Something on it may meet other flows.
std::vector<bool> shared_streams(const ReplayInput& input);

}  // namespace stepcast
