#pragma once
#include <cstdint>
#include <queue>
#include <span>
#include <vector>

#include "stepcast/sim/engine/engine.hpp"

namespace stepcast {

/// Max-min fair rates of flows that start and end, solved where a change can be felt: the flows
/// whose rates may move are solved anew while all others keep theirs, and the set grows until
/// every flow has a bottleneck again. A rate allocation in which every flow has one is the max-min
/// fair one, and there is no other (Bertsekas and Gallager, Data Networks, 6.5.2). What a change
/// costs grows with the links of the flows that it moves, not with all that are joined to them.
class FairSharing {
 public:
  using Flow = std::uint32_t;

  /// `bandwidths` in B/s, by link; must outlive this.
  explicit FairSharing(const std::vector<double>& bandwidths);

  /// A flow of `bytes` > 0 starts at `now`; `flow` is the caller's number, free until now.
  void add(Flow flow, std::span<const LinkUse> path, double bytes, double now);
  /// When the next flow ends if nothing changes until then; infinity without flows.
  double next_end();
  /// Removes the flows that end until `now + precision` and appends them to `ended`.
  void take_ended(double now, double precision, std::vector<Flow>& ended);
  std::size_t size() const { return size_; }
  /// Bytes that a flow under way has left at `now`, at which no rate has changed unseen.
  double left(Flow flow, double now) const {
    const Share& share = shares_[flow];
    return share.left - share.rate * (now - share.since);
  }
  /// Calls `act` with each flow under way, in no order.
  template <typename Act>
  void for_each(const Act& act) const {
    for (Flow flow = 0; flow < shares_.size(); ++flow)
      if (shares_[flow].under_way) act(flow);
  }
  /// Moves the clock and all ends.
  void shift(double time);

 private:
  struct Use {
    Flow flow;
    std::uint32_t count;
  };
  struct Link {
    double capacity = 0;
    std::vector<Use> uses;
    // while a change is settled
    double room = 0, weight = 0;  ///< for the flows of the set that have no rate yet
    bool touched = false;
  };
  struct Share {
    std::vector<LinkUse> path;
    double left = 0, since = 0, rate = 0;  ///< bytes at that date, at that rate since
    double next_rate = 0;
    std::uint32_t bottleneck = 0, next_bottleneck = 0;
    std::uint32_t generation = 0;
    bool under_way = false, in_set = false, decided = false;
  };
  struct End {
    double time;
    Flow flow;
    std::uint32_t generation;
    bool operator>(const End& other) const {
      return time != other.time ? time > other.time : flow > other.flow;
    }
  };
  using Level = std::pair<double, std::uint32_t>;  ///< rate at which a link is full, link

  void settle();
  void join(Flow flow);
  void touch_links();
  void fill();
  void decide(std::uint32_t link, double rate);
  bool grow();
  void find_disturbed(std::uint32_t link);
  void commit();
  void drop_void_ends();

  std::vector<Link> links_;
  std::vector<Share> shares_;            ///< by flow
  std::vector<std::uint32_t> loosened_;  ///< links that a flow has left since the last settling
  std::vector<Flow> set_;                ///< flows that are solved anew
  std::vector<std::uint32_t> touched_;   ///< their links
  std::vector<Flow> disturbed_;          ///< flows that the set takes in next
  std::priority_queue<Level, std::vector<Level>, std::greater<>> levels_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::size_t size_ = 0;
  double now_ = 0;
};

}  // namespace stepcast
