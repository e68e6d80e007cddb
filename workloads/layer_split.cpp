#include "stepcast/workloads/layer_split.hpp"

#include <algorithm>
#include <limits>

namespace stepcast {

namespace {

constexpr double rounding = 1e-12;  // of prefix sums

/// Beside its layers the first virtual stage has the embedding, the last one the head.
double time_of(const PieceTimes& times, std::size_t part, std::size_t parts, std::size_t first,
               std::size_t end) {
  double time = times.prefix[end] - times.prefix[first];
  if (part == 0) time += times.before;
  if (part + 1 == parts) time += times.after;
  return time;
}

/// Time of one of so many virtual stages, which holds the layers [first, end). The host runs ahead
/// inside it, so that the busier of the two adds up over all of it.
double part_time(const LayerTimes& times, std::size_t part, std::size_t parts, std::size_t first,
                 std::size_t end) {
  const double device = time_of(times, part, parts, first, end);
  if (times.host.prefix.empty()) return device;
  return std::max(device, time_of(times.host, part, parts, first, end));
}

double part_time(const LayerTimes& times, const std::vector<std::size_t>& ends, std::size_t part) {
  return part_time(times, part, ends.size(), part == 0 ? 0 : ends[part - 1], ends[part]);
}

/// The virtual stages of each device, those of both directions where there are two.
std::vector<std::vector<std::size_t>> parts_of_devices(const ChunkMap& map) {
  std::vector<std::vector<std::size_t>> devices;
  for (std::uint32_t s = 0; s < map.stages; ++s) {
    auto& parts = devices.emplace_back();
    for (std::uint32_t c = 0; c < map.chunks; ++c)
      parts.push_back(static_cast<std::size_t>(map.virtual_stage({{c}, {s}})));
  }
  return devices;
}

/// Lower is better, in this order. Squares lead over plateaus where several devices are busiest.
struct Evenness {
  SplitLoad load;
  double devices = 0, parts = 0;  ///< sums of squares

  bool less_than(const Evenness& other) const {
    // Which of two equal splits is taken must not depend on the rounding of sums.
    const auto clear = [](double a, double b) {
      return a < b * (1 - rounding) ? -1 : a > b * (1 + rounding) ? 1 : 0;
    };
    if (const int c = clear(load.device, other.load.device)) return c < 0;
    if (const int c = clear(devices, other.devices)) return c < 0;
    if (const int c = clear(load.period, other.load.period)) return c < 0;
    return clear(parts, other.parts) < 0;
  }
};

/// One layer less on part `from`, one more on part `to`; those between move along.
void move_layer(std::vector<std::size_t>& ends, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) ends[i] -= 1;
  for (std::size_t i = to; i < from; ++i) ends[i] += 1;
}

/// Moves layers one by one from one virtual stage to another as long as the times get more even.
class LayerMoves {
 public:
  LayerMoves(const LayerTimes& times, const ChunkMap& map)
      : times_{times},
        map_{map},
        devices_{parts_of_devices(map)},
        device_of_(static_cast<std::size_t>(map.virtual_stages())) {
    for (std::size_t device = 0; device < devices_.size(); ++device)
      for (const std::size_t part : devices_[device]) device_of_[part] = device;
  }

  /// One with a busier device than `most` is not worth another look, so that only that is told.
  Evenness evenness(const std::vector<double>& parts,
                    double most = std::numeric_limits<double>::infinity()) const {
    Evenness result;
    for (const std::vector<std::size_t>& device : devices_) {
      double sum = 0;
      for (const std::size_t part : device) sum += parts[part];
      result.load.device = std::max(result.load.device, sum);
      result.devices += sum * sum;
      if (result.load.device > most) return result;
    }
    for (const double time : parts) result.parts += time * time;
    if (map_.placement != ChunkPlacement::loop) {
      result.load.period = result.load.device;  // its two chunks take turns
      return result;
    }
    // In a loop all stages pass the same chunk, so that its busiest stage is as long as the round.
    const auto stages = static_cast<std::ptrdiff_t>(map_.stages);
    for (auto chunk = parts.begin(); chunk != parts.end(); chunk += stages)
      result.load.period += *std::max_element(chunk, chunk + stages);
    return result;
  }

  Evenness evenness(const std::vector<std::size_t>& ends) const {
    return evenness(part_times(times_, ends));
  }
  struct Move {
    std::vector<std::size_t> ends;
    Evenness result;
  };

  /// Even first, then move after move until none is better.
  std::vector<Move> way(const std::vector<std::size_t>& even) const {
    std::vector<Move> all{{even, evenness(even)}};
    for (;;) {
      Move next = best_move(all.back(), all.back().result.load.period * (1 + rounding));
      if (!next.result.less_than(all.back().result)) return all;
      all.push_back(std::move(next));
    }
  }

