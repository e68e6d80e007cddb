#include "fair_sharing.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace stepcast {
namespace {

/// Rates closer than this are equal, links less open than this are full: far above what sums of
/// thousands of rates round off, far below what a result shows.
constexpr double tolerance = 1e-11;

bool clearly_less(double a, double b) { return a < b * (1 - tolerance); }

}  // namespace

FairSharing::FairSharing(const std::vector<double>& bandwidths) : links_(bandwidths.size()) {
  for (std::size_t l = 0; l < links_.size(); ++l) links_[l].capacity = bandwidths[l];
}

// A new flow belongs to the set that is solved next; its rate is zero until then.
void FairSharing::add(Flow flow, std::span<const LinkUse> path, double bytes, double now) {
  now_ = now;
  if (flow >= shares_.size()) shares_.resize(flow + 1);
  Share& share = shares_[flow];
  share.path.assign(path.begin(), path.end());
  share.under_way = true;
  share.left = bytes;
  share.since = now;
  share.rate = 0;
  for (const LinkUse& use : path) links_[use.link].uses.push_back({flow, use.count});
  ++size_;
  join(flow);
}

double FairSharing::next_end() {
  // Rates are solved only when somebody asks for a date: changes of one date cost one solution.
  settle();
  drop_void_ends();
  return ends_.empty() ? std::numeric_limits<double>::infinity() : ends_.top().time;
}

// A flow whose rate has changed has a newer end in the heap.
void FairSharing::drop_void_ends() {
  while (!ends_.empty() && ends_.top().generation != shares_[ends_.top().flow].generation)
    ends_.pop();
}

void FairSharing::take_ended(double now, double precision, std::vector<Flow>& ended) {
  now_ = now;
  // Each end is looked at once: dropping void ones first keeps the top a real one.
  for (drop_void_ends(); !ends_.empty() && ends_.top().time <= now + precision; drop_void_ends()) {
    const Flow flow = ends_.top().flow;
    Share& share = shares_[flow];
    ++share.generation;
    share.under_way = false;
    ended.push_back(flow);
    --size_;
    // Its links have room now; flows that were held back there are solved anew in settle().
    for (const LinkUse& use : share.path) {
      std::erase_if(links_[use.link].uses, [flow](const Use& u) { return u.flow == flow; });
      loosened_.push_back(use.link);
    }
  }
}

void FairSharing::shift(double time) {
  now_ += time;
  // What has arrived so far is counted from `since`, so that this moves with the clock.
  for (Share& share : shares_) share.since += time;
  decltype(ends_) moved;
  for (drop_void_ends(); !ends_.empty(); drop_void_ends()) {
    End end = ends_.top();
    ends_.pop();
    end.time += time;
    moved.push(end);
  }
  ends_ = std::move(moved);
}

void FairSharing::settle() {
  // A flow that another link holds back gains nothing from room on this one.
  for (const std::uint32_t link : loosened_) {
    for (const Use& use : links_[link].uses) {
      if (shares_[use.flow].bottleneck == link) join(use.flow);
    }
  }
  loosened_.clear();
  if (set_.empty()) return;
  // Each round solves the set exactly; it grows until nobody outside is disturbed.
  do {
    touch_links();
    fill();
  } while (grow());
  commit();
}

void FairSharing::join(Flow flow) {
  // Each flow once, however many links bring it in.
  if (std::exchange(shares_[flow].in_set, true)) return;
  set_.push_back(flow);
}

/// What the flows outside the set leave of each link of those inside.
void FairSharing::touch_links() {
  for (const Flow flow : set_) {
    // Links of the set, each once, whatever number of its flows cross it.
    shares_[flow].decided = false;
    for (const LinkUse& use : shares_[flow].path) {
      if (std::exchange(links_[use.link].touched, true)) continue;
      touched_.push_back(use.link);
    }
  }
  for (const std::uint32_t index : touched_) {
    // Flows outside keep their rates: what they leave is the set's to share.
    Link& link = links_[index];
    link.room = link.capacity;
    link.weight = 0;
    for (const Use& use : link.uses) {
      const Share& share = shares_[use.flow];
      if (share.in_set) {
        link.weight += use.count;
      } else {
        link.room -= use.count * share.rate;
      }
    }
  }
}

