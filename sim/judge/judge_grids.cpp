#include <algorithm>
#include <map>
#include <set>

#include "judge_patterns.hpp"

/// Boxes of a torus or nD full mesh, message by message.
namespace stepcast::judge {
namespace {

using Place = std::vector<std::uint32_t>;

Place place_of(std::uint32_t device, const std::vector<std::uint32_t>& sides) {
  // Sides from the fastest: the first coordinate is the remainder.
  Place place;
  for (const std::uint32_t side : sides) {
    place.push_back(device % side);
    device /= side;
  }
  return place;
}

}  // namespace

/// In turn t the r-th share of the bytes goes along the (r + t)-th of the sides that the members
/// have, and has been cut by those before. An all-gather takes the turns backwards.
void Patterns::grid_pass(const Rings& sets, double bytes, bool reduce) {
  std::vector<Turn> turns;
  // Sets run in lock step: messages of all are one round per turn.
  for (const Ring& set : sets) {
    // Members by their place, and the coordinates that occur along each side.
    std::map<Place, std::uint32_t> at;
    std::vector<std::vector<std::uint32_t>> along(sides_.size());
    for (const std::uint32_t m : set) {
      const Place place = place_of(m, sides_);
      at[place] = m;
      for (std::size_t k = 0; k < place.size(); ++k) along[k].push_back(place[k]);
    }
    // Sides along which all members have one place need no turn.
    std::vector<std::size_t> axes;
    for (std::size_t k = 0; k < along.size(); ++k) {
      const std::set<std::uint32_t> once(along[k].begin(), along[k].end());
      along[k].assign(once.begin(), once.end());
      if (along[k].size() > 1) axes.push_back(k);
    }
    turns.resize(axes.size());
    for (std::size_t t = 0; t < axes.size(); ++t)
      for (std::size_t r = 0; r < axes.size(); ++r) {
        const std::size_t axis = axes[(r + t) % axes.size()];
        const std::vector<std::uint32_t>& places = along[axis];
        // A share of the bytes per axis to begin with, cut by every side that was passed before.
        double part = bytes / count(axes) / count(places);
        for (std::size_t b = 0; b < t; ++b) part /= count(along[axes[(r + b) % axes.size()]]);
        if (turns[t].rounds.empty()) turns[t].rounds.push_back({});
        for (const auto& member : at) {
          // Neighbours are next in the list of places, not on the grid: members may leave some out.
          const auto own = static_cast<std::size_t>(std::ranges::find(places, member.first[axis]) -
                                                    places.begin());
          const auto post = [&](std::size_t to, double sent) {
            Place other = member.first;
            other[axis] = places[to % places.size()];
            turns[t].rounds.front().messages.push_back({member.second, at.at(other), sent});
          };
          // Around a ring both ways carry half of the parts that do not stay.
          if (rings_) {
            post(own + 1, part * (count(places) - 1) / 2);
            post(own + places.size() - 1, part * (count(places) - 1) / 2);
          } else {
            for (std::size_t to = 0; to < places.size(); ++to)
              if (to != own) post(to, part);
          }
        }
      }
  }
  // Gathering is the mirror image: what was cut last is put together first.
  if (!reduce) std::ranges::reverse(turns);
  for (Turn& turn : turns) together(std::move(turn.rounds));
}

/// A part goes from its sender to the line of its receiver along one axis after the other; a share
/// of all parts begins with each axis, and in a turn a message carries what goes to all members
/// that have the coordinate of its receiver.
void Patterns::grid_exchange(const Ring& set, double bytes) {
  // Sides along which the members differ.
  std::vector<std::size_t> axes;
  for (std::size_t k = 0; k < sides_.size(); ++k)
    if (std::ranges::any_of(set, [&](std::uint32_t m) {
          return place_of(m, sides_)[k] != place_of(set.front(), sides_)[k];
        }))
      axes.push_back(k);
  // Each turn moves every share along another side, so that all links work at once.
  for (std::size_t t = 0; t < axes.size(); ++t) {
    Round round;
    for (std::size_t r = 0; r < axes.size(); ++r) {
      const std::size_t axis = axes[(r + t) % axes.size()];
      for (const std::uint32_t from : set)
        for (const std::uint32_t to : set) {
          // Only along this axis: all other coordinates are equal.
          Place differs = place_of(to, sides_);
          if (to == from) continue;
          differs[axis] = place_of(from, sides_)[axis];
          if (differs != place_of(from, sides_)) continue;
          // One message carries the parts of all members behind that coordinate.
          const auto alike = std::ranges::count_if(set, [&](std::uint32_t m) {
            return place_of(m, sides_)[axis] == place_of(to, sides_)[axis];
          });
          round.messages.push_back(
              {from, to, bytes / count(axes) * static_cast<double>(alike) / count(set)});
        }
    }
    together({round});
  }
}

}  // namespace stepcast::judge