 private:
  /// All pairs of virtual stages; `now` where no move is better. Among equals the earliest takes
  /// the layer: a long late stage delays first backwards too.
  Move best_move(const Move& now, double most_period) const {
    // No virtual stage loses its last layer as long as there is one for each.
    const std::size_t parts = now.ends.size(), least = now.ends.back() >= parts ? 1 : 0;
    Move best = now;
    std::vector<std::size_t> ends = now.ends;
    const std::vector<double> before = part_times(times_, ends);
    std::vector<double> times = before;
    for (std::size_t from = 0; from < parts; ++from) {
      if (now.ends[from] - (from == 0 ? 0 : now.ends[from - 1]) <= least) continue;
      for (std::size_t to = 0; to < parts; ++to) {
        if (to == from) continue;
        const double most = best.result.load.device * (1 + rounding);
        if (taking(now.ends, from, to) > most) continue;  // as most moves end
        move_layer(ends, from, to);
        const auto [first, last] = std::minmax(from, to);
        for (std::size_t part = first; part <= last; ++part)
          times[part] = part_time(times_, ends, part);
        const Evenness result = evenness(times, most);
        if (result.load.period <= most_period && result.less_than(best.result))
          best = {ends, result};
        // Back, for the next pair.
        move_layer(ends, to, from);
        std::copy(before.begin() + static_cast<std::ptrdiff_t>(first),
                  before.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                  times.begin() + static_cast<std::ptrdiff_t>(first));
      }
    }
    return best;
  }

  /// Time of the device that takes a layer on its part `to` from part `from`, added up as
  /// evenness() does.
  double taking(const std::vector<std::size_t>& ends, std::size_t from, std::size_t to) const {
    // Ends behind the move, without making it.
    const auto end = [&](std::size_t part) {
      return ends[part] - (from <= part && part < to ? 1 : 0) + (to <= part && part < from ? 1 : 0);
    };
    double sum = 0;
    for (const std::size_t part : devices_[device_of_[to]])
      sum += part_time(times_, part, ends.size(), part == 0 ? 0 : end(part - 1), end(part));
    return sum;
  }

  const LayerTimes& times_;
  const ChunkMap& map_;
  std::vector<std::vector<std::size_t>> devices_;
  std::vector<std::size_t> device_of_;  ///< [part]
};

/// Of the splits on the way those whose busiest device is less busy than that of all before; `fits`
/// may turn one away. The first one with so little load is nearest to the even one, whose order of
/// computing and communication is known to be good.
template <class Fits>
std::vector<std::vector<std::size_t>> lighter(const LayerTimes& times, const ChunkMap& map,
                                              const Fits& fits) {
  const auto parts = static_cast<std::size_t>(map.virtual_stages());
  const auto way = LayerMoves(times, map).way(even_ends(times.prefix.size() - 1, parts));
  const SplitLoad& start = way.front().result.load;
  std::vector<std::vector<std::size_t>> found;
  double least = start.device * (1 - least_split_gain);
  for (const LayerMoves::Move& move : way) {
    const SplitLoad& load = move.result.load;
    if (load.device >= least * (1 - rounding) || !fits(start, load)) continue;
    least = load.device;
    found.push_back(move.ends);
  }
  return found;
}

}  // namespace

std::vector<double> part_times(const LayerTimes& times, const std::vector<std::size_t>& ends) {
  std::vector<double> parts(ends.size());
  for (std::size_t part = 0; part < parts.size(); ++part)
    parts[part] = part_time(times, ends, part);
  return parts;
}

double steady_period(std::int64_t stages, const std::vector<double>& busiest) {
  double sum = 0, waits = 0;
  for (std::size_t c = 0; c < busiest.size(); ++c) {
    sum += busiest[c];
    // Where the next chunk takes longer, stages wait for it between the two.
    waits += std::max(busiest[(c + 1) % busiest.size()] - busiest[c], 0.0);
  }
  const auto p = static_cast<double>(stages);
  return sum + lost_between_chunks * (p - 1) / p * waits;
}

SplitLoad split_load(const LayerTimes& times, const ChunkMap& map,
                     const std::vector<std::size_t>& ends) {
  return LayerMoves(times, map).evenness(ends).load;
}

std::vector<std::size_t> even_ends(std::size_t layers, std::size_t parts) {
  std::vector<std::size_t> ends;
  // What is left over goes to the first parts, one layer each.
  for (std::size_t part = 0; part < parts; ++part)
    ends.push_back((part + 1) * (layers / parts) + std::min(part + 1, layers % parts));
  return ends;
}

std::vector<std::vector<std::size_t>> lighter_ends(const LayerTimes& times, const ChunkMap& map) {
  return lighter(times, map, [](const SplitLoad&, const SplitLoad&) { return true; });
}

std::vector<std::size_t> balanced_ends(const LayerTimes& times, const ChunkMap& map) {
  const auto found = lighter(times, map, [](const SplitLoad& even, const SplitLoad& load) {
    // Where chunks in step take longer than any device by itself, they have to gain too.
    return even.period <= even.device * (1 + least_split_gain) ||
           load.period <= even.period * (1 - least_split_gain);
  });
  if (!found.empty()) return found.back();
  return even_ends(times.prefix.size() - 1, static_cast<std::size_t>(map.virtual_stages()));
}

}  // namespace stepcast