/// Progressive filling: the link that is full first decides the rate of its flows. The level of a
/// link only rises while others decide, so an old one is looked at again.
void FairSharing::fill() {
  // A flow that lists a link k times takes k times its rate there: weights add up.
  const auto level = [this](std::uint32_t l) {
    return std::max(links_[l].room, 0.0) / links_[l].weight;
  };
  for (const std::uint32_t link : touched_) levels_.push({level(link), link});
  while (!levels_.empty()) {
    const auto [known, link] = levels_.top();
    levels_.pop();
    // All flows of the link are decided already.
    if (links_[link].weight <= 0) continue;
    if (const double now = level(link); now > known) {
      levels_.push({now, link});
    } else {
      decide(link, known);
    }
  }
}

void FairSharing::decide(std::uint32_t link, double rate) {
  for (const Use& use : links_[link].uses) {
    Share& share = shares_[use.flow];
    if (!share.in_set || std::exchange(share.decided, true)) continue;
    share.next_rate = rate;
    share.next_bottleneck = link;
    // The decided flow takes its part from every link on its way.
    for (const LinkUse& other : share.path) {
      links_[other.link].room -= other.count * rate;
      links_[other.link].weight -= other.count;
    }
  }
}

/// Takes in the flows whose rates no longer fit to those of the set; whether there are any.
bool FairSharing::grow() {
  for (const std::uint32_t link : touched_) find_disturbed(link);
  if (disturbed_.empty()) return false;
  for (const Flow flow : disturbed_) join(flow);
  disturbed_.clear();
  return true;
}

/// A flow outside the set has to be solved anew when it takes more than one whose bottleneck is
/// this link, or when this link is its bottleneck and is no longer full, or is another's more.
void FairSharing::find_disturbed(std::uint32_t index) {
  const Link& link = links_[index];
  double least_bounded = std::numeric_limits<double>::infinity(), greatest = 0;
  for (const Use& use : link.uses) {
    const Share& share = shares_[use.flow];
    // Bounds and largest rates of the set on this link, against which those outside are held.
    if (!share.in_set) continue;
    greatest = std::max(greatest, share.next_rate);
    if (share.next_bottleneck == index) least_bounded = std::min(least_bounded, share.next_rate);
  }
  // Rounding leaves a full link slightly open: less than the tolerance is full.
  const bool open = link.room > tolerance * link.capacity;
  for (const Use& use : link.uses) {
    const Share& share = shares_[use.flow];
    if (share.in_set) continue;
    const bool lost_its_bound =
        share.bottleneck == index && (open || clearly_less(share.rate, greatest));
    if (lost_its_bound || clearly_less(least_bounded, share.rate)) disturbed_.push_back(use.flow);
  }
}

void FairSharing::commit() {
  for (const Flow flow : set_) {
    Share& share = shares_[flow];
    share.in_set = false;
    share.bottleneck = share.next_bottleneck;
    // An unchanged rate keeps its end: no new entry in the heap, and no rounding of what is left.
    if (share.next_rate == share.rate) continue;
    // Bytes so far at the old rate, then on at the new one.
    share.left -= share.rate * (now_ - share.since);
    share.since = now_;
    share.rate = share.next_rate;
    // Rounding may leave slightly less than nothing.
    ends_.push({now_ + std::max(share.left, 0.0) / share.rate, flow, ++share.generation});
  }
  for (const std::uint32_t link : touched_) links_[link].touched = false;
  touched_.clear();
  set_.clear();
}

}  // namespace stepcast
